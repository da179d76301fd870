from .articulated.servo import Servo as Servo
from .backlash import BacklashPlant as BacklashPlant
from .drive_rotors import unknown as unknown
from .driven_plants import Stepped as Stepped
from .encoders import counts_per_unit as counts_per_unit
from .flexible import FlexibleArmPlant as FlexibleArmPlant
from .flexible_arm import ArmRun as ArmRun, FlexiblePlant as FlexiblePlant, Wall as Wall, run_flexible as run_flexible
from .mujoco import MujocoPlant as MujocoPlant
from .plant_library import MOST as MOST, header as header
from .rigid_tree import RigidTree as RigidTree
from .selection import (
    FINER as FINER, Driven as Driven, Wired as Wired, follow as follow, plant_of as plant_of, stepped_of as stepped_of,
    wired as wired, world_of as world_of)
from .tip_deflection import shapes_of as shapes_of, tips_of as tips_of
