"""LeRobot's robot `femtorque` and teleoperator `femtorque_leader`, which importing this package registers. LeRobot uses
degrees, mm, and 0 to 100 for the gripper; the board rad and m."""

from lerobot_robot_femtorque.config_femtorque import FemtorqueConfig
from lerobot_robot_femtorque.config_femtorque_leader import FemtorqueLeaderConfig
from lerobot_robot_femtorque.femtorque import Femtorque
from lerobot_robot_femtorque.femtorque_leader import FemtorqueLeader

__all__ = ["Femtorque", "FemtorqueConfig", "FemtorqueLeader", "FemtorqueLeaderConfig"]
