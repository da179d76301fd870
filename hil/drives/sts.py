"""Feetech's STS3215, in its PWM mode: registers as LeRobot has them (src/lerobot/motors/feetech/tables.py), values as a
servo comes (Feetech's memory table as ROAR-QUTRC and python-st3215 give it; LeRobot says 250 for the return delay).

Its protections are that table's: register 19 says which of them take the torque away (44: temperature, current,
overload); an output of 80 % (36) for 2 s (35) leaves 20 % (34); 500 x 6.5 mA (28) for 2 s (38) and more than 70 deg C
(13) leave nothing; a voltage out of 14 and 15 is told and borne.

What is not published, and chosen: it looks at its encoder and at its registers once a millisecond (the STS3250's sheet
tells a position update of 1 ms at most); a duty below the least starting force (register 24) turns nothing; a duty of
nothing shorts the motor; in PWM mode it guards itself as in its position mode; what it has let go for is over when its
motor has been switched off. The play of its gear is the plant's (hil.plant.play).
"""

from __future__ import annotations

import math
from collections.abc import Callable

from hil.bus.clock import Clock

TURN = 4096
PERIOD = 1e-3  # s
TURNAROUND = 20e-6  # s more than its return delay; chosen
MODEL, ID, BAUD, DELAY, LEAST, MOST, HOTTEST, HIGHEST, LOWEST, TORQUE, START = 3, 5, 6, 7, 9, 11, 13, 14, 15, 16, 24
SWITCH, CURRENT, FACTOR, OFFSET, MODE, PROTECTIVE, PATIENCE, OVERLOAD, LONGEST = 19, 28, 30, 31, 33, 34, 35, 36, 38
ENABLE, DUTY, LIMIT, LOCK, POSITION, SPEED, LOAD, VOLTAGE, WARMTH, STATUS = 40, 44, 48, 55, 56, 58, 60, 62, 63, 65
AMPERES = 69
STORED = 40  # registers below it are kept without power
ERRORS = {"voltage": 1, "encoder": 2, "over temperature": 4, "over current": 8, "angle": 16, "overload": 32}
LEAST_SUPPLY = 4.0  # V: its sheet's
AMPERE = 6.5e-3  # A: a step of its current
TENTH = 0.1  # of a V, a step of its voltage
# At rest six of them told 25 to 33 deg C (a published dump of their registers). 1.5 kg at 10 cm warmed one by 15 K in
# 10 min (TheRobotStudio/SO-ARM100, issue 134): at 1.44 N m/A and 2 ohm, 2.1 W. Of its 55 g, 0.5 J/(g K): chosen.
AMBIENT, CAPACITY, PER_WATT = 30.0, 27.5, 7.5  # deg C, J/K, K/W


class Sts3215:
    """number: its id. volts: what it is made for. centre: rad, of the output where its encoder is in the middle.
    supply: V, now. ohm: of its motor. cut: its wire is off, its supply is not. supplied: its own branch of the supply
    is whole. late: s that answers take more. phase: s of its own millisecond. temperature: deg C."""

    def __init__(self, clock: Clock, number: int, volts: float, centre: float, supply: Callable[[], float],
                 ohm: float = 2.0) -> None:
        self.clock, self.centre, self.supply, self.ohm = clock, centre, supply, ohm
        self.stored = bytearray(STORED)
        for at, value, size in ((0, 3, 1), (1, 10, 1), (MODEL, 777, 2), (ID, number, 1), (DELAY, 250, 1), (8, 1, 1),
                                (MOST, 4095, 2), (HOTTEST, 70, 1), (HIGHEST, round(volts * 12), 1), (LOWEST, 40, 1),
                                (TORQUE, 1000, 2), (SWITCH, 44, 1), (START, 16, 2), (CURRENT, 500, 2), (FACTOR, 1, 1),
                                (PROTECTIVE, 20, 1), (PATIENCE, 200, 1), (OVERLOAD, 80, 1), (LONGEST, 200, 1)):
            self.stored[at:at + size] = value.to_bytes(size, "little")
        self.phase = number * 0.137e-3 % PERIOD
        self.cut, self.late, self.supplied, self.powered = False, 0.0, True, False
        self.catch_up: Callable[[], None] = lambda: None
        self.temperature, self.latched = AMBIENT, 0
        self._angle = self._velocity = self._current = self._at = 0.0
        self._waits: tuple[float, int] | None = None  # s when a duty is taken over, and it
        self._since: dict[str, float] = {}  # of what it bears for a while: s when it began
        self.power_up(centre)

    # -- registers ----------------------------------------------------------

    def get(self, at: int, size: int = 1) -> int:
        return int.from_bytes(self.registers[at:at + size], "little")

    def put(self, at: int, value: int, size: int = 1) -> None:
        self.registers[at:at + size] = value.to_bytes(size, "little")

    def _write(self, at: int, data: bytes) -> None:
        """With the lock open what is written to the settings is stored, else it is forgotten without power."""
        for place, byte in enumerate(data, at):
            if place < POSITION:
                self.registers[place] = byte
                if place < STORED and not self.registers[LOCK]:
                    self.stored[place] = byte
        if at <= ENABLE < at + len(data) and not self.registers[ENABLE]:
            self.latched = 0
        if at <= DUTY < at + len(data):
            self._waits = (self._boundary(self.clock.seconds) + PERIOD, self.get(DUTY, 2))

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

    def told(self, packet: bytes) -> None:
        """SYNC WRITE, the one packet of the board's that is no question."""
        if packet[:2] != b"\xff\xff" or ~sum(packet[2:-1]) & 0xFF != packet[-1] or packet[4] != 0x83:
            return
        at, size = packet[5], packet[6]
        for k in range(7, len(packet) - 1, size + 1):
            if packet[k] == self.id:
                self.catch_up()
                self._write(at, packet[k + 1:k + 1 + size])

    def answer(self, register: int, size: int) -> bytes:
        self.catch_up()
        self._measure()
        body = bytes([self.id, size + 2, self.errors]) + bytes(self.registers[register:register + size])
        return b"\xff\xff" + body + bytes([~sum(body) & 0xFF])

    def _boundary(self, now: float) -> float:
        """When its own millisecond last began."""
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
        share = self._share()
        self.put(LOAD, round(1000 * abs(share)) | (0x400 if share < 0.0 else 0), 2)
        self.put(VOLTAGE, min(round(self.supply() / TENTH), 255))
        self.put(WARMTH, min(max(round(self.temperature), 0), 255))
        self.put(AMPERES, min(round(abs(self._current) / AMPERE), 0x7FFF), 2)
        self.registers[STATUS] = self.errors

    # -- the motor ----------------------------------------------------------

    def power_up(self, angle: float) -> None:
        """Its settings are those that are stored, its motor is off."""
        self.registers = bytearray(87)
        self.registers[:STORED] = self.stored
        self.put(LIMIT, int.from_bytes(self.stored[TORQUE:TORQUE + 2], "little"), 2)
        self._angle, self._velocity, self._duty, self._waits, self.latched = angle, 0.0, 0, None, 0
        self._since.clear()
        self.powered = True

    def power_off(self) -> None:
        self.powered = False

    @property
    def errors(self) -> int:
        """As it tells them: what it has let go for, and what is out of its limits now."""
        volts = self.supply() / TENTH
        out = not self.registers[LOWEST] <= volts <= self.registers[HIGHEST]
        hot = self.temperature > self.registers[HOTTEST]
        return self.latched | ERRORS["voltage"] * out | ERRORS["over temperature"] * hot

    @property
    def driving(self) -> bool:
        """Whether its bridge is on."""
        return self.powered and self.registers[ENABLE] == 1

    @property
    def turning(self) -> bool:
        """Whether it gives its motor a voltage."""
        return self._share() != 0.0

    def _share(self) -> float:
        """Of the supply, at the motor. Bits beyond the direction's make the size larger (LeRobot, pull request
        4547)."""
        if not self.driving or self.registers[MODE] != 2:
            return 0.0
        size = min(self._duty & ~0x400, 1000, self.get(LIMIT, 2))
        if self.latched & ERRORS["overload"]:
            size = min(size, 10 * self.registers[PROTECTIVE])
        if size < self.get(START, 2):
            return 0.0
        return size / (-1000.0 if self._duty & 0x400 else 1000.0)

    def terminal(self, now: float, angle: float, velocity: float, current: float = 0.0) -> float:
        """V at its motor from now on, NaN where it floats. current: A, that it takes."""
        self._warm(now - self._at)
        self._angle, self._velocity, self._current, self._at = angle, velocity, current, now
        if self._waits is not None and now >= self._waits[0]:
            self._duty, self._waits = self._waits[1], None
        if not self.powered:
            return math.nan
        self._guard(now)
        return self._share() * self.supply() if self.driving else math.nan

    def _warm(self, seconds: float) -> None:
        """Let its winding's loss heat all of it."""
        end = AMBIENT + PER_WATT * self.ohm * self._current**2
        self.temperature += (end - self.temperature) * -math.expm1(-max(seconds, 0.0) / (CAPACITY * PER_WATT))

    def _guard(self, now: float) -> None:
        """Its own protections."""
        r = self.registers
        for name in ("voltage", "over temperature"):
            if self.errors & ERRORS[name] & r[SWITCH]:
                self.fail(ERRORS[name])
        strains, takes = abs(self._share()) >= 0.01 * r[OVERLOAD], abs(self._current) > AMPERE * self.get(CURRENT, 2)
        if self._lasts(now, "overload", strains, 0.01 * r[PATIENCE]) and r[SWITCH] & ERRORS["overload"]:
            self.latched |= ERRORS["overload"]
        if self._lasts(now, "over current", takes, 0.01 * r[LONGEST]) and r[SWITCH] & ERRORS["over current"]:
            self.fail(ERRORS["over current"])

    def _lasts(self, now: float, name: str, holds: bool, seconds: float) -> bool:
        """Whether something has been so for longer."""
        if not holds:
            self._since.pop(name, None)
            return False
        return now - self._since.setdefault(name, now) > seconds

    def fail(self, code: int) -> None:
        """One of its own errors, for which it lets go."""
        self.latched |= code
        self.registers[ENABLE] = 0

    @property
    def hot_code(self) -> int:
        return ERRORS["over temperature"]
