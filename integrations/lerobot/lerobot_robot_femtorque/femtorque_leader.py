"""The teleoperator `femtorque_leader`: an arm with a floating board, which a user leads by hand."""

import threading
from functools import cached_property
from typing import Any

from lerobot.teleoperators.teleoperator import Teleoperator
from lerobot.utils.decorators import check_if_not_connected
from lerobot_robot_femtorque.config_femtorque_leader import FemtorqueLeaderConfig
from lerobot_robot_femtorque.connection import Attached

from femtorque import Refused

ENDING = 5.0  # maximum time from the end of floating until the board holds the arm, s


class FemtorqueLeader(Attached, Teleoperator):
    """An arm whose board runs femtorque's firmware and lets the arm float. See FemtorqueLeaderConfig."""

    config_class = FemtorqueLeaderConfig
    name = "femtorque_leader"

    def __init__(self, config: FemtorqueLeaderConfig) -> None:
        super().__init__(config)
        self._over = threading.Event()
        self._failed: Exception | None = None
        self._thread: threading.Thread | None = None

    @cached_property
    def feedback_features(self) -> dict[str, type]:
        """Empty, because the leader gets no feedback from the follower."""
        return {}

    def configure(self) -> None:
        """Arm the board, and start a thread that lets the arm float."""
        if self._thread is None:
            self._connected.arm()
            self._over.clear()
            self._thread = threading.Thread(target=self._float, name="femtorque leader", daemon=True)
            self._thread.start()

    @check_if_not_connected
    def get_action(self) -> dict[str, Any]:
        """Return measured positions. Raises Refused if the board has stopped floating the arm."""
        if self._failed is not None:
            raise self._failed
        return self._border.shown(self._connected.status.positions)

    def send_feedback(self, feedback: dict[str, Any]) -> None:
        """Do nothing, because the leader gets no feedback from the follower."""

    @check_if_not_connected
    def disconnect(self) -> None:
        """Leave the arm held in place. If the board refuses a request, close the port and raise Refused."""
        board, thread = self._connected, self._thread
        try:
            self._over.set()
            if thread is not None:
                thread.join(ENDING)
            if self._failed is not None:
                raise self._failed
        finally:
            self._board = self._thread = self._failed = None
            board.close(hold=True)

    def _float(self) -> None:
        """Float until the end. Request it again if this computer was too busy to keep the board's host time-out."""
        while not self._over.is_set():
            try:
                self._connected.float(self.config.friction, until=self._over.is_set)
            except Refused as refusal:
                status = self._connected.status
                if status.state == "HOLD" and "HOST_SILENT" in status.flags:
                    continue
                self._failed = refusal
                return
            except Exception as error:
                self._failed = error
                return
