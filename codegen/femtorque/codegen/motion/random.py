"""Random motions of a mechanism within its limits, for tests of the emitted step."""

import numpy as np
from numpy.typing import NDArray

from femtorque.codegen.common import Refused
from femtorque.codegen.mechanism import Joint, Mechanism
from femtorque.codegen.model import SINGULAR, Model, assemble
from femtorque.codegen.motion.trajectory import Trajectory, from_rows

DURATION = 1.0  # s
TRAVEL, SLIDE = 1.5, 0.15  # maximum travel of a joint, rad and m
UNWRAPPED = 0.99 * np.pi  # largest angle, rad; the chip knows positions only within one turn
PEAK_VELOCITY = 1.875  # peak velocity of a quintic motion divided by its mean velocity
PEAK_CHANGE = 10.0 / np.sqrt(3.0)  # a quintic's peak acceleration times squared duration, over the displacement
CLEAR = 5.0  # minimum distance from singular poses, divided by the distance at which the board reports a fault


def random_motion(mechanism: Mechanism, rng: np.random.Generator) -> Trajectory:
    """Return a quintic motion of 1 s from rest to rest. Every joint moves by up to TRAVEL or SLIDE within its
    limits."""
    if mechanism.constrained:
        return _random_closed_motion(mechanism, rng)
    joints = mechanism.streamed
    low, high = np.array([_range(joint) for joint in joints]).T
    a = rng.uniform(low, high)
    reach = np.array([SLIDE if joint.type == "prismatic" else TRAVEL for joint in joints])
    reach = np.minimum(reach, [joint.limits.velocity * DURATION / PEAK_VELOCITY for joint in joints])
    travel = np.clip(a + reach * rng.uniform(-1.0, 1.0, len(joints)), low, high) - a
    s = np.array([[0.0], [1.0]])  # the two rows of one piece
    return from_rows([joint.name for joint in joints], s[:, 0] * DURATION,
                     a + travel * s, 0.0 * travel * s, 0.0 * travel * s)


def _random_closed_motion(mechanism: Mechanism, rng: np.random.Generator) -> Trajectory:
    """Return a random motion of the independent joints around the start of a closed mechanism.

    The motion keeps a distance from singular poses. No dependent joint's velocity or acceleration exceeds the maximum
    of a motion over TRAVEL or SLIDE. Raise Refused if the start is too near to a singular pose.
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
    while True:  # halve the travel until all poses are far from singular poses
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
    """Return True if no velocity or acceleration of a motion (N, n) exceeds the maximum of a random motion over TRAVEL
    or SLIDE.
    """
    travel = np.array([SLIDE if b.prismatic else TRAVEL for b in model.bodies])
    velocity, change = (np.diff(q, k, axis=0) * ((len(q) - 1) / DURATION) ** k for k in (1, 2))
    return bool(np.all(np.abs(velocity) <= PEAK_VELOCITY * travel / DURATION)
                and np.all(np.abs(change) <= PEAK_CHANGE * travel / DURATION**2))


def _range(joint: Joint) -> tuple[float, float]:
    """Return the range of a joint, rad or m. A joint without limits has a range of one turn or half a metre around its
    start. A joint with a spring stays within half a turn of zero, because the spring's torque depends on whole turns,
    and the chip does not count whole turns.
    """
    reach = 0.25 if joint.type == "prismatic" else np.pi
    low, high = joint.limits.lower, joint.limits.upper
    if joint.type != "prismatic" and (joint.stiffness or joint.c_mot):
        low, high = max(low, -UNWRAPPED), min(high, UNWRAPPED)
    if not np.isfinite(low):
        low = high - 2.0 * reach if np.isfinite(high) else joint.start - reach
    return low, high if np.isfinite(high) else low + 2.0 * reach
