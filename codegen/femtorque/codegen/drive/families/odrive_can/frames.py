"""Frames of ODrive's CANSimple on classic CAN.

An id consists of the drive's number and the message's number. Numbers are little endian. Positions are in turns and
torques in N m, in single precision. A remote frame with the id of a message requests this message. Sources: tables of
docs.odriverobotics.com, CAN protocol of firmware 0.6; odriverobotics/ros_odrive, can_simple_messages.hpp and
odrive_enums.h.
"""

import math
import struct

from femtorque.codegen.drive.can import Frame
from femtorque.codegen.drive.family import DriveType, Errors, Register, State, Target

(GET_VERSION, HEARTBEAT, SET_STATE, GET_ESTIMATES, SET_MODE, SET_TORQUE,
 CLEAR_ERRORS) = 0x00, 0x01, 0x07, 0x09, 0x0B, 0x0E, 0x18
IDLE, CLOSED_LOOP = 1, 8  # states of the axis
TORQUE_CONTROL, PASSTHROUGH = 1, 1  # control mode, input mode
PROTOCOL = 2  # version of CANSimple
TURN = 1 << 20  # counts of one turn; ODrive itself reports positions in turns
BEAT = 0.01  # time between heartbeats, s; the owner must configure this period in the drive

VERSION = Register("firmware", 0x100 | GET_VERSION, "I", "a byte each: major, minor, revision; 1: another protocol")
BITS = {0: "initializing", 1: "system level", 2: "timing", 3: "missing estimate", 4: "bad configuration",
        5: "motor driver", 6: "missing input", 8: "over-voltage", 9: "under-voltage", 10: "over-current of the supply",
        11: "over-current back into the supply", 12: "current limit violated", 13: "motor over temperature",
        14: "inverter over temperature", 15: "velocity limit violated", 16: "position limit violated",
        24: "watchdog expired", 25: "e-stop", 26: "spinout", 27: "brake resistor disarmed",
        28: "thermistor disconnected", 30: "calibration"}
ERRORS = Errors({bit + 1: name for bit, name in BITS.items()})  # an error's number is its lowest set bit plus 1


def identifier(id: int, message: int) -> int:
    return id << 5 | message


def ask(id: int, message: int) -> Frame:
    return Frame(identifier(id, message), bytes(8), remote=True)


def poll(id: int) -> Frame:
    return ask(id, GET_ESTIMATES)


def answer_id(id: int) -> int:
    """Return the id of messages with a drive's position. Heartbeats have another message number in their id."""
    return identifier(id, GET_ESTIMATES)


def command(drive: DriveType, id: int, target: Target, fd: bool = False) -> Frame:
    """Return a torque command, clamped to the drive's range; NaN gives 0. fd: unused, as ODrives have no CAN FD."""
    torque = target.torque if target.torque == target.torque else 0.0
    return Frame(identifier(id, SET_TORQUE), struct.pack("<f", min(max(torque, -drive.torque), drive.torque)))


def set_state(id: int, state: int) -> Frame:
    return Frame(identifier(id, SET_STATE), struct.pack("<I", state).ljust(8, b"\0"))


def set_mode(id: int) -> Frame:
    """Return the frame that selects torque control without an input filter."""
    return Frame(identifier(id, SET_MODE), struct.pack("<II", TORQUE_CONTROL, PASSTHROUGH))


def clear_errors(id: int) -> Frame:
    return Frame(identifier(id, CLEAR_ERRORS), bytes(8))


def estimates(id: int, data: bytes) -> State:
    """Return the state that the data contain. Raise ValueError if the data contain no position."""
    if len(data) != 8:
        raise ValueError(f"{data.hex()} is no estimate")
    turns, speed = struct.unpack("<2f", data)
    if not (abs(turns) < 2047.0 and abs(speed) < math.inf):
        raise ValueError("no position")
    return State(id, turns * math.tau, speed * math.tau, 0.0)


def heartbeat(data: bytes) -> tuple[int, bool]:
    """Return a drive's error number, as in ERRORS, and True if the drive is enabled. Raise ValueError if the frame is
    no register reply."""
    if len(data) != 8:
        raise ValueError(f"{data.hex()} is no heartbeat")
    bits, state = struct.unpack("<IB3x", data)
    return (bits & -bits).bit_length(), state == CLOSED_LOOP


def version(data: bytes) -> int:
    """Return the value of the setting VERSION."""
    protocol, _, _, _, major, minor, revision, _ = data
    return (major << 16 | minor << 8 | revision or 1) if protocol == PROTOCOL else 1
