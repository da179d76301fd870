"""Feetech's STS3215, in its PWM mode: registers as LeRobot has them (src/lerobot/motors/feetech/tables.py), values as a
servo comes (Feetech's memory table as ROAR-QUTRC and python-st3215 give it; LeRobot says 250 for the return delay).

Its protections are those of that table: register 19 selects which of them switch the motor off or down (44:
temperature, current, overload); a duty of 80 % (36) for 2 s (35) leaves 20 % (34); 500 x 6.5 mA (28) for 2 s (38) and
more than 70 deg C (13) leave nothing; a voltage outside of 14 and 15 is reported only.

Not published, and chosen: it reads its encoder and its registers once a millisecond (the STS3250's sheet says that a
position update takes 1 ms at most); a duty below the least starting force (register 24) turns nothing; a duty of zero
shorts the motor; in PWM mode it has the protections of its position mode; a latched error ends when its motor is
switched off. The backlash of its gear is in the plant (femtorque.hil.plant.backlash).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from femtorque.hil.bus.clock import Clock
from femtorque.hil.bus.half_duplex import Question
from femtorque.hil.drives.families.feetech.motor import (
    AMPERE,
    CURRENT,
    ENABLE,
    ERRORS,
    HIGHEST,
    HOTTEST,
    LIMIT,
    LONGEST,
    LOWEST,
    OVERLOAD,
    PATIENCE,
    PROTECTIVE,
    REGISTERS,
    START,
    SWITCH,
    TENTH,
    TORQUE,
    Motor,
)

HEADER = 4  # bytes before what the length counts
SYNC_READ, SYNC_WRITE = 0x82, 0x83
AROUND = 6  # bytes of an answer beside the registers
TURN = 4096
PERIOD = 1e-3  # s
TURNAROUND = 20e-6  # s in addition to its return delay; chosen
MODEL, ID, BAUD, DELAY, LEAST, MOST, FACTOR, OFFSET = 3, 5, 6, 7, 9, 11, 30, 31
DUTY, LOCK, POSITION, SPEED, LOAD, VOLTAGE, WARMTH, STATUS, AMPERES = 44, 55, 56, 58, 60, 62, 63, 65, 69
STORED = 40  # registers below it are stored without power


def split(burst: bytes) -> Iterator[bytes]:
    """The packets of a burst."""
    at = 0
    while at + HEADER <= len(burst):
        packet = burst[at:at + HEADER + burst[at + 3]]
        at += len(packet)
        yield packet


def question(packet: bytes) -> Question | None:
    """A SYNC READ, which servos answer in the order in which it names them (LeRobot reads six SO-101 servos so)."""
    return Question(tuple(packet[7:-1]), AROUND + packet[6]) if packet[4] == SYNC_READ else None


class Sts3215(Motor):
    """number: its id. volts: nominal. centre: rad of the output where its encoder is in the middle. supply: V, now.
    ohm: of its motor. cut: its wire is off, its supply is not. supplied: its own branch of the supply is whole. late: s
    by which answers are late. phase: s of its own millisecond. temperature: deg C."""

    least_supply = 4.0  # V: of its sheet

    def __init__(self, clock: Clock, number: int, volts: float, centre: float, supply: Callable[[], float],
                 ohm: float = 2.0) -> None:
        super().__init__(supply, ohm)
        self.clock, self.centre = clock, centre
        self.stored = bytearray(STORED)
        for at, value, size in ((0, 3, 1), (1, 10, 1), (MODEL, 777, 2), (ID, number, 1), (DELAY, 250, 1), (8, 1, 1),
                                (MOST, 4095, 2), (HOTTEST, 70, 1), (HIGHEST, round(volts * 12), 1), (LOWEST, 40, 1),
                                (TORQUE, 1000, 2), (SWITCH, 44, 1), (START, 16, 2), (CURRENT, 500, 2), (FACTOR, 1, 1),
                                (PROTECTIVE, 20, 1), (PATIENCE, 200, 1), (OVERLOAD, 80, 1), (LONGEST, 200, 1)):
            self.stored[at:at + size] = value.to_bytes(size, "little")
        self.phase = number * 0.137e-3 % PERIOD
        self.catch_up: Callable[[], None] = lambda: None
        self.on_change: Callable[[], None] = lambda: None
        self.cut, self.late, self.supplied = False, 0.0, True
        self.power_up(centre)

    # -- registers ----------------------------------------------------------

    def put(self, at: int, value: int, size: int = 1) -> None:
        self.registers[at:at + size] = value.to_bytes(size, "little")

    def _write(self, at: int, data: bytes) -> None:
        """Write registers. While the lock is open settings are stored, else they are lost without power."""
        for place, byte in enumerate(data, at):
            if place < POSITION:
                self.registers[place] = byte
                if place < STORED and not self.registers[LOCK]:
                    self.stored[place] = byte
        if at <= ENABLE < at + len(data) and not self.registers[ENABLE]:
            self.latched = 0
        if at <= DUTY < at + len(data):
            self._takes_over, self._coming = self._boundary(self.clock.seconds) + PERIOD, self.get(DUTY, 2)

    # -- the wire -----------------------------------------------------------

    @property
    def id(self) -> int:
        return self.registers[ID]

    @property
    def listening(self) -> bool:
        return self.powered and not self.cut and self.registers[BAUD] == 0

    @property
    def delay(self) -> float:
        return 2e-6 * self.registers[DELAY] + TURNAROUND + self.late

    def heard(self, packet: bytes) -> None:
        """Obey SYNC WRITE, the board's one packet that is no question."""
        if packet[:2] != b"\xff\xff" or ~sum(packet[2:-1]) & 0xFF != packet[-1] or packet[4] != SYNC_WRITE:
            return
        at, size = packet[5], packet[6]
        for k in range(7, len(packet) - 1, size + 1):
            if packet[k] == self.id:
                self.catch_up()
                self._write(at, packet[k + 1:k + 1 + size])

    def answer(self, packet: bytes, before: bytes = b"") -> bytes:
        register, size = packet[5], packet[6]
        self.catch_up()
        self._measure()
        body = bytes([self.id, size + 2, self.errors]) + bytes(self.registers[register:register + size])
        return b"\xff\xff" + body + bytes([~sum(body) & 0xFF])

    def _boundary(self, now: float) -> float:
        """Time at which its own millisecond began."""
        return math.floor((now - self.phase) / PERIOD) * PERIOD + self.phase

    def _measure(self) -> None:
        age = self.clock.seconds - self._boundary(self.clock.seconds)
        angle = self._angle - self.centre - age * self._velocity
        offset = self.get(OFFSET, 2)
        offset = -(offset & 0x7FF) if offset & 0x800 else offset
        counts = (round(angle * TURN / math.tau) + TURN // 2 - offset) % TURN
        self.put(POSITION, counts // max(self.registers[FACTOR], 1), 2)
        speed = round(abs(self._velocity) * TURN / math.tau)
        self.put(SPEED, min(speed, 0x7FFF) | (0x8000 if self._velocity < 0.0 else 0), 2)
        share = self.share
        self.put(LOAD, round(1000 * abs(share)) | (0x400 if share < 0.0 else 0), 2)
        self.put(VOLTAGE, min(round(self.supply() / TENTH), 255))
        self.put(WARMTH, min(max(round(self.temperature), 0), 255))
        self.put(AMPERES, min(round(abs(self._current) / AMPERE), 0x7FFF), 2)
        self.registers[STATUS] = self.errors

    # -- the motor ----------------------------------------------------------

    @property
    def supplied(self) -> bool:
        return self._supplied

    @supplied.setter
    def supplied(self, whole: bool) -> None:
        self._supplied = whole
        self.on_change()

    def power_up(self, angle: float) -> None:
        """Switch on with the stored settings and the motor off."""
        self.on_change()
        self.registers[:] = self.stored + bytes(REGISTERS - STORED)
        self.put(LIMIT, int.from_bytes(self.stored[TORQUE:TORQUE + 2], "little"), 2)
        self.begin(angle)

    def twin(self) -> Sts3215:
        """Another servo of its number, as one for 12 V comes, with a supply of its own."""
        return Sts3215(self.clock, self.id, 12.0, 0.0, lambda: 12.0)

    @property
    def hot_code(self) -> int:
        return ERRORS["over temperature"]
