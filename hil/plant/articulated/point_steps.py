"""Steps of an articulated plant in C (point_steps.c): cycle, drives and loads of this package and the motors of
femtorque.hil.plant.motors, whose NumPy is what they are held against, to rounding."""

from __future__ import annotations

from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import Any

import cffi
import numpy as np
from numpy.typing import NDArray

from femtorque.codegen.toolchain import host_compiler
from femtorque.hil.plant.articulated.beam import Beams
from femtorque.hil.plant.articulated.cycle import CLOSURE, ROUNDED
from femtorque.hil.plant.articulated.forms import Forms
from femtorque.hil.plant.articulated.laws import Acting, Spring, Stop
from femtorque.hil.plant.articulated.loads import Loads
from femtorque.hil.plant.articulated.solids import GROUND
from femtorque.hil.plant.articulated.system import Structure
from femtorque.hil.plant.plant_steps import MOST, PLANT_STEPS_CDEF

Array = NDArray[np.float64]

VECTOR, ROW = 2, 4  # solids that one vector of a form, and a row, can touch
STRAINS = 5
STATE = ("z", "v", "gamma", "q", "current")
INPUTS = ("volts", "torque", "ohm", "henry", "constant", "viscous", "coulomb", "steady")
LEFT = ("applied", "multipliers", "rate", "total", "dry", "laws")
CDEF = PLANT_STEPS_CDEF + """
typedef struct { int64_t count, solid[2]; double share[2][4], fixed[3]; } point_vector;
typedef struct { point_vector u, w; } point_form;
typedef struct { int64_t count, solid[4], rotor; } point_row;
typedef struct { int64_t follower, leader; double ratio, offset; } point_coupling;
typedef struct { int64_t row, block; } point_part;
typedef struct { int64_t from, to; } point_run;
typedef struct {
    int64_t solids, rows, rotors, couplings, K, n, size; const point_form *forms; const double *targets, *inverse,
    *lengths; const int64_t *turns, *geared; const point_coupling *coupling; const point_row *row; const int64_t *begin;
    const point_part *part; const int64_t *runs; const point_run *run;
} point_system;
typedef struct { double arm[4][3], spin[6], edge[6][3], keep[6][6]; } free_solid;
typedef struct {
    int64_t known; double *z; free_solid *solid; double *u, *w, *form, *q, *gradient, *reduced, *factor, *push;
} point_equations;
enum { SPRING, STOP };
typedef struct {
    int64_t kind, slips; const double *slip; double stiffness, damping, rest, lower, upper, depth;
} point_law;
typedef struct { point_form strain[5]; double stiffness[5][5], damping; } point_beam;
typedef struct {
    int64_t laws, beams; const point_law *law; const point_beam *beam; const double *steady; double *torque;
} point_loads;
typedef struct { double *active, *viscous; const double *coulomb; double *total, *dry; } point_drives;
typedef struct { double *current, *volts; const double *ohm, *henry, *constant; } motors;
typedef struct {
    const point_system *system; point_equations equations; point_loads loads; point_drives drives; motors motors;
    double *z, *v, *gamma, *q, *applied, *multipliers, *rate; const double *torque, *viscous; double tolerance, rounded;
    int64_t projects; double worked, lost;
    double *half, *moved, *middle, *wanted, *change, *distances, *others, *before;
} point_arm;
int64_t point_steps(void *arm, double h, int64_t count);
"""
_OWN = ("point_steps", "point_drives", "point_loads", "point_equations", "point_solids", "point_forms")
_SHARED = ("motors", "dry_friction", "linear")


class PointSteps:
    """State and inputs are what `fill` was given, what steps have left is read with `part`, by the names in STATE,
    INPUTS and LEFT. arm.worked, arm.lost: J of motors and friction, added up. handle: see plant_steps.h."""

    def __init__(self, structure: Structure, loads: Loads, tolerance: float, projects: bool) -> None:
        ffi, self._lib = _library()
        S, K, n, size = structure.S, structure.K, len(structure.system.coordinates), structure.system.size
        wide = {"z": size, "v": size, "gamma": size, "steady": size, "applied": size, "multipliers": K}
        names = STATE + INPUTS + LEFT
        ends = [0, *accumulate(wide.get(name, n) for name in names)]
        self._flat = np.zeros(ends[-1])
        self._places = {name: slice(low, high) for name, low, high in zip(names, ends[:-1], ends[1:], strict=True)}
        self._filled, self._all_taken = ends[len(STATE + INPUTS)], False
        memory = ffi.from_buffer("double[]", self._flat)
        at = {name: memory + low for name, low in zip(names, ends[:-1], strict=True)}
        self._held: list[Any] = [memory]  # what C points to

        def of(*names: str) -> dict[str, Any]:
            return {name: at[name] for name in names}

        def room(**counts: int) -> dict[str, Any]:
            return {name: self._keep("double[]", count) for name, count in counts.items()}

        forms, rows = len(structure.system.forms), K + n
        equations = room(z=size, u=3 * forms, w=3 * forms, form=forms, q=n, gradient=12 * ROW * rows,
                         reduced=6 * ROW * rows, factor=rows**2, push=K)
        beams = _beams(loads.beams) if loads.beams else []
        self.arm = ffi.new("point_arm *", {
            **of("z", "v", "gamma", "q", "applied", "multipliers", "rate", "torque", "viscous"),
            "system": self._keep("point_system *", self._system(structure)),
            "equations": {**equations, "solid": self._keep("free_solid[]", S)},
            "loads": {"laws": len(loads.laws), "law": self._keep("point_law[]", list(map(self._law, loads.laws))),
                      "beams": len(beams), "beam": self._keep("point_beam[]", beams),
                      "steady": at["steady"], "torque": at["laws"]},
            "drives": {**of("coulomb", "total", "dry"), **room(active=n, viscous=n)},
            "motors": of("current", "volts", "ohm", "henry", "constant"),
            "tolerance": tolerance, "rounded": ROUNDED / CLOSURE * tolerance, "projects": projects,
            **room(half=size, moved=size, middle=size, wanted=size, change=size, distances=6 * S, others=K, before=n)})
        self.handle = ffi.new("plant_steps *", {
            "arm": self.arm, "take": self._lib.point_steps, "n": n, "q": at["q"], "v": at["rate"],
            "current": at["current"], "volts": at["volts"]})

    @staticmethod
    def of(structure: Structure, loads: Loads, tolerance: float, projects: bool) -> PointSteps | None:
        """None where there is what the C does not know: more joints, struts, other laws, rows between more solids."""
        along = structure.system.coordinates
        if len(along) > MOST or along.struts or any(type(acting.law) not in (Spring, Stop) for acting in loads.laws):
            return None
        every = [structure.system.forms, *([loads.beams.forms] if loads.beams else [])]
        vectors = [len(_solids(vector)) for forms in every for vector in (*forms.U, *forms.W)]
        if max(vectors, default=0) > VECTOR or max(map(len, _touched(structure)), default=0) > ROW:
            return None
        return PointSteps(structure, loads, tolerance, projects)

    # -- in and out -----------------------------------------------------------

    def fill(self, *parts: Array) -> None:
        """Let state and inputs be these, in their order."""
        np.concatenate(parts, out=self._flat[:self._filled])

    def fill_from(self, name: str, *parts: Array) -> None:
        """The same from one of them on."""
        np.concatenate(parts, out=self._flat[self._places[name].start:self._filled])

    def take(self, h: float, count: int) -> int:
        """So many steps of h seconds. Returns how many were taken: fewer where NumPy is to say what is the matter."""
        done = int(self._lib.point_steps(self.arm, h, count))
        self._all_taken = done == count
        return done

    def start(self, rate: Array) -> None:
        """Before the first step: velocities (n,) along the coordinates."""
        self._flat[self._places["rate"]] = rate

    def part(self, name: str) -> Array:
        """A copy."""
        return self._flat[self._places[name]].copy()

    def rate(self, z: Array, v: Array) -> Array | None:
        """Velocities (n,) along the coordinates, if z and v (size,) are what the last steps have left."""
        left = self._flat[:len(z) + len(v)]
        known = self._all_taken and np.array_equal(left[:len(z)], z) and np.array_equal(left[len(z):], v)
        return self.part("rate") if known else None

    @property
    def address(self) -> int:
        """Of the handle."""
        return int(_library()[0].cast("uintptr_t", self.handle))

    # -- what is laid out once ------------------------------------------------

    def _keep(self, kind: str, content: Any) -> Any:
        """C memory that lives as long as this."""
        self._held.append(_library()[0].new(kind, content))
        return self._held[-1]

    def _system(self, structure: Structure) -> dict[str, Any]:
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

    def _law(self, acting: Acting) -> dict[str, Any]:
        law, kinds = acting.law, _library()[1]
        told = {"slips": len(acting.B), "slip": self._keep("double[]", acting.B.ravel().tolist()),
                "stiffness": law.stiffness, "damping": law.damping}
        if isinstance(law, Spring):
            return {**told, "kind": kinds.SPRING, "rest": law.rest}
        assert isinstance(law, Stop)
        return {**told, "kind": kinds.STOP, "lower": law.lower, "upper": law.upper, "depth": law.depth}


def _solids(vector: Array) -> list[int]:
    """The moving solids, from 0 on, whose points a vector of a form (P,) has shares of."""
    return [int(s) for s in np.flatnonzero(vector.reshape(-1, 4)[1:].any(axis=1))]


def _touched(structure: Structure) -> list[list[int]]:
    """The solids that each row touches: those of the mechanisms, rotors, couplings, then of the coordinates."""
    system, m = structure.system, structure.m
    of_forms = [_solids(np.abs(u) + np.abs(w)) for u, w in zip(system.forms.U, system.forms.W, strict=True)]
    n = len(system.coordinates)
    along = [sorted({*of_forms[m + k], *of_forms[m + n + k]}) for k in range(n)]
    return [*of_forms[:m], *(along[c] for c in system.geared),
            *(sorted({*along[c.follower], *along[c.leader]}) for c in structure.couplings), *along]


def _runs(rows: list[list[int]], K: int) -> list[list[tuple[int, int]]]:
    """The runs of columns [from, to) of each row of the factor (point_equations.c), left of its diagonal and of column
    K: where rows share a solid, and what the columns before fill in. rows: the solids that each touches."""
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


@cache
def _library() -> tuple[cffi.FFI, Any]:
    own = Path(__file__).parent
    sources = [own / f"{name}.{kind}" for name in (*_OWN, "point_system") for kind in "ch"]
    sources += [own.parent / f"{name}.{kind}" for name in (*_SHARED, "plant_steps") for kind in "ch"]
    texts = {path.name: path.read_text(encoding="utf-8") for path in sources if path.exists()}
    return host_compiler.build(texts, CDEF, flags=("-O3",))  # loops of few rounds: a sixth faster than at -O2
