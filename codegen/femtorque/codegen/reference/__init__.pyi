from .discrete import PACE_OF_CORRECTION as PACE_OF_CORRECTION, SWING as SWING, emitted_torque as emitted_torque
from .discrete_flexible import SETTLING as SETTLING, STEEPEST as STEEPEST, Flexible as Flexible
from .flexible import LOST as LOST, Bent as Bent, bending as bending, bends as bends
from .flexible_mass import flexible_mass_matrix as flexible_mass_matrix
from .instant import (
    determined as determined, in_one_mode as in_one_mode, places_of as places_of, poses as poses, rows_of as rows_of)
from .newmark import newmark_growth as newmark_growth, newmark_torque as newmark_torque
from .pinocchio import torque as torque, version as version
from .rigid import (
    NodalState as NodalState, accelerations as accelerations, newton_euler as newton_euler, recursion as recursion)
from .schemes import closed_form as closed_form
from .wrench import Wrench as Wrench, place as place, wrench_torque as wrench_torque
