"""Ports of this computer, and the boards at these ports. The reported configuration identifies a board.

Only USB serial ports and the sockets of boards on this PC are searched, since opening another port may wake a modem.
"""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from femtorque.codegen.common import BadInput, Refused
from femtorque.codegen.wire import state_name
from femtorque.host.link.configuration import Configuration
from femtorque.host.link.link import BAUD, Link
from femtorque.host.link.serial_ports import candidates
from femtorque.host.link.session import Session
from femtorque.host.link.unix_socket import served_here

AUTO = "auto"


def is_auto(port: str | None) -> bool:
    """Return True for auto, or auto:ID with the first digits of a chip's unique number."""
    return port == AUTO or port is not None and port.startswith(f"{AUTO}:")


def wanted(port: str, answers: Iterable[Answer]) -> list[Answer]:
    """Return the boards that match the port name auto or auto:ID. Raises BadInput for a wrong ID."""
    number = port.removeprefix(AUTO).removeprefix(":").lower()
    if not set(number) <= set("0123456789abcdef") or len(number) > 24:
        raise BadInput("command line", "--port", port, "must be auto:ID with up to 24 hexadecimal digits",
                       "`femtorque ports` shows them as chip")
    return [answer for answer in answers if answer.identity and answer.identity["unique"].startswith(number)]


@dataclass(frozen=True)
class Answer:
    """Answer at a port."""

    port: str
    what: str
    identity: dict[str, Any] | None  # identity of the board, as in Session; None without an identity
    why: str = ""  # reason if `identity` is None
    state: str = ""

    def __str__(self) -> str:
        if self.identity is None:
            return f"{self.port}: {self.why}"
        who = self.identity
        return (f"{self.port}: {who['name']} on {who['board']}, digest {who['digest'][:8]}, chip {who['unique']}, "
                f"femtorque {who['version']}")


def ask_port(port: str, what: str = "", baud: int = BAUD) -> Answer:
    """Send only HELLO to one port."""
    try:
        link = Link(port, baud=baud)
    except BadInput as error:
        return Answer(port, what, None, error.rule)
    try:
        session = Session(link, listen_only=True)
        session.connect()
        return Answer(port, what, session.identity(), state=state_name(session.status))
    except Refused as error:
        return Answer(port, what, None, str(error).removeprefix(f"{port}: "))
    finally:
        link.close()


def survey(also: Iterable[str] = (), baud: int = BAUD) -> list[Answer]:
    """Ask every USB serial port, every board on this PC, and the named ports, all in parallel."""
    ports = dict(candidates()) | dict.fromkeys(served_here(), "this PC") | {port: "" for port in also}
    with ThreadPoolExecutor(max_workers=max(1, len(ports))) as pool:
        return list(pool.map(lambda item: ask_port(item[0], item[1], baud), ports.items()))


def find(expected: Configuration | None = None, port: str = AUTO) -> str:
    """Return the port of the board with this configuration. Without a configuration, return the port of the only board.
    auto:ID: only boards whose chip's number begins with ID. Raises BadInput for a wrong name. Raises Refused unless
    exactly one board matches."""
    wanted(port, ())
    answers = survey(baud=expected.baud if expected else BAUD)
    boards = wanted(port, answers)
    right = [b for b in boards if expected is None or b.identity and b.identity["digest"] == expected.digest.hex()]
    if len(right) == 1:
        return right[0].port
    if len(right) > 1:
        example = min(right, key=lambda b: b.port).identity
        assert example is not None
        raise Refused(f"--port {port}: {len(right)} boards would do: {'; '.join(map(str, right))}; name the port, or "
                      f"the chip: --port {AUTO}:{example['unique']}")
    if boards and expected is not None:
        raise Refused(f"--port {port}: no board carries {expected.name} with digest {expected.digest.hex()[:8]}; there "
                      f"is {'; '.join(map(str, boards))}; {expected.mend}")
    seen = f" ({'; '.join(map(str, answers))})" if answers else ": no USB serial port is plugged in"
    mend = (f"start `femtorque board {expected.source or expected.name}` or `femtorque hil serve` in another terminal"
            if expected is not None and expected.board == "pc" else
            "name the port, or socket://host:port of a virtual board")
    raise Refused(f"--port {port}: no board answers{seen}; {mend}")
