"""CAN frames and their bits. C (can_frame.c) computes the bits."""

from functools import lru_cache
from typing import Any, NamedTuple

from femtorque.hil.clock import library

SIZES = (*range(9), 12, 16, 20, 24, 32, 48, 64)  # number of data bytes for each DLC, ISO 11898-1 table 5
DELIMITER, ACK = 1, 2  # bits: CRC delimiter; ACK slot and ACK delimiter
END, INTERMISSION = 7, 3


class Frame(NamedTuple):
    """A CAN frame."""

    id: int
    data: bytes = b""
    extended: bool = False
    remote: bool = False  # the frame requests data and contains no data
    fd: bool = False
    fast: bool = False  # the data phase of a CAN FD frame has the faster bit rate (BRS)
    passive: bool = False  # the sender is error passive (ESI)

    @property
    def code(self) -> int:
        """DLC."""
        return SIZES.index(len(self.data))


def give(frame: Frame, place: Any) -> None:
    """Copy a frame to a `can_frame` of C."""
    place.id, place.size, place.extended, place.remote = frame.id, len(frame.data), frame.extended, frame.remote
    place.fd, place.fast, place.passive = frame.fd, frame.fast, frame.passive
    place.data[0:len(frame.data)] = frame.data


def taken(place: Any) -> Frame:
    """Return the frame in a `can_frame` of C."""
    ffi, _ = library()
    return Frame(place.id, bytes(ffi.buffer(place.data, place.size)), bool(place.extended), bool(place.remote),
                 bool(place.fd), bool(place.fast), bool(place.passive))


class Image:
    """The bits of a frame. levels: bit values from the start of frame to the last bit before the CRC delimiter. fast:
    first and last of the bits that are sent at the rate of the data phase."""

    def __init__(self, frame: Frame) -> None:
        ffi, self._lib = library()
        place, self._drawn = ffi.new("can_frame *"), ffi.new("can_image *")
        give(frame, place)
        self._lib.can_draw(place, self._drawn)
        self.levels = "".join(map(str, self._drawn.levels[0:self._drawn.count]))
        self.fast = int(self._drawn.begins), int(self._drawn.ends)

    def seconds(self, count: int, bit: float, data_bit: float) -> float:
        """Return the duration of the first `count` bits, s."""
        return float(self._lib.can_seconds(self._drawn, count, bit, data_bit))

    def length(self, bit: float, data_bit: float) -> float:
        """Return the duration of the whole frame without the intermission, s."""
        return float(self._lib.can_length(self._drawn, bit, data_bit))


@lru_cache(maxsize=512)
def image(frame: Frame) -> Image:
    return Image(frame)
