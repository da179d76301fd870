"""CubeMars AK drives in MIT mode (manual V1.0.8), with the mini-cheetah's frames: the drive answers each frame that is
addressed to it. An AK drive has no timeout and executes its last command indefinitely."""

from femtorque.hil.bus import Wire
from femtorque.hil.clock import Member
from femtorque.hil.drives.families.cubemars.maker import MAKER
from femtorque.hil.drives.families.mini_cheetah.drive import MiniCheetah
from femtorque.hil.drives.fields import Ranges

# By the manual V1.0.8. One of five programs that read these drives uses VESC's numbers (mc_fault_code in datatypes.h of
# vedderb/bldc: 1 over voltage, 2 under voltage, 3 gate driver, 4 over current, 5 driver hot, 6 motor hot). There seem
# to be two generations of the drive, and a reply does not show the generation.
AK_FAULTS = {"over temperature": 1, "over current": 2, "over voltage": 3, "under voltage": 4, "encoder": 5,
             "phase unbalance": 6}


class CubeMars(MiniCheetah):
    """An AK drive. Without `master` the drive answers with its own CAN identifier. The reply ends with temperature and
    error. An AK drive has no timeout. The drive's loop is assumed to equal the mini-cheetah's loop."""

    maker = MAKER
    error = Member(int, "own")

    def __init__(self, wire: Wire, number: int, ranges: Ranges, master: int | None = None) -> None:
        super().__init__(wire, number, ranges, master=number if master is None else master)
        self.own.warm = True

    def fail(self, code: int) -> None:
        self.error = code
        self.motor.stop()
