"""Joint torques that balance an external wrench, computed by the emitted ft_step_wrench on this computer."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from femtorque.codegen.emit import moving_links, step
from femtorque.codegen.emit.wrench import render
from femtorque.codegen.model import Model
from femtorque.codegen.reference import Wrench, place
from femtorque.codegen.toolchain.host_compiler import LIGHTLY, Precision, build
from femtorque.codegen.toolchain.step_library import Turns

CDEF = """
typedef {real} ft_real;
typedef int{bits}_t ft_turn;
void ft_step_wrench(const ft_turn *q, uint32_t link, const ft_real *force, const ft_real *moment, ft_real *tau);
"""


def sources(model: Model) -> dict[str, str]:
    """Return {file name: text} of the C that computes the wrench's torques, with its headers."""
    return step.headers(model) | render(model)


def emitted_wrench_torque(model: Model, q: ArrayLike, wrench: Wrench,
                          precision: Precision = "single") -> NDArray[np.float64]:
    """Return torques (N, n), N m or N, at positions q (N, n), rad or m.

    Raise BadInput under the same conditions as femtorque.codegen.reference.wrench.torque."""
    place(model.mechanism, wrench.link)
    real, bits = ("double", 64) if precision == "double" else ("float", 32)
    ffi, lib = build(sources(model), CDEF.format(real=real, bits=bits), precision, LIGHTLY)
    turns = Turns(model, precision)
    tau: NDArray[Any] = np.zeros((len(np.asarray(q)), model.n), turns.real)
    link = list(moving_links(model)).index(wrench.link)
    force, moment = (ffi.from_buffer("ft_real[]", x.astype(turns.real)) for x in (wrench.force, wrench.moment))
    for at, row in zip(turns.of(q), tau, strict=True):
        lib.ft_step_wrench(ffi.from_buffer("ft_turn[]", at), link, force, moment, ffi.from_buffer("ft_real[]", row))
    return tau.astype(float)
