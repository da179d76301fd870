"""Configuration of the robot: `--robot.type=femtorque --robot.mechanism=my_arm.toml`."""

from dataclasses import dataclass, field

from lerobot.cameras import CameraConfig
from lerobot.robots.config import RobotConfig


@RobotConfig.register_subclass("femtorque")
@dataclass(kw_only=True)
class FemtorqueConfig(RobotConfig):
    """mechanism: mechanism file of the firmware. port: port as in `femtorque --port`. gripper: the joint with a range
    of 0 to 100; empty without a gripper. use_velocity_and_torque: true to observe `.vel` and `.torque`. delay: delay as
    in `femtorque follow`; None for the file's delay. park: pose by joint, in LeRobot's units, at which disconnect()
    releases the arm; empty to leave the arm held."""

    mechanism: str
    port: str = "auto"
    gripper: str = "gripper"
    use_velocity_and_torque: bool = False
    delay: float | None = None
    park: dict[str, float] = field(default_factory=dict)
    cameras: dict[str, CameraConfig] = field(default_factory=dict)
