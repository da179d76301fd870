"""Configuration of the robot: `--robot.type=femtorque --robot.mechanism=my_arm.toml`."""

from dataclasses import dataclass, field

from lerobot.cameras import CameraConfig
from lerobot.robots.config import RobotConfig


@RobotConfig.register_subclass("femtorque")
@dataclass(kw_only=True)
class FemtorqueConfig(RobotConfig):
    """mechanism: of the firmware. port: as in `femtorque --port`. gripper: the joint with a range of 0 to 100; empty:
    none. use_velocity_and_torque: also observe `.vel` and `.torque`. delay: as in `femtorque follow`; None: the file's.
    park: pose by joint, LeRobot's units, at which disconnect() releases the arm; empty: the arm is held."""

    mechanism: str
    port: str = "auto"
    gripper: str = "gripper"
    use_velocity_and_torque: bool = False
    delay: float | None = None
    park: dict[str, float] = field(default_factory=dict)
    cameras: dict[str, CameraConfig] = field(default_factory=dict)
