"""Configuration of the robot: `--robot.type=femtorque --robot.mechanism=my_arm.toml`."""

from dataclasses import dataclass, field

from lerobot.cameras import CameraConfig
from lerobot.robots.config import RobotConfig


@RobotConfig.register_subclass("femtorque")
@dataclass(kw_only=True)
class FemtorqueConfig(RobotConfig):
    """mechanism: the firmware's mechanism file. port: as in `femtorque --port`. gripper: the joint with a range of 0 to
    100; empty: no gripper. use_velocity_and_torque: also observe `.vel` and `.torque` of every joint. delay: s from a
    target to the joints, as in `femtorque follow`; None: the file's delay. park: positions by joint, in LeRobot's
    units; disconnect() moves the arm there and releases it. Empty: disconnect() leaves the arm held at its last
    pose."""

    mechanism: str
    port: str = "auto"
    gripper: str = "gripper"
    use_velocity_and_torque: bool = False
    delay: float | None = None
    park: dict[str, float] = field(default_factory=dict)
    cameras: dict[str, CameraConfig] = field(default_factory=dict)
