"""A board that LeRobot's scripts come to and leave: its arm is held in between."""

from femtorque import Board, Mechanism

LEFT = "HOST_LOST"  # fault of a board that its host has left


def connect(port: str, mechanism: Mechanism) -> Board:
    """Connect. An arm that its last host has left stays held (HELD) until it is armed; one that has been let go since
    then is cleared. Any other fault stays for its owner.

    Raises BadInput and Refused as Board.connect does.
    """
    board = Board.connect(port, mechanism)
    try:
        if board.status.fault == LEFT:
            board.clear()
    except BaseException:
        board.close(hold=True)
        raise
    return board


def homed(board: Board) -> bool:
    """True if the joints have their zeros."""
    return "HOMED" in board.status.flags


def home(board: Board, mechanism: Mechanism, who: str) -> None:
    """Ask a person to put the joints to their start pose, and give them their zeros; a board that has them keeps
    them."""
    if homed(board):
        print(f"{who} has its zeros")
        return
    pose = ", ".join(f"{joint.name} {joint.start:g}" for joint in mechanism.streamed)
    input(f"Put the joints of {who} to their start pose ({pose}; rad or m), then press ENTER: ")
    board.home()


class Attached:
    """Robot and teleoperator alike: a board from connect() to disconnect(), and its joints' zeros."""

    _board: Board | None
    _mechanism: Mechanism

    @property
    def is_connected(self) -> bool:
        """True from connect() to disconnect()."""
        return getattr(self, "_board", None) is not None

    @property
    def is_calibrated(self) -> bool:
        """True if the board knows the joints' zeros."""
        return self._board is not None and homed(self._board)

    def calibrate(self) -> None:
        """Give the joints their zeros at the start pose of the mechanism file; a board that has them keeps them."""
        home(self._connected, self._mechanism, str(self))

    @property
    def _connected(self) -> Board:
        assert self._board is not None
        return self._board
