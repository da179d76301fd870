"""Runs a zenoh router in this process, in place of rmw_zenohd."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager

import zenoh


@contextmanager
def routed(port: int = 0) -> Iterator[tuple[int, zenoh.Session]]:
    """Yield the router's port and session. port: 0 for a free one."""
    with socket.create_server(("127.0.0.1", port)) as free:
        port = free.getsockname()[1]
    configuration = zenoh.Config()
    for place, value in (("mode", '"router"'), ("listen/endpoints", f'["tcp/127.0.0.1:{port}"]'),
                         ("scouting/multicast/enabled", "false")):
        configuration.insert_json5(place, value)
    with zenoh.open(configuration) as session:
        yield port, session
