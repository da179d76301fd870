from .preflight import Preflight as Preflight, examine as examine
from .streaming import (
    Interrupts as Interrupts, Outcome as Outcome, Progress as Progress, check_start as check_start, stream as stream)
