"""The robot `femtorque`. The board follows actions as live targets, within its limits and with feed-forward."""

import math
from functools import cached_property
from types import SimpleNamespace
from typing import Any

import numpy as np
from lerobot.cameras.utils import make_cameras_from_configs
from lerobot.robots.robot import Robot
from lerobot.utils.decorators import check_if_not_connected
from lerobot_robot_femtorque.config_femtorque import FemtorqueConfig
from lerobot_robot_femtorque.connection import Attached

PARK_SPEED, PARK_STEP = 0.1, 0.02  # fraction of the joints' velocity limits; s between two targets


class Femtorque(Attached, Robot):
    """An arm whose board runs femtorque's firmware. See FemtorqueConfig."""

    config_class = FemtorqueConfig
    name = "femtorque"

    def __init__(self, config: FemtorqueConfig) -> None:
        super().__init__(config)
        self._park = self._border.pose("robot.park", config.park)
        self._following: Any = None
        self.cameras = make_cameras_from_configs(config.cameras)

    @cached_property
    def observation_features(self) -> dict[str, Any]:
        """Features by name: `.pos` of every joint, `.vel` and `.torque` if configured, and the images' shapes."""
        more = [".vel", ".torque"] if self.config.use_velocity_and_torque else []
        found: dict[str, Any] = self._border.keys()
        for ending in more:
            found |= self._border.keys(ending)
        return found | {name: (camera.height, camera.width, 3) for name, camera in self.config.cameras.items()}

    @property
    def bus(self) -> SimpleNamespace:
        """Names of the joints, as `motors`, for lerobot-find-joint-limits."""
        return SimpleNamespace(motors=tuple(self._border.names))

    def configure(self) -> None:
        """Arm the board, and follow actions from now on."""
        if self._following is None:
            following = self._connected.follow(self.config.delay)
            following.__enter__()
            self._following = following

    @check_if_not_connected
    def get_observation(self) -> dict[str, Any]:
        """Return positions, the cameras' images, and if configured velocities and torques, N m or N. Raises Refused."""
        status = self._connected.status
        found: dict[str, Any] = self._border.shown(status.positions)
        if self.config.use_velocity_and_torque:
            for ending, values in ((".vel", self._border.scale * status.velocities), (".torque", status.torques)):
                found |= {name + ending: float(x) for name, x in zip(self._border.names, values, strict=True)}
        return found | {name: camera.read_latest() for name, camera in self.cameras.items()}

    @check_if_not_connected
    def send_action(self, action: dict[str, Any]) -> dict[str, Any]:
        """Send a target due now, and return it within the joints' ranges. Joints without a value stay. Raises BadInput
        for a wrong value, and Refused if the board has stopped following."""
        self.configure()
        asked = self._border.taken(action)
        self._following.send({joint.name: float(x) for joint, x in zip(self._mechanism.streamed, asked, strict=True)
                              if math.isfinite(x)})
        return {key: value for key, value in self._border.shown(asked).items() if math.isfinite(value)}

    @check_if_not_connected
    def disconnect(self) -> None:
        """Bring the arm to rest. The board then holds the arm. If `park` is given, move the arm slowly to this pose
        and disarm the board. If the board refuses a request, close the port and raise Refused."""
        board, following = self._connected, self._following
        try:
            if following is not None:
                with_park = bool(np.isfinite(self._park).any())
                if with_park:
                    self._drive_to_park()
                following.__exit__(None, None, None)
                if with_park:
                    board.disarm()
        finally:
            self._board = self._following = None
            board.close(hold=True)
            for camera in self.cameras.values():
                if camera.is_connected:
                    camera.disconnect()

    def _drive_to_park(self) -> None:
        """Send targets on a smooth path to the pose `park`, at velocities that every joint can reach."""
        here = self._connected.status.targets
        there = np.where(np.isfinite(self._park), self._park, here)
        fastest = PARK_SPEED * self._mechanism.follow_limits()[:, 0]
        steps = max(1, math.ceil(math.pi / 2.0 * float(np.max(np.abs(there - here) / fastest)) / PARK_STEP))
        for k in range(1, steps + 1):
            self._following.send(here + (there - here) * 0.5 * (1.0 - math.cos(math.pi * k / steps)))
            self._following.wait(PARK_STEP)


