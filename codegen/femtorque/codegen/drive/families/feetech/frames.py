"""Frames of Feetech's STS servos on one half-duplex bus.

A packet is FF FF, id, length, instruction, parameters, check sum. Numbers are little endian. Sources: FTServo_stm32HAL,
feetech-servo-sdk, LeRobot's tables.py for the registers. Bit 10 of the duty is its sign (tested with a servo in LeRobot
pull request 4547)."""

from collections.abc import Mapping, Sequence

from femtorque.codegen.drive.family import DriveType, Packets

HEAD, EVERYBODY = b"\xff\xff", 0xFE
SYNC_READ, SYNC_WRITE = 0x82, 0x83
TORQUE_ENABLE, DUTY, POSITION = 40, 44, 56  # registers
POSITION_MODE = 0  # the servo closes a position loop
PWM_MODE = 2  # the motor gets the duty, and the servo closes no loop
STATE = 8  # bytes of the fields position, velocity, load, voltage, temperature
FULL, BACKWARDS = 1000, 1 << 10  # of the duty, in steps of 0.1 % of the supply
TURN = 4096  # counts
OFFSET_SIGN = 1 << 11  # of the position offset
FIRMWARE = 256  # the number for registers 0 and 1, because number 0 means no register
BITRATES = (1_000_000, 500_000, 250_000, 128_000, 115_200, 57_600, 38_400, 19_200)  # values of register 6, from
                                                                                    # LeRobot's table
DELAY = 40e-6  # estimated time from a packet's end to the first answer (return delay 0), and between two answers, s


def packet(id: int, instruction: int, parameters: bytes = b"") -> bytes:
    body = bytes([id, len(parameters) + 2, instruction]) + parameters
    return HEAD + body + bytes([~sum(body) & 0xFF])


def duty(share: float) -> bytes:
    """Return a duty in the format of register 44, magnitude and sign bit. share: duty from -1 to 1, clamped."""
    share = 0.0 if share != share else min(max(share, -1.0), 1.0)
    count = round(abs(share) * FULL)
    return (count | (BACKWARDS if share < 0.0 and count else 0)).to_bytes(2, "little")


def duties(shares: Mapping[int, float]) -> bytes:
    """Return one packet with the duties of all servos. shares: {id: duty}."""
    each = b"".join(bytes([id]) + duty(share) for id, share in shares.items())
    return packet(EVERYBODY, SYNC_WRITE, bytes([DUTY, 2]) + each)


def torques(on: Mapping[int, bool]) -> bytes:
    """Return one packet that switches motors. on: {id: true to switch on, false to switch off}."""
    return packet(EVERYBODY, SYNC_WRITE, bytes([TORQUE_ENABLE, 1]) + b"".join(bytes(pair) for pair in on.items()))


def ask(ids: Sequence[int], register: int = POSITION, size: int = STATE) -> bytes:
    """Return a question to these servos, which answer one after the other."""
    return packet(EVERYBODY, SYNC_READ, bytes([register, size]) + bytes(ids))


def settings(values: Mapping[int, int], register: int, size: int) -> bytes:
    """Return one packet that writes a register of several servos. values: {id: value}; size: bytes."""
    each = b"".join(bytes([id]) + value.to_bytes(size, "little") for id, value in values.items())
    return packet(EVERYBODY, SYNC_WRITE, bytes([register, size]) + each)


# Error bits of every answer, as in register 65 (python-st3215, FTServo's memory table)
ERRORS = ("voltage", "encoder", "over temperature", "over current", "angle", "overload",
          "load differs from the position loop")  # the last one is the board's


def firmware_word(version: str) -> int:
    """Return the value of registers 0 and 1, as one word, for a version like "3.10". Return 0 for an empty text."""
    major, _, minor = version.partition(".")
    return int(major) | int(minor) << 8 if version else 0


def firmware_text(word: int) -> str:
    """Return the version text for the word of registers 0 and 1; an empty text for 0."""
    return f"{word & 0xFF}.{word >> 8 & 0xFF}" if word else ""


def offset(bits: int) -> int:
    """Return a position offset as a signed number."""
    return -(bits & ~OFFSET_SIGN) if bits & OFFSET_SIGN else bits


def packets(servos: Sequence[DriveType]) -> Packets:
    """Return the packet sizes of a tick: duties of all servos, motor switches, one question and all answers."""
    ids = range(1, len(servos) + 1)
    answers = len(ids) * len(packet(0, 0, bytes(STATE)))
    return Packets(len(duties(dict.fromkeys(ids, 0.0))), len(torques(dict.fromkeys(ids, False))), len(ask(ids)),
                   answers, len(ids) * DELAY)


def wire_out(servos: int) -> int:
    """Return the maximum number of bytes that the board sends in a tick: duties, switches, settings and a question."""
    return 32 + 7 * servos
