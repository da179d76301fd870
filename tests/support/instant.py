"""The emitted ft_rnea and ft_gravity on this computer, called for one row after another in the given order."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from femtorque.codegen.emit import rnea, step_sources
from femtorque.codegen.model import Model, has_modes
from femtorque.codegen.toolchain import Precision
from femtorque.codegen.toolchain.host_compiler import build

ENTRY = """
#include "ft_rnea.h"

#include <string.h>

int rows(long n, unsigned mode, const ft_real *q, const ft_real *qd, const ft_real *qdd, ft_real *tau);

/* Torques of rows; without rates those that hold the weight. Returns how many there are. */
int rows(long n, unsigned mode, const ft_real *q, const ft_real *qd, const ft_real *qdd, ft_real *tau)
{
    NEAR
    int k;

    (void)mode;
    for (k = 0; k < n; k++, q += FT_JOINTS, tau += FT_JOINTS)
        if (!(qd ? ft_rnea(GIVEN q, qd + k * FT_JOINTS, qdd + k * FT_JOINTS, tau) : ft_gravity(GIVEN q, tau)))
            return k;
    return k;
}
"""


def sources(model: Model) -> dict[str, str]:
    return step_sources(model) | rnea.render(model)


class Compiled:
    """The compiled functions. made: the number of rows for which the last call returned a torque.

    After a refused row, `made` is smaller than the number of rows.
    """

    def __init__(self, model: Model, precision: Precision = "double") -> None:
        files = sources(model)
        near = "near" in files["ft_rnea.h"]
        given = ("&near, " if near else "") + ("mode, " if has_modes(model.mechanism) else "")
        entry = ENTRY.replace("GIVEN ", given).replace("NEAR", "ft_rnea_near near;" if near else "")
        entry = entry.replace("int k;\n", "int k;\n\n    memset(&near, 0, sizeof near);" if near else "int k;\n")
        self.real: type = np.float64 if precision == "double" else np.float32
        name = "double" if precision == "double" else "float"
        self.ffi, self.lib = build(files | {"rows.c": entry},
                                   f"int rows(long n, unsigned mode, const {name} *q, const {name} *qd, "
                                   f"const {name} *qdd, {name} *tau);", precision)
        self.name, self.made = name, 0

    def torque(self, q: ArrayLike, qd: ArrayLike | None = None, qdd: ArrayLike | None = None,
               mode: int = 0) -> NDArray[Any]:
        """Return the torques (N, J) of rows q, qd, qdd (N, J). Without qd and qdd, the torques hold the weight."""
        rows = [None if x is None else np.ascontiguousarray(x, self.real) for x in (q, qd, qdd)]
        assert rows[0] is not None
        tau: NDArray[Any] = np.full_like(rows[0], np.nan)
        given = [self.ffi.NULL if x is None else self.ffi.from_buffer(f"{self.name}[]", x) for x in rows]
        self.made = self.lib.rows(len(tau), mode, *given, self.ffi.from_buffer(f"{self.name}[]", tau))
        return tau
