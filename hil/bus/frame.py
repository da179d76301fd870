"""CAN frames as levels on the wire, after ISO 11898-1:2015: 0 is dominant, 1 recessive.

Section 10.4 of the standard: fields and their order; 10.5 stuffing: after five bits alike one of the other kind, from
the start of frame to the end of the check sum of a classic frame, of the data field of an FD frame. The check field of
an FD frame has fixed stuffed bits, one before it and one after every four of its bits; where the data field ends with
five alike, the fixed one alone is put in. The rate changes at the sample points of BRS and of the delimiter of the
check sum (Bosch, CAN FD Specification 1.0, 3.3): together they take one bit of each rate.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

SIZES = (*range(9), 12, 16, 20, 24, 32, 48, 64)  # bytes by DLC, ISO 11898-1 table 5
DELIMITER, ACK = 1, 2  # bits: of the check sum; slot and its delimiter
END, INTERMISSION = 7, 3
_CRC15 = 1 << 15 | 1 << 14 | 1 << 10 | 1 << 8 | 1 << 7 | 1 << 4 | 1 << 3 | 1


@dataclass(frozen=True)
class Frame:
    """remote: asks for data, has none itself. fast: the data phase of an FD frame at the faster rate (BRS).
    passive: its sender is error passive (ESI)."""

    id: int
    data: bytes = b""
    extended: bool = False
    remote: bool = False
    fd: bool = False
    fast: bool = False
    passive: bool = False

    @property
    def code(self) -> int:
        """DLC."""
        return SIZES.index(len(self.data))


@dataclass(frozen=True)
class Image:
    """levels: from the start of frame to the last bit before the delimiter of the check sum. fast: from which to
    which of them goes at the rate of the data phase."""

    levels: str
    fast: tuple[int, int]

    def seconds(self, count: int, bit: float, data_bit: float) -> float:
        """Duration of the first `count` levels, s."""
        quick = min(max(count - self.fast[0], 0), self.fast[1] - self.fast[0])
        return (count - quick) * bit + quick * data_bit

    def length(self, bit: float, data_bit: float) -> float:
        """s, of the whole frame, without the intermission."""
        quick = data_bit - bit if self.fast[1] else 0.0  # BRS and the delimiter take one bit of each rate
        return self.seconds(len(self.levels), bit, data_bit) + quick + (DELIMITER + ACK + END) * bit


def arbitration(frame: Frame) -> str:
    """The levels, not stuffed, by which nodes find out who goes on: identifier, and what stands by it (10.4.2.2)."""
    ask = "1" if frame.remote else "0"
    if not frame.extended:
        return f"{frame.id:011b}{ask}0"
    return f"{frame.id >> 18:011b}11{frame.id & 0x3FFFF:018b}{ask}"


@lru_cache(maxsize=512)
def image(frame: Frame) -> Image:
    return _fd(frame) if frame.fd else _classic(frame)


def _classic(frame: Frame) -> Image:
    reserved = "00" if frame.extended else "0"
    plain = f"0{arbitration(frame)}{reserved}{frame.code:04b}" + ("" if frame.remote else _bits(frame.data))
    return Image(stuffed(plain + f"{crc15(plain):015b}"), (0, 0))


def _fd(frame: Frame) -> Image:
    """The check field, whose bits nothing here looks at, is zeros between its fixed stuffed bits."""
    head = f"0{arbitration(frame)}10{'1' if frame.fast else '0'}"  # FDF, reserved, BRS
    body = f"{'1' if frame.passive else '0'}{frame.code:04b}" + _bits(frame.data)
    check = 4 + (17 if len(frame.data) <= 16 else 21)  # stuff count with its parity, check sum (10.4.2.6)
    levels = stuffed(head + body, to_the_end=False) + "".join(
        "1" + "0" * min(4, check - at) for at in range(0, check, 4))
    return Image(levels, (len(stuffed(head)), len(levels)) if frame.fast else (0, 0))


def _bits(data: bytes) -> str:
    return "".join(f"{byte:08b}" for byte in data)


def stuffed(plain: str, to_the_end: bool = True) -> str:
    """With a bit of the other kind after every five alike, itself counting on. to_the_end: after the last one too."""
    levels, run, last = [], 0, ""
    for at, level in enumerate(plain):
        run = run + 1 if level == last else 1
        last = level
        levels.append(level)
        if run == 5 and (to_the_end or at + 1 < len(plain)):
            last, run = "0" if level == "1" else "1", 1
            levels.append(last)
    return "".join(levels)


def crc15(plain: str) -> int:
    """The remainder of the division by the generator polynomial (10.4.2.6), after 15 zeros more."""
    rest = int(plain, 2) << 15
    for at in range(len(plain) + 14, 14, -1):
        if rest >> at & 1:
            rest ^= _CRC15 << at - 15
    return rest
