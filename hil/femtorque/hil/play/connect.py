"""A host for a board in the same process. The host uses the board's time."""

from femtorque.hil.board import BoardUnderTest, VirtualClock
from femtorque.host.link import Clock, Configuration, Link, Session


def session_with(board: BoardUnderTest, configuration: Configuration | None = None,
                 clock: Clock | None = None) -> Session:
    """Return a session that is connected to the board's cable. The session is not connected; the caller closes it.
    configuration: configuration of the board, by default from its mechanism."""
    configuration = configuration or Configuration.of(board.mechanism)
    return Session(Link(board.plug_in(), clock=clock or VirtualClock(board), baud=configuration.baud), configuration)
