"""The original of the MIT mode, bgkatz/motorcontrol (Core/Src/can.c, fsm.c, stm32f4xx_it.c).

Every frame for the drive is answered. After its timeout it goes limp, without a fault, and goes on with the next frame.

Its firmware goes limp since commit 3586419 of 18 July 2023. Before, from the last day of 2020 on (fsm.c of 0032634), it
stopped commutating instead, with the gate driver on: the voltages of the three phases were constant. Until b983cca of 9
May 2022 it also left its mode only below 1 A, measured by a filter that runs while it commutates: with constant
voltages, frames that end the mode had no effect until a command came.

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
# A loop every 25 us; position_sensor.h: velocity over N_POS_SAMPLES = 20 of them. Bandwidth: chosen, a setting there.
TRAITS = Traits(rate=40e3, bandwidth=1000.0, window=20 / 40e3)
TICK = 25e-6  # s, the unit of CAN_TIMEOUT
# A motor of this kind: motor_config.h of MIT-like firmware has 21 pole pairs, a gear of 6 and 0.45 N m/A at the output;
# Cheetah-Software's MiniCheetah.h 0.173 ohm. N m/A is of the amplitude, so two thirds of it are V s/rad.
ELECTRIC, AMPERE, RESISTANCE = 21 * 6, 0.45, 0.173
DAMPING = AMPERE * (2.0 / 3.0) * AMPERE / RESISTANCE


class MiniCheetah(Drive):
    """master: identifier of the replies. ticks: CAN_TIMEOUT, 0: none, None: as it comes. size: of a reply, bytes; 6 in
    the firmware of 2021, whose can.c has DLC = 6. early: firmware of February 2021, with constant voltages after the
    timeout."""

    kind, maker = "mini_cheetah", MAKER
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
        """Leave the mode at last."""
        self._lib.mini_cheetah_special(self.own, EXIT)

    def fail(self, code: int) -> None:
        self.motor.stop()

    @property
    def hot_code(self) -> int:
        return 1

    @property
    def filters(self) -> tuple[tuple[int, int], ...]:
        return ((self.id, WORD),)

    def report(self, data: bytes) -> Frame:
        return Frame(int(self.own.master), bytes([self.id]) + data)
