"""moteus (mjbots/moteus of June 2026: docs/protocol/can.md and registers.md; fw/moteus_controller.cc, bldc_servo*.h).

A frame is a row of subframes: writes are done in their order, reads are answered in one frame, with what was known
before. Writing the mode begins a command anew, which is carried out once the frame is over; other registers alone do
nothing. Between stopped and position mode the currents' offsets are measured. A command holds for its time-out; then
mode 11 brakes, as servo.timeout_mode 12 has it, until a stop. Faults last until a stop, too.

Not modelled: limits of its own planning, by which a command may come slowly: commands that do not switch them off
(negative limits) are refused here, as servo.default_accel_limit is 50 turns/s^2 as it comes. The other modes.
"""

from __future__ import annotations

import math
import struct

from femtorque.hil.bus.frame import SIZES, Frame
from femtorque.hil.bus.wire import Wire
from femtorque.hil.drives.drive import Drive
from femtorque.hil.drives.families.moteus.stream import Stream
from femtorque.hil.drives.fields import Ranges
from femtorque.hil.drives.motor import Command, Motor, Traits

TURN = 2.0 * math.pi
NOTHING, BROADCAST, WANTS_ANSWER = 0x50, 0x7F, 0x80
STOPPED, FAULT, CALIBRATING, POSITION, TIMEOUT = 0, 1, 3, 10, 11
ZERO_VELOCITY = 12  # the one servo.timeout_mode here, as it comes
FAULTS = {"calibration": 32, "motor driver": 33, "over voltage": 34, "encoder": 35, "not configured": 36,
          "over temperature": 38, "under voltage": 40, "config changed": 41, "position invalid": 43}
OUTSIDE = 39
# pwm_rate_hz 30000 but for x1; current loop: moteus_tool --cal-bw-hz, 200; velocity: pll_filter_hz, 400.
# A target moves on with its velocity in each period: bldc_servo_position.h, UpdateCommand.
TRAITS = Traits(rate=30e3, bandwidth=200.0, window=2.0 / (TURN * 400.0), moves_on=True)
CALIBRATION = 256 / 30e3  # s: kCalibrateCount periods of the control loop
DEFAULT_TIMEOUT, TIMEOUT_TORQUE = 0.1, 5.0  # s, N m: servo.default_timeout_s, servo.timeout_max_torque_Nm
VOLTS = 24.0
MODEL, FIRMWARE, MAP = 0x0D0412, 0x010100, 5
SERIAL = (0x004A0031, 0x5052500B, 0x20383443)  # invented
UUID = tuple(range(0xA0, 0xB0))  # invented
UNKNOWN = 1  # error of a register that is none

# By registers: what a step of 8, 16 and 32 bits is, of quantities in the registers' own units.
_PLAIN, _PLACE, _SPEED = (1.0, 1.0, 1.0), (0.01, 1e-4, 1e-5), (0.1, 2.5e-4, 1e-5)
_TORQUE, _TIME, _SHARE = (0.5, 0.01, 0.001), (0.01, 0.001, 1e-6), (1 / 127, 1 / 32767, 1 / 2147483647)
_STEPS = {0x001: _PLACE, 0x002: _SPEED, 0x003: _TORQUE, 0x004: (1.0, 0.1, 0.001), 0x00A: (1.0, 0.1, 0.001),
          0x00D: (0.5, 0.1, 0.001), 0x00E: (1.0, 0.1, 0.001), 0x020: _PLACE, 0x021: _SPEED, 0x022: _TORQUE,
          0x023: _SHARE, 0x024: _SHARE, 0x025: _TORQUE, 0x026: _PLACE, 0x027: _TIME, 0x028: _SPEED,
          0x029: (0.05, 0.001, 1e-5)}
_FRESH = {0x020: 0.0, 0x021: 0.0, 0x022: 0.0, 0x023: 1.0, 0x024: 1.0, 0x025: math.nan, 0x026: math.nan, 0x027: 0.0,
          0x028: math.nan, 0x029: math.nan}
_FORMS = "bhif"


# As they come (fw/bldc_servo_structs.h, motor_position.h), but for what a calibration sets: an encoder on the board for
# the rotor and one at the output, a motor of 14 poles, a gear of 6:1; chosen.
_COMES_WITH = {
    "motor.poles": 14.0, "motor.phase_invert": 0.0, "motor.resistance_ohm": 0.05, "motor.Kv": 300.0,
    **{f"motor_position.sources.{k}.{name}": value for k in range(3) for name, value in {
        "aux_number": (1.0, 2.0, 1.0)[k], "type": (1.0, 1.0, 0.0)[k], "cpr": 16384.0, "offset": (0.0, -3021.0, 0.0)[k],
        "sign": 1.0, "reference": (0.0, 1.0, 0.0)[k]}.items()},
    "motor_position.commutation_source": 0.0, "motor_position.output.source": 0.0,
    "motor_position.output.offset": 0.0, "motor_position.output.sign": 1.0,
    "motor_position.output.reference_source": 1.0, "motor_position.rotor_to_output_ratio": 1 / 6,
    "servo.pid_position.ki": 1.0, "servo.pid_position.iratelimit": -1.0, "servo.pid_position.ilimit": 0.0,
    "servo.pid_position.max_desired_rate": 0.0, "servo.pid_position.sign": -1.0, "servo.inertia_feedforward": 0.0,
    "servo.default_velocity_limit": math.nan, "servo.default_accel_limit": 50.0, "servo.voltage_mode_control": 0.0,
    "servo.fixed_voltage_mode": 0.0, "servo.max_position_slip": math.nan, "servo.max_velocity_slip": math.nan,
    "servo.default_timeout_s": DEFAULT_TIMEOUT, "servo.timeout_max_torque_Nm": TIMEOUT_TORQUE,
    "servo.timeout_mode": float(ZERO_VELOCITY), "servo.max_current_A": 100.0, "servo.max_velocity": 500.0}


class Malformed(ValueError):
    """Bytes that are no subframe."""


class Moteus(Drive):
    """home: state of its reference, 2 as with an encoder at its output. version: of its registers."""

    def __init__(self, wire: Wire, number: int, ranges: Ranges, bitrate: float = 1e6,
                 data_bitrate: float | None = 5e6) -> None:
        super().__init__(wire, number, Motor(ranges.torque, TRAITS), ranges, bitrate, data_bitrate)
        self.mode, self.fault, self.home, self.version = STOPPED, 0, 2, MAP
        self._next: dict[int, float] | None = None
        self._written, self._ready = dict(_FRESH), 0.0
        self.stream = Stream(
            {"firmware": (("version", "I", (FIRMWARE,)), ("serial_number", "I", SERIAL), ("model", "I", (MODEL,)),
                          ("family", "B", (0,)), ("hwrev", "B", (8,))),
             "git": (("hash", "B", (0x5A,) * 20), ("dirty", "?", (0,)), ("timestamp", "Q", (1_780_000_000,)))},
            {"id.id": float(number), **_COMES_WITH, "servo.pid_position.kp": ranges.kp * TURN,
             "servo.pid_position.kd": ranges.kd * TURN,
             "servopos.position_min": math.nan, "servopos.position_max": math.nan,
             **{f"uuid.uuid.{k}": float(byte) for k, byte in enumerate(UUID)}})

    # -- frames -------------------------------------------------------------

    @property
    def filters(self) -> tuple[tuple[int, int], ...]:
        return (self.id, 0xFF), (BROADCAST, 0xFF)

    def handle(self, frame: Frame) -> Frame | None:
        source, destination = frame.id >> 8 & 0xFF, frame.id & 0xFF
        if frame.remote or frame.id > 0xFFFF or destination not in (self.id, BROADCAST):
            return None
        self._next = None
        try:
            answer = self._done(frame.data)
        except Malformed:
            return None
        if self._next is not None:
            self._carry_out(self._next)
        return self._frame(answer, source & 0x7F) if answer and source & WANTS_ANSWER else None

    def _frame(self, data: bytes, to: int) -> Frame:
        size = next(size for size in SIZES if size >= len(data))
        number = self.id << 8 | to
        return Frame(number, data.ljust(size, bytes([NOTHING])), number > 0x7FF, fd=True, fast=self.fast is not None)

    def _done(self, data: bytes) -> bytes:
        """Do the subframes one by one. Returns what answers them."""
        left, answer = _Bytes(data), b""
        while left:
            kind = left.byte()
            if kind == NOTHING:
                continue
            if kind < 0x20:
                count, number = kind & 3 or left.varuint(), 0
                number = left.varuint()
                form = _FORMS[kind >> 2 & 3]
                if kind < 0x10:
                    answer += self._write(number, form, left.unpack(form, count))
                else:
                    answer += self._read(number, form, count)
            elif kind in (0x40, 0x42):
                channel, size = left.byte(), left.varuint()
                if kind == 0x40:
                    self.stream.take(left.take(size))
                else:
                    said = self.stream.give(size)
                    answer += bytes([0x41, channel, len(said)]) + said
            else:
                raise Malformed
        return answer

    def _read(self, first: int, form: str, count: int) -> bytes:
        values = [self._value(first + k) for k in range(count)]
        unknown = next((first + k for k, value in enumerate(values) if value is None), None)
        if unknown is not None:
            return bytes([0x31]) + _varuint(unknown) + bytes([UNKNOWN])
        kind = 0x20 | _FORMS.index(form) << 2
        head = bytes([kind | count]) if count < 4 else bytes([kind]) + _varuint(count)
        return head + _varuint(first) + b"".join(
            _whole(value, first + k, form) for k, value in enumerate(values) if value is not None)

    def _write(self, first: int, form: str, values: list[float]) -> bytes:
        errors = b""
        for number, value in enumerate(values, first):
            if form != "f":
                least = -(1 << 8 * struct.calcsize(form) - 1)
                step = _STEPS.get(number, _PLAIN)[_FORMS.index(form)]
                value = math.nan if value == least and number in _STEPS else value * step
            if number == 0x000:
                self._next = {**_FRESH, 0: value}
            elif number in _FRESH:
                if self._next is not None:
                    self._next[number] = value
            else:
                errors += bytes([0x30]) + _varuint(number) + bytes([UNKNOWN])
        return errors

    def _value(self, number: int) -> float | None:
        """In the register's own unit."""
        position, velocity, torque = self.known()
        known = {0x000: self.mode, 0x001: position / TURN, 0x002: velocity / TURN, 0x003: torque, 0x004: 0.0,
                 0x00A: self.motor.temperature, 0x00B: 0, 0x00C: self.home, 0x00D: VOLTS,
                 0x00E: self.motor.temperature, 0x00F: self.fault, 0x100: MODEL, 0x101: FIRMWARE,
                 0x102: self.version, 0x110: self.id, **{0x120 + k: word for k, word in enumerate(SERIAL)},
                 **{0x150 + k: int.from_bytes(UUID[4 * k:4 * k + 4], "little", signed=True) for k in range(4)},
                 0x158: 1, **self._written}
        return known.get(number)

    # -- what it does -------------------------------------------------------

    def _carry_out(self, command: dict[int, float]) -> None:
        mode = int(command[0])
        if mode == STOPPED:
            self._let_go()
            self.mode, self.fault, self.commanded = STOPPED, 0, None
        elif mode == POSITION and self.mode in (STOPPED, CALIBRATING, POSITION):
            if not command[0x028] < 0.0 or not command[0x029] < 0.0:
                return
            self._written = {number: value for number, value in command.items() if number}
            self.feed()
            if self.mode == STOPPED:
                self.mode, self._ready = CALIBRATING, self.wire.clock.seconds + CALIBRATION
                self.wire.clock.after(CALIBRATION, self._begin)
            elif self.mode == POSITION:
                self._follow()

    def _follow(self) -> None:
        """Do what was written last."""
        w, own = self._written, self.stream.settings
        to_kp, to_kd = own["servo.pid_position.kp"] / TURN, own["servo.pid_position.kd"] / TURN
        at = self.motor.position if math.isnan(w[0x020]) else w[0x020] * TURN
        largest = self.ranges.torque if math.isnan(w[0x025]) else w[0x025]
        self.motor.limit = min(largest, self.ranges.torque)
        self.motor.active = True
        self.motor.command = Command(at, w[0x021] * TURN, w[0x023] * to_kp, w[0x024] * to_kd, w[0x022])

    def _begin(self) -> None:
        """Begin with position mode, if nothing has come between and it stands where it may."""
        if not self.powered or self.mode != CALIBRATING or self.wire.clock.seconds < self._ready - 1e-9:
            return
        self.catch_up()
        turns, own = self.motor.position / TURN, self.stream.settings
        if turns < own["servopos.position_min"] or turns > own["servopos.position_max"]:
            self.fail(OUTSIDE)
            return
        self.mode = POSITION
        self._follow()

    def _let_go(self) -> None:
        """Switch the bridge off: the supply ends the currents in some 10 us, whatever the loop's bandwidth."""
        self.motor.stop()
        self.motor.torque = 0.0

    @property
    def timeout(self) -> float:
        asked = self._written[0x027]
        return math.inf if math.isnan(asked) else asked or self.stream.settings["servo.default_timeout_s"]

    def left_alone(self) -> None:
        """Brake with the share of kd that it was given last."""
        self.mode, self.motor.active = TIMEOUT, True
        kd = self._written[0x024] * self.stream.settings["servo.pid_position.kd"] / TURN
        self.motor.limit = min(TIMEOUT_TORQUE, self.ranges.torque)
        self.motor.command = Command(kd=kd)

    @property
    def brakes_alone(self) -> bool:
        return self.powered and self.mode == TIMEOUT

    def fail(self, code: int) -> None:
        """One that is stopped has no fault."""
        if self.mode != STOPPED:
            self.mode, self.fault, self.commanded = FAULT, code, None
        self._let_go()

    @property
    def hot_code(self) -> int:
        return FAULTS["over temperature"]

    def rescale(self, share: float) -> None:
        """Registers have no range: another version of them is what can be wrong."""
        self.version = MAP - 1

    board = 0x77  # the number that it answers to, by docs/drives.md

    def report(self, data: bytes) -> Frame:
        turns = int.from_bytes(data[:4], "little", signed=True)
        body = bytes([0x21, 0x00, POSITION, 0x29, 0x01]) + struct.pack("<i", turns) + bytes([0x22, 0x0E, 25, 0])
        return self._frame(body, self.board)

    def power_up(self, angle: float) -> None:
        super().power_up(angle)
        self.mode, self.fault, self.motor.limit = STOPPED, 0, self.ranges.torque
        self._written = dict(_FRESH)


class _Bytes:
    """Rest of a frame. Raises Malformed at its end."""

    def __init__(self, data: bytes) -> None:
        self._left = data

    def __bool__(self) -> bool:
        return bool(self._left)

    def take(self, size: int) -> bytes:
        if size > len(self._left):
            raise Malformed
        out, self._left = self._left[:size], self._left[size:]
        return out

    def byte(self) -> int:
        return self.take(1)[0]

    def varuint(self) -> int:
        low = self.byte()
        return low if low < 0x80 else low & 0x7F | self.varuint() << 7

    def unpack(self, form: str, count: int) -> list[float]:
        return [float(x) for x in struct.unpack(f"<{count}{form}", self.take(count * struct.calcsize(form)))]


def _varuint(number: int) -> bytes:
    return bytes([number]) if number < 0x80 else bytes([number & 0x7F | 0x80]) + _varuint(number >> 7)


def _whole(value: float, number: int, form: str) -> bytes:
    """As the firmware rounds: cut off, held within the type, of which the least number is for none."""
    if form == "f":
        return struct.pack("<f", value)
    most = (1 << 8 * struct.calcsize(form) - 1) - 1
    scaled = value / _STEPS.get(number, _PLAIN)[_FORMS.index(form)]
    return struct.pack(f"<{form}", int(min(max(scaled, -most), most)))
