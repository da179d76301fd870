"""The explicit cycle ("Complementary equations"). The positions are projected onto the rows.

    v(n+1/2) = v(n) + t/2 gamma(n)
    x(n+1)   = x(n) + t v(n+1/2)
    C(n+1) gamma(n+1) = -2/t C(n+1) v(n+1/2)          so that C(n+1) v(n+1) = 0
    v(n+1)   = v(n+1/2) + t/2 gamma(n+1)

The paper does not define the first step: gamma(0) follows from C gamma = -Cdot v. In the paper's cycle only the
velocities satisfy the rows; the positions drift. The projection moves x(n+1) back along M^-1 C(n)' and adds the same
displacement, divided by t, to v(n+1/2). With the projection the cycle equals the RATTLE scheme (Andersen, J. Comput.
Phys. 52, 1983): symplectic, without drift of loop closure or energy. The correction is a modified Newton iteration that
reuses the factor of the last cycle. Two or three rounds of this iteration are enough. The scheme is of second order:
when the velocity turns a solid by the angle a in a step, the solid actually turns by (1 + a^2/6) a. Forces along
coordinates are added in both half steps. hil/plant/articulated/point_steps.c computes the step.
"""

from itertools import accumulate
from typing import Any

import numpy as np

from femtorque.codegen.common import Array, Refused
from femtorque.hil.plant.articulated.beam import Beams
from femtorque.hil.plant.articulated.coordinates import unwrap
from femtorque.hil.plant.articulated.equations import Along, Equations
from femtorque.hil.plant.articulated.forms import Forms
from femtorque.hil.plant.articulated.loads import Loads
from femtorque.hil.plant.articulated.solids import GROUND
from femtorque.hil.plant.articulated.system import Structure
from femtorque.hil.plant.motors import Motors
from femtorque.hil.plant.plant_library import Row, Rows, State, library

CLOSURE = 1e-12  # relative to the extent of the system
ROUNDED = 1e-10  # relative tolerance for thin solids, whose rows have large coefficients
ROW = 4  # maximum number of solids in a row
STRAINS = 5


class Cycle:
    """The state of a system and its time integration.

    z, v (size,): degrees of freedom and velocities. gamma (size,): accelerations without the drives. q, velocities
    (n,): coordinates, unwrapped from `near` (n,), and their velocities. applied (size,): forces. multipliers (K,):
    multipliers of the mechanisms' rows, without the drives. torque (n,): torque that does not come from the motors.
    viscous, coulomb (n,): coefficients. total (n,): torque of all drives at the end of the last step, including
    friction.
    """

    z, v, gamma, applied, multipliers = Row(), Row(), Row(), Row(), Row()
    torque, viscous, coulomb, total = Row(), Row(), Row(), Row()
    q, velocities = State(), State()

    def __init__(self, structure: Structure, z: Array, v: Array, loads: Loads, motors: Motors | None = None,
                 near: Array | None = None) -> None:
        system = structure.system
        self.structure, self.loads, n = structure, loads, len(system.coordinates)
        self.motors = motors or Motors([None] * n)
        of_n = ("q", "velocities", "torque", "viscous", "coulomb", "total", "dry")
        self.rows = Rows(z=system.size, v=system.size, gamma=system.size, applied=system.size,
                         multipliers=structure.K, **dict.fromkeys(of_n, n))
        self.tolerance = CLOSURE * max(1.0, float(np.abs(system.points(z)).max()))
        self._held: list[Any] = []  # memory to which C points
        self.arm = self._arm()  # the C struct (point_steps.h)
        self.z, self.v = z, v
        self._equations: Equations | None = None  # computed when first used, at _at
        self._along: Along | None = None
        self._at: Array = np.zeros(0)
        self.q = self.equations.q if near is None else unwrap(self.equations.q, near, system.coordinates.turning)
        distances, others = self.equations.velocities(self.v)
        self.v += self.equations.change(-distances, -others)[0]
        self.restart()

    def restart(self) -> None:
        """Compute accelerations that are consistent with the present velocities and forces: C gamma = -Cdot v. Call
        this function after the state or a force has jumped."""
        distances, others = self.equations.curvature(self.v)
        at = {name: self.rows.pointers(name)[name] for name in ("z", "q", "v", "applied")}
        _, lib = library()
        lib.point_equations_at(self.arm.system, self._inside("equations"), at["z"])
        lib.point_loads_at(self.arm.system, self._inside("equations"), self._inside("loads"), at["q"], at["v"],
                           at["applied"])
        self.gamma, self.multipliers = self.equations.solve(self.applied, -distances, -others)
        self.velocities = self.equations.G @ self.v

    def _inside(self, member: str) -> Any:
        return library()[0].addressof(self.arm, member)

    def consistent(self) -> tuple[Array, Array]:
        """Return accelerations (size,) and multipliers (K,) of the present state, with the drives, from C gamma = -Cdot
        v. The cycle's own accelerations belong to the mid-step velocity, so as forces they are only of first order."""
        distances, others = self.equations.curvature(self.v)
        gamma, multipliers = self.equations.solve(self.applied, -distances, -others)
        return gamma + self.along.responses @ self.total, multipliers + self.along.multipliers @ self.total

    @property
    def equations(self) -> Equations:
        """Return the equations at the present positions."""
        if self._equations is None or not np.array_equal(self._at, self.z):
            self._at = self.z.copy()
            self._equations, self._along = Equations(self.structure, self._at), None
        return self._equations

    @property
    def along(self) -> Along:
        """Return the forces along the coordinates, which are computed once per position."""
        equations = self.equations
        if self._along is None:
            self._along = Along.of(equations)
        return self._along

    @property
    def time(self) -> float:
        """s"""
        return float(self.arm.time)

    @time.setter
    def time(self, seconds: float) -> None:
        self.arm.time = seconds

    def step(self, t: float) -> None:
        """Compute one cycle of t seconds with the present voltages of the motors."""
        if library()[1].point_steps(self.arm, t, 1) != 1:
            raise self.refusal()

    def refusal(self) -> Refused:
        """Return the reason why a step failed."""
        for z in (self.z, np.array(list(self.arm.moved[0:len(self.z)]))):
            try:
                Equations(self.structure, z)
            except Refused as refusal:
                return refusal
        return Refused(f"plant at {self.time:.6g} s: positions cannot be brought back onto the rows; the step is too "
                       f"long")

    def closure(self) -> float:
        """Return the largest residual of the rows, m."""
        distances, others = self.structure.residual(self.z)
        return max(float(np.abs(distances).max()), float(np.abs(others).max(initial=0.0)))

    def kinetic_energy(self) -> float:
        return 0.5 * float(self.structure.mass @ self.v**2)

    def momentum(self) -> tuple[Array, Array]:
        """Return linear (3,) and angular momentum about the origin (3,) of the points, without rotors."""
        s = self.structure
        m = s.mass[: s.split].reshape(-1, 3)
        x, v = self.z[: s.split].reshape(-1, 3), self.v[: s.split].reshape(-1, 3)
        return (m * v).sum(axis=0), np.cross(x, m * v).sum(axis=0)

    # -- what is laid out once for C ------------------------------------------

    def _arm(self) -> Any:
        structure, loads, at = self.structure, self.loads, self.rows.pointers
        S, K, n, size = structure.S, structure.K, len(structure.system.coordinates), structure.system.size

        def room(**counts: int) -> dict[str, Any]:
            return {name: self._keep("double[]", count) for name, count in counts.items()}

        forms, rows = len(structure.system.forms), K + n
        equations = room(z=size, u=3 * forms, w=3 * forms, form=forms, q=n, gradient=12 * ROW * rows,
                         reduced=6 * ROW * rows, factor=rows**2, push=K)
        beams = _beams(loads.beams) if loads.beams else []
        return library()[0].new("point_arm *", {
            **at("z", "v", "gamma", "q", "applied", "multipliers", "torque", "viscous"),
            "rate": at("velocities")["velocities"],
            "system": self._keep("point_system *", self._system()),
            "equations": {**equations, "solid": self._keep("free_solid[]", S)},
            "loads": {"beams": len(beams), "beam": self._keep("point_beam[]", beams),
                      "weight": self._keep("double[]", structure.weight.tolist()),
                      **loads.rows.pointers("stiffness", "rest", "torques")},
            "drives": {**at("coulomb", "total", "dry"), **room(active=n, viscous=n)},
            "motors": self.motors.c, "tolerance": self.tolerance, "rounded": ROUNDED / CLOSURE * self.tolerance,
            **room(half=size, moved=size, middle=size, wanted=size, change=size, distances=6 * S, others=K, before=n)})

    def _keep(self, kind: str, content: Any) -> Any:
        """Return C memory that exists as long as this object."""
        self._held.append(library()[0].new(kind, content))
        return self._held[-1]

    def _system(self) -> dict[str, Any]:
        structure = self.structure
        system, solids = structure.system, range(structure.S)
        rows = _touched(structure)
        parts = [[(row, touched.index(s)) for row, touched in enumerate(rows) if s in touched] for s in solids]
        runs = _runs(rows, structure.K)
        rotors = range(structure.m, structure.m + structure.r)

        def numbers(values: Any) -> Any:
            return self._keep("int64_t[]", list(map(int, values)))

        def doubles(values: Array) -> Any:
            return self._keep("double[]", values.ravel().tolist())

        return {
            "solids": structure.S, "rows": structure.m, "rotors": structure.r, "couplings": len(structure.couplings),
            "K": structure.K, "n": len(system.coordinates), "size": system.size,
            "forms": self._keep("point_form[]", _forms(system.forms)),
            "targets": doubles(structure.targets[6 * structure.S:]), "inverse": doubles(structure.inverse),
            "lengths": doubles(structure.lengths), "turns": numbers(system.coordinates.turning),
            "geared": numbers(system.geared),
            "coupling": self._keep("point_coupling[]", [(c.follower, c.leader, c.ratio, c.offset)
                                                        for c in structure.couplings]),
            "row": self._keep("point_row[]", [(len(touched), touched, row - structure.m if row in rotors else -1)
                                              for row, touched in enumerate(rows)]),
            "begin": numbers(accumulate(map(len, parts), initial=0)),
            "part": self._keep("point_part[]", [part for each in parts for part in each]),
            "runs": numbers(accumulate(map(len, runs), initial=0)),
            "run": self._keep("point_run[]", [run for each in runs for run in each])}


def _solids(vector: Array) -> list[int]:
    """Return the moving solids, numbered from 0, whose points occur in a vector of a form (P,)."""
    return [int(s) for s in np.flatnonzero(vector.reshape(-1, 4)[1:].any(axis=1))]


def _touched(structure: Structure) -> list[list[int]]:
    """Return the solids of each row: first rows of mechanisms, then rotors, couplings and coordinates."""
    system, m = structure.system, structure.m
    of_forms = [_solids(np.abs(u) + np.abs(w)) for u, w in zip(system.forms.U, system.forms.W, strict=True)]
    n = len(system.coordinates)
    along = [sorted({*of_forms[m + k], *of_forms[m + n + k]}) for k in range(n)]
    return [*of_forms[:m], *(along[c] for c in system.geared),
            *(sorted({*along[c.follower], *along[c.leader]}) for c in structure.couplings), *along]


def _runs(rows: list[list[int]], K: int) -> list[list[tuple[int, int]]]:
    """Return the ranges of columns [from, to) of each row of the factor (point_equations.c), left of the diagonal and
    of column K. The ranges contain the columns of rows that share a solid, and the fill-in of earlier columns. rows:
    the solids of each row."""
    touched = np.zeros((len(rows), 1 + max((s for row in rows for s in row), default=0)), bool)
    for row, solids in enumerate(rows):
        touched[row, solids] = True
    filled = touched @ touched.T | np.eye(len(rows), dtype=bool)
    for k in range(K):
        below = k + 1 + np.flatnonzero(filled[k + 1:, k])
        filled[np.ix_(below, below)] = True
    edges = np.diff(np.tril(filled, -1)[:, :K].astype(int), axis=1, prepend=0, append=0)
    return [list(zip(np.flatnonzero(row == 1).tolist(), np.flatnonzero(row == -1).tolist(), strict=True))
            for row in edges]


def _forms(forms: Forms) -> list[dict[str, Any]]:
    return [{"u": _vector(u), "w": _vector(w)} for u, w in zip(forms.U, forms.W, strict=True)]


def _vector(vector: Array) -> dict[str, Any]:
    ground, shares, solids = vector[:4] @ GROUND.points, vector.reshape(-1, 4)[1:], _solids(vector)
    return {"count": len(solids), "solid": solids, "share": shares[solids].tolist(), "fixed": ground.tolist()}


def _beams(beams: Beams) -> list[dict[str, Any]]:
    strains = _forms(beams.forms)
    return [{"strain": strains[STRAINS * e: STRAINS * (e + 1)], "stiffness": stiffness.tolist(),
             "damping": float(beams.damping[e, 0])} for e, stiffness in enumerate(beams.stiffness)]
