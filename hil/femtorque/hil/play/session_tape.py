"""A recording of all bytes that hosts sent to a virtual board, and its replay, bit for bit.

In FOLLOW the motion depends on the arrival time of each TARGET. The recording contains each byte from the hosts, with
the board's time at which the byte was sent on the line. The last line of the recording is a hash of all answers of the
board. A replay sends the same bytes at the same cycles of the chip, so that the image receives each TARGET in the same
tick. Recording and replay run for whole time slices, because the last bits of the plant's state depend on the number of
its steps.

A recording is a text file that is written line by line:

    femtorque tape 1 <digest of the configuration> <number of the chip>
    <s since power-on> <bytes, hexadecimal>
    end <s since power-on> <SHA-256 of the board's bytes>
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TextIO

from femtorque.codegen.common import BadInput, Refused, read_text
from femtorque.codegen.mechanism import Mechanism
from femtorque.codegen.toolchain import build_image
from femtorque.codegen.wire import Codec, Felt, FrameReader, Status
from femtorque.hil.board import CYCLE, SLICE, Disturbance, Record, VirtualBoard
from femtorque.hil.plant import plant_of
from femtorque.hil.play.closed_loop import folder
from femtorque.host.link import Configuration
from femtorque.host.record import Log

HEAD = "femtorque tape 1"
LARGEST, LONGEST = 2**28, 86_400.0  # limits of a recording, bytes and s: a day, with a full line for 15 minutes
AFTER = 0.5  # time for which the replay continues after the last bytes of a recording without an end, s


@dataclass(frozen=True)
class Tape:
    """A recording."""

    path: Path
    digest: str
    number: int
    sent: tuple[tuple[float, bytes], ...]  # bytes with their times since power-on, s, in order
    end: float  # time of the end, s
    answers: str | None  # hash of the board's bytes; None if the recording was interrupted


@dataclass(frozen=True)
class Replay:
    """Result of a replay."""

    seconds: float
    same: bool | None  # True for equal bytes of the board; None if the recording has no end
    record: Record | None  # ticks of the replay; None if the caller did not request them


class Sliced(VirtualBoard):
    """A virtual board that always runs for whole time slices."""

    _slices = 0

    def run_until(self, seconds: float) -> None:
        while self.seconds < seconds - CYCLE:
            self._slices += 1
            super().run_until(SLICE * self._slices)


class _Tap(Disturbance):
    """A line without disturbances that records the bytes on it."""

    def __init__(self, board: VirtualBoard, file: TextIO) -> None:
        super().__init__()
        self._board, self._file = board, file

    def __call__(self, data: bytes) -> bytes:
        passed = super().__call__(data)
        if passed:
            self._file.write(f"{self._board.seconds!r} {passed.hex()}\n")
        return passed


@contextmanager
def taped(board: Sliced, path: Path, feedforward: bool = True) -> Iterator[None]:
    """Record the bytes from hosts to a freshly powered board. Raises BadInput if the file exists or is not writable."""
    try:
        file = path.open("x", encoding="ascii", buffering=1)
    except OSError as error:
        raise BadInput(path, "tape", None, f"cannot be written ({error.strerror})", "choose another name") from error
    with file:
        file.write(f"{HEAD} {Configuration.of(board.mechanism, feedforward).digest.hex()} {board.number}\n")
        answers = sha256()
        board.incoming = _Tap(board, file)
        board.listeners.append(answers.update)
        try:
            yield
        finally:
            board.listeners.remove(answers.update)
            file.write(f"end {board.seconds!r} {answers.hexdigest()}\n")


def read_tape(path: Path) -> Tape:
    """Return a file's recording, without an incomplete last line. Raises BadInput with the invalid line's number."""
    head, *lines = read_text(path, LARGEST, ".tape").split("\n")
    digest, _, number = head.removeprefix(HEAD + " ").partition(" ")
    if not (head.startswith(HEAD) and len(digest) == 64 and number.isdecimal()):
        raise BadInput(path, "tape", head[:60], f"is no tape: its first line must be {HEAD} DIGEST NUMBER")
    sent: list[tuple[float, bytes]] = []
    for k, line in enumerate(lines[:-1], start=2):  # the text after the last line end is empty or an incomplete line
        words = line.split(" ")
        try:
            if words[0] == "end":
                return Tape(path, digest, int(number), tuple(sent), _later(words[1], sent), words[2])
            at, data = words
            sent.append((_later(at, sent), bytes.fromhex(data)))
        except (ValueError, IndexError):
            raise BadInput(path, f"line {k}", line[:60], "must be a time, no sooner than the one before and within "
                           f"{LONGEST:g} s, and bytes in hexadecimal") from None
    return Tape(path, digest, int(number), tuple(sent), (sent[-1][0] if sent else 0.0) + AFTER, None)


def _later(text: str, sent: list[tuple[float, bytes]]) -> float:
    at = float(text)
    if not (sent[-1][0] if sent else 0.0) <= at <= LONGEST:
        raise ValueError
    return at


def replay_tape(mechanism: Mechanism, tape: Tape, *, log: Path | None = None, out: Path | None = None,
                recording: bool = False) -> Replay:
    """Build and boot the image, and send it the recording's bytes. log: RUN.mcap, as of `follow --log`. recording:
    record each tick. Raises Refused for another configuration's recording, and a build's BadInput and Refused."""
    configuration = Configuration.of(mechanism)
    if tape.digest != configuration.digest.hex():
        raise Refused(f"{tape.path}: is of another configuration, digest {tape.digest[:16]}, while "
                      f"{configuration.source or mechanism.name} has digest {configuration.digest.hex()[:16]}")
    built = build_image(mechanism, out or folder(mechanism, feedforward=True))
    with Sliced(built.elf, mechanism, plant_of(mechanism), number=tape.number) as board, ExitStack() as stack:
        board.recording, board.brakes = recording, True
        answers, cable = sha256(), board.plug_in()
        board.listeners.append(answers.update)
        if log is not None:
            notes = {"board": "virtual", "port": f"replay of {tape.path.name}"}
            written = stack.enter_context(Log(log, configuration, notes, mechanism=mechanism))
            reader = FrameReader(Codec(len(mechanism.streamed)))

            def write(data: bytes) -> None:
                for frame in reader.feed(data):
                    if isinstance(frame.message, Status):
                        written.write(frame.message)
                    elif isinstance(frame.message, Felt):
                        written.write_felt(frame.message)

            board.listeners.append(write)
        for at, data in tape.sent:
            board.run_until(at)
            cable.write(data)
            cable.read(1 << 20)
        board.run_until(tape.end)
        same = None if tape.answers is None else answers.hexdigest() == tape.answers
        return Replay(board.seconds, same, board.record() if recording else None)
