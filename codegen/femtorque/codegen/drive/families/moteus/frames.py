"""Frames of moteus controllers. A CAN FD frame consists of subframes that write, read or report registers.

Source: docs/protocol/can.md and registers.md of mjbots/moteus. An identifier is source << 8 | destination. Bit 15
requests an answer. Identifiers larger than 11 bits have 29 bits. The resolution of an integer field depends on the
field's size. In each integer format, the most negative number stands for NaN."""

import math
import struct

from femtorque.codegen.drive.can import Frame
from femtorque.codegen.drive.family import DriveType, Errors, Target

SOURCE = 0x77  # the board's id: no tool uses this id, and its identifiers need few stuffed bits
ANSWERS, PADDING, SIZE = 0x8000, b"\x50", 32  # an answer is requested; of a command, bytes
POSITION, WATCHDOG = 10, 0.02  # a mode; s
TURN = 100_000  # counts of one turn in a 32-bit position
SPEED, TORQUE = 0.00025, 0.01  # resolution of a 16-bit number: turns/s and N m
COARSE_TORQUE, SHARES, TIME = 0.5, 127, 0.01  # 8 bits: step of a torque, N m; number for 100 %; step of a time, s
NONE, UNLIMITED, NOWHERE = 0x80, 0xFF, -(1 << 31)  # NaN and a negative number in 8 bits; no position in 32 bits
REPORTED = bytes.fromhex("1100" "1901" "120e")  # reads mode; position; temperature and fault
FAULTS = Errors({
    1: "a fault that it has not named", 11: "no command in time", 32: "calibration", 33: "motor driver",
    34: "over-voltage", 35: "encoder", 36: "motor not configured", 37: "PWM overrun", 38: "over-temperature",
    39: "started outside servopos.position_min to position_max", 40: "under-voltage", 41: "configuration changed",
    42: "no commutation encoder", 43: "no output encoder", 44: "motor driver cannot be enabled",
    45: "stop position with limits", 46: "timing violation", 47: "bemf_feedforward without a limit of acceleration",
    48: "servopos limits beyond the range of position", 49: "position error", 50: "velocity error"})


def answer_id(id: int) -> int:
    """Return the id of a drive's answers to the board. An id above 0x7FF has 29 bits."""
    return id << 8 | SOURCE


def command(drive: DriveType, id: int, target: Target, fd: bool = True) -> Frame:
    """Return a command.

    Position, velocity and torque are clamped to the drive's ranges. The gains are fractions of the drive's configured
    kp and kd. The drive drops the command after WATCHDOG, and moves its target with the commanded velocity. The command
    disables the limits of the drive's trajectory planning. If kp is 0, it contains no position. The fraction of kd may
    exceed the fraction of kp. docs/protocol/registers.md forbids this, but the firmware accepts it
    (fw/bldc_servo_control.h, line 1130 of db1a762)."""
    at = _count(target.position * TURN / math.tau, drive.position * TURN / math.tau) if target.kp > 0.0 else NOWHERE
    whole = struct.pack("<BBBBBiBBhhBBBBBBBBBB", 0x01, 0x00, POSITION, 0x09, 0x20, at,
                        0x06, 0x21, _count(target.velocity / math.tau / SPEED, 32767.0),
                        _count(target.torque / TORQUE, min(drive.torque / TORQUE, 32767.0)),
                        0x00, 7, 0x23, _share(target.kp, drive.kp), _share(target.kd, drive.kd), most_torque(drive),
                        NONE, math.ceil(WATCHDOG / TIME - 1e-9), UNLIMITED, UNLIMITED)
    return Frame(ANSWERS | SOURCE << 8 | id, (whole + REPORTED).ljust(SIZE, PADDING), extended=True, fd=True)


def most_torque(drive: DriveType) -> int:
    """Return the drive's torque range, rounded up to a whole step.

    If the limit does not fit 8 bits, return NONE: the drive then uses its configured limit."""
    steps = int(drive.torque / COARSE_TORQUE + 0.999)
    return steps if steps <= SHARES else NONE


def _share(wanted: float, own: float) -> int:
    return _count(SHARES * max(wanted, 0.0) / own, SHARES)


def _count(value: float, most: float) -> int:
    """Return the value rounded to an integer and clamped to -most .. most. Halves round away from zero. NaN gives 0."""
    if value != value:
        return 0
    value = min(max(value, -most), most)
    return int(math.copysign(math.floor(abs(value) + 0.5), value))
