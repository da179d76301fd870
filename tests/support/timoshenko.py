"""Natural frequencies of a uniform beam with shear in closed form, from Timoshenko's equations without rotary inertia.

    EI theta'' + GA_s (w' - theta) = 0,    GA_s (w' - theta)' = -rho W^2 w

theta is the rotation of the section. With a = rho W^2 / GA_s and b = rho W^2 / EI these equations give w'''' + a w'' -
b w = 0. w is a sum of cosh, sinh, cos and sin, and theta' = w'' + a w. The shear force EI theta'' equals -GA_s (w' -
theta)."""

import numpy as np
from scipy.optimize import brentq

from femtorque.codegen.common import Array


def frequencies(count: int, *, length: float, mass: float, EI: float, GA_s: float, load: float = 0.0,
                pinned: bool = False) -> Array:
    """Return the lowest `count` frequencies, rad/s, for a clamped or pinned root and a tip mass `load`, kg."""
    rho = mass / length
    pace = np.sqrt(EI / rho) / length**2

    def determinant(x: float) -> float:
        square = (x * x * pace) ** 2  # x is b^(1/4) L
        a, b = rho * square / GA_s, rho * square / EI
        up, down = (np.sqrt(np.sqrt(0.25 * a * a + b) + sign * 0.5 * a) for sign in (-1.0, 1.0))
        m, n = up * length, down * length
        derivatives = []  # derivatives of cosh, sinh, cos and sin, of order 0 to 3, at root and tip
        for x, y in ((0.0, 0.0), (m, n)):
            ch, sh, c, s = np.cosh(x), np.sinh(x), np.cos(y), np.sin(y)
            derivatives.append(np.array([[ch, sh, c, s], [up * sh, up * ch, -down * s, down * c],
                                         [up**2 * ch, up**2 * sh, -(down**2) * c, -(down**2) * s],
                                         [up**3 * sh, up**3 * ch, down**3 * s, -(down**3) * c]]))
        root, tip = derivatives
        slope = root[1] + EI / GA_s * (root[3] + a * root[1])
        moment = root[2] + a * root[0]
        rows = np.array([root[0], moment if pinned else slope, tip[2] + a * tip[0],
                         EI * (tip[3] + a * tip[1]) + load * square * tip[0]])
        return float(np.linalg.det(rows / np.abs(rows).max(axis=1, keepdims=True)))

    grid = np.linspace(0.5, 4.0 * (count + 1), 400 * (count + 1))
    values = np.array([determinant(x) for x in grid])
    changes = np.flatnonzero(values[:-1] * values[1:] < 0.0)[:count]
    return np.array([brentq(determinant, grid[k], grid[k + 1], xtol=1e-13) for k in changes]) ** 2 * pace
