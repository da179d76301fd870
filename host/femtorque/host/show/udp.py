"""Sends every STATUS as a JSON datagram to PlotJuggler's UDP server (protocol JSON, `timestamp` as time)."""

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from femtorque.codegen.common import BadInput
from femtorque.host.link import Session
from femtorque.host.record import named, sample


@contextmanager
def sending(session: Session, to: str) -> Iterator[None]:
    """Send every STATUS to HOST:PORT until the context ends. Raises BadInput for a wrong address."""
    family, address = _address(to)
    with socket.socket(family, socket.SOCK_DGRAM) as channel:
        channel.setblocking(False)
        newest: dict[str, Any] = {}

        def send(_: Any) -> None:
            nonlocal newest
            newest = sample(session, newest)
            try:
                channel.sendto(json.dumps(named(session, newest), separators=(",", ":")).encode(), address)
            except OSError:
                pass  # no listener, or a full buffer; the next datagram follows in 10 ms

        with session.hearing(send):
            yield


def _address(to: str) -> tuple[int, Any]:
    host, _, port = to.rpartition(":")
    if not (host and port.isdecimal() and 0 < int(port) < 65536):
        raise BadInput("command line", "--udp", to, "must be HOST:PORT", "PlotJuggler's own default is localhost:9870")
    try:
        family, _, _, _, address = socket.getaddrinfo(host.strip("[]"), int(port), type=socket.SOCK_DGRAM)[0]
    except OSError as error:
        raise BadInput("command line", "--udp", to, f"cannot be reached: {error.strerror}") from None
    return family, address
