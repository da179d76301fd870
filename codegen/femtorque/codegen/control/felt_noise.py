"""Torque from outside that an arm feels though there is none, by the steps of its encoders.

A moving joint's position is off by any part of a step, as by chance at every tick. The observer makes a velocity of it,
the joints' inertia a torque of that velocity's change, and a filter takes what its bandwidth lets through: linear all
of it, so the sum of the squared answers to one error is the square of what is felt.
"""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from femtorque.codegen.common import exp
from femtorque.codegen.control.gains import sample_poses
from femtorque.codegen.control.observer import observer_gains
from femtorque.codegen.mechanism import Mechanism
from femtorque.codegen.model import Model, assemble, mass_matrix

Array = NDArray[np.float64]
SHARE = 0.75  # of the poses of closed loops: what is nearer to singular ones feels more
FOLLOWED_S = 3.0  # s that the answer to one error is followed: mechanism files allow no filter below 1 Hz


def felt_noise(mechanism: Mechanism, steps: ArrayLike, losses: ArrayLike) -> Array:
    """Standard deviation, N m or N (n,), of what each streamed joint feels by the encoders' steps, at the worst pose;
    of closed loops at the worst of SHARE of the poses. Needs `feel`, and as many streamed joints as can move freely.

    steps: of the encoders, rad or m (n,). losses: N m s/rad or N s/m (n,), of the motors, whose back-EMF is taken from
    the velocity that is measured.
    """
    model = Model.of(mechanism)
    poses, assembly = sample_poses(model), assemble(model)
    masses, free = mass_matrix(model, poses), list(assembly.independent)
    if assembly.dependent:
        moves = assembly.velocity_matrix(poses)
        masses = np.swapaxes(moves, -1, -2) @ masses @ moves
    names = [model.bodies[i].joint.name for i in free]
    order = [names.index(joint.name) for joint in mechanism.streamed]
    # in closed loops inertia grows without bound towards singular poses
    share = SHARE if assembly.dependent else 1.0
    inertia = np.quantile(np.abs(masses), share, axis=0, method="lower")[np.ix_(order, order)]
    apart = 1.0 - np.eye(len(order))
    changed, moved = _answers(mechanism)
    own = np.diag(inertia)[:, None] * changed + np.asarray(losses)[:, None] * moved
    squares = apart * inertia**2 * np.sum(changed**2) + np.diag(np.sum(own**2, axis=1))
    return np.sqrt(squares @ (np.square(steps) / 12.0))


def _answers(mechanism: Mechanism) -> tuple[Array, Array]:
    """Acceleration and velocity that are felt, each tick (ticks,), after a position that was off by 1 at one tick."""
    assert mechanism.feel is not None
    hz = float(mechanism.control.rate_hz)
    gain = 1.0 - exp(-2.0 * math.pi * mechanism.feel.bandwidth_hz / hz)
    position_gain, rate_gain = observer_gains(mechanism.control.observer_hz, 1.0 / hz)
    off, predicted, velocity = 1.0, 0.0, 0.0
    felt, rows = np.zeros(2), []
    for _ in range(round(FOLLOWED_S * hz)):
        error, before = off - predicted, velocity
        velocity += rate_gain * error * hz
        predicted = off - error + position_gain * error + velocity / hz
        felt = felt + gain * (np.array([(velocity - before) * hz, 0.5 * (velocity + before)]) - felt)
        rows.append(felt)
        off = 0.0
    changed, moved = np.array(rows).T
    return changed, moved
