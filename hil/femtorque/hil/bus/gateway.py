"""A gateway between an adapter on a CAN bus and an external program, which exchange frames as lines of text.

The lines follow LAWICEL's CAN232 manual ("slcan"), with the CANable 2's letters for CAN FD. `t` and `T` are frames with
identifiers of 11 and 29 bits, `r` and `R` remote frames, `d` and `D` frames of CAN FD, `b` and `B` frames of CAN FD
with the faster data phase. Identifier, DLC and bytes follow in hexadecimal, then a carriage return. Commands that set
up an adapter (bit rate, open, close) are answered without effect, because the bus has fixed bit rates. A bell answers
an invalid line, and a frame beyond the queue of a tenth of a second."""

import re
from collections.abc import Callable

from femtorque.hil.bus.adapter import Adapter
from femtorque.hil.bus.frame import SIZES, Frame

END, DONE, WRONG = b"\r", b"\r", b"\a"
KINDS = {(False, False, False): "tT", (True, False, False): "rR", (False, True, False): "dD",
         (False, True, True): "bB"}  # letters for 11-bit and 29-bit identifiers, by remote, fd and fast
LONGEST = 1 + 8 + 1 + 2 * 64  # maximum number of characters in a line without its end: CAN FD, 29 bits, 64 bytes
MOST = 1000  # maximum number of waiting frames; a frame takes 100 us at 1 Mbit/s
_FRAME = re.compile(r"(?:[trdb][0-9A-Fa-f]{3}|[TRDB][0-9A-Fa-f]{8})[0-9A-Fa-f](?:[0-9A-Fa-f]{2})*")
_OF_LETTER = {letter: (*how, letter.isupper()) for how, letters in KINDS.items() for letter in letters}


class Gateway:
    """A gateway between a CAN adapter and a program. send: called with the lines of received frames."""

    def __init__(self, adapter: Adapter, send: Callable[[bytes], None]) -> None:
        self._adapter, self._send = adapter, send
        self._begun, self._lost = b"", False  # beginning of a line; true if the line is too long
        adapter.take = lambda frame: send(line_of(frame))

    def take(self, data: bytes) -> int:
        """Take bytes from outside. Returns the number of frames in these lines."""
        first, *others = data.split(END)
        lines = [(self._begun + first, self._lost), *((line, False) for line in others)]
        last, lost = lines.pop()
        self._begun, self._lost = last[:LONGEST], lost or len(last) > LONGEST
        frames = [frame for line, lost in lines if (frame := self._frame(line, lost)) is not None]
        room = max(MOST - self._adapter.waiting, 0)
        for _ in frames[room:]:
            self._send(WRONG)
        if frames[:room]:
            self._adapter.send(frames[:room])
        return len(frames[:room])

    def _frame(self, line: bytes, lost: bool) -> Frame | None:
        """Return the frame in a line. Answer lines without a frame. lost: true if the line was too long."""
        if lost or len(line) > LONGEST:
            self._send(WRONG)
            return None
        if line[:1].decode("ascii", "replace") not in _OF_LETTER:
            self._send(DONE)
            return None
        try:
            return frame_of(line.decode("ascii"))
        except ValueError:
            self._send(WRONG)
            return None


def line_of(frame: Frame) -> bytes:
    """Return the line that describes a frame, with the end of the line."""
    letter = KINDS[frame.remote, frame.fd, frame.fast][frame.extended]
    width = 8 if frame.extended else 3
    return f"{letter}{frame.id:0{width}X}{frame.code:X}{frame.data.hex().upper()}".encode("ascii") + END


def frame_of(line: str) -> Frame:
    """Return the frame that a line describes, without the line's end. Raises ValueError for another line."""
    if not _FRAME.fullmatch(line):
        raise ValueError(f"{line!r} is no frame")
    remote, fd, fast, extended = _OF_LETTER[line[0]]
    width = 8 if extended else 3
    number, size = int(line[1:1 + width], 16), SIZES[int(line[1 + width], 16)]
    data = bytes.fromhex(line[2 + width:])
    if len(data) != (0 if remote else size) or number >= 1 << (29 if extended else 11) or size > 8 and not fd:
        raise ValueError(f"{line!r} is no frame")
    return Frame(number, data, extended, remote, fd, fast)
