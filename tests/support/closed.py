"""Reference dynamics of mechanisms with closed loops, computed with Pinocchio. Tests compare the inverse model, the
emitted C and the plant with this reference.

Pinocchio computes the terms of the spanning tree: mass matrix, rnea, frame Jacobians and frame accelerations. This
module writes the constraint of each loop as residuals r(q) between two frames. The derivatives r' and r'' follow from
the motion of the frames. All further steps are linear algebra with singular value decompositions, which also handle
dependent equations:

    assembly     r(q) = 0                      Gauss-Newton, some joints held
    inverse      b(q, v, a) = S' tau + J' lambda,  tau of the active joints alone, least tau' W tau
    forward      [M  -J'; J  0] [a; lambda] = [tau - b; -Jdot v]

Of the mechanism, this module shares only links, joints and anchors with the inverse model and the plant."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike

from femtorque.codegen.common import Array
from femtorque.codegen.mechanism import BASE, Anchor, Mechanism
from femtorque.codegen.reference.pinocchio import pinocchio_of

WORLD = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
DEPENDENT = 1e-9  # smaller singular values, relative to the largest singular value, count as zero


@dataclass(frozen=True)
class Side:
    """An anchor: rotation (3, 3), position, velocity, acceleration, angular velocity and acceleration, (3,) each."""

    R: Array
    p: Array
    v: Array
    a: Array
    w: Array
    dw: Array

    def axis(self, k: int) -> tuple[Array, Array, Array]:
        """Return axis k of the frame, and the first two time derivatives of this axis."""
        u = self.R[:, k]
        return u, np.cross(self.w, u), np.cross(self.dw, u) + np.cross(self.w, np.cross(self.w, u))

    def point(self) -> tuple[Array, Array, Array]:
        return self.p, self.v, self.a


class Closed:
    """A mechanism with closed loops, in its first mode."""

    def __init__(self, mechanism: Mechanism) -> None:
        self.mechanism = mechanism = mechanism.in_mode(mechanism.modes[0].name if mechanism.modes else None)
        if mechanism.modes and mechanism.modes[0].root != BASE:
            raise ValueError("the spanning tree stands on its base here")
        self.model = pinocchio_of(mechanism)
        self.n = self.model.nv  # number of moving joints, in the mechanism's order
        self._links = _placed(mechanism)
        self._frames = [(self._frame(loop.a), self._frame(loop.b)) for loop in mechanism.loops]
        self.data = self.model.createData()
        moving = mechanism.moving
        self.names = [joint.name for joint in moving]
        self.active = np.flatnonzero([joint.actuated for joint in moving])  # numbers of the driven joints
        self.passive = np.flatnonzero([not joint.actuated for joint in moving])  # numbers of all further joints
        self.start = np.array([joint.start for joint in moving])
        self._stiffness = np.array([joint.stiffness for joint in moving])
        self._rest = np.array([joint.rest for joint in moving])
        self.rotors = np.array([j.motor.gear**2 * j.motor.inertia if j.motor else 0.0 for j in moving])

    def _frame(self, anchor: Anchor) -> int:
        joint, place = self._links[anchor.link]
        place = place * pin.SE3(pin.rpy.rpyToMatrix(*np.asarray(anchor.rpy, float)), np.asarray(anchor.xyz, float))
        return self.model.addFrame(pin.Frame(f"anchor{self.model.nframes}", joint, 0, place, pin.FrameType.OP_FRAME))

    # ---- closures

    def _sides(self, q: Array, v: Array, a: Array) -> list[tuple[Side, Side]]:
        pin.forwardKinematics(self.model, self.data, q, v, a)
        pin.updateFramePlacements(self.model, self.data)

        def side(frame: int) -> Side:
            place = self.data.oMf[frame]
            rate = pin.getFrameVelocity(self.model, self.data, frame, WORLD)
            change = pin.getFrameClassicalAcceleration(self.model, self.data, frame, WORLD)
            return Side(place.rotation.copy(), place.translation.copy(), rate.linear.copy(), change.linear.copy(),
                        rate.angular.copy(), change.angular.copy())

        return [(side(a), side(b)) for a, b in self._frames]

    def _rows(self, q: Array, v: Array, a: Array) -> Array:
        """Return r, r' and r'' of all loop constraints, (3, rows)."""
        rows: list[Array] = []
        for loop, (a_side, b_side) in zip(self.mechanism.loops, self._sides(q, v, a), strict=True):
            gap = [y - x for x, y in zip(a_side.point(), b_side.point(), strict=True)]
            if loop.type == "planar":
                rows += [_product(gap, a_side.axis(k)) for k in (0, 1)]
            else:
                rows += [np.array([part[k] for part in gap]) for k in range(3)]
            if loop.type in ("revolute", "rigid"):
                rows += [_product(a_side.axis(k), b_side.axis(2)) for k in (0, 1)]
            if loop.type == "rigid":
                rows.append(_product(a_side.axis(1), b_side.axis(0)))
        return np.array(rows).reshape(-1, 3).T

    def residual(self, q: ArrayLike) -> Array:
        """Return r (rows,), in m. For constraints on rotation, r is the sine of the angle."""
        q = np.asarray(q, float)
        return self._rows(q, 0.0 * q, 0.0 * q)[0]

    def jacobian(self, q: ArrayLike) -> Array:
        """Return the derivative of r with respect to q, (rows, n)."""
        q = np.asarray(q, float)
        return np.array([self._rows(q, unit, 0.0 * q)[1] for unit in np.eye(self.n)]).reshape(self.n, -1).T

    def drift(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Return Jdot v (rows,)."""
        q, v = np.asarray(q, float), np.asarray(v, float)
        return self._rows(q, v, 0.0 * q)[2]

    def mobility(self, q: ArrayLike) -> int:
        return self.n - (np.linalg.matrix_rank(self.jacobian(q), tol=1e-7) if self.mechanism.loops else 0)

    # ---- kinematics

    def assemble(self, q: ArrayLike, held: Iterable[int] = ()) -> Array:
        """Return the pose near q in which the loops are closed. The joints in `held` keep their positions."""
        q = np.array(q, float)
        free = np.setdiff1d(np.arange(self.n), np.asarray(list(held), int))
        for _ in range(60):
            r = self.residual(q)
            if np.abs(r).max(initial=0.0) < 1e-14 or not len(free):
                break
            step = _solve(self.jacobian(q)[:, free], -r)
            q[free] += step * min(1.0, 0.3 / max(np.abs(step).max(), 1e-300))
        if np.abs(self.residual(q)).max(initial=0.0) > 1e-11:
            raise ValueError(f"does not close: residual {np.abs(self.residual(q)).max():.3g}")
        return q

    def follow(self, active: ArrayLike, rates: ArrayLike, accelerations: ArrayLike,
               near: ArrayLike) -> tuple[Array, Array, Array]:
        """Return q, v, a (n,) of all joints for a motion of the active ones (active,), on the branch of `near`."""
        q = np.array(near, float)
        q[self.active] = active
        q = self.assemble(q, self.active)
        v, a = np.zeros(self.n), np.zeros(self.n)
        J = self.jacobian(q)
        v[self.active], a[self.active] = rates, accelerations
        v[self.passive] = _solve(J[:, self.passive], -J @ v)
        a[self.passive] = _solve(J[:, self.passive], -J @ a - self.drift(q, v))
        return q, v, a

    # ---- dynamics

    def mass(self, q: ArrayLike, rotors: bool = False) -> Array:
        """Return the mass matrix (n, n).

        The columns are computed one by one, because crba would need the joints in depth-first order."""
        q, none = np.asarray(q, float), np.zeros(self.n)
        weight = pin.rnea(self.model, self.data, q, none, none).copy()
        M = np.array([pin.rnea(self.model, self.data, q, none, unit) - weight for unit in np.eye(self.n)])
        return M + (np.diag(self.rotors) if rotors else 0.0)

    def open_torque(self, q: ArrayLike, v: ArrayLike, a: ArrayLike, rotors: bool = False) -> Array:
        """Return the torques (n,) of the spanning tree with springs, without constraint forces of the opened loops."""
        q, v, a = (np.asarray(x, float) for x in (q, v, a))
        tau = pin.rnea(self.model, self.data, q, v, a).copy() + self._stiffness * (q - self._rest)
        return tau + self.rotors * a if rotors else tau

    def inverse(self, q: ArrayLike, v: ArrayLike, a: ArrayLike, weight: ArrayLike | None = None,
                rotors: bool = False) -> tuple[Array, Array]:
        """Return torques (n,), zero at passive joints, and multipliers (rows,) for a motion that keeps the loops
        closed.

        weight: the weights (active,) of tau^2, 1 by default. Weights have an effect only if the mechanism has more
        active joints than degrees of freedom."""
        J, tau = self.jacobian(q), self.open_torque(q, v, a, rotors) + self.rubbing(np.asarray(v, float))
        C = _row_space(J)  # directions that the loops constrain, without dependent equations
        root = np.sqrt(np.ones(len(self.active)) if weight is None else np.asarray(weight, float))
        # C' (particular + N z): `particular` cancels the passive torques, and z minimises the active torques.
        particular = _solve(C[:, self.passive].T, tau[self.passive])
        N = _null_space(C[:, self.passive].T)
        left = (tau - C.T @ particular)[self.active]
        z = _solve(root[:, None] * (C[:, self.active].T @ N), root * left)
        cut = C.T @ (particular + N @ z)
        if np.abs((tau - cut)[self.passive]).max(initial=0.0) > 1e-8 * max(1.0, np.abs(tau).max()):
            raise ValueError("no force at the cuts takes the passive torques away")
        return tau - cut, _solve(J.T, cut)

    def rubbing(self, v: Array) -> Array:
        """Return the torque (n,) that overcomes the friction of joints without motors. As in the control law of driven
        joints, the Coulomb friction is reduced to 0 below 0.01 rad/s or 0.001 m/s."""
        found = np.zeros(self.n)
        for i, joint in enumerate(self.mechanism.moving):
            if joint.motor is None and joint.drive is None and not joint.actuated:
                slow = 1e-3 if joint.type == "prismatic" else 1e-2
                faded = min(1.0, abs(v[i]) / slow) * np.sign(v[i])
                found[i] = joint.friction.viscous * v[i] + joint.friction.coulomb * faded
        return found

    def forward(self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, rotors: bool = False) -> tuple[Array, Array]:
        """Return accelerations (n,) and multipliers (rows,) under joint torques (n,)."""
        J, M = self.jacobian(q), self.mass(q, rotors)
        b = self.open_torque(q, v, np.zeros(self.n)) + self.rubbing(np.asarray(v, float))
        free = np.linalg.solve(M, np.asarray(tau, float) - b)
        if not len(J):
            return free, np.zeros(0)
        # Find the change of `free` with J a = -Jdot v that is smallest in the norm of M. C is J without dependent
        # equations.
        C, allowed = _row_space(J), _solve(J, -self.drift(q, v))
        A = np.linalg.solve(M, C.T)
        cut = C.T @ np.linalg.solve(C @ A, C @ (allowed - free))
        return free + np.linalg.solve(M, cut), _solve(J.T, cut)

    def energy(self, q: ArrayLike, v: ArrayLike, rotors: bool = False) -> tuple[float, float]:
        """Return the kinetic energy, and the potential energy of weight and springs, J."""
        q, v = np.asarray(q, float), np.asarray(v, float)
        weight = pin.computePotentialEnergy(self.model, self.data, q)
        springs = 0.5 * float(self._stiffness @ (q - self._rest) ** 2)
        return 0.5 * float(v @ self.mass(q, rotors) @ v), float(weight) + springs

    def freedoms(self, q: ArrayLike) -> Array:
        """Return an orthonormal basis (n, mobility) of the velocities that the loops allow."""
        return _null_space(self.jacobian(q))

    def named(self, values: Mapping[str, float], default: float = 0.0) -> Array:
        return np.array([values.get(name, default) for name in self.names])


def _product(u: Iterable[Array], w: Iterable[Array]) -> Array:
    """Return u . w and its two time derivatives, from two vectors and their derivatives."""
    (u0, u1, u2), (w0, w1, w2) = u, w
    return np.array([u0 @ w0, u1 @ w0 + u0 @ w1, u2 @ w0 + 2.0 * u1 @ w1 + u0 @ w2])


def _solve(A: Array, b: Array) -> Array:
    """Return the least-squares solution with the smallest norm."""
    return np.linalg.lstsq(A, b, rcond=DEPENDENT)[0]


def _null_space(A: Array) -> Array:
    _, s, Vt = np.linalg.svd(A)
    return Vt[np.sum(s > DEPENDENT * max(s.max(initial=0.0), 1e-300)):].T


def _row_space(A: Array) -> Array:
    """Return an orthonormal basis (rank, n) of the rows of A."""
    _, s, Vt = np.linalg.svd(A)
    return Vt[:np.sum(s > DEPENDENT * max(s.max(initial=0.0), 1e-300))]


def _placed(mechanism: Mechanism) -> dict[str, tuple[int, pin.SE3]]:
    """Return the Pinocchio joint that moves each link, and the link's frame relative to this joint."""
    places = {BASE: (0, pin.SE3.Identity())}
    numbers = {joint.name: k + 1 for k, joint in enumerate(mechanism.moving)}
    for joint in mechanism.joints:
        carrier, frame = places[joint.parent]
        frame = frame * pin.SE3(pin.rpy.rpyToMatrix(*joint.rpy), np.asarray(joint.xyz, float))
        if joint.name in numbers:
            places[joint.child] = (numbers[joint.name], pin.SE3.Identity())
            continue
        q, axis = mechanism.lock.get(joint.name, 0.0), np.asarray(joint.axis, float)
        turn = np.eye(3) if joint.type in ("fixed", "prismatic") else pin.AngleAxis(q, axis).toRotationMatrix()
        shift = axis * q if joint.type == "prismatic" else np.zeros(3)
        places[joint.child] = (carrier, frame * pin.SE3(turn, shift))
    return places
