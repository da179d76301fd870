from .export import write_export as write_export
from .external_torque import FromOutside as FromOutside
from .log import (
    Log as Log, Run as Run, Truth as Truth, claim_log as claim_log, read_log as read_log, table_of as table_of)
from .robot import robot_description as robot_description
from .telemetry import about as about, named as named, plain as plain, sample as sample
