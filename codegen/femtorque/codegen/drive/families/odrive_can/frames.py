"""Frames of ODrive's CANSimple on classic CAN.

An id consists of the drive's number and the message's number. Numbers are little endian. Positions are in turns and
torques in N m, in single precision. A remote frame with the id of a message requests this message. Sources: tables of
docs.odriverobotics.com, CAN protocol of firmware 0.6; odriverobotics/ros_odrive, can_simple_messages.hpp and
odrive_enums.h."""

import struct

from femtorque.codegen.drive.can import Frame
from femtorque.codegen.drive.family import DriveType, Errors, Register, Target

GET_VERSION, GET_ESTIMATES, SET_TORQUE = 0x00, 0x09, 0x0E
TURN = 1 << 20  # counts of one turn; ODrive itself reports positions in turns
BEAT = 0.01  # time between heartbeats, s; the owner must configure this period in the drive

VERSION = Register("firmware", 0x100 | GET_VERSION, "I")  # a byte each: major, minor, revision; 1: another protocol
BITS = {0: "initializing", 1: "system level", 2: "timing", 3: "missing estimate", 4: "bad configuration",
        5: "motor driver", 6: "missing input", 8: "over-voltage", 9: "under-voltage", 10: "over-current of the supply",
        11: "over-current back into the supply", 12: "current limit violated", 13: "motor over temperature",
        14: "inverter over temperature", 15: "velocity limit violated", 16: "position limit violated",
        24: "watchdog expired", 25: "e-stop", 26: "spinout", 27: "brake resistor disarmed",
        28: "thermistor disconnected", 30: "calibration"}
ERRORS = Errors({bit + 1: name for bit, name in BITS.items()})  # an error's number is its lowest set bit plus 1


def identifier(id: int, message: int) -> int:
    return id << 5 | message


def poll(id: int) -> Frame:
    return Frame(identifier(id, GET_ESTIMATES), bytes(8), remote=True)


def answer_id(id: int) -> int:
    """Return the id of messages with a drive's position. Heartbeats have another message number in their id."""
    return identifier(id, GET_ESTIMATES)


def command(drive: DriveType, id: int, target: Target, fd: bool = False) -> Frame:
    """Return a torque command, clamped to the drive's range; NaN gives 0. fd: unused, as ODrives have no CAN FD."""
    torque = target.torque if target.torque == target.torque else 0.0
    return Frame(identifier(id, SET_TORQUE), struct.pack("<f", min(max(torque, -drive.torque), drive.torque)))
