"""A host in this process for a board, in the board's own time."""

from __future__ import annotations

from femtorque.hil.board.under_test import BoardUnderTest, VirtualClock
from femtorque.host.link.clock import Clock
from femtorque.host.link.configuration import Configuration
from femtorque.host.link.link import Link
from femtorque.host.link.session import Session


def session_with(board: BoardUnderTest, configuration: Configuration | None = None,
                 clock: Clock | None = None) -> Session:
    """A session at the other end of the board's cable, not connected yet; whoever takes it closes it. configuration:
    that the board must carry; its mechanism's, if none is given."""
    configuration = configuration or Configuration.of(board.mechanism)
    return Session(Link(board.plug_in(), clock=clock or VirtualClock(board), baud=configuration.baud), configuration)
