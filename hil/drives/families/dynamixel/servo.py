"""ROBOTIS' Dynamixel X: protocol 2.0, control table and rules of the e-manual (github.com/ROBOTIS-GIT/emanual,
docs/en/dxl/protocol2.md, docs/en/dxl/x/*.md, _includes/en/dxl/control_table_*.md); the answer to a fast sync read as
pollen-robotics/rustypot pull request 122 has it: not stuffed, each part with the CRC of all before it.

Not published, and chosen: it reads its encoder and its goals once a millisecond; its current follows with half a
millisecond, and not at all until then; an expired watchdog takes the current or the duty away; a duty of zero shorts
the motor; it is overloaded after 2 s with 0.9 of its stall current; it is away for 0.1 s after a reboot; 0.5 J/(g K)
and 7.5 K/W for its winding's heat; switched on in position mode it stays where it is. Reg write, bulk read and indirect
addresses are not modelled: they are instruction and access errors. Nor are profiles, and position mode (3) is of those
models alone that come with its P gain and no other.

A P gain is divided by 128 (e-manual). That it makes steps of duty of counts is not written there. By it an XM540 has
49 N m/rad at 12 V; menagerie's aloha.xml has 43 at ALOHA's waist, by identification; Rhoban/bam measured 0.43 of it on
an XL330 (bam/xl330/actuator.py).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from femtorque.hil.bus.clock import Clock
from femtorque.hil.bus.half_duplex import Question

PING, READ, WRITE, REBOOT, STATUS, SYNC_READ, SYNC_WRITE, FAST_SYNC_READ = 1, 2, 3, 8, 0x55, 0x82, 0x83, 0x8A
EVERYBODY, HEAD = 0xFE, b"\xff\xff\xfd\x00"
INSTRUCTION_ERROR, RANGE_ERROR, LENGTH_ERROR, LIMIT_ERROR, ACCESS_ERROR, ALERT = 2, 4, 5, 6, 7, 0x80
MODEL, FIRMWARE, ID, BAUD, DELAY, DRIVE_MODE, MODE, HOMING, HOTTEST, HIGHEST, LOWEST, PWM_LIMIT, CURRENT_LIMIT = (
    0, 6, 7, 8, 9, 10, 11, 20, 31, 32, 34, 36, 38)
SHUTDOWN, ENABLE, LEVEL, HARDWARE, P_GAIN, WATCHDOG, GOAL_PWM, GOAL_CURRENT, GOAL_VELOCITY, GOAL_POSITION = (
    63, 64, 68, 70, 84, 98, 100, 102, 104, 116)
TICK, PWM, CURRENT, VELOCITY, POSITION, VOLTAGE, WARMTH = 120, 124, 126, 128, 132, 144, 146
STORED, REGISTERS = 64, 148  # below the first they are stored without power
READ_ONLY = {*range(7), 70, *range(120, 148)}
RATES = (9_600, 57_600, 115_200, 1_000_000, 2_000_000, 3_000_000, 4_000_000, 4_500_000)
ERRORS = {"voltage": 1, "over temperature": 4, "encoder": 8, "electrical shock": 16, "overload": 32}
BY_CURRENT, BY_POSITION, BY_DUTY = 0, 3, 16  # modes
TURN, FULL, RPM = 4096, 885, 0.229  # counts; of a duty; a step of velocity
PER_COUNT = 1.0 / 128.0  # steps of duty, of a P gain of 1
EXPIRED, UNIT = 255, 0.02  # of the watchdog: its value, and s of a step
PERIOD = 1e-3  # s
TURNAROUND, GAP = 20e-6, 3e-6  # s beside its return delay; between parts of one answer
LAG, ELECTRICAL = 0.5e-3, 1e-3  # s: of its current, and L/R of its motor
OVERLOADED, PATIENCE = 0.9, 2.0  # of the stall current; s
BOOT = 0.1  # s
AMBIENT, PER_WATT, PER_GRAM = 25.0, 7.5, 0.5  # deg C, K/W, J/(g K)
SMOOTH = 5e-3  # s of its velocity


@dataclass(frozen=True)
class Model:
    """number: as register 0 has it. volts: recommended; highest, lowest: limits as it comes, 0.1 V. stall N m and
    ampere A there. step: A of one of its current, 0: it measures none; most: of them. grams. hottest: deg C. p_gain: of
    position mode; 0: that is not modelled."""

    number: int
    volts: float
    stall: float
    ampere: float
    step: float
    most: int
    grams: float
    highest: int
    lowest: int
    hottest: int = 80
    shutdown: int = 52
    p_gain: int = 0


MODELS = {
    "xm430-w350": Model(1020, 12.0, 4.1, 2.3, 2.69e-3, 1193, 82.0, 160, 95, p_gain=800),
    "xm430-w210": Model(1030, 12.0, 3.0, 2.3, 2.69e-3, 1193, 82.0, 160, 95, p_gain=800),
    "xm540-w270": Model(1120, 12.0, 10.6, 4.4, 2.69e-3, 2047, 165.0, 160, 95, p_gain=800),
    "xm540-w150": Model(1130, 12.0, 7.3, 4.4, 2.69e-3, 2047, 165.0, 160, 95, p_gain=800),
    "xh430-w350": Model(1000, 12.0, 3.4, 1.3, 2.69e-3, 648, 82.0, 160, 95, p_gain=800),
    "xl330-m288": Model(1200, 5.0, 0.52, 1.47, 1e-3, 1750, 18.0, 70, 35, 70, 53, 400),
    "xl330-m077": Model(1190, 5.0, 0.215, 1.47, 1e-3, 1750, 18.0, 70, 35, 70, 53, 400),
    "xl430-w250": Model(1060, 11.1, 1.4, 1.3, 0.0, 0, 57.0, 140, 60, 72),
    "xc430-w150": Model(1070, 12.0, 1.6, 1.4, 0.0, 0, 65.0, 140, 60),
    "xc430-w240": Model(1080, 12.0, 1.9, 1.4, 0.0, 0, 65.0, 140, 60),
}


def check_sum(data: bytes) -> int:
    """Remainder of a division by x^16 + x^15 + x^2 + 1, as a long division of the whole number."""
    number = int.from_bytes(data, "big") << 16
    for at in range(number.bit_length() - 1, 15, -1):
        if number >> at & 1:
            number ^= 0x18005 << at - 16
    return number


def sealed(data: bytes) -> bytes:
    return data + check_sum(data).to_bytes(2, "little")


def stuffed(body: bytes) -> bytes:
    return body.replace(HEAD[:3], HEAD[:3] + b"\xfd")


def split(burst: bytes) -> Iterator[bytes]:
    """The packets of a burst; what begins as none is left out."""
    while len(burst := burst[max(burst.find(HEAD), 0):]) >= 7 and burst.startswith(HEAD):
        size = 7 + int.from_bytes(burst[5:7], "little")
        if size > len(burst):
            return
        yield burst[:size]
        burst = burst[size:]


@dataclass(frozen=True)
class Instruction:
    """Contents of a packet to servos, without what was stuffed in."""

    id: int
    kind: int
    parameters: bytes

    @property
    def register(self) -> int:
        return int.from_bytes(self.parameters[:2], "little")

    @property
    def size(self) -> int:
        return int.from_bytes(self.parameters[2:4], "little")


def parsed(packet: bytes) -> Instruction | None:
    """None for what is no whole packet with a right check sum, or an answer."""
    if len(packet) < 10 or not packet.startswith(HEAD) or int.from_bytes(packet[5:7], "little") != len(packet) - 7:
        return None
    if sealed(packet[:-2]) != packet or packet[7] == STATUS:
        return None
    body = packet[7:-2].replace(HEAD[:3] + b"\xfd", HEAD[:3])
    return Instruction(packet[4], body[0], body[1:])


def question(packet: bytes) -> Question | None:
    """A packet that servos answer; a write to one of them too, which has an answer of its own."""
    found = parsed(packet)
    if found is None or found.kind == SYNC_WRITE:
        return None
    if found.kind in (SYNC_READ, FAST_SYNC_READ):
        fast = found.kind == FAST_SYNC_READ
        return Question(tuple(found.parameters[4:]), found.size + (4 if fast else 11), GAP if fast else None)
    if found.id == EVERYBODY:
        return Question(tuple(range(253)), 14) if found.kind == PING else None
    return Question((found.id,), 11 + (found.size if found.kind == READ else 3))


class Dynamixel:
    """number: its id. bitrate: that it is set to, and of its wire. centre: rad of the output where it has 2048 counts.
    supply: V, now. ohm: of its motor. cut: its wire is off, its supply is not. supplied: its own branch of the supply
    is whole. late: s by which answers are late. phase: s of its own millisecond. temperature: deg C."""

    in_c: tuple[int, int, int] | None = None

    def __init__(self, clock: Clock, number: int, model: Model, bitrate: float, centre: float,
                 supply: Callable[[], float], ohm: float = 5.0) -> None:
        self.clock, self.model, self.bitrate, self.centre, self.supply, self.ohm = (
            clock, model, bitrate, centre, supply, ohm)
        self.least_supply = 0.06 * model.lowest  # V: 0.6 of the lowest voltage as it comes; chosen
        self.stored, self.registers = bytearray(STORED), bytearray(REGISTERS)
        for at, value, size in (
                (MODEL, model.number, 2), (FIRMWARE, 47, 1), (ID, number, 1), (BAUD, RATES.index(int(bitrate)), 1),
                (DELAY, 250, 1), (MODE, 3, 1), (12, 255, 1), (13, 2, 1), (HOTTEST, model.hottest, 1),
                (HIGHEST, model.highest, 2), (LOWEST, model.lowest, 2), (PWM_LIMIT, FULL, 2),
                (CURRENT_LIMIT, model.most, 2), (SHUTDOWN, model.shutdown, 1)):
            self.stored[at:at + size] = value.to_bytes(size, "little")
        self.phase = number * 0.137e-3 % PERIOD
        self.cut, self.late, self.supplied, self.powered, self.volts = False, 0.0, True, False, 0.0
        self.temperature, self.driven = AMBIENT, -math.inf
        self.catch_up: Callable[[], None] = lambda: None
        self.on_change: Callable[[], None] = lambda: None
        self._angle = self._velocity = self._seen = self._current = self._integral = self._at = 0.0
        self.ready = self._fed = self._wanted = 0.0  # ready: s from which it is on the wire
        self._overload_since: float | None = None
        self.power_up(centre)

    # -- registers ----------------------------------------------------------

    def get(self, at: int, size: int = 1, signed: bool = False) -> int:
        return int.from_bytes(self.registers[at:at + size], "little", signed=signed)

    def put(self, at: int, value: int, size: int = 1) -> None:
        self.registers[at:at + size] = (value & (1 << 8 * size) - 1).to_bytes(size, "little")

    @property
    def on(self) -> bool:
        return self.registers[ENABLE] == 1

    def _write(self, at: int, data: bytes) -> int:
        """Write a register. Returns the error of the answer."""
        places = range(at, at + len(data))
        if places.stop > REGISTERS or READ_ONLY.intersection(places) or self.on and at < STORED:
            return ACCESS_ERROR
        value = int.from_bytes(data, "little", signed=True)
        if GOAL_PWM <= at <= GOAL_POSITION and self.registers[WATCHDOG] == EXPIRED:
            return RANGE_ERROR
        if at == WATCHDOG and not 0 <= data[0] <= 127:
            return RANGE_ERROR
        if at == WATCHDOG and data[0] and self.registers[WATCHDOG] == EXPIRED:
            return RANGE_ERROR
        most = {GOAL_CURRENT: self.get(CURRENT_LIMIT, 2), GOAL_PWM: self.get(PWM_LIMIT, 2)}.get(at)
        if most is not None and (abs(value) > most or len(data) != 2):
            return LIMIT_ERROR
        if at == CURRENT_LIMIT and not 0 <= value <= self.model.most:
            return LIMIT_ERROR
        if at == GOAL_POSITION and self.registers[MODE] == BY_POSITION and not 0 <= value < TURN:
            return LIMIT_ERROR
        if at == ENABLE and data[0] and self.registers[HARDWARE] & self.registers[SHUTDOWN]:
            return ACCESS_ERROR  # only a reboot ends a shutdown
        self.registers[at:at + len(data)] = data
        if at < STORED:
            self.stored[at:at + len(data)] = data
        if at == MODE:
            self._reset_goals()
        if at in (MODE, ENABLE):
            self._turns()
        if at == ENABLE:
            self._fed, self._integral = self.clock.seconds, 0.0
            self.put(GOAL_POSITION, self._counts(self._angle - self._zero), 4)
        return 0

    def _reset_goals(self) -> None:
        """Another mode sets its goals to their limits, and its gains as they come."""
        self.put(P_GAIN, self.model.p_gain, 2)
        self.put(GOAL_PWM, self.get(PWM_LIMIT, 2), 2)
        self.put(GOAL_CURRENT, self.get(CURRENT_LIMIT, 2), 2)

    def _turns(self) -> None:
        """Forget turns."""
        self._zero = math.floor((self._angle - self.centre) / math.tau + 0.5) * math.tau + self.centre

    # -- the wire -----------------------------------------------------------

    @property
    def id(self) -> int:
        return self.registers[ID]

    @property
    def listening(self) -> bool:
        booted = self.clock.seconds >= self.ready
        return self.powered and booted and not self.cut and RATES[min(self.registers[BAUD], 7)] == self.bitrate

    @property
    def delay(self) -> float:
        return 2e-6 * self.registers[DELAY] + TURNAROUND + self.late

    @property
    def alert(self) -> int:
        return ALERT if self.registers[HARDWARE] else 0

    def _status(self, error: int, data: bytes = b"") -> bytes:
        body = stuffed(bytes([STATUS, error | self.alert]) + data)
        return sealed(HEAD + bytes([self.id]) + (len(body) + 2).to_bytes(2, "little") + body)

    def heard(self, packet: bytes) -> None:
        """Obey a packet to all servos that is no question."""
        found = parsed(packet)
        if found is None:
            return
        self.catch_up()
        self._fed = self.clock.seconds
        if found.kind != SYNC_WRITE:
            return
        each = found.parameters[4:]
        for k in range(0, len(each) - found.size, found.size + 1):
            if each[k] == self.id:
                self._write(found.register, each[k + 1:k + 1 + found.size])

    def answer(self, packet: bytes, before: bytes = b"") -> bytes:
        found = parsed(packet)
        assert found is not None
        self.catch_up()
        self._fed = self.clock.seconds
        if found.kind == PING:
            return self._status(0, bytes(self.registers[MODEL:MODEL + 2]) + bytes([self.registers[FIRMWARE]]))
        if found.kind in (READ, SYNC_READ):
            return self._read(found) if self.registers[LEVEL] else b""
        if found.kind == FAST_SYNC_READ:
            return self._part(found, before) if self.registers[LEVEL] and self.registers[FIRMWARE] >= 45 else b""
        error = INSTRUCTION_ERROR
        if found.kind == WRITE:
            error = self._write(found.register, found.parameters[2:])
        level = self.registers[LEVEL]
        answer = self._status(0 if found.kind == REBOOT else error) if level > 1 else b""
        if found.kind == REBOOT:
            self.power_up(self._angle)
        return answer

    def _read(self, found: Instruction) -> bytes:
        if found.register + found.size > REGISTERS:
            return self._status(ACCESS_ERROR)
        self._measure()
        return self._status(0, bytes(self.registers[found.register:found.register + found.size]))

    def _part(self, found: Instruction, before: bytes) -> bytes:
        """Its part of an answer that all make together; with the head, if it is the first."""
        self._measure()
        count = len(found.parameters) - 4
        head = b"" if before else HEAD + bytes([EVERYBODY]) + (
            (4 + found.size) * count + 1).to_bytes(2, "little") + bytes([STATUS])
        data = bytes(self.registers[found.register:found.register + found.size])
        return sealed(before + head + bytes([self.alert, self.id]) + data)[len(before):]

    def _boundary(self, now: float) -> float:
        """Time at which its own millisecond began."""
        return math.floor((now - self.phase) / PERIOD) * PERIOD + self.phase

    def _counts(self, angle: float) -> int:
        """Its position for an angle of its output, rad from the middle of its turn."""
        counts = round(angle * TURN / math.tau)
        return (-counts if self.registers[DRIVE_MODE] & 1 else counts) + TURN // 2 + self.get(HOMING, 4, signed=True)

    def _measure(self) -> None:
        age = self.clock.seconds - self._boundary(self.clock.seconds)
        self.put(POSITION, self._counts(self._angle - self._zero - age * self._velocity), 4)
        self.put(VELOCITY, round(self._seen / math.tau * 60.0 / RPM), 4)
        load = self.model.step or 1e-3 * self.model.ampere  # without a sensor: load, 0.1 %
        self.put(CURRENT, round(self._current / load), 2)
        self.put(PWM, round(FULL * self._share()), 2)
        self.put(VOLTAGE, round(10.0 * self.supply()), 2)
        self.put(WARMTH, min(max(round(self.temperature), 0), 255))
        self.put(TICK, int(1e3 * self.clock.seconds) % 32768, 2)

    # -- the motor ----------------------------------------------------------

    def power_up(self, angle: float) -> None:
        """Switch on with the stored settings and the motor off."""
        self.registers[:] = self.stored + bytes(REGISTERS - STORED)
        self.registers[LEVEL] = 2
        self._reset_goals()
        self._angle, self._velocity, self._seen, self._wanted, self._integral = angle, 0.0, 0.0, 0.0, 0.0
        self._turns()
        first, self.powered, self._overload_since = not self.powered and self.clock.seconds == 0.0, True, None
        self.ready = self.clock.seconds + (0.0 if first else BOOT)

    def power_off(self) -> None:
        self.powered = False

    def twin(self) -> Dynamixel:
        """Another servo of its number, as one comes."""
        return Dynamixel(self.clock, self.id, self.model, self.bitrate, 0.0, lambda: self.model.volts)

    @property
    def hot_code(self) -> int:
        return ERRORS["over temperature"]

    def fail(self, code: int) -> None:
        """Bring about one of its own errors, which switches it off if it is to."""
        self.registers[HARDWARE] |= code
        if code & self.registers[SHUTDOWN]:
            self.registers[ENABLE] = 0

    @property
    def driving(self) -> bool:
        return self.powered and self.on

    @property
    def turning(self) -> bool:
        return self.driving and self.driven == self._at

    def _share(self) -> float:
        """Share of the supply at its motor."""
        return self._volts_given / self.volts if self.driving and self.volts else 0.0

    _volts_given = 0.0

    def _guard(self, now: float) -> None:
        """Act by its own protections, and by its watchdog."""
        tenths, r = 10.0 * self.volts, self.registers
        if not self.get(LOWEST, 2) <= tenths <= self.get(HIGHEST, 2):
            self.fail(ERRORS["voltage"])
        if self.temperature > r[HOTTEST]:
            self.fail(ERRORS["over temperature"])
        if abs(self._current) < OVERLOADED * self.model.ampere:
            self._overload_since = None
        elif self._overload_since is None:
            self._overload_since = now
        elif now - self._overload_since > PATIENCE:
            self.fail(ERRORS["overload"])
        if self.on and 0 < r[WATCHDOG] <= 127 and now - self._fed > UNIT * r[WATCHDOG]:
            r[WATCHDOG] = EXPIRED

    def terminal(self, now: float, angle: float, velocity: float, current: float = 0.0) -> float:
        """V at its motor from now on, NaN where it floats. current: A of its motor."""
        h = min(max(now - self._at, 0.0), PERIOD)
        crossed = self._boundary(now) > self._boundary(self._at)
        if now > self._at:
            self._heat(now - self._at, current)
        self._angle, self._velocity, self._current, self._at, self.volts = angle, velocity, current, now, self.supply()
        self._seen += (velocity - self._seen) * -math.expm1(-h / SMOOTH)
        if not self.powered:
            return math.nan
        self._guard(now)
        mode = self.registers[MODE]
        if not self.on or mode not in (BY_CURRENT, BY_DUTY) and not (mode == BY_POSITION and self.model.p_gain):
            self._volts_given = 0.0
            return math.nan
        if crossed:
            self._wanted = self._asked(mode)
        wanted = 0.0 if self.registers[WATCHDOG] == EXPIRED else self._wanted
        if self.registers[DRIVE_MODE] & 1:
            wanted = -wanted
        given = self._by_current(wanted, h) if mode == BY_CURRENT else wanted / FULL * self.volts
        self._volts_given = given
        if wanted:
            self.driven = now
        return given

    def _asked(self, mode: int) -> float:
        """Steps of current or of duty that its mode asks for."""
        if mode != BY_POSITION:
            return float(self.get(GOAL_CURRENT if mode == BY_CURRENT else GOAL_PWM, 2, signed=True))
        error = self.get(GOAL_POSITION, 4, signed=True) - self._counts(self._angle - self._zero)
        most = float(self.get(GOAL_PWM, 2))
        return min(max(self.get(P_GAIN, 2) * PER_COUNT * error, -most), most)

    def _by_current(self, wanted: float, h: float) -> float:
        """V of its current's loop, within its supply."""
        most = self.volts * self.get(GOAL_PWM, 2, signed=True) / FULL
        error = wanted * self.model.step - self._current
        slope = self.ohm / LAG
        self._integral += slope * h * error
        given = slope * ELECTRICAL * error + self._integral
        if abs(given) > most:
            self._integral -= slope * h * error
        return min(max(given, -most), most)

    def _heat(self, seconds: float, current: float) -> None:
        end = AMBIENT + PER_WATT * self.ohm * current * current
        self.temperature += (end - self.temperature) * -math.expm1(-seconds / (PER_WATT * PER_GRAM * self.model.grams))
