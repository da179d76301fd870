"""Random motions of a mechanism, within its limits: what its emitted step is tried on."""

import numpy as np
from numpy.typing import NDArray

from femtorque.codegen.common import Refused
from femtorque.codegen.mechanism import Joint, Mechanism
from femtorque.codegen.model import SINGULAR, Model, assemble
from femtorque.codegen.motion.trajectory import Trajectory, from_rows

DURATION = 1.0  # s
TRAVEL, SLIDE = 1.5, 0.15  # rad, m: how far a joint moves in it at most
UNWRAPPED = 0.99 * np.pi  # rad: positions on the chip are a fraction of a turn
PEAK_VELOCITY = 1.875  # of a quintic, over its mean velocity
PEAK_CHANGE = 10.0 / np.sqrt(3.0)  # of a quintic's acceleration, over its displacement and the square of its time
CLEAR = 5.0  # times as far from a singular pose as a fault: where closed mechanisms are moved at random


def random_motion(mechanism: Mechanism, rng: np.random.Generator) -> Trajectory:
    """1 s from rest to rest, every joint up to TRAVEL or SLIDE within its limits of position and velocity.

    Fifth order.
    """
    if mechanism.constrained:
        return _random_closed_motion(mechanism, rng)
    joints = mechanism.streamed
    low, high = np.array([_range(joint) for joint in joints]).T
    a = rng.uniform(low, high)
    reach = np.array([SLIDE if joint.type == "prismatic" else TRAVEL for joint in joints])
    reach = np.minimum(reach, [joint.limits.velocity * DURATION / PEAK_VELOCITY for joint in joints])
    travel = np.clip(a + reach * rng.uniform(-1.0, 1.0, len(joints)), low, high) - a
    s = np.array([[0.0], [1.0]])  # one piece: its two rows are enough
    return from_rows([joint.name for joint in joints], s[:, 0] * DURATION,
                     a + travel * s, 0.0 * travel * s, 0.0 * travel * s)


def _random_closed_motion(mechanism: Mechanism, rng: np.random.Generator) -> Trajectory:
    """Random motion of the independent joints about the start, as far as the loops stay well away from singular poses
    and no other joint has more velocity or acceleration than TRAVEL or SLIDE takes.

    Raises Refused where they are not even at the start.
    """
    assembly = assemble(Model.of(mechanism))
    if not (near := float(assembly.margin(assembly.start))) > CLEAR * SINGULAR:
        raise Refused(f"{mechanism.name}: the start is {near:.2g} from a singular pose (1 is far), and random motions "
                      f"keep "
                      f"{CLEAR * SINGULAR:g} away; start somewhere else")
    model, free, driven = assembly.model, list(assembly.independent), list(assembly.actuated)
    joints = [model.bodies[i].joint for i in free]
    low, high = np.array([_range(joint) for joint in joints]).T
    reach = np.array([SLIDE if joint.type == "prismatic" else TRAVEL for joint in joints]) / 2.0
    reach = np.minimum(reach, [joint.limits.velocity * DURATION / PEAK_VELOCITY / 2.0 for joint in joints])
    ends = np.clip(assembly.start[free] + reach * rng.uniform(-1.0, 1.0, (2, len(free))), low, high)
    a, b = assembly.reach(ends)
    x = np.linspace(0.0, 1.0, 401)[:, None]
    s = x * x * x * (10.0 - 15.0 * x + 6.0 * x * x)
    share, travel = 1.0, np.zeros((len(x), len(driven)))
    places = [driven.index(i) for i in free]
    while True:  # shorter until all of the travel is regular; of no length it is
        travel[:, places] = a[free] + s * share * (b[free] - a[free])
        try:
            full = assembly.follow(travel)
            if (np.min(assembly.margin(full)) > CLEAR * SINGULAR and _calm(model, full)) or share < 1e-3:
                break
        except Refused:
            pass
        share /= 2.0
    return from_rows([model.bodies[i].joint.name for i in driven], x[:, 0] * DURATION, full[:, driven])


def _calm(model: Model, q: NDArray[np.float64]) -> bool:
    """True if no joint of a motion (N, n) of DURATION has more velocity or acceleration than one over TRAVEL or
    SLIDE."""
    travel = np.array([SLIDE if b.prismatic else TRAVEL for b in model.bodies])
    velocity, change = (np.diff(q, k, axis=0) * ((len(q) - 1) / DURATION) ** k for k in (1, 2))
    return bool(np.all(np.abs(velocity) <= PEAK_VELOCITY * travel / DURATION)
                and np.all(np.abs(change) <= PEAK_CHANGE * travel / DURATION**2))


def _range(joint: Joint) -> tuple[float, float]:
    """Range of a joint, rad or m; without limits in the file one turn or half a metre about its start.

    One with a spring stays within half a turn of zero: the chip knows no whole turns, and a spring must.
    """
    reach = 0.25 if joint.type == "prismatic" else np.pi
    low, high = joint.limits.lower, joint.limits.upper
    if joint.type != "prismatic" and (joint.stiffness or joint.c_mot):
        low, high = max(low, -UNWRAPPED), min(high, UNWRAPPED)
    if not np.isfinite(low):
        low = high - 2.0 * reach if np.isfinite(high) else joint.start - reach
    return low, high if np.isfinite(high) else low + 2.0 * reach
