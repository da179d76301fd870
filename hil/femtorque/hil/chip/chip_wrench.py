"""ft_step_wrench on the emulated Cortex-M4F."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from femtorque.codegen.emit import wrench as wrench_source
from femtorque.codegen.model.bodies import Model
from femtorque.codegen.reference.wrench import Wrench, place
from femtorque.codegen.toolchain.step_library import Turns
from femtorque.codegen.toolchain.wrench_library import sources
from femtorque.hil.chip.chip_library import ChipLibrary

# The chip library passes four arguments in registers; this entry has five.
ENTRY = {"ft_wrench_entry.c": """\
#include "ft_wrench.h"

void ft_wrench_entry(const ft_turn *q, uint32_t link, const ft_real *wrench,
                     ft_real *tau);

/* Take force and moment from one array. */
void ft_wrench_entry(const ft_turn *q, uint32_t link, const ft_real *wrench,
                     ft_real *tau)
{
    ft_step_wrench(q, link, wrench, wrench + 3, tau);
}
"""}


def torque(model: Model, q: ArrayLike, wrench: Wrench) -> NDArray[np.float64]:
    """Torques (N, n), N m or N, at positions q (N, n), rad or m. Raises BadInput as
    femtorque.codegen.reference.wrench.torque."""
    place(model.mechanism, wrench.link)
    chip, rows = ChipLibrary(sources(model) | ENTRY), []
    link = list(wrench_source.moving_links(model)).index(wrench.link)
    at, given = chip.put(4 * model.n), chip.put(np.concatenate([wrench.force, wrench.moment]).astype(np.float32))
    tau = chip.put(4 * model.n)
    for position in Turns(model, "single").of(q):
        chip.write(at, position)
        chip.write(tau, np.zeros(model.n, np.float32))
        chip.call("ft_wrench_entry", at, link, given, tau)
        rows.append(chip.read(tau, np.float32, model.n))
    return np.array(rows, float).reshape(-1, model.n)
