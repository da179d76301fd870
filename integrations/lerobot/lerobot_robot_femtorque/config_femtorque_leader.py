"""Configuration of the teleoperator: `--teleop.type=femtorque_leader --teleop.mechanism=my_leader.toml`."""

from dataclasses import dataclass

from lerobot.teleoperators.config import TeleoperatorConfig


@TeleoperatorConfig.register_subclass("femtorque_leader")
@dataclass(kw_only=True)
class FemtorqueLeaderConfig(TeleoperatorConfig):
    """FemtorqueConfig's mechanism, port and gripper."""

    mechanism: str
    port: str = "auto"
    gripper: str = "gripper"
    friction: int = 0  # per cent of Coulomb friction to compensate, 0 to 80
