"""The step of mechanisms with flexible links, written plainly: what ft_step computes, in float64 and global axes.

The variational midpoint rule of discretisation.Spatial, with what bends beside the joints' q (THEORY.md section 8): z,
the modal coordinates of the flexible links and the positions of joints that nothing but a spring holds. The driven
joints are prescribed, and their equations give their torques. The others are free of applied forces but for damping,

    (P - D) - X = 0,   X <- P + D,   D = dt/2 (dT/dz - K z - C z')

and are solved for the half increment u of z: Newmark's method with beta = 1/4, gamma = 1/2, used forwards. P is linear
in u, so one solution of

    (2/dt^2 M + K/2 + C/dt) d = X - (P - D) of the motion predicted from the last two increments

corrects the prediction; velocity-dependent forces and the place at which masses are counted stay as predicted. Here the
matrix is formed and solved as it is. The emitted step has it factorised by modes, but for what hangs on the links
(elastic_step.py), which is the same by the Woodbury identity. Solved once a tick, as emitted, or again and again until
the rule is fulfilled (`iterations`).
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import ArrayLike, NDArray

from codegen.beam import joint_stiffness
from codegen.elastic import ElasticLink
from codegen.flexible_tree import FlexibleTree, Piece, flexible_tree
from codegen.model import GROUND, Model
from codegen.tree import axis_rotation, rotate, rotate_back

Array = NDArray[np.float64]

SETTLING = 12  # iterations from rest to the static sag; what hangs on a tip turns with it, by a tenth of what bends it
STEEPEST = np.pi / 4.0  # rad: a tip turns by its slope up to here; the theory ends long before
EY, EZ = np.eye(3)[1:]


@dataclass(frozen=True)
class Layout:
    """Where each flexible link's planes lie in the vectors: modes[i][plane] and tips[i][plane] of the piece i at its tip.

    At the tip, two coordinates a plane: deflection and slope.
    """

    modes: dict[int, dict[str, slice]]
    tips: dict[int, dict[str, slice]]
    size: int
    tip_size: int

    @staticmethod
    def of(tree: FlexibleTree) -> Layout:
        modes: dict[int, dict[str, slice]] = {}
        tips: dict[int, dict[str, slice]] = {}
        size = tip_size = 0
        for i in tree.beams:
            link, modes[i], tips[i] = tree.pieces[i].tip, {}, {}
            for plane in link.planes:
                modes[i][plane], tips[i][plane] = slice(size, size + link.modes), slice(tip_size, tip_size + 2)
                size, tip_size = size + link.modes, tip_size + 2
        return Layout(modes, tips, size, tip_size)


@dataclass(frozen=True)
class Momenta:
    """Generalised momentum P = dL/d(rate) and force F = dL/d(coordinate), at some positions and rates.

    joints (..., n); tips (..., T): of what the tips carry alone; modes (..., N): of the links alone, without K and C.
    """

    P: Array
    F: Array
    P_tip: Array
    F_tip: Array
    P_mode: Array
    F_mode: Array

    @staticmethod
    def zero(shape: tuple[int, ...], n: int, layout: Layout) -> Momenta:
        return Momenta(*(np.zeros((*shape, size)) for size in (n, layout.tip_size, layout.size) for _ in range(2)))

    def row(self, k: int) -> Momenta:
        return Momenta(*(getattr(self, field.name)[k] for field in fields(self)))


class Kinetics:
    """The Lagrangian's derivatives."""

    def __init__(self, tree: FlexibleTree, model: Model) -> None:
        self.tree, self.layout = tree, Layout.of(tree)
        self.spring = [joint_stiffness(model, j) for j in range(tree.n)]
        self.rest = [body.joint.rest for body in model.bodies]

    def at(self, q: Array, rates: Array, tip: Array, tip_rates: Array, xi: Array, xi_rates: Array) -> Momenta:
        """Positions and rates of joints (..., n), tips (..., T) and modes (..., N); tips and modes need not agree."""
        pieces, layout, g = self.tree.pieces, self.layout, self.tree.gravity
        count = len(pieces)
        shape = np.broadcast_shapes(q.shape[:-1], rates.shape[:-1], tip_rates.shape[:-1], xi.shape[:-1])
        still = np.zeros((*shape, 3))
        R: list[Array] = [np.eye(3)] * count
        o, w, v = [still] * count, [still] * count, [still] * count
        tips: dict[int, Tip] = {}
        for i, piece in enumerate(pieces):
            Rp, op, wp, vp = self._parent(piece.parent, R, o, w, v, still)
            R[i], o[i] = Rp @ piece.R0, op + Rp @ piece.p0
            w[i], v[i] = wp, vp + _cross(wp, o[i] - op)
            if piece.link is not None:
                tips[i] = Tip.at(piece.tip, R[i], v[i], wp, self._planes(i, tip), self._planes(i, tip_rates))
                R[i], o[i], w[i], v[i] = tips[i].R, o[i] + tips[i].arm, tips[i].w, tips[i].v
                continue
            assert piece.joint is not None
            axis, rate, position = R[i] @ piece.axis, rates[..., piece.joint, None], q[..., piece.joint, None]
            if piece.prismatic:
                o[i], v[i] = o[i] + axis * position, v[i] + _cross(wp, axis * position) + axis * rate
            else:
                R[i], w[i] = R[i] @ axis_rotation(piece.axis, position[..., 0]), w[i] + axis * rate

        m, p, h, C = [0.0] * count, [still] * count, [still] * count, [still] * count
        found = Momenta.zero(shape, self.tree.n, layout)
        for i in reversed(range(count)):
            piece = pieces[i]
            c = R[i] @ piece.com
            p_own = piece.mass * (v[i] + _cross(w[i], c))
            m[i] += piece.mass
            p[i] = p[i] + p_own
            h[i] = h[i] + rotate(R[i], rotate_back(R[i], w[i]) @ piece.inertia) + _cross(c, p_own)
            C[i] = C[i] + piece.mass * c
            origin = o[i]
            Rp, op, wp, vp = self._parent(piece.parent, R, o, w, v, still)
            if piece.link is not None:
                at, root = tips[i], tips[i].root
                slide = _cross(p[i], wp) + m[i] * g
                for plane, e, a, w_at in (("y", root[..., 1], at.axis_y, wp), ("z", root[..., 2], at.axis_z, at.between)):
                    if plane in layout.tips[i]:
                        turn = _cross(h[i], w_at) + _cross(p[i], v[i]) + _cross(C[i], g)
                        found.P_tip[..., layout.tips[i][plane]] = np.stack([_dot(e, p[i]), _dot(a, h[i])], axis=-1)
                        found.F_tip[..., layout.tips[i][plane]] = np.stack([_dot(e, slide), _dot(a, turn)], axis=-1)
                own = self._beam(i, piece.tip, rotate_back(root, at.v_root), rotate_back(root, wp),
                                 rotate_back(root, g), xi, xi_rates, found)
                h[i] = h[i] + _cross(at.arm, p[i]) + rotate(root, own[2])  # about the link's root from here on
                C[i] = C[i] + m[i] * at.arm + rotate(root, own[3])
                m[i] += own[0]
                p[i] = p[i] + rotate(root, own[1])
                origin = o[i] - at.arm
            else:
                self._joint(piece, R[i] @ piece.axis, m[i], p[i], h[i], C[i], w[i], v[i], q, found)
            if piece.parent != GROUND:
                u, d = piece.parent, origin - op
                m[u] += m[i]
                p[u] = p[u] + p[i]
                h[u] = h[u] + h[i] + _cross(d, p[i])
                C[u] = C[u] + C[i] + m[i] * d
        return found

    @staticmethod
    def _parent(i: int, R: list[Array], o: list[Array], w: list[Array], v: list[Array],
                still: Array) -> tuple[Array, Array, Array, Array]:
        """Frame, origin, angular velocity and velocity of a piece, or of the ground."""
        return (np.eye(3), still, still, still) if i == GROUND else (R[i], o[i], w[i], v[i])

    def _planes(self, i: int, tip: Array) -> list[Array]:
        """y, slope y, z, slope z (...) of one tip."""
        found, none = self.layout.tips[i], np.zeros(tip.shape[:-1])
        return [tip[..., found[plane].start + k] if plane in found else none for plane in "yz" for k in (0, 1)]

    def _joint(self, piece: Piece, axis: Array, m: float, p: Array, h: Array, C: Array, w: Array, v: Array, q: Array,
               found: Momenta) -> None:
        """Momentum and force of one joint from the sums over what hangs on it."""
        g, j = self.tree.gravity, piece.joint
        assert j is not None
        if piece.prismatic:
            found.P[..., j], force = _dot(axis, p), _dot(axis, _cross(p, w) + m * g)
        else:
            found.P[..., j], force = _dot(axis, h), _dot(axis, _cross(h, w) + _cross(p, v) + _cross(C, g))
        found.F[..., j] = force - self.spring[j] * (q[..., j] - self.rest[j])

    def _beam(self, i: int, link: ElasticLink, v: Array, w: Array, g: Array, xi: Array, xi_rates: Array,
              found: Momenta) -> tuple[float, Array, Array, Array]:
        """Mass, momentum, angular momentum and first moment of a flexible link, about and in its root frame.

        v, w, g (..., 3): velocity and angular velocity of the root frame, gravity. Fills in what the modes have.
        """
        modes, none = self.layout.modes[i], np.zeros((*xi.shape[:-1], link.modes))
        y, z = (xi[..., modes[plane]] if plane in modes else none for plane in "yz")
        dy, dz = (xi_rates[..., modes[plane]] if plane in modes else none for plane in "yz")
        b, c = link.beta, link.gamma
        vx, vy, vz = (v[..., k, None] for k in range(3))
        wx, wy, wz = (w[..., k, None] for k in range(3))
        gy, gz = g[..., 1, None], g[..., 2, None]
        if "y" in modes:
            found.P_mode[..., modes["y"]] = b * vy + c * wz - wx * z + dy
            found.F_mode[..., modes["y"]] = (b * (wx * vz - wz * vx + gy) - c * wx * wy + (wz**2 + wx**2) * y
                                             - wy * wz * z + wx * dz)
        if "z" in modes:
            found.P_mode[..., modes["z"]] = b * vz - c * wy + wx * y + dz
            found.F_mode[..., modes["z"]] = (b * (wy * vx - wx * vy + gz) - c * wx * wz + (wy**2 + wx**2) * z
                                             - wy * wz * y - wx * dy)
        zero = np.zeros(y.shape[:-1])
        first = np.stack([zero + 0.5 * link.mass * link.length, y @ b, z @ b], axis=-1)
        along = link.mass * link.length**2 / 3.0
        yy, zz, yz, xy, xz = _dot(y, y), _dot(z, z), _dot(y, z), y @ c, z @ c
        inertia = np.stack([np.stack([yy + zz, -xy, -xz], -1), np.stack([-xy, along + zz, -yz], -1),
                            np.stack([-xz, -yz, along + yy], -1)], -2) + np.diag(link.section)
        p = link.mass * v + _cross(w, first) + np.stack([zero, dy @ b, dz @ b], -1)
        h = _cross(first, v) + rotate(inertia, w) + np.stack([_dot(y, dz) - _dot(z, dy), -(dz @ c), dy @ c], -1)
        return link.mass, p, h, first


@dataclass(frozen=True)
class Tip:
    """A flexible link's tip. root, R (..., 3, 3): frames of root and tip; arm: from root to tip; v_root, v, w; between:
    angular velocity turned by the slope in y alone; axis_y, axis_z: what the slopes turn about. (..., 3), global."""

    root: Array
    R: Array
    arm: Array
    v_root: Array
    v: Array
    w: Array
    between: Array
    axis_y: Array
    axis_z: Array

    @staticmethod
    def at(link: ElasticLink, root: Array, v_root: Array, w_root: Array, bend: list[Array], rates: list[Array]) -> Tip:
        (y, sy, z, sz), (dy, dsy, dz, dsz) = bend, rates
        sy, sz = np.clip(sy, -STEEPEST, STEEPEST), np.clip(sz, -STEEPEST, STEEPEST)
        turned = root @ axis_rotation(EZ, sy)
        axis_y, axis_z = root[..., 2], -turned[..., 1]
        arm = rotate(root, np.stack([0.0 * y + link.length, y, z], axis=-1))
        between = w_root + axis_y * dsy[..., None]
        v = v_root + _cross(w_root, arm) + rotate(root, np.stack([0.0 * dy, dy, dz], axis=-1))
        return Tip(root, turned @ axis_rotation(EY, -sz), arm, v_root, v, between + axis_z * dsz[..., None], between,
                   axis_y, axis_z)


class Elastic:
    """The variational midpoint step of a tree with flexible links and joints held by springs.

    Its unknowns z (Z,), at s_k: positions of the joints held by springs, rad or m, then modal coordinates, m sqrt(kg).
    """

    def __init__(self, model: Model, iterations: int = 1) -> None:
        self.model, self.dt, self.iterations = model, model.dt, iterations
        self.tree = flexible_tree(model.mechanism)
        self.kinetics = Kinetics(self.tree, model)
        layout = self.layout = self.kinetics.layout
        self.driven, self.springs = list(self.tree.driven), list(self.tree.springs)
        self.K, self.C = np.zeros(layout.size), np.zeros(layout.size)
        self.phi = np.zeros((layout.tip_size, layout.size))
        for i in self.tree.beams:
            link = self.tree.pieces[i].tip
            for plane in link.planes:
                modes, tips = layout.modes[i][plane], layout.tips[i][plane]
                self.K[modes] = link.stiffness[plane]
                self.C[modes] = link.damping * link.stiffness[plane]
                self.phi[tips, modes] = link.tip, link.slope
        joints = [model.mechanism.moving[j] for j in self.springs]
        self.stiffness = np.concatenate([[joint_stiffness(model, j) for j in self.springs], self.K])
        self.damping = np.concatenate([[joint.friction.viscous for joint in joints], self.C])
        self.rest = np.concatenate([[joint.rest for joint in joints], np.zeros(layout.size)])
        # the joints that flexible links or springs carry
        self.outboard = np.zeros(self.tree.n, bool)
        for i, piece in enumerate(self.tree.pieces):
            if piece.joint is None or piece.joint in self.springs:
                beyond = [self.tree.pieces[k].joint for k in self.tree.beyond(i) if k != i]
                self.outboard[[j for j in beyond if j is not None]] = True

    @property
    def xi(self) -> Array:
        """Modal coordinates (N,)."""
        return self.z[len(self.springs):]

    def start(self, q: ArrayLike) -> None:
        """At rest at q (J,), rad or m, of the driven joints, all that bends in its static sag."""
        q = np.asarray(q, float)
        self.z = self.sag(q)
        self.u, self.before, self.X_z = (np.zeros(len(self.z)) for _ in range(3))
        self.X = 0.5 * self._at(q, 0.0 * q, self.z, 0.0 * self.z).F[self.driven]

    def sag(self, q: Array) -> Array:
        """z (Z,) at which springs and links carry themselves and what hangs on them, at rest at q (J,)."""
        z = self.rest
        for _ in range(SETTLING):
            z = z + self.unsettled(q, z)
        return z

    def unsettled(self, q: Array, z: Array) -> Array:
        """How far z (Z,) gives way to the forces at rest that are left at it."""
        return self._force(self._at(q, 0.0 * q, z, 0.0 * z), z) / self.stiffness

    def _at(self, q: Array, rates: Array, z: Array, z_rates: Array, xi: Array | None = None,
            xi_rates: Array | None = None) -> Momenta:
        """With driven joints at q (..., J) and z (..., Z); xi, xi_rates: of the links themselves, if other than z's."""
        s = len(self.springs)
        shape = np.broadcast_shapes(q.shape[:-1], rates.shape[:-1], z.shape[:-1], z_rates.shape[:-1])
        q, rates, z, z_rates = (np.broadcast_to(x, (*shape, x.shape[-1])) for x in (q, rates, z, z_rates))
        joints, joint_rates = np.empty((2, *shape, self.tree.n))
        joints[..., self.driven], joints[..., self.springs] = q, z[..., :s]
        joint_rates[..., self.driven], joint_rates[..., self.springs] = rates, z_rates[..., :s]
        modes, mode_rates = z[..., s:], z_rates[..., s:]
        return self.kinetics.at(joints, joint_rates, modes @ self.phi.T, mode_rates @ self.phi.T,
                                modes if xi is None else xi, mode_rates if xi_rates is None else xi_rates)

    def _momentum(self, at: Momenta) -> Array:
        """dL/dz' (..., Z)."""
        return np.concatenate([at.P[..., self.springs], at.P_mode + at.P_tip @ self.phi], axis=-1)

    def _force(self, at: Momenta, z: Array) -> Array:
        """dL/dz (Z,) at z, the links' own stiffness included."""
        return np.concatenate([at.F[self.springs], at.F_mode + at.F_tip @ self.phi - self.K * z[len(self.springs):]])

    def step(self, q_next: ArrayLike, u: ArrayLike) -> Array:
        """Torque (J,), N m or N, at s_k, from q(s_k+1) and u = (q(s_k+1) - q(s_k)) / 2, both (J,)."""
        q_next, u = np.asarray(q_next, float), np.asarray(u, float)
        dt, count = self.dt, len(self.z)
        q, rates = q_next - u, 2.0 * u / dt
        # beside the motion as predicted, every unknown alone with a rate of one
        alone = np.eye(1 + count)
        guess = 2.0 * self.u - self.before
        for _ in range(self.iterations):
            middle = self.z + guess
            every = self._at(q, rates * alone[:, :1], middle, np.vstack([2.0 * guess / dt, np.eye(count)]))
            at = every.row(0)
            explicit = self._force(at, middle) + self.stiffness * (middle - self.rest)  # without the springs
            mass = self._momentum(every)[1:]
            P = self._momentum(at) / dt
            implicit = 0.5 * self.stiffness * (middle - self.rest) + self.damping * guess / dt
            A = 2.0 / dt**2 * mass + np.diag(0.5 * self.stiffness + self.damping / dt)
            d = np.linalg.solve(A, self.X_z - (P - 0.5 * explicit + implicit))
            new = guess + d
            before, guess = guess, new
        implicit = 0.5 * self.stiffness * (self.z + new - self.rest) + self.damping * new / dt
        self.X_z = P + 2.0 / dt**2 * mass @ d + 0.5 * explicit - implicit
        xi, s = self.xi, len(self.springs)
        final = self._at(q, rates, self.z + before, 2.0 * new / dt, xi + new[s:], 2.0 * new[s:] / dt)
        F = np.where(self.outboard, at.F, final.F)[self.driven]
        self.before, self.u, self.z = self.u, new, self.z + 2.0 * new
        tau, self.X = final.P[self.driven] / dt - 0.5 * F - self.X, final.P[self.driven] / dt + 0.5 * F
        return tau

    def torque(self, positions: Array, u: Array | None = None) -> Array:
        """All steps of a motion at once, as discretisation.torque: from rest at its first sample."""
        self.start(positions[0])
        u = 0.5 * np.diff(positions, axis=0) if u is None else u
        return np.array([self.step(q, du) for q, du in zip(positions[1:], u, strict=True)])[1:].reshape(-1, len(self.driven))


def _cross(a: Array, b: Array) -> Array:
    """numpy.cross along the last axis, several times faster."""
    result = np.empty(np.broadcast_shapes(a.shape, b.shape))
    for k in range(3):
        i, j = (k + 1) % 3, (k + 2) % 3
        result[..., k] = a[..., i] * b[..., j] - a[..., j] * b[..., i]
    return result


def _dot(a: Array, b: Array) -> Array:
    return np.sum(a * b, axis=-1)
