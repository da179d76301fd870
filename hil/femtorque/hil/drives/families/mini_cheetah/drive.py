"""The first drive with the MIT mode, bgkatz/motorcontrol (Core/Src/can.c, fsm.c, stm32f4xx_it.c). The drive answers
every frame that carries the drive's identifier. After its timeout the drive goes limp without reporting a fault, until
the next frame.

The firmware goes limp since commit 3586419 of 18 July 2023. From the last day of 2020 until this change (fsm.c of
0032634), the firmware stopped commutating but kept the gate driver on. Before the angle changes, the voltages of the
three phases were constant. Until b983cca of 9 May 2022 the firmware left its mode only below 1 A. The filter of this
current runs only while the drive commutates. Therefore, with constant voltages, frames that end the mode had no effect
until the next command.

Commands and replies are in C (mini_cheetah.c).
"""

import math

from femtorque.hil.bus import Frame, Wire
from femtorque.hil.clock import Member
from femtorque.hil.drives.drive import WORD, Drive
from femtorque.hil.drives.families.mini_cheetah.maker import MAKER
from femtorque.hil.drives.fields import Ranges
from femtorque.hil.drives.motor import Command, Motor, Traits

EXIT = 0xFD
# The loop runs every 25 us; position_sensor.h averages the velocity over N_POS_SAMPLES = 20 periods. The bandwidth is a
# setting of the firmware, and its value is chosen.
TRAITS = Traits(rate=40e3, bandwidth=1000.0, window=20 / 40e3)
TICK = 25e-6  # unit of CAN_TIMEOUT, s
# Motor: motor_config.h of MIT-like firmware has 21 pole pairs, a gear of 6 and 0.45 N m/A at the output;
# Cheetah-Software's MiniCheetah.h 0.173 ohm. N m/A refers to the amplitude of the current, so V s/rad are two thirds of
# that number.
ELECTRIC, AMPERE, RESISTANCE = 21 * 6, 0.45, 0.173
DAMPING = AMPERE * (2.0 / 3.0) * AMPERE / RESISTANCE


class MiniCheetah(Drive):
    """A mini-cheetah drive. master: identifier of the replies. ticks: CAN_TIMEOUT, 0 to disable it, None for the
    factory setting. size: bytes of a reply; 6 in the firmware of 2021, whose can.c has DLC = 6. early: true for the
    firmware of February 2021, which keeps constant phase voltages after the timeout."""

    kind, maker = "mini_cheetah", MAKER
    hot_code = 1
    timeout = Member(float)
    early = Member(bool, "own")

    def __init__(self, wire: Wire, number: int, ranges: Ranges, master: int = 0, ticks: int | None = None,
                 traits: Traits = TRAITS, size: int = 8, early: bool = False) -> None:
        super().__init__(wire, number, Motor(ranges.torque, traits), ranges)
        self.own.master, self.own.size, self.early = master, size, early
        self.timeout = self.maker.limit.number if ticks is None else ticks * TICK or math.inf

    def left_alone(self) -> None:
        if self.early and self.motor.active:
            self.own.seen = self.motor.torque
            self.motor.stand(ELECTRIC, DAMPING)
        self.motor.command = Command()

    def calm(self) -> None:
        """Leave the mode."""
        self._lib.mini_cheetah_special(self.own, EXIT)

    def fail(self, code: int) -> None:
        self.motor.stop()

    @property
    def filters(self) -> tuple[tuple[int, int], ...]:
        return ((self.id, WORD),)

    def report(self, data: bytes) -> Frame:
        return Frame(int(self.own.master), bytes([self.id]) + data)
