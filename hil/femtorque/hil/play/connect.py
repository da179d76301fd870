"""A host in this process for a board, in the board's own time."""

from femtorque.hil.board import BoardUnderTest, VirtualClock
from femtorque.host.link import Clock, Configuration, Link, Session


def session_with(board: BoardUnderTest, configuration: Configuration | None = None,
                 clock: Clock | None = None) -> Session:
    """A session at the other end of the board's cable, not connected yet; whoever takes it closes it. configuration:
    that the board must carry; its mechanism's, if none is given."""
    configuration = configuration or Configuration.of(board.mechanism)
    return Session(Link(board.plug_in(), clock=clock or VirtualClock(board), baud=configuration.baud), configuration)
