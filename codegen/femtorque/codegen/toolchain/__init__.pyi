from .build_cache import Known as Known
from .build_result import BuildResult as BuildResult
from .host_compiler import (
    ARITHMETIC as ARITHMETIC, WARNINGS as WARNINGS, Precision as Precision, compiler as compiler,
    precision_flags as precision_flags)
from .path_library import CompiledPath as CompiledPath
from .platformio import (
    FORBIDDEN as FORBIDDEN, build_image as build_image, build_program as build_program, project as project)
from .stack_bound import read_stack as read_stack, stack_depth as stack_depth
from .step_library import CompiledStep as CompiledStep, Turns as Turns
from .wrench_library import emitted_wrench_torque as emitted_wrench_torque, sources as sources
