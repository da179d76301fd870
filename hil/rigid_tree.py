"""Forward dynamics of a tree of rigid bodies in joint coordinates, from the mechanism's links and joints alone.

Written for the plant and sharing nothing with the inverse model: world-frame Jacobians of the centres of gravity,
M = sum m Jv' Jv + Jw' I Jw, and the velocity forces as a matrix that is linear in the rates and symmetric in its two
arguments, C(v) w = C(w) v, with C(v) v the Coriolis, centrifugal and gyroscopic forces. That symmetry is what the
integrator of hil.plant uses.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from codegen.errors import Refused
from codegen.mechanism import BASE, Mechanism

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Dynamics:
    """At one pose: mass (n, n) kg m^2, gravity torque (n,) N m, velocity-force matrix (n, n) at given rates, potential
    energy J. Prismatic joints have m and N for rad and N m."""

    mass: Array
    gravity: Array
    coriolis: Array
    potential: float


class RigidTree:
    """The moving bodies of a mechanism. n: joints that can move, in the mechanism's order."""

    def __init__(self, mechanism: Mechanism, mass_scale: float = 1.0) -> None:
        if mechanism.loops:
            raise Refused(f"{mechanism.name}: the plant has no loop closures yet")
        if any(link.beam for link in mechanism.links):
            raise Refused(f"{mechanism.name}: the plant has no flexible links yet")
        joints = mechanism.moving
        self.n = n = len(joints)
        self.gravity = np.asarray(mechanism.gravity, float)
        self.parent = [-1] * n
        self._offset = np.zeros((n, 3))  # of the joint in its parent body's frame
        frames = np.zeros((n, 3, 3))
        axes = np.array([j.axis for j in joints]).reshape(n, 3)
        self.prismatic = np.array([j.type == "prismatic" for j in joints], bool)
        solids: list[list[tuple[float, Array, Array]]] = [[] for _ in joints]
        self._walk(mechanism, frames, solids)
        self._axes = axes
        self._turning = np.where(self.prismatic, 0.0, 1.0)
        # R(q) = frames (a a' + cos q (1 - a a') + sin q [a x]) as three constant matrices
        along = axes[:, :, None] * axes[:, None, :]
        self._fixed = frames @ np.where(self.prismatic[:, None, None], np.eye(3), along)
        turning = self._turning[:, None, None]
        self._cosine, self._sine = turning * (frames @ (np.eye(3) - along)), turning * (frames @ _skew(axes))
        self._slide = np.where(self.prismatic[:, None], (frames @ axes[:, :, None])[:, :, 0], 0.0)
        merged = [_merge(parts) for parts in solids]
        self.masses = mass_scale * np.array([m for m, _, _ in merged])
        self._com = np.array([c for _, c, _ in merged]).reshape(n, 3)
        self._inertia = mass_scale * np.array([inertia for _, _, inertia in merged]).reshape(n, 3, 3)
        carries = np.zeros((n, n), bool)  # [i, j]: joint j moves body i
        for i in range(n):
            j = i
            while j >= 0:
                carries[i, j] = True
                j = self.parent[j]
        self._carries = carries.astype(float)[:, None, :]

    def _walk(self, mechanism: Mechanism, frames: Array, solids: list[list[tuple[float, Array, Array]]]) -> None:
        """Where every link is: carried by which moving body, and where in it."""
        index = {joint.name: i for i, joint in enumerate(mechanism.moving)}
        at: dict[str, tuple[int, Array, Array]] = {BASE: (-1, np.eye(3), np.zeros(3))}
        for joint in mechanism.joints:
            body, rotation, point = at[joint.parent]
            frame, origin = rotation @ _rpy(joint.rpy), point + rotation @ np.asarray(joint.xyz, float)
            if joint.name in index:
                i = index[joint.name]
                self.parent[i], frames[i], self._offset[i] = body, frame, origin
                at[joint.child] = (i, np.eye(3), np.zeros(3))
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
            if body >= 0:
                solids[body].append((mass, point + rotation @ com, rotation @ inertia @ rotation.T))

    def at(self, q: Array, v: Array) -> Dynamics:
        """Everything the equations of motion need at positions q and rates v, both (n,)."""
        n = self.n
        cosines, sines = np.cos(q)[:, None, None], np.sin(q)[:, None, None]
        local = self._fixed + cosines * self._cosine + sines * self._sine
        shift = self._offset + q[:, None] * self._slide
        rotation, origin = np.empty((n, 3, 3)), np.empty((n, 3))
        for k, parent in enumerate(self.parent):
            if parent < 0:
                rotation[k], origin[k] = local[k], shift[k]
            else:
                np.dot(rotation[parent], local[k], out=rotation[k])
                origin[k] = origin[parent] + rotation[parent].dot(shift[k])
        axis = (rotation @ self._axes[:, :, None])[:, :, 0]
        com = origin + (rotation @ self._com[:, :, None])[:, :, 0]
        inertia = rotation @ self._inertia @ rotation.transpose(0, 2, 1)
        angular = (axis * self._turning[:, None]).T  # (3, n): what a unit rate of each joint turns
        cross = _skew(angular.T)  # (n, 3, 3)
        levers = com[:, None, :] - origin  # (body, joint, 3)
        swing = (cross @ levers[..., None])[..., 0]  # (body, joint, 3)
        swing += (axis * self.prismatic[:, None])
        jv = swing.transpose(0, 2, 1) * self._carries  # (body, 3, joint)
        jw = angular * self._carries
        weighted = self.masses[:, None, None] * jv
        spun = inertia @ jw
        mass = _contract(weighted, jv) + _contract(jw, spun)
        return Dynamics(
            mass=mass,
            gravity=(self.gravity @ weighted).sum(axis=0),
            coriolis=self._velocity_forces(v, jv, jw, weighted, spun, inertia, cross),
            potential=-float(self.masses @ (com @ self.gravity)),
        )

    def _velocity_forces(self, v: Array, jv: Array, jw: Array, weighted: Array, spun: Array, inertia: Array,
                         cross: Array) -> Array:
        """C(v) (n, n). With k <= j meaning that joint k is j or carries it: d jv_j / d q_k = w_k x jv_j, symmetric in
        j and k; d jw_j / d q_k = w_k x w_j, which is made symmetric by halves."""
        omega = jw @ v  # (n, 3): of each body
        spin = _skew(omega)
        # joint j's column: Omega_j x jv_j + w_j x (what joints beyond j do to the centre of gravity)
        upto = (jv * v) @ self._carries[:, 0, :].T  # (body, 3, joint): moved by joints that carry j, and j
        beyond = ((jv @ v)[:, :, None] - upto) * self._carries
        nv = (spin @ jv.transpose(2, 1, 0)).transpose(2, 1, 0) + (cross @ beyond.transpose(2, 1, 0)).transpose(2, 1, 0)
        beyond_w = (omega[:, :, None] - omega.T) * self._carries
        nw = 0.5 * ((spin @ jw.transpose(2, 1, 0)).transpose(2, 1, 0)
                    + (cross @ beyond_w.transpose(2, 1, 0)).transpose(2, 1, 0))
        gyro = 0.5 * (spin @ inertia - _skew((inertia @ omega[:, :, None])[:, :, 0]))
        return _contract(weighted, nv) + _contract(spun, nw) + _contract(jw, gyro @ jw)


def _contract(a: Array, b: Array) -> Array:
    """Sum over bodies and directions of a' b; both (body, 3, joint)."""
    return a.reshape(-1, a.shape[2]).T @ b.reshape(-1, b.shape[2])


def _skew(v: Array) -> Array:
    """Cross-product matrices (n, 3, 3) of vectors (n, 3)."""
    out = np.zeros((len(v), 3, 3))
    out[:, 0, 1], out[:, 0, 2], out[:, 1, 2] = -v[:, 2], v[:, 1], -v[:, 0]
    out[:, 1, 0], out[:, 2, 0], out[:, 2, 1] = v[:, 2], -v[:, 1], v[:, 0]
    return out


def _turn(axis: Array, angle: float) -> Array:
    cross = _skew(axis[None])[0]
    return np.eye(3) + np.sin(angle) * cross + (1.0 - np.cos(angle)) * cross @ cross


def _rpy(rpy: Array) -> Array:
    """Fixed axes x, y, z, as URDF."""
    x, y, z = np.eye(3)
    return _turn(z, float(rpy[2])) @ _turn(y, float(rpy[1])) @ _turn(x, float(rpy[0]))


def _merge(parts: list[tuple[float, Array, Array]]) -> tuple[float, Array, Array]:
    """One body of several solids: mass, centre of gravity, inertia about it."""
    mass = sum(part[0] for part in parts)
    com = sum((m * np.asarray(c) for m, c, _ in parts), np.zeros(3)) / mass if mass else np.zeros(3)
    inertia = np.zeros((3, 3))
    for m, c, about_com in parts:
        d = np.asarray(c) - com
        inertia += about_com + m * (d @ d * np.eye(3) - np.outer(d, d))
    return mass, com, inertia
