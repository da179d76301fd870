"""A gateway between an adapter on a CAN bus and an external program, which exchange frames as lines of text.

The lines follow LAWICEL's CAN232 manual ("slcan"), with the CANable 2's letters for CAN FD. `t` and `T` are frames with
identifiers of 11 and 29 bits, `r` and `R` remote frames, `d` and `D` frames of CAN FD, `b` and `B` frames of CAN FD
with the faster data phase. Identifier, DLC and bytes follow in hexadecimal, then a carriage return. Commands that set
up an adapter (bit rate, open, close) are answered without effect, because the bus has fixed bit rates. A bell answers
an invalid line, and a frame beyond the queue of a tenth of a second. C reads and writes the lines (gateway.c)."""

from collections.abc import Callable

from femtorque.hil.bus.adapter import Adapter
from femtorque.hil.bus.frame import Frame, give, taken
from femtorque.hil.clock import library


class Gateway:
    """A gateway between a CAN adapter and a program. send: called with lines for the program by `take` and `flush`."""

    def __init__(self, adapter: Adapter, send: Callable[[bytes], None]) -> None:
        self._adapter, self._send = adapter, send
        self._ffi, self._lib = library()
        self.state = self._ffi.new("gateway *")
        self._lib.gateway_begin(self.state, adapter.state)

    def take(self, data: bytes) -> int:
        """Take bytes from outside. Returns the number of frames in these lines."""
        frames = int(self._lib.gateway_take(self.state, data, len(data)))
        self._adapter.parts.check()
        self.flush()
        return frames

    def flush(self) -> None:
        """Send the waiting lines to the program."""
        if size := self.state.size:
            self.state.size = 0
            self._send(bytes(self._ffi.buffer(self.state.said, size)))


def line_of(frame: Frame) -> bytes:
    """Return the line that describes a frame, with the end of the line."""
    ffi, lib = library()
    place, line = ffi.new("can_frame *"), ffi.new("uint8_t[]", lib.LINE + 1)
    give(frame, place)
    return bytes(ffi.buffer(line, lib.gateway_line(place, line)))


def frame_of(line: str) -> Frame:
    """Return the frame that a line describes, without the line's end. Raises ValueError for another line."""
    ffi, lib = library()
    place, text = ffi.new("can_frame *"), line.encode()
    if not lib.gateway_frame(text, len(text), place):
        raise ValueError(f"{line!r} is no frame")
    return taken(place)
