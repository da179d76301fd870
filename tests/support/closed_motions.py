"""The motions of the example mechanisms with loops, modes or flexures. `python -m tests.support.closed_motions`
rewrites mechanisms/*.csv. Every motion moves the independent joints from rest to rest through given poses, by
polynomials of seventh order. If the number of streamed joints exceeds the degrees of freedom, the loop constraints give
the positions of the dependent joints at every millisecond (tests/support/closed.py). A spline through these positions
gives their velocities and accelerations."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.interpolate import make_interp_spline

from femtorque.codegen.common import Array
from femtorque.codegen.mechanism import load_mechanism
from tests.support.closed import Closed

MECHANISMS = Path(__file__).parents[2] / "mechanisms"
ROW = 0.01  # s
SEPTIC = np.polynomial.Polynomial([0, 0, 0, 0, 35, -84, 70, -20])


@dataclass(frozen=True)
class Leg:
    """A segment of a motion. The independent joints move to the pose `to` in `seconds`, or stay if `to` is None."""

    seconds: float
    to: tuple[float, ...] | None = None
    mode: str | None = None


@dataclass(frozen=True)
class Plan:
    """A plan of a motion.

    The loop constraints give the motion of further streamed joints."""

    file: str
    mechanism: str
    legs: tuple[Leg, ...]
    independent: tuple[str, ...] = ()  # the joints that the segments move
    by_mode: dict[str, tuple[str, ...]] | None = None  # the independent joints in each mode


_FIVE_BAR = (Leg(0.8, (2.6, 1.3)), Leg(0.9, (1.7, 0.5)), Leg(0.7, (2.2, 0.94159265359)))
# The left tip is 0.05 m left of the middle, and the forearm is inclined downwards by 0.5 rad.
_REACH = float(np.arccos((0.17 - 0.22 * np.cos(0.5)) / 0.22))
_GRASP = (_REACH, -0.5 - _REACH, np.pi - _REACH, 0.5 + _REACH)
_PUT = (1.30, -1.80)

PLANS = (
    Plan("four_bar", "four_bar", (Leg(0.7, (1.6,)), Leg(1.0, (0.2,)), Leg(0.6, (0.8,)))),
    Plan("four_bar_singular", "four_bar", (Leg(1.2, (2.3,)),)),
    Plan("five_bar", "five_bar", _FIVE_BAR),
    Plan("five_bar_singular", "five_bar", (Leg(1.2, (2.9, 0.2)),)),
    Plan("five_bar_3", "five_bar_3", _FIVE_BAR, ("left", "right")),
    Plan("five_bar_4", "five_bar_4", _FIVE_BAR, ("left", "right")),
    Plan("three_rrr", "three_rrr",
         (Leg(0.65, (1.23, 0.93, 1.11)), Leg(0.75, (0.84, 1.02, 1.26)), Leg(0.65, (1.047198,) * 3))),
    Plan("palletizer", "palletizer",
         (Leg(0.9, (0.8, -0.8, 0.55)), Leg(1.2, (-0.5, -1.5, -0.1)), Leg(0.9, (0.0, -1.2, 0.3)))),
    Plan("six_bar", "six_bar", (Leg(0.7, (1.4,)), Leg(1.0, (0.3,)), Leg(0.6, (0.8,)))),
    Plan("stewart", "stewart",
         (Leg(0.6, (0.09, 0.03, 0.04, 0.11, 0.08, 0.04)), Leg(0.8, (0.02, 0.05, 0.09, 0.06, 0.0, 0.02)),
          Leg(0.6, (0.0505611, 0.0790707, 0.0821272, 0.0694733, 0.0424975, 0.0709865)))),
    Plan("flexure_arm", "flexure_arm", (Leg(0.6, (1.0, -0.8)), Leg(0.8, (-0.9, 0.7)), Leg(0.6, (0.0, 0.0)))),
    Plan("delta", "delta", (Leg(0.5, (0.7, 0.2, 0.5)), Leg(0.5, (0.1, 0.8, 0.4)), Leg(0.5, (0.3, 0.3, 0.3)))),
    Plan("two_arm_grasp", "two_arm_grasp",
         (Leg(0.6, _GRASP, "open"), Leg(0.1), Leg(0.1, None, "grasp"), Leg(1.0, _PUT), Leg(0.1), Leg(0.1, None, "open"),
          Leg(0.6, (1.9, -2.1, 1.24159265359, 2.1))),
         by_mode={"grasp": ("left_shoulder", "left_elbow")}),
    Plan("pick_and_place", "pick_and_place",
         (Leg(0.8, (0.5, -1.2, -0.8), "empty"), Leg(0.1), Leg(0.1, None, "loaded"),
          Leg(1.0, (2.0, -1.3, -0.3)), Leg(0.1),
          Leg(0.1, None, "empty"), Leg(0.8, (0.9, -1.6, -0.6)))),
    Plan("biped", "biped", tuple(
        Leg(seconds, None if lean is None else (np.pi / 2 - lean[0], sum(lean) - np.pi, np.pi / 2 - lean[1]), mode)
        for seconds, lean, mode in (  # outward inclination of the left leg and of the right leg; the feet stay level
            (0.6, (0.0, 0.35), "left"), (0.6, (0.3, 0.3), None), (0.1, None, None),
            (0.1, None, "right"), (0.6, (0.35, 0.0), None), (0.6, (0.2, 0.2), None)))),
)


def rows(plan: Plan) -> tuple[list[str], Array, list[str]]:
    """Return column names, values (rows, 1 + 3 joints) and the mode of every row (empty without modes)."""
    whole = load_mechanism(MECHANISMS / f"{plan.mechanism}.toml")
    streamed = [joint.name for joint in whole.streamed]
    at = np.array([joint.start for joint in whole.streamed])
    mode = whole.modes[0].name if whole.modes else None
    t0, pose, parts, modes = 0.0, None, [], []
    for k, leg in enumerate(plan.legs):
        mode = leg.mode or mode
        independent = (plan.by_mode or {}).get(mode or "", plan.independent or tuple(streamed))
        which = [streamed.index(name) for name in independent]
        count = round(leg.seconds / ROW)
        fine = np.linspace(0.0, 1.0, 10 * count + 1)
        to = at[which] if leg.to is None else np.array(leg.to)
        q = np.tile(at, (len(fine), 1))
        q[:, which] = at[which] + np.outer(SEPTIC(fine), to - at[which])
        v, a = np.zeros_like(q), np.zeros_like(q)
        v[:, which] = np.outer(SEPTIC.deriv()(fine), to - at[which]) / leg.seconds
        a[:, which] = np.outer(SEPTIC.deriv(2)(fine), to - at[which]) / leg.seconds**2
        others = [j for j in range(len(streamed)) if j not in which]
        if others and leg.to is not None:
            closed = Closed(whole.in_mode(mode))
            own = [closed.names.index(streamed[j]) for j in which]
            pose = closed.start if pose is None else pose
            for i in range(len(fine)):
                pose = pose.copy()
                pose[own] = q[i, which]
                pose = closed.assemble(pose, own)
                q[i] = [pose[closed.names.index(name)] for name in streamed]
            rest = [(1, np.zeros(len(others))), (2, np.zeros(len(others))), (3, np.zeros(len(others)))]
            spline = make_interp_spline(fine * leg.seconds, q[:, others], k=7, bc_type=(rest, rest))
            v[:, others], a[:, others] = spline(fine * leg.seconds, 1), spline(fine * leg.seconds, 2)
        last = len(fine) if k + 1 == len(plan.legs) else len(fine) - 1
        keep = slice(0, last, 10)
        t = t0 + fine[keep] * leg.seconds
        parts.append(np.column_stack([t, np.stack([q, v, a], axis=2)[keep].reshape(len(t), -1)]))
        modes += [mode or ""] * len(t)
        t0, at = t0 + leg.seconds, q[-1]
    names = [f"{joint}{part}" for joint in streamed for part in ("", ".vel", ".acc")]
    return ["t", *names], np.vstack(parts), modes if whole.modes else []


def text(header: Sequence[str], values: Array, modes: Sequence[str]) -> str:
    lines = [",".join([*header, *(["mode"] if modes else [])])]
    for k, row in enumerate(values):
        cells = [f"{row[0]:.6g}", *(f"{x:.13g}" if abs(x) > 1e-13 else "0" for x in row[1:])]
        lines.append(",".join([*cells, *([modes[k]] if modes else [])]))
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    for plan in PLANS:
        (MECHANISMS / f"{plan.file}.csv").write_text(text(*rows(plan)), newline="\n")
