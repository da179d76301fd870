"""CAN frames, and their duration on the bus with all stuffed bits.

Covers data frames of classic CAN (CRC-15) and of CAN FD with and without a faster data phase, by ISO 11898-1:2015."""

from dataclasses import dataclass

STANDARD = 0x7FF  # the largest id of 11 bits
CLASSIC = 8  # maximum number of data bytes in a frame of classic CAN
FD_SIZES = (*range(9), 12, 16, 20, 24, 32, 48, 64)  # bytes that a CAN FD frame can have, by its DLC
CRC15 = 0x4599
INTERMISSION = 3  # bits of the pause after a frame
TAIL = 1 + 1 + 1 + 7 + INTERMISSION  # CRC delimiter, ACK, ACK delimiter, end of frame, pause: without stuffed bits


@dataclass(frozen=True)
class Frame:
    """A CAN frame."""

    id: int
    data: bytes
    extended: bool = False
    fd: bool = False  # true for CAN FD whose data phase has the bus's faster bit rate (BRS)
    remote: bool = False  # true for a frame without data that requests data of this length

    def __post_init__(self) -> None:
        assert 0 <= self.id < 1 << (29 if self.extended else 11), f"id {self.id:#x}"
        assert not (self.fd and self.remote), "CAN FD has no remote frames"
        assert len(self.data) in (FD_SIZES if self.fd else FD_SIZES[:CLASSIC + 1]), f"{len(self.data)} bytes"


@dataclass(frozen=True)
class Bits:
    """Bits of a frame and the pause after it."""

    nominal: int  # number of bits at the nominal rate
    data: int = 0  # number of bits at the rate of the data phase

    def seconds(self, bitrate: float, data_bitrate: float | None = None) -> float:
        """Return the duration of the bits, s. Rates in bit/s. Without data_bitrate all bits have the nominal rate."""
        return self.nominal / bitrate + self.data / (data_bitrate or bitrate)


def bits(frame: Frame) -> Bits:
    """Return the number of bits of a frame on the bus, with the stuffed bits for its contents."""
    return _fd_bits(frame) if frame.fd else _classic_bits(frame)


def most_bits(size: int, extended: bool = False, fd: bool = False, id: int | None = None) -> Bits:
    """Return an upper bound for any contents: a stuffed bit after each fourth bit. id: identifier of a CAN FD frame;
    None for any identifier."""
    if not fd:
        plain = (39 if extended else 19) + 8 * size + 15
        return Bits(plain + (plain - 1) // 4 + TAIL)
    head, body = (36 if extended else 17), 5 + 8 * size
    stuffed = (head - 1) // 4 if id is None else _stuffed(_fd_head(Frame(id, b"", extended, fd)))
    return Bits(head + stuffed + TAIL, body + body // 4 + _fd_check(size))


def least_bits(size: int, extended: bool = False, fd: bool = False) -> Bits:
    """Return a lower bound that counts only the stuffed bits at fixed positions."""
    if not fd:
        return Bits((39 if extended else 19) + 8 * size + 15 + TAIL)
    return Bits((36 if extended else 17) + TAIL, 5 + 8 * size + _fd_check(size))


def _classic_bits(frame: Frame) -> Bits:
    plain = _number(0, 1) + _identifier(frame, int(frame.remote)) + _number(0, 1)  # start of frame; r0
    plain += _number(len(frame.data), 4)
    plain += [] if frame.remote else _number(int.from_bytes(frame.data, "big"), 8 * len(frame.data))
    plain += _number(crc15(plain), 15)
    return Bits(len(plain) + _stuffed(plain) + TAIL)


def _fd_bits(frame: Frame) -> Bits:
    """Return the bits of a CAN FD frame. The check sum ends the data phase. The stuffed bits of the check sum have
    fixed positions."""
    head = _fd_head(frame)
    body = [0] + _number(FD_SIZES.index(len(frame.data)), 4)  # ESI
    body += _number(int.from_bytes(frame.data, "big"), 8 * len(frame.data))
    first = _stuffed(head)
    return Bits(len(head) + first + TAIL, len(body) + _stuffed(head + body) - first + _fd_check(len(frame.data)))


def _fd_head(frame: Frame) -> list[int]:
    """Return the bits from the start of the frame to BRS. BRS always differs from the bit before it."""
    return _number(0, 1) + _identifier(frame, remote=0) + [1, 0, 1]  # start of frame; FDF, res, BRS


def _fd_check(size: int) -> int:
    """Return the number of bits of stuff count, parity and CRC, with a fixed stuffed bit before every four bits."""
    plain = 4 + (17 if size <= 16 else 21)
    return plain + -(-plain // 4)


def _identifier(frame: Frame, remote: int) -> list[int]:
    """Return the bits from the identifier to IDE; for an extended frame, to the bit after the identifier."""
    if not frame.extended:
        return _number(frame.id, 11) + [remote, 0]
    classic_r1 = [] if frame.fd else [0]
    return _number(frame.id >> 18, 11) + [1, 1] + _number(frame.id & 0x3FFFF, 18) + [remote] + classic_r1


def _number(value: int, width: int) -> list[int]:
    return [value >> k & 1 for k in reversed(range(width))]


def _stuffed(plain: list[int]) -> int:
    """Return the number of inserted (stuffed) bits.

    After five equal bits the sender inserts an opposite bit. The inserted bit is the first of the next five bits."""
    count, last, run = 0, -1, 0
    for bit in plain:
        run = run + 1 if bit == last else 1
        last = bit
        if run == 5:
            count, last, run = count + 1, 1 - bit, 1
    return count


def crc15(plain: list[int]) -> int:
    crc = 0
    for bit in plain:
        high = crc >> 14 & 1
        crc = crc << 1 & 0x7FFF
        if high ^ bit:
            crc ^= CRC15
    return crc
