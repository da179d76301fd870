"""Forward dynamics of a tree of rigid bodies in joint coordinates. The only input is the links and joints of the
mechanism.

This module shares no code with the inverse model. The equations use world-frame Jacobians of the centres of gravity,
with M = sum m Jv' Jv + Jw' I Jw. The velocity forces are given by a matrix that is linear in the velocities: C(v) v are
the Coriolis, centrifugal and gyroscopic forces. The matrix satisfies C(v) w = C(w) v. The integrator of
femtorque.hil.plant.rigid uses this symmetry. For joints k <= j, where k is j or an ancestor of j,

    d jv_j / d q_k = w_k x jv_j, symmetric in j and k; d jw_j / d q_k = w_k x w_j, made symmetric by averaging,

For body i and its joint j, with Omega_j the angular velocity of j's body,

    nv_j = Omega_j x jv_j + w_j x (velocity that the joints beyond j give the centre of gravity)
    nw_j = (Omega_j x w_j + w_j x (Omega_i - Omega_j)) / 2
    C = sum m Jv' Nv + (I Jw)' Nw + Jw' ([Omega x] I - [I Omega x]) Jw / 2

hil/plant/rigid_tree.c computes the sums.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from femtorque.codegen.common import Array, Refused
from femtorque.codegen.mechanism import BASE, Mechanism
from femtorque.hil.plant.plant_library import library


@dataclass(frozen=True)
class Dynamics:
    """Mass matrix (n, n) kg m^2, gravity torque (n,) N m and velocity-force matrix (n, n) at a pose and its velocities.
    For prismatic joints, m replaces rad, and N replaces N m."""

    mass: Array
    gravity: Array
    coriolis: Array


class RigidTree:
    """The moving bodies of a mechanism. n: number of movable joints, in the mechanism's order."""

    def __init__(self, mechanism: Mechanism, mass_scale: float = 1.0) -> None:
        if mechanism.constrained:
            raise Refused(f"{mechanism.name}: the plant has no loop closures yet")
        if any(link.beam for link in mechanism.links):
            raise Refused(f"{mechanism.name}: the plant has no flexible links yet")
        joints = mechanism.moving
        self.n = n = len(joints)
        self._parent = np.zeros(n, np.int64)  # number of the body that carries a joint, 1 to n; 0 is the base
        self._offset = np.zeros((n, 3))  # pose of the joint in the frame of its parent body
        frames = np.zeros((n, 3, 3))
        axes = np.array([j.axis for j in joints]).reshape(n, 3)
        prismatic = np.array([j.type == "prismatic" for j in joints], bool)
        solids: list[list[tuple[float, Array, Array]]] = [[] for _ in joints]
        self._walk(mechanism, frames, solids)
        # R(q) = frames (a a' + cos q (1 - a a') + sin q [a x]), stored as three constant matrices
        along = axes[:, :, None] * axes[:, None, :]
        fixed = frames @ np.where(prismatic[:, None, None], np.eye(3), along)
        turns = np.where(prismatic, 0.0, 1.0)
        cosine, sine = (turns[:, None, None] * (frames @ part) for part in (np.eye(3) - along, _skew(axes)))
        slide = np.where(prismatic[:, None], (frames @ axes[:, :, None])[:, :, 0], 0.0)
        merged = [_merge(parts) for parts in solids]
        names = ("origin", "omega", "jv", "jw", "spun", "nv", "nw", "gyro")
        self.pointer, self.held = _structure(
            n, parent=self._parent, turns=turns, offset=self._offset, slide=slide, fixed=fixed, cosine=cosine,
            sine=sine,
            axis=axes, mass=mass_scale * np.array([m for m, _, _ in merged]),
            centre=np.array([c for _, c, _ in merged]),
            inertia=mass_scale * np.array([inertia for _, _, inertia in merged]),
            gravity=np.array(mechanism.gravity, float),
            rotation=np.tile(np.eye(3), (n + 1, 1, 1)),  # the base does not rotate
            **{name: np.zeros((n + 1, 3)) for name in names})

    def _walk(self, mechanism: Mechanism, frames: Array, solids: list[list[tuple[float, Array, Array]]]) -> None:
        """Find the moving body that carries each link, and the link's pose in the frame of that body."""
        index = {joint.name: i for i, joint in enumerate(mechanism.moving)}
        at: dict[str, tuple[int, Array, Array]] = {BASE: (0, np.eye(3), np.zeros(3))}
        for joint in mechanism.joints:
            body, rotation, point = at[joint.parent]
            frame, origin = rotation @ _rpy(joint.rpy), point + rotation @ np.asarray(joint.xyz, float)
            if joint.name in index:
                i = index[joint.name]
                self._parent[i], frames[i], self._offset[i] = body, frame, origin
                at[joint.child] = (i + 1, np.eye(3), np.zeros(3))
            else:
                held = mechanism.lock.get(joint.name, 0.0)
                if joint.type == "prismatic":
                    origin = origin + frame @ joint.axis * held
                elif joint.type != "fixed":
                    frame = frame @ _turn(np.asarray(joint.axis, float), held)
                at[joint.child] = (body, frame, origin)
        parts = [(x.name, x.mass, x.com, x.inertia) for x in mechanism.links]
        parts += [(p.link, p.mass, p.com, p.inertia) for p in mechanism.payloads]
        for link, mass, com, inertia in parts:
            body, rotation, point = at[link]
            if body > 0:
                solids[body - 1].append((mass, point + rotation @ com, rotation @ inertia @ rotation.T))

    def at(self, q: Array, v: Array) -> Dynamics:
        """Return the terms of the equations of motion at positions q and velocities v, both (n,)."""
        ffi, lib = library()
        n, square = self.n, self.n**2
        found = np.zeros(2 * square + n)
        q, v = np.ascontiguousarray(q, np.float64), np.ascontiguousarray(v, np.float64)
        lib.rigid_tree_at(self.pointer, *(ffi.from_buffer("double[]", a) for a in (q, v, found)))
        return Dynamics(mass=found[:square].reshape(n, n), coriolis=found[square:2 * square].reshape(n, n),
                        gravity=found[2 * square:])


def _structure(n: int, **arrays: NDArray[Any]) -> tuple[Any, dict[str, Any]]:
    """Return C's `rigid_tree`, and the arrays to which it points."""
    ffi, _ = library()
    held = {name: ffi.from_buffer(f"{'int64_t' if a.dtype == np.int64 else 'double'}[]", np.ascontiguousarray(a))
            for name, a in arrays.items()}
    return ffi.new("rigid_tree *", {"n": n, **held}), held


def _skew(v: Array) -> Array:
    """Return the cross-product matrices (n, 3, 3) of vectors (n, 3)."""
    out = np.zeros((len(v), 3, 3))
    out[:, 0, 1], out[:, 0, 2], out[:, 1, 2] = -v[:, 2], v[:, 1], -v[:, 0]
    out[:, 1, 0], out[:, 2, 0], out[:, 2, 1] = v[:, 2], -v[:, 1], v[:, 0]
    return out


def _turn(axis: Array, angle: float) -> Array:
    cross = _skew(axis[None])[0]
    return np.eye(3) + np.sin(angle) * cross + (1.0 - np.cos(angle)) * cross @ cross


def _rpy(rpy: Array) -> Array:
    """Return URDF's rotation about the fixed axes x, y, z."""
    x, y, z = np.eye(3)
    return _turn(z, float(rpy[2])) @ _turn(y, float(rpy[1])) @ _turn(x, float(rpy[0]))


def _merge(parts: list[tuple[float, Array, Array]]) -> tuple[float, Array, Array]:
    """Return one body that replaces several solids: mass, centre of gravity, and inertia about that centre."""
    mass = sum(part[0] for part in parts)
    com = sum((m * np.asarray(c) for m, c, _ in parts), np.zeros(3)) / mass if mass else np.zeros(3)
    inertia = np.zeros((3, 3))
    for m, c, about_com in parts:
        d = np.asarray(c) - com
        inertia += about_com + m * (d @ d * np.eye(3) - np.outer(d, d))
    return mass, com, inertia
