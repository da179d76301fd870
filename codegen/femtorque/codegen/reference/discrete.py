"""The emitted discretisation without optimisation: the torques of ft_step, in float64 and global coordinates.

The sampling instants s_k are the middles of the intervals over which a torque is held. Both forms of the scheme have
errors of second order in the tick. Each takes positions q(s_-1)..q(s_N), (N+2, J), and half increments u = (q(s_k+1) -
q(s_k)) / 2, (N+1, J).

*Nodal* (the default) computes the changes of nodal momenta over the two ticks around s_k, to second order. These
changes are the inertial forces at the mean increment and its change, which are central differences of the positions.
*Printed* is in codegen/reference/printed.py.

Mechanisms with closed loops (`Closed`) can use both forms. The constraint gives the velocities and accelerations of the
dependent joints.

tests/codegen/reference/test_discrete.py shows that both forms converge to Newton-Euler as dt^2. Tests compare the
emitted C in double precision with this module."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from femtorque.codegen.common import Refused, square
from femtorque.codegen.model import SINGULAR, Model, assemble
from femtorque.codegen.reference.discrete_flexible import Flexible
from femtorque.codegen.reference.printed import between, printed_torque
from femtorque.codegen.reference.rigid import newton_euler

Joints = NDArray[np.float64]  # shape (J,) for one instant, (..., J) for several instants

def nodal_torque(model: Model, positions: Joints, u: Joints) -> Joints:
    """Return torques (N, J) from the mean increments and their changes."""
    before, after = u[:-1], u[1:]
    return newton_euler(model, positions[1:-1], (after + before) / model.dt, 2.0 * (after - before) / model.dt**2)


PACE_OF_CORRECTION = 0.02  # longest correction, rad or m; a longer one could reach a different solution
SWING = 0.75  # maximum displacement in half a tick, rad or m; with the correction, a step turns a joint by at most pi/4
PASSES, SETTLED = 30, 1e-12  # maximum number of passes over a motion; change after which passes end, rad or m


class Closed:
    """Both forms for closed loops. qd_d = G qd_i, qdd_d = G qdd_i - J_d^-1 dJ_c/dt qd. The transpose of the velocity
    matrix G maps the dependent joints' torques to the independent joints. In each tick, positions change by velocity
    and acceleration, and by the loop correction of the previous pose."""

    def __init__(self, model: Model) -> None:
        self.model, self.assembly = model, assemble(model)
        a = self.assembly
        self.bound = list(a.dependent)
        self.places = [a.actuated.index(i) for i in a.independent]

    def torque(self, positions: NDArray[np.float64], u: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return torques (N, J) of the actuated joints. Raise Refused at a singular pose.

        The C predicts each pose from the previous pose. This reference iterates instead: in every pass it predicts all
        poses from the poses of the last pass, until the poses no longer change."""
        a, u = self.assembly, u[:, self.places]
        at, before, far = a.follow(positions[:-1]), np.concatenate([np.zeros_like(u[:1]), u[:-1]]), np.inf
        for _ in range(PASSES):
            J, qd, qdd = a.jacobian(at)[..., self.bound], *self._moves(at, before, u)
            x = -np.linalg.solve(J, a.residual(at)[..., None])[..., 0]
            advance = self._advance(qd, qdd)[:, self.bound] + x
            off = (at[:-1, self.bound] + advance[:-1]) - at[1:, self.bound]
            at[1:, self.bound] += off
            last, far = far, float(np.max(np.abs(off), initial=0.0))
            if far < SETTLED and far >= 0.5 * last:
                break
        else:
            raise AssertionError("predictions do not settle")
        if (np.max(np.abs(x), initial=0.0) > PACE_OF_CORRECTION or not np.all(a.margin(at) > SINGULAR)
                or not np.all(np.abs(self._advance(qd, qdd)[:, self.bound]) <= 2.0 * SWING)):
            raise Refused(f"{self.model.mechanism.name}: the motion leads through a singular pose")
        tau = self._tree(at[1:], qd[1:], qdd[1:])
        return self._allocate(tau, a.velocity_matrix(at[1:]))

    def _moves(self, q: Joints, before: Joints, after: Joints) -> tuple[Joints, Joints]:
        """Return velocities and accelerations (..., n) at poses q (..., n). before, after: half increments (...,
        mobility) of the independent joints in the ticks before and after."""
        dt = self.model.dt
        qd = self.assembly.velocities(q, (after + before) / dt)
        return qd, self.assembly.accelerations(q, qd, 2.0 * (after - before) / dt**2)

    def _tree(self, q: Joints, qd: Joints, qdd: Joints) -> Joints:
        """Return torques of the open tree.

        The printed form needs half increments, which are computed from velocity and acceleration."""
        if self.model.scheme != "printed":
            return newton_euler(self.model, q, qd, qdd)
        mean, change = 0.5 * self.model.dt * qd, 0.25 * square(self.model.dt) * qdd
        return between(self.model, q, mean - change, mean + change)

    def _advance(self, qd: Joints, qdd: Joints) -> Joints:
        """Return the increment from one sample to the next (..., n)."""
        return self.model.dt * qd + 0.5 * self.model.dt**2 * qdd

    def _allocate(self, tau: Joints, moves: NDArray[np.float64]) -> Joints:
        """Return the torques of the actuated joints, independent and redundant, that give Q = G' tau. moves: G (..., n,
        mobility)."""
        a = self.assembly
        driven = list(a.actuated)
        if self.model.mechanism.control.allocation == "partition":
            return tau[..., driven]
        Q = np.einsum("...ij,...i->...j", moves, tau)
        A = moves[..., driven, :]
        weighted = A / a.weights()[:, None]
        inner = np.swapaxes(A, -1, -2) @ weighted
        return np.einsum("...ij,...j->...i", weighted, np.linalg.solve(inner, Q[..., None])[..., 0])


def emitted_torque(model: Model, positions: ArrayLike) -> NDArray[np.float64]:
    """Return torques (N, J), N m or N, at s_0..s_N-1. positions (N+2, J), rad or m: samples of a motion at s_-1..s_N.

    The first increment gives the initial state, so the torques of a motion that starts with a velocity are correct from
    the first sample on."""
    positions = np.asarray(positions, float)
    u = 0.5 * np.diff(positions, axis=0)
    if model.mechanism.flexible:
        return Flexible(model).torque(positions, u)
    if model.mechanism.constrained:
        return Closed(model).torque(positions, u)
    return (printed_torque if model.scheme == "printed" else nodal_torque)(model, positions, u)
