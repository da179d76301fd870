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


DERIVATIVES = """
#include "ft_rnea.h"

int mass(int motors, const ft_real *q, ft_real *m);
int slopes(int motors, const ft_real *q, ft_real *tau);
NEAR

int mass(int motors, const ft_real *q, ft_real *m)
{
    if (!ft_mass(GIVEN q, m))
        return 0;
    if (motors)
        ft_add_rotors(m);
    return 1;
}

/* Form tau, jq, jv and m one after another from q, qd and qdd. */
int slopes(int motors, const ft_real *q, ft_real *tau)
{
    ft_real *jq = tau + FT_JOINTS, *jv = jq + FT_JOINTS * FT_JOINTS, *m = jv + FT_JOINTS * FT_JOINTS;

    if (!ft_rnea_derivatives(GIVEN q, q + FT_JOINTS, q + 2 * FT_JOINTS, tau, jq, jv, m))
        return 0;
    if (motors) {
        ft_add_friction(q + FT_JOINTS, tau, jq, jv, m);
        ft_add_rotors(m);
    }
    return 1;
}
"""


def sources(model: Model, derivatives: bool = False) -> dict[str, str]:
    """Return the C of torques at one instant. derivatives: with an entry for one state; loops have only `mass`."""
    files = step_sources(model) | rnea.render(model, derivatives)
    if derivatives:
        near = model.mechanism.constrained
        entry = DERIVATIVES.partition("/* Form tau" if model.mechanism.loops else "\0")[0]
        files["entry.c"] = entry.replace("GIVEN ", "&near, " if near else "").replace(
            "NEAR", "static ft_rnea_near near;" if near else "")
    return files


class CompiledDerivatives:
    """The entry on this computer."""

    def __init__(self, model: Model, precision: Precision = "double") -> None:
        self.real: type = np.float64 if precision == "double" else np.float32
        self.name = "double" if precision == "double" else "float"
        declared = f"int NAME(int motors, const {self.name} *q, {self.name} *found);"
        names = ("mass",) if model.mechanism.loops else ("mass", "slopes")
        self.ffi, self.lib = build(sources(model, derivatives=True),
                                   "".join(declared.replace("NAME", name) for name in names), precision)

    def mass(self, q: ArrayLike, motors: bool = False) -> NDArray[Any]:
        """Return M (N, J, J) at q (N, J). motors: with the rotors."""
        n = np.shape(q)[-1]
        return self._rows("mass", np.asarray(q), n * n, motors).reshape(-1, n, n)

    def slopes(self, q: ArrayLike, v: ArrayLike, a: ArrayLike, motors: bool = False) -> list[NDArray[Any]]:
        """Return tau (N, J), jq, jv and m (N, J, J). motors: the matrices with the motors' friction and rotors."""
        n = np.shape(q)[-1]
        found = self._rows("slopes", np.hstack([q, v, a]), n + 3 * n * n, motors)
        return [found[:, :n], *(found[:, n:].reshape(-1, 3, n, n)[:, k] for k in range(3))]

    def _rows(self, name: str, given: NDArray[Any], size: int, motors: bool) -> NDArray[Any]:
        given = np.ascontiguousarray(given, self.real)
        found: NDArray[Any] = np.full((len(given), size), np.nan, self.real)
        for row, into in zip(given, found, strict=True):
            assert getattr(self.lib, name)(motors, *(self.ffi.from_buffer(f"{self.name}[]", x) for x in (row, into)))
        return found


class Compiled:
    """The compiled functions. made: the number of rows for which the last call returned a torque.

    After a refused row, `made` is smaller than the number of rows."""

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
