"""Reads targets that other programs send as lines of text through standard input or a socket, and sends motions as
targets.

A line is a JSON object: {"q": [0.1, 0.2, 0.3]} or {"q": {"elbow": 0.2}}, optionally with "v" (velocities) and "t" (s,
the sender's clock). {"times": [0.0, 0.1], "Q": [[...], [...]]} is a chunk of future targets, optionally with "V". A
line may also hold plain numbers, one per joint, separated by commas or blanks."""

from __future__ import annotations

import json
import queue
import socket
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from io import TextIOWrapper
from typing import Any, TextIO

from femtorque.codegen.common import BadInput, shown
from femtorque.codegen.mechanism import Joint
from femtorque.codegen.motion import Trajectory
from femtorque.codegen.wire import per_joint, to_float
from femtorque.host.link import PERIOD
from femtorque.host.live.following import Following

LONGEST = 65_536  # bytes of a line
WAITING = 1000  # maximum number of queued lines; older datagrams are dropped
OPEN = 0.1  # time until a closed port is noticed, s
SINGLE, AHEAD = {"q", "v", "t"}, {"times", "Q", "V"}


class Pipe:
    """Lines of a text stream. A thread reads the stream."""

    def __init__(self, stream: TextIO) -> None:
        self._waiting: queue.Queue[str] = queue.Queue(WAITING)
        self._closed = threading.Event()
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
        threading.Thread(target=self._read, args=(stream,), name="femtorque lines", daemon=True).start()

    def _read(self, stream: TextIO) -> None:
        try:
            while line := stream.readline(LONGEST):
                self._waiting.put(line)
        finally:
            self._closed.set()

    def poll(self) -> list[str]:
        """Return the lines since the last call, without waiting."""
        found = []
        while not self._waiting.empty():
            found.append(self._waiting.get_nowait())
        return found

    @property
    def ended(self) -> bool:
        return self._closed.is_set() and self._waiting.empty()


def udp(number: int) -> socket.socket:
    """Open a UDP port that accepts only this computer's datagrams."""
    opened = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        opened.bind(("127.0.0.1", number))
    except OSError as error:
        opened.close()
        raise BadInput("command line", "--from", f"udp:{number}", f"cannot be opened ({error.strerror})",
                       "another port") from error
    return opened


class Port:
    """Lines from a UDP socket, one per datagram, read by a thread. A full queue loses its oldest lines."""

    def __init__(self, opened: socket.socket) -> None:
        self._socket = opened
        self._socket.settimeout(OPEN)
        self._waiting = deque[bytes](maxlen=WAITING)
        self.ended = False
        self._thread = threading.Thread(target=self._read, name="femtorque datagrams", daemon=True)
        self._thread.start()

    def _read(self) -> None:
        while not self.ended:
            with suppress(OSError):
                self._waiting.append(self._socket.recv(LONGEST))

    def poll(self) -> list[str]:
        return [self._waiting.popleft().decode("utf-8", "replace") for _ in range(len(self._waiting))]

    def __enter__(self) -> Port:
        return self

    def __exit__(self, *how: object) -> None:
        self.ended = True
        self._thread.join()
        self._socket.close()


@dataclass
class Sent:
    """Number of accepted lines, number of refused lines, and the reason of the first refusal."""

    targets: int = 0
    bad: int = 0
    first: str = ""

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Catch BadInput inside the context and count it."""
        try:
            yield
        except BadInput as error:
            self.bad += 1
            self.first = self.first or str(error)


def read(line: str, joints: Sequence[Joint], where: str) -> dict[str, Any]:
    """Parse a line into arguments of `Following.send` or `Following.chunk`. Raises BadInput with one line."""
    text = line.strip()
    if not text.startswith("{"):
        return {"q": per_joint(_numbers(text, where), joints, where, "q", alone=True)}
    try:
        table: dict[str, Any] = json.loads(text, parse_constant=lambda word: float("nan"))
    except (ValueError, RecursionError) as error:
        raise BadInput(where, "line", shown(text[:60]), f"is not JSON ({error})") from None
    kind, needed = (AHEAD, ("times", "Q")) if "Q" in table or "times" in table else (SINGLE, ("q",))
    for key in table:
        if key not in kind:
            raise BadInput(where, "line", shown(str(key)), "unknown key", "q, v, t; or times, Q, V of a chunk")
    for key in needed:
        if key not in table:
            raise BadInput(where, "line", None, f"{key} is missing")
    if _whole(table):
        table["q"] = per_joint(table["q"], joints, where, "q", alone=True)
        table["v"] = None if table.get("v") is None else to_float(table["v"], joints, where, "v")
    return table


def _whole(table: dict[str, Any]) -> bool:
    """Return True for a line with all positions and no time, which the next line of its kind replaces."""
    return "q" in table and not isinstance(table["q"], dict) and table.get("t") is None


def _numbers(text: str, where: str) -> list[float]:
    try:
        return [float(word) for word in text.replace(",", " ").split()]
    except ValueError:
        raise BadInput(where, "line", shown(text[:60]), "must be numbers, one per joint, or a JSON object",
                       '{"q": [0.1, 0.2, 0.3]}') from None


def relay(f: Following, source: Pipe | Port, until: Callable[[], bool], where: str = "lines") -> Sent:
    """Send each line immediately, until the source ends or `until()` returns True. Count wrong lines. If several lines
    without a time arrive together, only the last line is sent."""
    sent = Sent()
    while not until():
        ended = source.ended
        tables = []
        for line in filter(str.strip, source.poll()):
            with sent.counted():
                tables.append(read(line, f.joints, where))
        last = max((k for k, table in enumerate(tables) if _whole(table)), default=0)
        for k, table in enumerate(tables):
            with sent.counted():
                if k < last and _whole(table):
                    f.leave_out(1)
                else:
                    f.chunk(**table) if "Q" in table else f.send(**table)
                sent.targets += 1
        if ended:
            break
        f.wait(PERIOD)
    return sent


def replay(f: Following, motion: Trajectory, hz: float, until: Callable[[], bool]) -> Sent:
    """Send a motion as live targets at `hz`, with velocities."""
    clock, sent = f.session.clock, Sent()
    begin = clock.now()
    while not until():
        t = min(sent.targets / hz, motion.duration)
        q, v, _ = motion.at(t)
        f.send(q, v if t < motion.duration else None, begin + t)
        sent.targets += 1
        if t >= motion.duration:
            break
        f.wait(max(0.0, begin + sent.targets / hz - clock.now()))
    return sent


def told(found: dict[str, Any], sent: Sent) -> dict[str, Any]:
    """Return the numbers of sent targets and bad lines as JSON data."""
    return found | {"targets": sent.targets, "bad_lines": sent.bad, "first_bad_line": sent.first}
