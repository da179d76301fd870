from .agenda import Agenda as Agenda
from .coupler import GRIP as GRIP
from .disturbance import Disturbance as Disturbance
from .drives_alone import Bench as Bench, DrivesAlone as DrivesAlone
from .encoder_fault import EncoderFault as EncoderFault
from .faults import FAULTS as FAULTS, inject as inject
from .mode_follower import ModeFollower as ModeFollower
from .stepped_pc import SteppedPc as SteppedPc
from .telemetry import (
    LATE as LATE, STEPS as STEPS, Record as Record, remembers as remembers, targets as targets,
    telemetry_type as telemetry_type)
from .under_test import BoardUnderTest as BoardUnderTest, VirtualClock as VirtualClock
from .virtual import CYCLE as CYCLE, SLICE as SLICE, VirtualBoard as VirtualBoard
