from .bus_budget import bus_loads as bus_loads
from .check import examine as examine
from .check_tables import check_renderable as check_renderable, motor_table as motor_table
from .figures import FORMATS as FORMATS, blank as blank, check_format as check_format, torque_curves as torque_curves
from .find_constant import Search as Search
from .finite_element_tables import (
    FREEDOMS as FREEDOMS, elements_renderable as elements_renderable, freedom_names as freedom_names,
    load_names as load_names, number as number)
from .finite_elements import Bar as Bar, Elements as Elements, RigidLink as RigidLink, elements_of as elements_of
from .known_arms import arm_names as arm_names
from .motion_torques import Torque as Torque, motor_torque as motor_torque, torque as torque
from .new_file import Choice as Choice, said_of as said_of, write_new_file as write_new_file
from .report import verification_renderable as verification_renderable, write_verification as write_verification
from .verification import verify as verify
from .without_hardware import pc_words as pc_words
