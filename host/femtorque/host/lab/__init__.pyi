from .bringup import (
    bring_up as bring_up, bring_up_advice as bring_up_advice, bring_up_summary as bring_up_summary,
    write_bring_up as write_bring_up)
from .inertial.page import write_inertial_page as write_inertial_page
from .inertial.recording import Stops as Stops
from .inertial.write_back import write_inertias as write_inertias, write_motors as write_motors
from .joint_identification import beside as beside, identify as identify, measured as measured
from .maker_configuration import (
    compare_configured as compare_configured, configured_held as configured_held, configured_tools as configured_tools)
