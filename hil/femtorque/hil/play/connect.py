"""A host for a board in the same process. The host uses the board's time."""

from femtorque.hil.board import BoardUnderTest, VirtualClock
from femtorque.host.link import Clock, Configuration, Link, Session


def session_with(board: BoardUnderTest, configuration: Configuration | None = None,
                 clock: Clock | None = None) -> Session:
    """Return an unconnected session at the board's cable, which the caller closes."""
    configuration = configuration or Configuration.of(board.mechanism)
    return Session(Link(board.plug_in(), clock=clock or VirtualClock(board), baud=configuration.baud), configuration)
