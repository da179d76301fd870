"""Configuration of the robot: `--robot.type=femtorque --robot.mechanism=my_arm.toml`."""

from dataclasses import dataclass, field

from lerobot.cameras import CameraConfig
from lerobot.robots.config import RobotConfig


@RobotConfig.register_subclass("femtorque")
@dataclass(kw_only=True)
class FemtorqueConfig(RobotConfig):
    """mechanism: file that the board's firmware was made from; port: as of `femtorque --port`.

    gripper: joint whose range is 0 to 100; empty: none. use_velocity_and_torque: `.vel` and `.torque` of every joint in
    observations too. delay: s from a target to the joints, as of `femtorque follow`; None: as the file says. park: by
    joint, in LeRobot's units, where disconnect() drives the arm and lets go of it; empty: it is held where it is.
    """

    mechanism: str
    port: str = "auto"
    gripper: str = "gripper"
    use_velocity_and_torque: bool = False
    delay: float | None = None
    park: dict[str, float] = field(default_factory=dict)
    cameras: dict[str, CameraConfig] = field(default_factory=dict)
