"""A board for LeRobot's scripts. The board holds the arm in the time between two scripts."""

from functools import cached_property
from typing import Any

from lerobot.utils.decorators import check_if_already_connected
from lerobot_robot_femtorque.border import Border

from femtorque import Board, Mechanism

LEFT = "HOST_LOST"  # fault of a board whose host is lost


def connect(port: str, mechanism: Mechanism) -> Board:
    """Connect. A board in HELD continues to hold the arm. A motion that a killed script has just left is stopped.
    HOST_LOST is cleared; all other faults stay latched. Raises the same BadInput and Refused as Board.connect."""
    board = Board.connect(port, mechanism)
    try:
        board.session.rest()
        if board.status.fault == LEFT:
            board.clear()
    except BaseException:
        board.close(hold=True)
        raise
    return board


def homed(board: Board) -> bool:
    return "HOMED" in board.status.flags


def home(board: Board, mechanism: Mechanism, who: str) -> None:
    """Ask the user to move the joints to the start pose, and set the zeros. Existing zeros stay."""
    if homed(board):
        print(f"{who} has its zeros")
        return
    pose = ", ".join(f"{joint.name} {joint.start:g}" for joint in mechanism.streamed)
    input(f"Put the joints of {who} to their start pose ({pose}; rad or m), then press ENTER: ")
    board.home()


class Attached:
    """Base class of robot and teleoperator: holds the board from connect() to disconnect(), and sets zeros."""

    cameras: dict[str, Any] = {}
    configure: Any
    disconnect: Any

    def __init__(self, config: Any) -> None:
        self._board: Board | None = None  # set before super(): the base class's destructor reads is_connected
        super().__init__(config)  # type: ignore[call-arg]  # LeRobot's base class follows
        self.config = config
        self._mechanism = Mechanism.load(config.mechanism)
        self._border = Border.of(self._mechanism, config.gripper)

    @cached_property
    def action_features(self) -> dict[str, type]:
        """`.pos` of every joint."""
        return self._border.keys()

    @check_if_already_connected
    def connect(self, calibrate: bool = True) -> None:
        """Open the port, and hold the arm or let it float. calibrate: ask for zeros if there are none. Raises BadInput,
        Refused."""
        self._board = connect(self.config.port, self._mechanism)
        try:
            if calibrate and not self.is_calibrated:
                self.calibrate()
            if self.is_calibrated:
                self.configure()
            for camera in self.cameras.values():
                camera.connect()
        except BaseException:
            self.disconnect()
            raise

    @property
    def is_connected(self) -> bool:
        """True after connect() and before disconnect()."""
        return getattr(self, "_board", None) is not None

    @property
    def is_calibrated(self) -> bool:
        """True if the board knows the zeros of all joints."""
        return self._board is not None and homed(self._board)

    def calibrate(self) -> None:
        """Set the joints' zeros at the file's start pose. Existing zeros stay."""
        home(self._connected, self._mechanism, str(self))

    @property
    def _connected(self) -> Board:
        assert self._board is not None
        return self._board
