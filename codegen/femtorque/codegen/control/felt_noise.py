"""The noise of the estimated external torque that comes from the encoder's resolution. The measured position of a
moving joint has a random error of up to half a step at every tick. The observer turns this error into a velocity error,
and the inertia turns the velocity error into a torque error. The low-pass filter then removes the noise above its
bandwidth. All operations are linear, so the noise variance is proportional to the sum of the squared responses to one
error."""

import math

import numpy as np
from numpy.typing import ArrayLike

from femtorque.codegen.common import Array, exp
from femtorque.codegen.control.gains import sample_poses
from femtorque.codegen.control.observer import observer_gains
from femtorque.codegen.mechanism import Mechanism
from femtorque.codegen.model import Model, assemble, mass_matrix

SHARE = 0.75  # quantile over the poses of closed loops; poses near singular poses have more noise
FOLLOWED_S = 3.0  # duration of the computed response to one error, s; the filter's bandwidth is at least 1 Hz


def felt_noise(mechanism: Mechanism, steps: ArrayLike, losses: ArrayLike) -> Array:
    """Return the standard deviation of each streamed joint's torque noise, N m or N (n,), at the worst pose.

    In closed loops the result ignores the poses above the quantile SHARE, because noise is large near singular poses.
    The mechanism needs the table [feel], and the number of streamed joints must equal the degrees of freedom. steps:
    steps of the encoders, rad or m (n,). losses: back-EMF damping of the motors, N m s/rad or N s/m (n,)."""
    model = Model.of(mechanism)
    poses, assembly = sample_poses(model), assemble(model)
    masses, free = mass_matrix(model, poses), list(assembly.independent)
    if assembly.dependent:
        moves = assembly.velocity_matrix(poses)
        masses = np.swapaxes(moves, -1, -2) @ masses @ moves
    names = [model.bodies[i].joint.name for i in free]
    order = [names.index(joint.name) for joint in mechanism.streamed]
    # in closed loops the inertia is unbounded near singular poses
    share = SHARE if assembly.dependent else 1.0
    inertia = np.quantile(np.abs(masses), share, axis=0, method="lower")[np.ix_(order, order)]
    apart = 1.0 - np.eye(len(order))
    changed, moved = _answers(mechanism)
    own = np.diag(inertia)[:, None] * changed + np.asarray(losses)[:, None] * moved
    squares = apart * inertia**2 * np.sum(changed**2) + np.diag(np.sum(own**2, axis=1))
    return np.sqrt(squares @ (np.square(steps) / 12.0))


def _answers(mechanism: Mechanism) -> tuple[Array, Array]:
    """Return the estimated acceleration and velocity, each (ticks,), after a position error of 1 in one tick."""
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
