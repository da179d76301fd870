"""Forward dynamics of a planar arm with a flexible last link, used to test planned tip motions.

The equations differ from the inverse model's equations. The elements are cubic, and this module selects their number.
All mass of the beam, its loads and the rigid links is in points, as in PLEXUS. Therefore the mass matrix is a sum of m
J'J over the points. Shear, if the link has shear, is one constant strain per element that minimises the energy.
Rotation and bending are coupled without approximation. Deflections are measured either from the root, which is clamped
to its joint, or from the chord:

- "root": the length of the beam is constant. For a deflection w of the axis, the points move towards the root by
  1/2 int w'^2. This displacement has inertia. The bending angle is the angle of the axis, w' = sin, so the energy is
  1/2 EI int w''^2 (1 + w'^2). The energy is accurate to third order in the deflection. The inverse model is accurate
  to second order;
- "chord": the beam with small deflections of femtorque.host.plan.chord_beam, which the published arm has. A force of 2
N deflects this beam by a quarter of its length. Only the dynamics differ from the inverse model.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from femtorque.codegen.common import Array
from femtorque.codegen.mechanism import Mechanism
from femtorque.codegen.model import Body, Model, placed_links

NEXT, AFTER = [1, 2, 0], [2, 0, 1]
GAUSS = 4  # points per element, so that the mass integrals of cubics are exact
CORRECTIONS = 3  # iterations per step for velocity terms and contact; elasticity is implicit


@dataclass(frozen=True)
class Wall:
    """A half space that pushes back along its outward unit normal (3,). At penetration depth d the wall pushes with k d
    + c d'.

    level: the surface is the plane normal . x = level. The wall never pulls.
    """

    normal: Array
    level: float
    stiffness: float
    damping: float = 0.0

    def force(self, x: Array, v: Array) -> Array:
        """Return the force on the tip at x, v (3,), N."""
        depth = self.level - float(self.normal @ x)
        if depth <= 0.0:
            return np.zeros(3)
        return self.normal * max(0.0, self.stiffness * depth - self.damping * float(self.normal @ v))


@dataclass(frozen=True)
class Points:
    """Point masses on one body: mass (P,), position (P, 3) in the body's frame."""

    mass: Array
    place: Array


class FlexiblePlant:
    """The plant with its state y = (q, U, q', U'). q (J,): joint angles, rad; the last angle is that of the frame from
    which deflections are measured. U (n,): deflection and slope of each node, then the slope of a rigid end that is
    mounted on a spring. Coordinates that are zero in the frame are omitted.
    """

    mass: Array  # mass of each point (P,) of the flexible link and its loads, kg
    x: Array  # positions of the points along the link, m

    def __init__(self, mechanism: Mechanism, elements: int, point: float | None = None, wall: Wall | None = None,
                 frame: Literal["root", "chord"] = "root") -> None:
        model = Model.of(mechanism)
        name = next(link.name for link in mechanism.links if link.beam is not None)
        link, self.hub = mechanism.link(name), placed_links(mechanism)[name][0]
        beam = link.beam
        assert beam is not None
        self.model, self.wall, self.keeps_length = model, wall, frame == "root"
        self.J, self.length = self.hub + 1, beam.length
        hub = model.bodies[self.hub]
        outer = model.bodies[self.hub + 1] if len(model.bodies) > self.J else None
        self.rigid = [planar_points(body) for body in model.bodies[: self.hub]]
        end = planar_points(outer) if outer else _carried(hub, link.mass, link.com, link.inertia)
        beyond = end.place[:, 0] - (0.0 if outer else beam.length)  # of the beam's end
        reach = point if point is not None else 2.0 * outer.com[0] if outer else 0.0
        tip, slope = 2 * elements, 2 * elements + (2 if outer else 1)
        N, K = self._beam(elements, link.mass, beam.EI[1], beam.GA_s[1], slope + 1)
        C = beam.damping * K
        row = np.zeros((len(beyond), slope + 1))
        row[:, tip] = 1.0
        row[:, slope] = beyond
        spring, tip_N, hub_N = np.zeros(slope + 1), np.zeros(slope + 1), np.zeros(slope + 1)
        tip_N[tip], tip_N[slope], hub_N[1] = 1.0, reach, 1.0
        if outer:
            spring[slope], spring[slope - 1] = 1.0, -1.0
            K += outer.joint.stiffness * np.outer(spring, spring)
        kept = np.eye(slope + 1)
        if frame == "chord":
            kept[tip] -= tip_N
        kept = np.delete(kept, [0, 1] if frame == "root" else [0, tip], axis=1)
        self.mass = np.concatenate([self.mass, end.mass])
        self.x = np.concatenate([self.x, beam.length + beyond])
        self.tip_x, self.n = beam.length + reach, kept.shape[1]
        self._shorten(elements, beam.EI[1], np.append(beyond, reach), slope, kept)
        self.N, self.K, self.C = np.vstack([N, row]) @ kept, kept.T @ K @ kept, kept.T @ C @ kept
        self.tip_N, self.hub_N, self.spring = tip_N @ kept, hub_N @ kept, spring @ kept
        self.end_N, self.slope_N = kept[tip], kept[tip + 1]  # of the beam's own end

    def _beam(self, elements: int, mass: float, EI: float, GA_s: float, size: int) -> tuple[Array, Array]:
        """Return the masses (P,) and positions x (P,) of the beam's Gauss points, N (P, size) with the deflection w = N
        U, and K (size, size).

        The slopes in U are the slopes of the sections. The deflection w of an element is a cubic through its ends. With
        a shear strain g the slopes of w are larger by g. The value of g minimises EI w''^2 + GA_s g^2.
        """
        l = self.length / elements
        s, weight = np.polynomial.legendre.leggauss(GAUSS)
        s = 0.5 * (s + 1.0)
        N = np.zeros((elements * GAUSS, size))
        bend, sheared = np.zeros_like(N), np.zeros((elements, size))
        cubic = np.stack([1 - 3 * s**2 + 2 * s**3, l * (s - 2 * s**2 + s**3), 3 * s**2 - 2 * s**3, l * (s**3 - s**2)],
                         1)
        curved = np.stack([-6 + 12 * s, l * (-4 + 6 * s), 6 - 12 * s, l * (6 * s - 2)], 1) / l**2
        both = curved[:, 1] + curved[:, 3]  # sum of curvature for a shear strain of 1 when the sections do not turn
        held = EI * 0.5 * l * weight * both
        strain = -(held @ curved) / (held @ both + GA_s * l)
        for e in range(elements):
            rows, at = slice(e * GAUSS, (e + 1) * GAUSS), slice(2 * e, 2 * e + 4)
            N[rows, at] = cubic + np.outer(cubic[:, 1] + cubic[:, 3], strain)
            bend[rows, at] = curved + np.outer(both, strain)
            sheared[e, at] = strain
        across = np.tile(0.5 * l * weight, elements)
        self.mass = mass / self.length * across
        self.x = (np.repeat(np.arange(elements, dtype=float), GAUSS) + np.tile(s, elements)) * l
        K = (bend.T * (EI * across)) @ bend
        return N, K + GA_s * l * sheared.T @ sheared if np.isfinite(GA_s) else K

    def _shorten(self, elements: int, EI: float, beyond: Array, slope: int, kept: Array) -> None:
        """Return drawn, bend, lean and rigid.

        drawn (P + 1, n, n): 1/2 U'drawn U is the distance by which bending moves the points, and as the last row the
        tip, towards the root. A body `beyond` the beam turns with the slope of the beam's end. bend, lean (G, n), rigid
        (G,): w'', w' and EI dx at the Gauss points.
        """
        l, size = self.length / elements, slope + 1
        s, weight = np.polynomial.legendre.leggauss(GAUSS)
        s, weight = 0.5 * (s + 1.0), 0.5 * weight
        self.bend, self.lean = np.zeros((elements * GAUSS, size)), np.zeros((elements * GAUSS, size))
        drawn, before = [], np.zeros((size, size))
        for e in range(elements):
            at, rows = slice(2 * e, 2 * e + 4), slice(e * GAUSS, (e + 1) * GAUSS)
            self.bend[rows, at], self.lean[rows, at] = _curved(s, l), _leaning(s, l)
            for part in s:
                inside = before.copy()
                inside[at, at] += part * l * (_leaning(part * s, l).T * weight) @ _leaning(part * s, l)
                drawn.append(inside)
            before = before.copy()
            before[at, at] += l * (_leaning(s, l).T * weight) @ _leaning(s, l)
        tilt = np.zeros(size)
        tilt[slope] = 1.0
        drawn += [before + x * np.outer(tilt, tilt) for x in beyond]
        self.drawn = self.keeps_length * np.einsum("ia,pij,jb->pab", kept, np.array(drawn), kept)
        self.bend, self.lean = self.bend @ kept, self.lean @ kept
        self.rigid_EI = self.keeps_length * EI * l * np.tile(weight, elements)

    def stiffened(self, U: Array) -> tuple[Array, float]:
        """Return forces (n,) and energy, J, by which bending U (n,) differs from small deflections, K U."""
        k, s = self.bend @ U, self.lean @ U
        each = self.rigid_EI * k * s
        return self.bend.T @ (each * s) + self.lean.T @ (each * k), 0.5 * float(each @ (k * s))

    def places(self, q: Array) -> tuple[Array, Array, Array]:
        """Return origins (J, 3), axes (J, 3) and the orientation (3, 3) of the last body."""
        origins, axes = np.zeros((self.J, 3)), np.zeros((self.J, 3))
        R, o = np.eye(3), np.zeros(3)
        self._frames = []
        for j, body in enumerate(self.model.bodies[: self.J]):
            o, R = o + R @ body.p0, R @ body.R0
            axes[j], origins[j] = R @ body.axis, o
            R = R @ _turn(body.axis, q[j])
            self._frames.append(R)
        return origins, axes, R

    def system(self, y: Array) -> tuple[Array, Array, Array, Array]:
        """Return the mass matrix (J + n, J + n), all forces (J + n,), and the tip's position and velocity."""
        J, n = self.J, self.n
        q, U, qd, Ud = y[:J], y[J : J + n], y[J + n : 2 * J + n], y[2 * J + n :]
        origins, axes, R = self.places(q)
        M, h = np.zeros((J + n, J + n)), np.zeros(J + n)
        w = np.cumsum(axes * qd[:, None], axis=0)  # angular velocity of each body
        bias = np.zeros((J, 3))  # acceleration of each origin when no joint accelerates
        for j in range(1, J):
            bias[j] = bias[j - 1] + _cross(w[j - 1], _cross(w[j - 1], origins[j] - origins[j - 1]))
        for j, points in enumerate(self.rigid):
            r = points.place @ self._frames[j].T
            a = bias[j] + _cross(w[j], _cross(w[j], r)) - self.model.gravity
            jac = np.zeros((len(r), 3, J + n))
            jac[:, :, : j + 1] = _turning(axes[: j + 1], origins[: j + 1], origins[j] + r)
            _add(M, h, points.mass, jac, a)
        e1, e2 = R[:, 0], R[:, 1]
        pulled = self.drawn @ U
        u, ud, udd = 0.5 * pulled @ U, pulled @ Ud, (self.drawn @ Ud) @ Ud
        r = np.outer(self.x - u[:-1], e1) + np.outer(self.N @ U, e2)
        a = (bias[-1] + _cross(w[-1], _cross(w[-1], r))
             + 2.0 * _cross(w[-1], np.outer(self.N @ Ud, e2) - np.outer(ud[:-1], e1)) - np.outer(udd[:-1], e1)
             - self.model.gravity)
        jac = np.zeros((len(r), 3, J + n))
        jac[:, :, :J] = _turning(axes, origins, origins[-1] + r)
        jac[:, :, J:] = e2[None, :, None] * self.N[:, None, :] - e1[None, :, None] * pulled[:-1, None, :]
        _add(M, h, self.mass, jac, a)
        force = -h
        force[J:] -= self.K @ U + self.C @ Ud + self.stiffened(U)[0]
        tip, to_tip = self._reached(y, origins, axes, R)
        v = to_tip @ y[J + n :]
        if self.wall is not None:
            force = force + to_tip.T @ self.wall.force(tip, v)
        return M, force, tip, v

    def pushed(self, y: Array) -> Array:
        """Return the generalised forces (J + n,) of the wall at a state."""
        if self.wall is None:
            return np.zeros(self.J + self.n)
        tip, to_tip = self._reached(y, *self.places(y[: self.J]))
        return to_tip.T @ self.wall.force(tip, to_tip @ y[self.J + self.n :])

    def _reached(self, y: Array, origins: Array, axes: Array, R: Array) -> tuple[Array, Array]:
        """Return the position of the tip (3,), m, and its velocity per unit velocity of each coordinate (3, J + n)."""
        e1, e2, U = R[:, 0], R[:, 1], y[self.J : self.J + self.n]
        pulled = self.drawn[-1] @ U
        tip = origins[-1] + (self.tip_x - 0.5 * U @ pulled) * e1 + (self.tip_N @ U) * e2
        bent = np.outer(e2, self.tip_N) - np.outer(e1, pulled)
        return tip, np.concatenate([_turning(axes, origins, tip[None])[0], bent], axis=1)

    def driven(self, torque: Array, spring: float = 0.0) -> Array:
        """Return the forces (J + n,) of joint torques (J,) and of a motor at the outer spring's joint, N m."""
        return np.concatenate([torque, torque[-1] * self.hub_N + spring * self.spring])

    def contact(self, y: Array) -> Array:
        """Return the force of the wall on the tip (3,), N."""
        tip, to_tip = self._reached(y, *self.places(y[: self.J]))
        return np.zeros(3) if self.wall is None else self.wall.force(tip, to_tip @ y[self.J + self.n :])

    def tip(self, y: Array) -> Array:
        """Return the position of the tip (3,), m."""
        return self._reached(y, *self.places(y[: self.J]))[0]


@dataclass(frozen=True)
class ArmRun:
    """times (T,) s; y (T, 2 (J + n)); tip (T, 3) m; force (T, 3) of the wall on the tip, N."""

    times: Array
    y: Array
    tip: Array
    force: Array


def run_flexible(plant: FlexiblePlant, start: Array, until: float, dt: float,
                 drive: Callable[[float, Array, Array], tuple[Array, float]]) -> ArmRun:
    """Return the forward dynamics, starting from a state.

    drive(t, y, force) returns the torques of the joints (J,) and of the outer spring at t, the end of a step, from the
    state at the start of the step. The integration scheme is Newmark's average acceleration, of second order.
    Elasticity is implicit, and the other forces are iterated.
    """
    J, n = plant.J, plant.n
    size = J + n
    soft = np.zeros((size, size))
    soft[J:, J:] = 0.25 * dt * dt * plant.K + 0.5 * dt * plant.C
    y, rows = start.copy(), []
    M, f, tip, v = plant.system(y)
    a = np.linalg.solve(M, f + plant.driven(*drive(0.0, y, plant.contact(y))))
    for k in range(int(round(until / dt)) + 1):
        force = np.zeros(3) if plant.wall is None else plant.wall.force(tip, v)
        rows.append((y, tip, force))
        torque, spring = drive((k + 1) * dt, y, force)
        given = plant.driven(torque, spring)
        q, qd, change = y[:size], y[size:], a
        for _ in range(CORRECTIONS):
            y = np.concatenate([q + dt * qd + 0.25 * dt * dt * (a + change), qd + 0.5 * dt * (a + change)])
            M, f, tip, v = plant.system(y)
            change = np.linalg.solve(M + soft, f + given + soft @ change)
        a = change
    y_rows, tips, forces = (np.array(column) for column in zip(*rows, strict=True))
    return ArmRun(np.arange(len(rows), dtype=float) * dt, y_rows, tips, forces)


def planar_points(body: Body) -> Points:
    """Return two points with the mass, the centre of gravity and the inertia about z of a body (PLEXUS)."""
    if body.mass == 0.0:
        return Points(np.zeros(0), np.zeros((0, 3)))
    k = np.sqrt(body.inertia[2, 2] / body.mass)
    return Points(np.full(2, body.mass / 2), body.com + np.array([[k, 0.0, 0.0], [-k, 0.0, 0.0]]))


def _carried(hub: Body, mass: float, com: Array, inertia: Array) -> Points:
    """Return the loads of the flexible link as two points, without the beam."""
    extra = hub.mass - mass
    if extra <= 0.0:
        return Points(np.zeros(0), np.zeros((0, 3)))
    c = (hub.mass * hub.com - mass * com) / extra
    second = (hub.inertia[2, 2] + hub.mass * float(hub.com[:2] @ hub.com[:2]) - inertia[2, 2]
              - mass * float(com[:2] @ com[:2]) - extra * float(c[:2] @ c[:2]))
    k = np.sqrt(max(second, 0.0) / extra)
    return Points(np.full(2, extra / 2), c + np.array([[k, 0.0, 0.0], [-k, 0.0, 0.0]]))


def _leaning(s: Array, l: float) -> Array:
    """Return the slopes (P, 4) of the cubic through an element's ends, at fractions s (P,) of its length l."""
    lift = 6.0 * (s - s**2) / l
    return np.stack([-lift, 1.0 - 4.0 * s + 3.0 * s**2, lift, 3.0 * s**2 - 2.0 * s], axis=1)


def _curved(s: Array, l: float) -> Array:
    """Return the curvatures (P, 4) of the cubic through an element's ends."""
    lift = (6.0 - 12.0 * s) / l**2
    return np.stack([-lift, (6.0 * s - 4.0) / l, lift, (6.0 * s - 2.0) / l], axis=1)


def _turn(axis: Array, angle: float) -> Array:
    x, y, z = axis
    k = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.eye(3) + np.sin(angle) * k + (1.0 - np.cos(angle)) * (k @ k)


def _cross(a: Array, b: Array) -> Array:
    """Return numpy.cross along the last axis, several times faster."""
    return a[..., NEXT] * b[..., AFTER] - a[..., AFTER] * b[..., NEXT]


def _turning(axes: Array, origins: Array, at: Array) -> Array:
    """Return the velocities (P, 3, J) of the points at (P, 3) per unit velocity of each joint."""
    return _cross(axes[None], at[:, None] - origins[None]).transpose(0, 2, 1)


def _add(M: Array, h: Array, mass: Array, jac: Array, a: Array) -> None:
    """Add m J'J and m J'a of all points."""
    weighted = jac * mass[:, None, None]
    M += np.einsum("pki,pkj->ij", weighted, jac)
    h += np.einsum("pki,pk->i", weighted, a)
