"""Programs outside on a wire: what an adapter hears they get, and what they send goes out, as lines of text.

The lines are those of LAWICEL's CAN232 manual ("slcan"), with the letters that CANable 2's firmware added for CAN FD:
`t` and `T`: frames with identifiers of 11 and 29 bits, `r` and `R`: those that ask, `d` and `D`: CAN FD, `b` and `B`:
with the faster data phase. After the letter: identifier, DLC and bytes in hexadecimal, and a carriage return. Commands
that set up an adapter (bit rate, open, close) are answered and change nothing: the bus has its bits. A line that is
none is answered with a bell, and so is a frame for which there is no room: as many wait as the wire carries in a tenth
of a second.
"""

import re
from collections.abc import Callable

from femtorque.hil.bus.adapter import Adapter
from femtorque.hil.bus.frame import SIZES, Frame

END, DONE, WRONG = b"\r", b"\r", b"\a"
KINDS = {(False, False, False): "tT", (True, False, False): "rR", (False, True, False): "dD",
         (False, True, True): "bB"}  # (remote, fd, fast) to letters, 11 and 29 bits
LONGEST = 1 + 8 + 1 + 2 * 64  # characters of a line without its end: CAN FD, 29 bits, 64 bytes
MOST = 1000  # frames that wait: 100 us each at 1 Mbit/s
_FRAME = re.compile(r"(?:[trdb][0-9A-Fa-f]{3}|[TRDB][0-9A-Fa-f]{8})[0-9A-Fa-f](?:[0-9A-Fa-f]{2})*")
_OF_LETTER = {letter: (*how, letter.isupper()) for how, letters in KINDS.items() for letter in letters}


class Gateway:
    """Before an adapter on the wire. send: called with the lines of the frames that it hears."""

    def __init__(self, adapter: Adapter, send: Callable[[bytes], None]) -> None:
        self._adapter, self._send = adapter, send
        self._begun, self._lost = b"", False  # of a line; whether it is too long to be one
        adapter.take = lambda frame: send(line_of(frame))

    def take(self, data: bytes) -> int:
        """Bytes from outside. Returns how many frames they have brought."""
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
        """Take the frame of a line; a line that is none is answered. lost: it was longer than any."""
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
    """With its end."""
    letter = KINDS[frame.remote, frame.fd, frame.fast][frame.extended]
    width = 8 if frame.extended else 3
    return f"{letter}{frame.id:0{width}X}{frame.code:X}{frame.data.hex().upper()}".encode("ascii") + END


def frame_of(line: str) -> Frame:
    """Frame in a line without its end. Raises ValueError for a line that is none."""
    if not _FRAME.fullmatch(line):
        raise ValueError(f"{line!r} is no frame")
    remote, fd, fast, extended = _OF_LETTER[line[0]]
    width = 8 if extended else 3
    number, size = int(line[1:1 + width], 16), SIZES[int(line[1 + width], 16)]
    data = bytes.fromhex(line[2 + width:])
    if len(data) != (0 if remote else size) or number >= 1 << (29 if extended else 11) or size > 8 and not fd:
        raise ValueError(f"{line!r} is no frame")
    return Frame(number, data, extended, remote, fd, fast)
