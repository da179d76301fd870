"""Frames of Dynamixel X servos on one half-duplex bus, protocol 2.0.

A servo accepts a current, a duty if it has no current sensor, or a goal. A packet is FF FF FD 00, id, length,
instruction, parameters, CRC-16. Numbers are little endian. After FF FF FD within a packet, the sender inserts another
FD. Source: ROBOTIS' e-manual (Protocol 2.0, control tables of the models), dynamixel-sdk 4.1.0. The answer to a fast
sync read is one packet. Each servo appends its part to this packet: error, number, data, CRC of all bytes before. This
packet has no inserted FD bytes (measured in pollen-robotics/rustypot pull request 122)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from femtorque.codegen.drive.family import DriveType, Packets

HEAD, EVERYBODY = b"\xff\xff\xfd\x00", 0xFE
REBOOT, STATUS, SYNC_READ, SYNC_WRITE, FAST_READ = 0x08, 0x55, 0x82, 0x83, 0x8A  # instructions
GOAL_DUTY, GOAL_CURRENT, GOAL, TORQUE_ENABLE, HARDWARE_ERROR, STATE = 100, 102, 116, 64, 70, 126  # registers
STATE_SIZE = 10  # bytes of the fields current, velocity, position
LOAD_SIZE = 12  # bytes of the field duty and of the state
CURRENT_MODE, POSITION_MODE, PWM_MODE = 0, 3, 16
FULL = 885  # of a duty, in steps of 0.113 % of the supply
TURN = 4096  # counts
UNIT = 0.229 / 60.0  # resolution of the velocity, turns/s
MODEL = 256  # the number for register 0, because number 0 means no register
OLDEST = 46  # oldest firmware with fast sync read in all model series (rustypot's tests)
BITRATES = (2_000_000, 1_000_000, 3_000_000, 4_000_000, 115_200, 57_600, 9_600)  # of register 8
TURNROUND = 20e-6  # estimated time from a question to its answer with return delay 0, s
BETWEEN = 3e-6  # time between the parts of two servos in an answer, s; an estimate


def crc(data: bytes) -> int:
    """Return the CRC-16 with polynomial 0x8005, initial value 0, most significant bit first."""
    value = 0
    for byte in data:
        value ^= byte << 8
        for _ in range(8):
            value = (value << 1 ^ (0x8005 if value & 0x8000 else 0)) & 0xFFFF
    return value


def _sealed(data: bytes) -> bytes:
    return data + crc(data).to_bytes(2, "little")


def packet(id: int, instruction: int, parameters: bytes = b"") -> bytes:
    body = (bytes([instruction]) + parameters).replace(b"\xff\xff\xfd", b"\xff\xff\xfd\xfd")
    return _sealed(HEAD + bytes([id]) + (len(body) + 2).to_bytes(2, "little") + body)


def status(id: int, error: int, data: bytes = b"") -> bytes:
    """Return the answer of one servo."""
    return packet(id, STATUS, bytes([error]) + data)


@dataclass(frozen=True)
class Part:
    """The part of one servo in the answer to a fast sync read."""

    id: int
    error: int
    data: bytes


def fast_status(parts: Sequence[Part]) -> bytes:
    """Return the common answer packet to a fast sync read."""
    size = sum(4 + len(part.data) for part in parts) + 1
    whole = HEAD + bytes([EVERYBODY]) + size.to_bytes(2, "little") + bytes([STATUS])
    for part in parts:
        whole = _sealed(whole + bytes([part.error, part.id]) + part.data)
    return whole


def write(values: Mapping[int, int], register: int, size: int) -> bytes:
    """Return a packet that writes a register of several servos. values: {id: signed value}; size: bytes."""
    each = b"".join(bytes([id]) + (value & (1 << 8 * size) - 1).to_bytes(size, "little")
                    for id, value in values.items())
    return packet(EVERYBODY, SYNC_WRITE, register.to_bytes(2, "little") + size.to_bytes(2, "little") + each)


def ask(ids: Sequence[int], register: int = STATE, size: int = STATE_SIZE, fast: bool = True) -> bytes:
    """Return a question to these servos, which answer one after the other."""
    return packet(EVERYBODY, FAST_READ if fast else SYNC_READ,
                  register.to_bytes(2, "little") + size.to_bytes(2, "little") + bytes(ids))


# Bits of register 70. 0x80 is bit 7 of the error byte of every answer, which is set until register 70 has been read.
ERRORS = {0x01: "voltage", 0x04: "over temperature", 0x08: "encoder", 0x10: "electrical shock", 0x20: "overload",
          0x40: "load differs from the position loop", 0x80: "hardware error"}  # 0x40 is the board's


def offset(bits: int) -> int:
    """Return a homing offset as a signed number."""
    return bits - (1 << 32) if bits & 1 << 31 else bits


def packets(servos: Sequence[DriveType]) -> Packets:
    """Return the packet sizes of a tick: goals, currents, duties, switches, one question and one answer."""
    ids, n = range(1, len(servos) + 1), len(servos)
    holds = any(s.servo and s.servo.holds for s in servos)
    kinds = [n] if holds else [sum(bool(s.servo and s.servo.ampere) == current for s in servos)
                               for current in (True, False)]
    goals = sum(len(write(dict.fromkeys(range(1, some + 1), 0), GOAL_CURRENT, 4 if holds else 2))
                for some in kinds if some)
    return Packets(goals, len(write(dict.fromkeys(ids, 0), TORQUE_ENABLE, 1)), len(ask(ids)),
                   len(fast_status([Part(id, 0, bytes(LOAD_SIZE if holds else STATE_SIZE)) for id in ids])),
                   TURNROUND + n * BETWEEN)


def wire_out(servos: int) -> int:
    """Return the most bytes that the board sends in a tick: goals in two packets, switches, settings, a question."""
    return 7 * 16 + 20 * servos
