"""moteus (mjbots/moteus of June 2026: docs/protocol/can.md and registers.md; fw/moteus_controller.cc, bldc_servo*.h).

A frame is a sequence of subframes. The drive executes the writes in their order. One frame answers all reads, with the
values before the writes. A write of the mode starts a new command, which takes effect at the end of the frame. Writes
of other registers without a mode have no effect. Between stopped and position mode the drive measures the offsets of
its current sensors. A command is valid until its time-out. Mode 11 follows and brakes until the drive is stopped, as
servo.timeout_mode 12 specifies. A fault also lasts until a stop.

The limits of the drive's trajectory planner are not modelled. A command that does not disable these limits with
negative values is refused here, since servo.default_accel_limit is 50 turns/s^2 at the factory. The other modes are
also not modelled.

Registers and commands are in C (moteus.c). The C calls Python for the diagnostic stream and for the calibration.
"""

import math
import struct

from femtorque.hil.bus import Frame, Wire
from femtorque.hil.clock import Member
from femtorque.hil.drives.drive import Drive
from femtorque.hil.drives.families.moteus.maker import MAKER
from femtorque.hil.drives.families.moteus.stream import Stream
from femtorque.hil.drives.fields import Ranges
from femtorque.hil.drives.motor import Command, Motor, Traits

TURN = 2.0 * math.pi
NOTHING, BROADCAST = 0x50, 0x7F
STOPPED, FAULT, CALIBRATING, POSITION, TIMEOUT = 0, 1, 3, 10, 11
ZERO_VELOCITY = 12  # factory setting of servo.timeout_mode; other settings are not modelled
FAULTS = {"calibration": 32, "motor driver": 33, "over voltage": 34, "encoder": 35, "not configured": 36,
          "over temperature": 38, "under voltage": 40, "config changed": 41, "position invalid": 43}
OUTSIDE = 39
# pwm_rate_hz is 30000 except for x1; current loop: moteus_tool --cal-bw-hz, 200; velocity: pll_filter_hz, 400. A
# position setpoint advances with its velocity in each period (bldc_servo_position.h, UpdateCommand).
TRAITS = Traits(rate=30e3, bandwidth=200.0, window=2.0 / (TURN * 400.0), moves_on=True)
CALIBRATION = 256 / 30e3  # duration of kCalibrateCount periods of the control loop, s
DEFAULT_TIMEOUT = MAKER.limit.number
TIMEOUT_TORQUE = 5.0  # the drive's setting servo.timeout_max_torque_Nm, N m
VOLTS = 24.0
MODEL, FIRMWARE, MAP = 0x0D0412, 0x010100, 5
SERIAL = (0x004A0031, 0x5052500B, 0x20383443)  # invented
UUID = tuple(range(0xA0, 0xB0))  # invented

# For each register: the unit per step of its value with 8, 16 and 32 bits.
_PLACE, _SPEED, _SHARE = (0.01, 1e-4, 1e-5), (0.1, 2.5e-4, 1e-5), (1 / 127, 1 / 32767, 1 / 2147483647)
_TORQUE, _TIME, _TENTH = (0.5, 0.01, 0.001), (0.01, 0.001, 1e-6), (1.0, 0.1, 0.001)
_STEPS = {0x001: _PLACE, 0x002: _SPEED, 0x003: _TORQUE, 0x004: _TENTH, 0x00A: _TENTH, 0x00D: (0.5, 0.1, 0.001),
          0x00E: _TENTH, 0x020: _PLACE, 0x021: _SPEED, 0x022: _TORQUE, 0x023: _SHARE, 0x024: _SHARE, 0x025: _TORQUE,
          0x026: _PLACE, 0x027: _TIME, 0x028: _SPEED, 0x029: (0.05, 0.001, 1e-5)}

# Factory settings (fw/bldc_servo_structs.h, motor_position.h). The settings of a calibration are chosen: an encoder on
# the board for the rotor, an encoder at the output, a motor of 14 poles, and a gear of 6:1.
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
    "servo.fault_position_error": math.nan, "servo.fault_velocity_error": math.nan,
    "servo.default_timeout_s": DEFAULT_TIMEOUT, "servo.timeout_max_torque_Nm": TIMEOUT_TORQUE,
    "servo.timeout_mode": float(ZERO_VELOCITY), "servo.max_current_A": 100.0, "servo.max_velocity": 500.0}


class Moteus(Drive):
    """A moteus. home: its position reference, 2 with an encoder at its output. version: of its register map."""

    kind, maker = "moteus", MAKER
    hot_code = FAULTS["over temperature"]
    mode, fault = Member(int, "own"), Member(int, "own")
    home, version = Member(int, "own"), Member(int, "own")

    def __init__(self, wire: Wire, number: int, ranges: Ranges, bitrate: float = 1e6,
                 data_bitrate: float | None = 5e6) -> None:
        super().__init__(wire, number, Motor(ranges.torque, TRAITS), ranges, bitrate, data_bitrate)
        self._reset()
        self.home, self.version, self._ready = 2, MAP, 0.0
        for register, value in {
            **dict.fromkeys((0x000, 0x00B, 0x00C, 0x00F, 0x102, *_STEPS), 0.0), 0x00D: VOLTS, 0x100: MODEL,
            0x101: FIRMWARE, 0x110: number, **{0x120 + k: word for k, word in enumerate(SERIAL)},
            **{0x150 + k: int.from_bytes(UUID[4 * k:4 * k + 4], "little", signed=True) for k in range(4)},
            0x158: 1}.items():
            self.own.registers[register], self.own.steps[register] = value, _STEPS.get(register, (1.0, 1.0, 1.0))
        self.stream = Stream(
            {"firmware": (("version", "I", (FIRMWARE,)), ("serial_number", "I", SERIAL), ("model", "I", (MODEL,)),
                          ("family", "B", (0,)), ("hwrev", "B", (8,))),
             "git": (("hash", "B", (0x5A,) * 20), ("dirty", "?", (0,)), ("timestamp", "Q", (1_780_000_000,)))},
            {"id.id": float(number), **_COMES_WITH, "servo.pid_position.kp": ranges.kp * TURN,
             "servo.pid_position.kd": ranges.kd * TURN,
             "servopos.position_min": math.nan, "servopos.position_max": math.nan,
             **{f"uuid.uuid.{k}": float(byte) for k, byte in enumerate(UUID)}})
        self._configure()

    # -- frames -------------------------------------------------------------

    @property
    def filters(self) -> tuple[tuple[int, int], ...]:
        return (self.id, 0xFF), (BROADCAST, 0xFF)

    def handle(self, frame: Frame) -> None:
        """Handle the bytes of a frame that C leaves to Python."""
        own, ffi = self.own, self._parts.ffi
        if own.asks == self._lib.MOTEUS_CALIBRATE:
            self.mode, self._ready = CALIBRATING, self.wire.clock.seconds + CALIBRATION
            self.wire.clock.after(CALIBRATION, self._begin)
        elif own.asks == self._lib.MOTEUS_TAKE:
            self.stream.take(frame.data[own.at:][:own.size])
        else:
            said = self.stream.give(min(own.size, len(own.answer) - own.used - 1))
            ffi.memmove(own.answer + own.used, bytes([len(said)]) + said, len(said) + 1)
            own.used += len(said) + 1
        self._configure()

    def _configure(self) -> None:
        """Pass to C the settings that each command needs. The diagnostic stream may have changed these settings."""
        own, settings = self.own, self.stream.settings
        own.kp, own.kd = settings["servo.pid_position.kp"] / TURN, settings["servo.pid_position.kd"] / TURN
        own.default_timeout = settings["servo.default_timeout_s"]

    # -- what it does -------------------------------------------------------

    def _begin(self) -> None:
        """Enter position mode, unless the calibration was aborted or the position is outside the drive's limits."""
        if not self.powered or self.mode != CALIBRATING or self.wire.clock.seconds < self._ready - 1e-9:
            return
        self.catch_up()
        turns, own = self.motor.position / TURN, self.stream.settings
        if turns < own["servopos.position_min"] or turns > own["servopos.position_max"]:
            self.fail(OUTSIDE)
            return
        self.mode = POSITION
        self._lib.moteus_follow(self.own)

    @property
    def timeout(self) -> float:
        return float(self._lib.moteus_timeout(self.own))

    def left_alone(self) -> None:
        """Brake with a fraction of kd from the last command."""
        self.mode, self.motor.active = TIMEOUT, True
        kd = self.own.command[5] * self.stream.settings["servo.pid_position.kd"] / TURN
        self.motor.limit = min(TIMEOUT_TORQUE, self.ranges.torque)
        self.motor.command = Command(kd=kd)

    @property
    def brakes_alone(self) -> bool:
        return self.powered and self.mode == TIMEOUT

    def fail(self, code: int) -> None:
        """Cause a fault. In the stopped state the drive cannot have a fault."""
        if self.mode != STOPPED:
            self.mode, self.fault, self.commanded = FAULT, code, None
        self._lib.moteus_let_go(self.own)

    def rescale(self, share: float) -> None:
        """Report a different version of the register map. Registers have no range that could be wrong."""
        self.version = MAP - 1

    board = 0x77  # sender number in the board's frames (docs/drives.md)

    def report(self, data: bytes) -> Frame:
        turns = int.from_bytes(data[:4], "little", signed=True)
        body = bytes([0x21, 0x00, POSITION, 0x29, 0x01]) + struct.pack("<i", turns) + bytes([0x22, 0x0E, 25, 0])
        number = self.id << 8 | self.board
        return Frame(number, body.ljust(16, bytes([NOTHING])), number > 0x7FF, fd=True, fast=self.fast is not None)

    def power_up(self, angle: float) -> None:
        super().power_up(angle)
        self._reset()

    def _reset(self) -> None:
        self._lib.moteus_reset(self.own)
        self.mode = int(MAKER.mode.number)
