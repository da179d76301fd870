"""A gateway between an adapter on a CAN wire and a program outside, which exchange frames as lines of text.

The lines follow LAWICEL's CAN232 manual ("slcan"), with the letters that CANable 2's firmware added for CAN FD. `t` and
`T` are frames with identifiers of 11 and 29 bits, `r` and `R` remote frames, `d` and `D` frames of CAN FD, `b` and `B`
frames of CAN FD with the faster data phase. Identifier, DLC and bytes follow in hexadecimal, and a carriage return.
Commands that set up an adapter (bit rate, open, close) are answered and change nothing, because the bus has its rates.
The answer to a wrong line is a bell. At most a tenth of a second's frames wait. A bell also answers a frame beyond this
limit.
"""

import re
from collections.abc import Callable

from femtorque.hil.bus.adapter import Adapter
from femtorque.hil.bus.frame import SIZES, Frame

END, DONE, WRONG = b"\r", b"\r", b"\a"
KINDS = {(False, False, False): "tT", (True, False, False): "rR", (False, True, False): "dD",
         (False, True, True): "bB"}  # by remote, fd and fast: letters for 11 and 29 bits
LONGEST = 1 + 8 + 1 + 2 * 64  # characters of the longest line without its end: CAN FD, 29 bits, 64 bytes
MOST = 1000  # most waiting frames; a frame takes 100 us at 1 Mbit/s
_FRAME = re.compile(r"(?:[trdb][0-9A-Fa-f]{3}|[TRDB][0-9A-Fa-f]{8})[0-9A-Fa-f](?:[0-9A-Fa-f]{2})*")
_OF_LETTER = {letter: (*how, letter.isupper()) for how, letters in KINDS.items() for letter in letters}


class Gateway:
    """A gateway in front of an adapter. send: called with the lines of the frames that the adapter hears."""

    def __init__(self, adapter: Adapter, send: Callable[[bytes], None]) -> None:
        self._adapter, self._send = adapter, send
        self._begun, self._lost = b"", False  # beginning of a line; true if the line is too long
        adapter.take = lambda frame: send(line_of(frame))

    def take(self, data: bytes) -> int:
        """Take bytes from outside. Returns the number of frames in them."""
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
        """Return the frame of a line; answer other lines. lost: true if the line was too long."""
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
    """Return the line of a frame, with its end."""
    letter = KINDS[frame.remote, frame.fd, frame.fast][frame.extended]
    width = 8 if frame.extended else 3
    return f"{letter}{frame.id:0{width}X}{frame.code:X}{frame.data.hex().upper()}".encode("ascii") + END


def frame_of(line: str) -> Frame:
    """Return the frame of a line without its end. Raises ValueError for a line without a frame."""
    if not _FRAME.fullmatch(line):
        raise ValueError(f"{line!r} is no frame")
    remote, fd, fast, extended = _OF_LETTER[line[0]]
    width = 8 if extended else 3
    number, size = int(line[1:1 + width], 16), SIZES[int(line[1 + width], 16)]
    data = bytes.fromhex(line[2 + width:])
    if len(data) != (0 if remote else size) or number >= 1 << (29 if extended else 11) or size > 8 and not fd:
        raise ValueError(f"{line!r} is no frame")
    return Frame(number, data, extended, remote, fd, fast)
