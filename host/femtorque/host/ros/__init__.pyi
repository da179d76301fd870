from .arm import Arm as Arm
from .files import ros_files as ros_files, write_ros_files as write_ros_files
from .node import Node as Node
from .rclpy_node import RclpyNode as RclpyNode
