"""The reference for mechanisms with flexible links: Newton-Euler in float64, solved to rounding error. The joints
follow the motion, and the flexible links are integrated forwards in time from the static sag. The torques of the joints
are the reactions (discrete_flexible.py, iterated until the result no longer changes). The emitted step solves the
equations only once per tick, which causes an error of third order in the tick. The integration rule causes an error of
second order. `exact` divides each tick by three, which makes both errors visible."""

from dataclasses import dataclass, replace

import numpy as np

from femtorque.codegen.common import Array
from femtorque.codegen.model import Model, Motion
from femtorque.codegen.motion import Trajectory
from femtorque.codegen.reference.discrete_flexible import Flexible

ITERATIONS = 2
LOST = 1e3  # bend above which the integration has diverged: m or m sqrt(kg), rad
FINER = 3  # odd, so that the middles of ticks are also middles of the finer ticks


def torque(model: Model, motion: Motion, ticks: int) -> tuple[Array, Array]:
    """Return the middles t (ticks,), s, of the first ticks of a motion from rest, and torques (ticks, n), N m or N."""
    t = (np.arange(-1, ticks + 1, dtype=float) + 0.5) * model.dt
    positions = motion.middles(ticks, model.dt) if isinstance(motion, Trajectory) else motion.at(t)[0]
    return t[1:-1], Flexible(model, ITERATIONS).torque(positions)


def exact(model: Model, motion: Motion, ticks: int) -> Array:
    """Return torques (ticks, n) at the same instants, computed with each tick divided by three."""
    control = model.mechanism.control
    finer = Model.of(replace(model.mechanism, control=replace(control, rate_hz=FINER * control.rate_hz)))
    return torque(finer, motion, FINER * ticks)[1][FINER // 2::FINER]


@dataclass(frozen=True)
class Bent:
    """The largest bend of one component during a motion, rad: slope at a flexible link's tip, or stretch of a spring
    from rest."""

    key: str  # "link.fore.beam" or "joint.wrist"
    most: float
    at: float  # time of the largest bend, s


def bending(model: Model, motion: Motion, ticks: int) -> list[Bent]:
    """Return the bend of each flexible link and of each joint on a spring, in a motion's first ticks from rest."""
    step, z = marched(model, motion, ticks)
    count = len(step.springs)
    return bends(step, np.hstack([z[:, :count] - step.rest[:count], z[:, count:]]))


def bends(step: Flexible, z: Array) -> list[Bent]:
    """Return the largest bends. z (T, Z): stretches of springs, then modes, from the middle of the tick before."""
    model, count = step.model, len(step.springs)
    joints = model.mechanism.moving
    found = [(f"joint.{joints[j].name}", z[:, k]) for k, j in enumerate(step.springs) if joints[j].type != "prismatic"]
    tips = z[:, count:] @ step.dynamics.phi.T
    for i, planes in step.layout.tips.items():
        slopes = np.max([np.abs(tips[:, tip.start + 1]) for tip in planes.values()], axis=0)
        found.append((f"link.{step.tree.pieces[i].tip.name}.beam", slopes))
    return [Bent(key, float(np.abs(x).max()), float(max((np.argmax(np.abs(x)) - 0.5) * model.dt, 0.0)))
            for key, x in found]


def shapes(model: Model, motion: Motion, ticks: int) -> tuple[Array, dict[str, Array], dict[str, Array]]:
    """Return times (T,), s, from 0 on, the bends of flexible links, and the positions of joints on springs, in a motion
    from rest. The bend of a link is (T, 4): deflection of the tip, m, and its slope, first in y, then in z. The
    positions of a joint are (T,), rad or m."""
    step, z = marched(model, motion, ticks)
    t, count = (np.arange(len(z)) - 0.5) * model.dt, len(step.springs)
    tips, links = z[:, count:] @ step.dynamics.phi.T, {}
    for i, planes in step.layout.tips.items():
        both = [tips[:, planes[plane]] if plane in planes else np.zeros((len(z), 2)) for plane in ("y", "z")]
        links[step.tree.pieces[i].tip.name] = np.hstack(both)
    springs = {step.tree.mechanism.moving[j].name: z[:, k] for k, j in enumerate(step.springs)}
    return np.maximum(t, 0.0), links, springs


def marched(model: Model, motion: Motion, ticks: int) -> tuple[Flexible, Array]:
    """Return the step at the end of the first ticks of a motion from rest, and its unknowns (T, Z) at the middles of
    ticks. The first row belongs to the tick before the motion. If the integration diverges, there are fewer than ticks
    + 2 rows, and the last row is LOST."""
    step, dt = Flexible(model), model.dt
    t = (np.arange(-1, ticks + 1, dtype=float) + 0.5) * dt
    positions = motion.middles(ticks, dt) if isinstance(motion, Trajectory) else motion.at(t)[0]
    step.start(positions[0])
    rows = [step.z]
    with np.errstate(all="ignore"):
        for q, u in zip(positions[1:], 0.5 * np.diff(positions, axis=0), strict=True):
            if not np.abs(rows[-1]).max(initial=0.0) < LOST:
                break
            step.step(q, u)
            rows.append(step.z)
    return step, np.nan_to_num(np.array(rows), nan=LOST, posinf=LOST, neginf=-LOST)
