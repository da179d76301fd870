"""Targets of other programs: lines of text from standard input or a UDP port, and motions that are sent as targets.

A line is a JSON object, {"q": [0.1, 0.2, 0.3]} or {"q": {"elbow": 0.2}}, perhaps with "v" (velocities) and "t" (s, the
sender's clock), or {"times": [0.0, 0.1], "Q": [[...], [...]]}, a chunk that lies ahead, perhaps with "V"; or numbers
alone, one per joint, with commas or blanks between them.
"""

from __future__ import annotations

import json
import queue
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TextIO

from femtorque.codegen.common.errors import BadInput
from femtorque.codegen.common.nearest import shown
from femtorque.codegen.motion.trajectory import Trajectory
from femtorque.host.link.session import PERIOD
from femtorque.host.live.following import Following

LONGEST = 65_536  # bytes of a line
WAITING = 1000  # lines that wait at most; of datagrams the newest stay
SINGLE, AHEAD = {"q", "v", "t"}, {"times", "Q", "V"}


class Lines(Protocol):
    """Lines as they come."""

    def poll(self) -> list[str]:
        """The lines that have come since the last call, without waiting."""
        ...

    @property
    def ended(self) -> bool:
        """True once no more will come."""
        ...


class Pipe:
    """Lines of a stream, read by a thread of its own."""

    def __init__(self, stream: TextIO) -> None:
        self._waiting: queue.Queue[str] = queue.Queue(WAITING)
        self._closed = threading.Event()
        threading.Thread(target=self._read, args=(stream,), name="femtorque lines", daemon=True).start()

    def _read(self, stream: TextIO) -> None:
        while line := stream.readline(LONGEST):
            self._waiting.put(line)
        self._closed.set()

    def poll(self) -> list[str]:
        found = []
        while not self._waiting.empty():
            found.append(self._waiting.get_nowait())
        return found

    @property
    def ended(self) -> bool:
        return self._closed.is_set() and self._waiting.empty()


class Port:
    """Datagrams at a UDP port of this machine alone, a line each."""

    ended = False

    def __init__(self, number: int) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.setblocking(False)
        try:
            self._socket.bind(("127.0.0.1", number))
        except OSError as error:
            self._socket.close()
            raise BadInput("command line", "--from", f"udp:{number}", f"cannot be opened ({error.strerror})",
                           "another port") from error
        self.number = int(self._socket.getsockname()[1])

    def poll(self) -> list[str]:
        found: list[str] = []
        while len(found) < WAITING:
            try:
                found.append(self._socket.recv(LONGEST).decode("utf-8", "replace"))
            except (BlockingIOError, ConnectionError):
                break
        return found

    def close(self) -> None:
        self._socket.close()


@dataclass
class Sent:
    """Counts of lines that were sent and of those that could not be read; the first of these in words."""

    targets: int = 0
    bad: int = 0
    first: str = ""


def give(f: Following, line: str, where: str) -> None:
    """Send what a line says. Raises BadInput with one line."""
    text = line.strip()
    if not text.startswith("{"):
        return f.send(_numbers(text, where))
    try:
        table = json.loads(text, parse_constant=lambda word: float("nan"))
    except (ValueError, RecursionError) as error:
        raise BadInput(where, "line", shown(text[:60]), f"is not JSON ({error})") from None
    kind = AHEAD if "Q" in table or "times" in table else SINGLE
    for key in table:
        if key not in kind:
            raise BadInput(where, "line", shown(str(key)), "unknown key", "q, v, t; or times, Q, V of a chunk")
    try:
        if kind is AHEAD:
            return f.chunk(table["times"], table["Q"], table.get("V"))
        return f.send(table["q"], table.get("v"), table.get("t"))
    except KeyError as missing:
        raise BadInput(where, "line", None, f"{missing.args[0]} is missing") from None
    except (TypeError, ValueError) as error:
        raise BadInput(where, "line", shown(text[:60]), f"are no numbers ({error})") from None


def _numbers(text: str, where: str) -> list[float]:
    try:
        return [float(word) for word in text.replace(",", " ").split()]
    except ValueError:
        raise BadInput(where, "line", shown(text[:60]), "must be numbers, one per joint, or a JSON object",
                       '{"q": [0.1, 0.2, 0.3]}') from None


def relay(f: Following, source: Lines, until: Callable[[], bool], strict: bool = True, where: str = "lines") -> Sent:
    """Send lines as they come, until the source ends or is to. strict: what cannot be read is raised as BadInput, else
    counted."""
    sent = Sent()
    while not until():
        ended = source.ended
        for line in source.poll():
            if not line.strip():
                continue
            try:
                give(f, line, where)
                sent.targets += 1
            except BadInput as error:
                if strict:
                    raise
                sent.bad += 1
                sent.first = sent.first or str(error)
        if ended:
            break
        f.wait(PERIOD)
    return sent


def replay(f: Following, motion: Trajectory, hz: float, until: Callable[[], bool]) -> Sent:
    """Send a motion as live targets, `hz` of them a second, with its velocities."""
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
    """As JSON can hold it."""
    return found | {"targets": sent.targets, "bad_lines": sent.bad, "first_bad_line": sent.first}
