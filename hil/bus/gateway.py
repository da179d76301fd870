"""Programs outside on a wire: what an adapter hears they get, and what they send goes out, as lines of text.

The lines are those of LAWICEL's CAN232 manual ("slcan"), with the letters that CANable 2's firmware added for CAN FD:
`t` and `T`: frames with identifiers of 11 and 29 bits, `d` and `D`: CAN FD, `b` and `B`: with the faster data phase.
After the letter: identifier, DLC and bytes in hexadecimal, and a carriage return. What sets up an adapter (bit rate,
open, close) is answered and changes nothing: the bus has its bits.
"""

from __future__ import annotations

from collections.abc import Callable

from femtorque.hil.bus.adapter import Adapter
from femtorque.hil.bus.frame import SIZES, Frame

END, DONE, WRONG = b"\r", b"\r", b"\a"
KINDS = {(False, False): "tT", (True, False): "dD", (True, True): "bB"}  # (fd, fast) to letters, 11 and 29 bits
_OF_LETTER = {letter: (*how, letter.isupper()) for how, letters in KINDS.items() for letter in letters}


class Gateway:
    """Before an adapter on the wire. tell: is given the lines of what it hears."""

    def __init__(self, adapter: Adapter, tell: Callable[[bytes], None]) -> None:
        self._adapter, self._tell, self._begun = adapter, tell, b""
        adapter.take = lambda frame: tell(line_of(frame))

    def take(self, data: bytes) -> int:
        """Bytes from outside. Returns how many frames they have brought."""
        *lines, self._begun = (self._begun + data).split(END)
        frames = [frame for line in lines if (frame := self._frame(line)) is not None]
        if frames:
            self._adapter.send(frames)
        return len(frames)

    def _frame(self, line: bytes) -> Frame | None:
        """Of a line; what is none is answered."""
        if line[:1].decode("ascii", "replace") not in _OF_LETTER:
            self._tell(DONE)
            return None
        try:
            return frame_of(line.decode("ascii"))
        except (ValueError, IndexError):
            self._tell(WRONG)
            return None


def line_of(frame: Frame) -> bytes:
    """With its end."""
    letter = KINDS[frame.fd, frame.fast][frame.extended]
    width = 8 if frame.extended else 3
    return f"{letter}{frame.id:0{width}X}{frame.code:X}{frame.data.hex().upper()}".encode("ascii") + END


def frame_of(line: str) -> Frame:
    """Of a line without its end. ValueError or IndexError for one that is none."""
    fd, fast, extended = _OF_LETTER[line[0]]
    width = 8 if extended else 3
    number, size = int(line[1:1 + width], 16), SIZES[int(line[1 + width], 16)]
    data = bytes.fromhex(line[2 + width:2 + width + 2 * size])
    if len(data) != size or number >= 1 << (29 if extended else 11) or size > 8 and not fd:
        raise ValueError(f"{line!r} is no frame")
    return Frame(number, data, extended, fd=fd, fast=fast)
