"""The step of mechanisms with flexible links without optimisation: the torques of ft_step, in float64 and global axes.

As in discrete.central_torque, the Newton-Euler equations hold at the sample s_k. In addition to the driven joints' q
there are unknowns z (THEORY.md section 8): modal coordinates of the flexible links, and positions of joints whose only
torque comes from a spring. The motion of the driven joints is prescribed. The equations of the driven joints give their
torques. No force is applied to the unknowns,

    F(z, z', z'') + C z' + K (z_k+1 + 2 z_k + z_k-1) / 4 = 0,    z' = (u_k + u_k-1) / dt,    z'' = 2 (u_k - u_k-1) /
    dt^2.

The method is Newmark's with beta = 1/4, gamma = 1/2, forwards in time. z_k is known. The prediction of d_k = (u_k -
u_k-1) / 2 comes from the last two ticks, d = 2 d_k-1 - d_k-2, and z' follows from d. F is linear in z'', so one
solution of

    (4/dt^2 M + 2/dt C + K) (d_k - d) = -(F + C z' + K (z_k + d)) as predicted

corrects the prediction. Two forces keep their predicted values: velocity-dependent forces, and forces from the
shortening of bent links (`Dynamics.drawn`). This module assembles the matrix and solves the system of equations
directly. The emitted step uses its structure: the matrix is diagonal in the modes, except for the contribution of the
bodies that hang on the links (step/flexible.py). By the Woodbury identity both solutions are equal. The emitted step
solves the equations once per tick. `Flexible` can iterate, so that z' agrees with the solution (`iterations`)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from femtorque.codegen.common import Array, cross, dot
from femtorque.codegen.model import (
    GROUND, FlexibleTree, ModalLink, Model, Piece, flexible_tree, joint_stiffness, rotate, rotate_back, rotation_axis)

SETTLING = 12  # number of iterations from rest to the static sag; each reduces the error by a factor of about ten
STEEPEST = np.pi / 4.0  # maximum slope that rotates a tip, rad; the theory is valid only for much smaller slopes
EX, EY, EZ = np.eye(3)


@dataclass(frozen=True)
class Layout:
    """Positions of the flexible links' planes in the vectors: modes[i][plane] and tips[i][plane], where i is the piece
    at the tip. A tip has two coordinates per plane: deflection and slope."""

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
class ModalMotion:
    """Positions, velocities and accelerations of joints (..., n) and of link modes (..., N)."""

    q: Array
    velocities: Array
    accelerations: Array
    xi: Array
    xi_velocities: Array
    xi_accelerations: Array


@dataclass(frozen=True)
class Forces:
    """Generalised forces of a motion, without stiffness and damping. The forces come from the links and from all bodies
    that the links carry. joints (..., n); modes (..., N)."""

    joints: Array
    modes: Array


@dataclass(frozen=True)
class Moving:
    """A frame: R (..., 3, 3), origin o, angular velocity w and acceleration e, acceleration less gravity a (..., 3)."""

    R: Array
    o: Array
    w: Array
    e: Array
    a: Array

    def carried(self, d: Array) -> Array:
        """Return the acceleration (..., 3) of a point fixed to the frame, d (..., 3) from its origin."""
        return self.a + cross(self.e, d) + cross(self.w, cross(self.w, d))


@dataclass(frozen=True)
class Walk:
    """Results of one pass over the tree. roots, tips: frames and tips of flexible links, by the piece at the tip."""

    moving: list[Moving]  # the frame of every piece
    roots: dict[int, Moving]
    tips: dict[int, Tip]
    pushed: dict[int, Array]  # (..., 3): force of the tip on its load, global
    found: Forces  # generalised forces
    beside: Array  # (..., N): the contribution of `Dynamics._beside` to the forces on the modes


class Dynamics:
    """Newton-Euler dynamics of the tree."""

    def __init__(self, tree: FlexibleTree) -> None:
        self.tree, self.layout = tree, Layout.of(tree)
        self.phi = np.zeros((self.layout.tip_size, self.layout.size))  # deflections and slopes of the tips per mode
        for i in tree.beams:
            link = tree.pieces[i].tip
            for plane in link.planes:
                self.phi[self.layout.tips[i][plane], self.layout.modes[i][plane]] = link.tip, link.slope

    def at(self, x: ModalMotion, weight: Array | float = 1.0) -> Forces:
        """Return a motion's generalised forces, without the shortening of links. weight (..., 1): factor on gravity."""
        return self._walk(x, weight).found

    def whole(self, x: ModalMotion, weight: Array | float = 1.0) -> Forces:
        """Return a motion's generalised forces, with the inertia of a load beside a tip's axis under shortening."""
        walk = self._walk(x, weight)
        return Forces(walk.found.joints, walk.found.modes + walk.beside)

    def _walk(self, x: ModalMotion, weight: Array | float) -> Walk:
        pieces, layout = self.tree.pieces, self.layout
        shape = np.broadcast_shapes(*(part.shape[:-1]
                                      for part in (x.q, x.velocities, x.accelerations, x.xi, x.xi_velocities,
                                                   x.xi_accelerations)))
        still = np.zeros((*shape, 3))
        ground = Moving(np.eye(3), still, still, still, still - weight * self.tree.gravity)
        tip = [part @ self.phi.T for part in (x.xi, x.xi_velocities, x.xi_accelerations)]
        moving: list[Moving] = []
        roots: dict[int, Moving] = {}
        tips: dict[int, Tip] = {}
        for i, piece in enumerate(pieces):
            parent = ground if piece.parent == GROUND else moving[piece.parent]
            d = parent.R @ piece.p0
            here = Moving(parent.R @ piece.R0, parent.o + d, parent.w, parent.e, parent.carried(d))
            if piece.link is not None:
                roots[i] = here
                bend, velocities, accelerations = (self._planes(i, part) for part in tip)
                tips[i] = Tip.at(piece.tip, here, bend, velocities, accelerations, self.tree.twists(i))
                moving.append(tips[i].moving)
            else:
                assert piece.joint is not None
                moving.append(_moved(here, piece,
                                     *(part[..., piece.joint, None] for part in (x.q, x.velocities, x.accelerations))))

        f, n = [still] * len(pieces), [still] * len(pieces)
        found = Forces(np.zeros((*shape, self.tree.n)), np.zeros((*shape, layout.size)))
        at_tips, beside, pushed = *np.zeros((2, *shape, layout.tip_size)), {}
        mass, first = [piece.mass for piece in pieces], [still] * len(pieces)  # with all carried pieces
        for i in reversed(range(len(pieces))):
            piece, here = pieces[i], moving[i]
            c = here.R @ piece.com
            own = piece.mass * here.carried(c)
            f[i] = f[i] + own
            n[i] = n[i] + cross(c, own) + _turned(here.R, piece.inertia, here.e)
            n[i] = n[i] + cross(here.w, _turned(here.R, piece.inertia, here.w))
            first[i] = first[i] + piece.mass * c
            origin = here.o
            if piece.link is not None:
                root, at = roots[i], tips[i]
                pushed[i] = f[i]
                around = dot(here.R[..., 0], n[i])
                for k, (plane, e, axis) in enumerate((("y", root.R[..., 1], at.axis_y),
                                                      ("z", root.R[..., 2], at.axis_z))):
                    if plane in layout.tips[i]:
                        at_tips[..., layout.tips[i][plane]] = np.stack(
                            [dot(e, f[i]) + at.twist[2 * k] * around,
                             dot(axis, n[i]) + at.twist[2 * k + 1] * around], axis=-1)
                beside = beside + self._beside(i, tip, self._moment(i, here, first[i]))
                own_f, own_n, S = self._beam(i, piece.tip, root, x, found.modes)
                n[i] = n[i] + cross(here.o - root.o, f[i]) + rotate(root.R, own_n)  # moments are about the link's root
                f[i] = f[i] + rotate(root.R, own_f)
                first[i] = first[i] + mass[i] * (here.o - root.o) + rotate(root.R, S)
                mass[i] += piece.tip.mass
                origin = root.o
            else:
                assert piece.joint is not None
                found.joints[..., piece.joint] = dot(here.R @ piece.axis, f[i] if piece.prismatic else n[i])
            if piece.parent != GROUND:
                u = piece.parent
                mass[u], first[u] = mass[u] + mass[i], first[u] + first[i] + mass[i] * (origin - moving[u].o)
                f[u], n[u] = f[u] + f[i], n[u] + n[i] + cross(origin - moving[u].o, f[i])
        found = Forces(found.joints, found.modes + at_tips @ self.phi)
        return Walk(moving, roots, tips, pushed, found, beside @ self.phi)

    def drawn(self, x: ModalMotion, weight: Array | float = 1.0) -> Forces:
        """Return the forces that result from the constant length of bent links (THEORY.md section 8).

        The force on the modes comes from the tension of the straight link, and is of first order in the deflections.
        The force on the joints is the pull of link and load towards the root, and is of second order."""
        walk, straight, pieces = self._walk(x, weight), self._walk(self._straight(x), weight), self.tree.pieces
        found = Forces(np.zeros_like(walk.found.joints), np.zeros_like(walk.found.modes))
        still = np.zeros((*found.joints.shape[:-1], 3))
        by: dict[int, Drawn] = {}  # of flexible links' tips
        shift = [still] * len(pieces)  # accelerations to add
        for i, piece in enumerate(pieces):
            if piece.parent != GROUND:
                shift[i] = shift[piece.parent]
            if piece.link is not None:
                root = straight.roots[i]
                by[i] = Drawn.of(self._drawn(i, x, piece.tip.drawn.tip),
                                 *(rotate_back(root.R, v) for v in (root.w, root.e)))
                shift[i] = shift[i] + rotate(walk.roots[i].R, by[i].acceleration)
        # mass and first moment of all bodies that a piece carries, and force and moment to add
        mass = [piece.mass for piece in pieces]
        first, f, n = ([still] * len(pieces) for _ in range(3))
        for i in reversed(range(len(pieces))):
            piece, here = pieces[i], walk.moving[i]
            c, own = here.R @ piece.com, piece.mass * shift[i]
            f[i], n[i] = f[i] + own, n[i] + cross(c, own)
            first[i] = first[i] + piece.mass * c
            origin = here.o
            if piece.link is not None:
                root, arm, lever = walk.roots[i], here.o - walk.roots[i].o, piece.tip.length * walk.roots[i].R[..., 0]
                led = rotate(root.R, by[i].acceleration) * mass[i]
                push = rotate_back(straight.roots[i].R, straight.pushed[i])
                own_f, own_n, S = self._beam_drawn(i, straight.roots[i], x, push, found.modes)
                found.modes[...] += self._curved(i, straight.roots[i], x, mass[i],
                                                 self._moment(i, here, first[i])) @ self.phi
                S = rotate(root.R, S)
                moved = piece.tip.mass * shift[piece.parent] if piece.parent != GROUND else still
                n[i] = (n[i] + cross(arm, f[i] - led) + cross(lever, led) + cross(S, moved) / piece.tip.mass
                        + rotate(root.R, own_n - cross(by[i].at[..., None] * EX, push)))
                f[i] = f[i] + moved + rotate(root.R, own_f)
                first[i] = first[i] + mass[i] * arm + S
                mass[i] = mass[i] + piece.tip.mass
                origin = root.o
            elif piece.joint in self.tree.driven:
                found.joints[..., piece.joint] = dot(here.R @ piece.axis, f[i] if piece.prismatic else n[i])
            if piece.parent != GROUND:
                u, away = piece.parent, origin - walk.moving[piece.parent].o
                mass[u], first[u] = mass[u] + mass[i], first[u] + first[i] + mass[i] * away
                f[u], n[u] = f[u] + f[i], n[u] + n[i] + cross(away, f[i])
        return found

    def _straight(self, x: ModalMotion) -> ModalMotion:
        """Return the motion with straight links and with springs at constant velocity. The motion with straight links
        gives the whole tension, because bending alone adds none."""
        accelerations = x.accelerations.copy()
        accelerations[..., list(self.tree.springs)] = 0.0
        return ModalMotion(x.q, x.velocities, accelerations, 0.0 * x.xi, 0.0 * x.xi, 0.0 * x.xi)

    def _drawn(self, i: int, x: ModalMotion, G: Array) -> list[Array]:
        """Return the sum u = 1/2 xi'G xi of both planes, and its velocity and acceleration (...)."""
        at, velocity, acceleration = np.zeros(()), np.zeros(()), np.zeros(())
        for modes in self.layout.modes[i].values():
            y, dy, ddy = (part[..., modes] for part in (x.xi, x.xi_velocities, x.xi_accelerations))
            at = at + 0.5 * dot(y @ G, y)
            velocity, acceleration = velocity + dot(y @ G, dy), acceleration + dot(y @ G, ddy) + dot(dy @ G, dy)
        return [at, velocity, acceleration]

    def _beam_drawn(self, i: int, root: Moving, x: ModalMotion, push: Array,
                    force: Array) -> tuple[Array, Array, Array]:
        """Return force and moment (..., 3) at a link's root that result from shortening, and the first moment, in link
        axes. push: force of the tip on the load. The function also stores the forces on the link's modes in `force`."""
        link = self.tree.pieces[i].tip
        w, e, a = (rotate_back(root.R, v) for v in (root.w, root.e, root.a))
        across = w * [0.0, 1.0, 1.0]
        pull = (dot(across, across)[..., None, None] * link.drawn.second - a[..., :1, None] * link.drawn.first
                - push[..., :1, None] * link.drawn.tip)
        S = np.zeros_like(push) + [0.5 * link.mass * link.length, 0.0, 0.0]
        for plane, modes in self.layout.modes[i].items():
            force[..., modes] = rotate(pull, x.xi[..., modes])
            S[..., "xyz".index(plane)] = x.xi[..., modes] @ link.beta
        by, (u, velocity, _) = Drawn.of(self._drawn(i, x, link.drawn.first), w, e), self._drawn(i, x, link.drawn.second)
        n = (-cross(by.at[..., None] * EX, a) - 2.0 * velocity[..., None] * across
             - 2.0 * u[..., None] * (e * [0.0, 1.0, 1.0] + cross(w, across)))
        return by.acceleration, n, S

    def _beside(self, i: int, tip: list[Array], moment: Array) -> Array:
        """Return forces (..., T) on the tips' coordinates that result from the coordinates' accelerations.

        A load beside the axis of a tip moves along the axis, because of the shortening and because of the tip's
        rotation. moment (..., 3): first moment about the tip, in the tip's frame."""
        link = self.tree.pieces[i].tip
        at, accelerations = self._bend(i, tip[0]), self._bend(i, tip[2])
        by, beside = drawn_by(link.length, at), moved_by(moment)
        far = by * (link.farther(moment[..., 0]) * dot(by, accelerations))[..., None]
        return self._on_tip(i, far - by * dot(beside, accelerations)[..., None]
                            - beside * dot(by, accelerations)[..., None])

    def _moment(self, i: int, here: Moving, first: Array) -> Array:
        """Return the first moment (..., 3) of a tip's load about the tip, in the tip's frame. If the load can bend or
        move along the link, only the component along the link is not zero."""
        moment = rotate_back(here.R, first)
        return moment if self.tree.stiff_beyond(i) else moment * [1.0, 0.0, 0.0]

    def _curved(self, i: int, root: Moving, x: ModalMotion, mass: float, moment: Array) -> Array:
        """Return forces (..., T) on the tip's coordinates that come from third-order terms of the Lagrangian (THEORY.md
        section 8).

        The third-order terms come from deflections that rotate around the link's axis, and from velocities in
        `_beside`. mass, moment (..., 3): mass, kg, of the tip's load, and its first moment about the tip, kg m, in the
        tip's frame."""
        link = self.tree.pieces[i].tip
        at, velocity = (self._bend(i, part @ self.phi.T) for part in (x.xi, x.xi_velocities))
        (wx, wy, wz), (ex, ey, ez) = (np.moveaxis(rotate_back(root.R, v), -1, 0) for v in (root.w, root.e))
        (y, _, z, _), (dy, _, dz, _) = (np.moveaxis(v, -1, 0) for v in (at, velocity))
        linear, square, shorter = link.curved(mass)
        turning = linear + 1.2 / link.length**2 * moment[..., 0]
        bent, swing = y * y + z * z, y * dy + z * dz
        around = y * dz - z * dy + wx * bent
        spin = turning * (wy * y + wz * z) - square * around
        change = turning * (ey * y + ez * z + wy * dy + wz * dz) - square * (ex * bent + 2.0 * wx * swing)
        _, ay, az = np.moveaxis(rotate_back(root.R, root.a), -1, 0)
        pulled = ay * y + az * z
        rolling = np.stack([-change * z - 2.0 * spin * (dz + wx * y) - turning * around * wy
                            - shorter * (2.0 * pulled * y + bent * ay), 0.0 * y,
                            change * y + 2.0 * spin * (dy - wx * z) - turning * around * wz
                            - shorter * (2.0 * pulled * z + bent * az), 0.0 * y], axis=-1)
        by, beside, whirl = drawn_by(link.length, at), moved_by(moment), wy * wy + wz * wz
        drawn = dot(drawn_by(link.length, velocity), velocity)
        inward = whirl * dot(beside, at) + link.farther(moment[..., 0]) * drawn
        fling = drawn - 0.5 * whirl * dot(by, at)
        return self._on_tip(i, rolling + by * inward[..., None] - beside * fling[..., None])

    def _bend(self, i: int, tip: Array) -> Array:
        """Return deflection and slope of one tip, first in y, then in z (..., 4)."""
        return np.stack(self._planes(i, tip), axis=-1)

    def _on_tip(self, i: int, forces: Array) -> Array:
        """Return forces (..., T) on the coordinates of all tips from the forces (..., 4) on one tip."""
        found = np.zeros((*forces.shape[:-1], self.layout.tip_size))
        for plane, at in self.layout.tips[i].items():
            found[..., at] = forces[..., 2 * "yz".index(plane):][..., :2]
        return found

    def _planes(self, i: int, tip: Array) -> list[Array]:
        """Return y, slope y, z, slope z (...) of one tip."""
        found, none = self.layout.tips[i], np.zeros(tip.shape[:-1])
        return [tip[..., found[plane].start + k] if plane in found else none for plane in "yz" for k in (0, 1)]

    def _beam(self, i: int, link: ModalLink, root: Moving, x: ModalMotion,
              force: Array) -> tuple[Array, Array, Array]:
        """Return force and moment (..., 3) of a flexible link at its root, and its first moment, in link axes.

        The function also stores the forces on the link's modes in `force`."""
        modes = self.layout.modes[i]

        def planes(part: Array) -> tuple[Array, Array]:
            none = np.zeros((*part.shape[:-1], link.modes))
            y, z = (part[..., modes[plane]] if plane in modes else none for plane in "yz")
            return y, z

        (y, z), (dy, dz), (ddy, ddz) = planes(x.xi), planes(x.xi_velocities), planes(x.xi_accelerations)
        w, e, a = (rotate_back(root.R, v) for v in (root.w, root.e, root.a))
        wx, wy, wz = (w[..., k, None] for k in range(3))
        ex, ey, ez = (e[..., k, None] for k in range(3))
        b, c = link.beta, link.gamma
        if "y" in modes:
            force[..., modes["y"]] = (b * a[..., 1, None] + c * (ez + wx * wy) - (wz**2 + wx**2) * y
                                      + (wy * wz - ex) * z - 2.0 * wx * dz + ddy)
        if "z" in modes:
            force[..., modes["z"]] = (b * a[..., 2, None] + c * (wx * wz - ey) - (wx**2 + wy**2) * z
                                      + (wy * wz + ex) * y + 2.0 * wx * dy + ddz)
        zero = np.zeros(np.broadcast_shapes(y.shape[:-1], w.shape[:-1]))
        first = np.stack([zero + 0.5 * link.mass * link.length, zero + y @ b, zero + z @ b], axis=-1)
        along = link.mass * link.length**2 / 3.0
        yy, zz, yz, xy, xz = dot(y, y) + zero, dot(z, z) + zero, dot(y, z) + zero, y @ c + zero, z @ c + zero
        inertia = np.stack([np.stack([yy + zz, -xy, -xz], -1), np.stack([-xy, along + zz, -yz], -1),
                            np.stack([-xz, -yz, along + yy], -1)], -2) + np.diag(link.section)
        velocities = np.stack([zero, zero + dy @ b, zero + dz @ b], -1)
        accelerations = np.stack([zero, zero + ddy @ b, zero + ddz @ b], -1)
        f = link.mass * a + cross(e, first) + cross(w, cross(w, first) + 2.0 * velocities) + accelerations
        # integral of r x (2 w x r' + r'')
        relative = np.stack([
            2.0 * w[..., 0] * (dot(y, dy) + dot(z, dz)) + dot(y, ddz) - dot(z, ddy),
            2.0 * (w[..., 1] * dot(z, dz) - w[..., 0] * (dy @ c) - w[..., 2] * dot(z, dy)) - ddz @ c,
            2.0 * (w[..., 2] * dot(y, dy) - w[..., 0] * (dz @ c) - w[..., 1] * dot(y, dz)) + ddy @ c], -1)
        n = cross(first, a) + rotate(inertia, e) + cross(w, rotate(inertia, w)) + relative
        return f, n, first


def drawn_by(length: float, bend: Array) -> Array:
    """Return the derivative (..., 4) of a tip's shortening 0.6 y^2 / L by deflection and slope in y, then in z."""
    return 1.2 / length * bend * [1.0, 0.0, 1.0, 0.0]


def moved_by(moment: Array) -> Array:
    """Return how a tip's coordinates move a load beside the tip's axis along this axis: first moment (..., 4), one
    value per coordinate. moment (..., 3): first moment of the load in the tip's frame."""
    none = 0.0 * moment[..., 1]
    return np.stack([none, -moment[..., 1], none, -moment[..., 2]], axis=-1)


@dataclass(frozen=True)
class Drawn:
    """Additional motion of a point, or of a first moment, that results from shortening."""

    at: Array  # (...): displacement u along x
    acceleration: Array  # (..., 3): acceleration in the root frame

    @staticmethod
    def of(u: list[Array], w: Array, e: Array) -> Drawn:
        at, velocity, acceleration = (part[..., None] for part in u)
        return Drawn(u[0],
                     -(acceleration * EX + 2.0 * velocity * cross(w, EX)
                       + at * (cross(e, EX) + cross(w, cross(w, EX)))))


@dataclass(frozen=True)
class Tip:
    """The tip of a flexible link. axis_y, axis_z (..., 3): global axes about which the slopes in y and z rotate the
    tip."""

    moving: Moving
    axis_y: Array
    axis_z: Array
    twist: list[Array]  # rotation (...) about the tip's x axis, per unit of y, slope y, z and slope z

    @staticmethod
    def at(link: ModalLink, root: Moving, bend: list[Array], velocities: list[Array],
           accelerations: list[Array], twists: bool) -> Tip:
        (y, sy, z, sz), (dy, dsy, dz, dsz), (ddy, ddsy, ddz, ddsz) = bend, velocities, accelerations
        sy, sz = np.clip(sy, -STEEPEST, STEEPEST), np.clip(sz, -STEEPEST, STEEPEST)
        turned = root.R @ rotation_axis(EZ, sy)
        axis_y, axis_z = root.R[..., 2], -turned[..., 1]
        arm = rotate(root.R, np.stack([0.0 * y + link.length, y, z], axis=-1))
        velocity, acceleration = (rotate(root.R, np.stack([0.0 * p, p, q], axis=-1)) for p, q in ((dy, dz), (ddy, ddz)))
        a = root.carried(arm) + 2.0 * cross(root.w, velocity) + acceleration
        turn = axis_y * dsy[..., None]
        between, e = root.w + turn, root.e + cross(root.w, turn) + axis_y * ddsy[..., None]
        turn = axis_z * dsz[..., None]
        e, between = e + cross(between, turn) + axis_z * ddsz[..., None], between + turn
        R, by = turned @ rotation_axis(EY, -sz), 1.0 / link.length
        twist = [twists * part for part in (by * sz, -(0.5 * sz + by * z), -by * sy, by * y - 0.5 * sy)]
        velocity, acceleration = (np.sum([t * part for t, part in zip(twist, parts, strict=True)], axis=0)
                                  for parts in ((dy, dsy, dz, dsz), (ddy, ddsy, ddz, ddsz)))
        acceleration = acceleration + twists * (2.0 * by * (dy * dsz - dz * dsy) - dsy * dsz)
        turn = R[..., 0] * velocity[..., None]
        e = e + cross(between, turn) + R[..., 0] * acceleration[..., None]
        R = R @ rotation_axis(EX, twists * (by * (y * sz - z * sy) - 0.5 * sy * sz))
        return Tip(Moving(R, root.o + arm, between + turn, e, a), axis_y, axis_z, twist)


def _moved(here: Moving, piece: Piece, q: Array, velocity: Array, acceleration: Array) -> Moving:
    """Return the frame that a joint moves. here: the frame at position zero. q, velocity, acceleration (..., 1): the
    joint's motion."""
    axis = here.R @ piece.axis
    if piece.prismatic:
        slide = axis * q
        return Moving(here.R, here.o + slide, here.w, here.e,
                      here.carried(slide) + 2.0 * cross(here.w, axis * velocity) + axis * acceleration)
    return Moving(here.R @ rotation_axis(piece.axis, q[..., 0]), here.o, here.w + axis * velocity,
                  here.e + cross(here.w, axis * velocity) + axis * acceleration, here.a)


class Flexible:
    """The step of a tree with flexible links and joints on springs. z (Z,): unknowns at s_k; first positions of the
    joints on springs, rad or m, then modal coordinates, m sqrt(kg). u: half increments of z in the last tick. d,
    d_before: half of the change of u in the last tick and in the tick before it."""

    def __init__(self, model: Model, iterations: int = 1) -> None:
        self.model, self.dt, self.iterations = model, model.dt, iterations
        self.tree = flexible_tree(model.mechanism)
        self.dynamics = Dynamics(self.tree)
        layout = self.layout = self.dynamics.layout
        self.driven, self.springs = list(self.tree.driven), list(self.tree.springs)
        self.K, self.C = np.zeros(layout.size), np.zeros(layout.size)
        for i in self.tree.beams:
            link = self.tree.pieces[i].tip
            for plane in link.planes:
                modes = layout.modes[i][plane]
                self.K[modes] = link.stiffness[plane]
                self.C[modes] = link.damping * link.stiffness[plane]
        joints = model.mechanism.moving
        held = [joints[j] for j in self.springs]
        self.stiffness = np.concatenate([[joint_stiffness(model, j) for j in self.springs], self.K])
        self.damping = np.concatenate([[joint.friction.viscous for joint in held], self.C])
        self.rest = np.concatenate([[joint.rest for joint in held], np.zeros(layout.size)])
        self.load = np.array([joint_stiffness(model, j) for j in self.driven])  # springs at driven joints
        self.load_rest = np.array([joints[j].rest for j in self.driven])

    @property
    def xi(self) -> Array:
        """Return the modal coordinates (N,)."""
        return self.z[len(self.springs):]

    def start(self, q: ArrayLike) -> None:
        """Start at rest with the driven joints at q (J,), rad or m, and all bending components in their static sag."""
        q = np.asarray(q, float)
        self.z = self.sag(q)
        self.u, self.d, self.d_before = (np.zeros_like(self.z) for _ in range(3))
        self.u_driven = np.zeros_like(q)

    def sag(self, q: Array) -> Array:
        """Return z (Z,) of the static sag, with the driven joints at rest at q (J,)."""
        z = self.rest
        for _ in range(SETTLING):
            z = z + self.unsettled(q, z)
        return z

    def unsettled(self, q: Array, z: Array) -> Array:
        """Return the displacement of z (Z,) that the unbalanced forces at rest cause."""
        rest = q, 0.0 * q, 0.0 * q, z, 0.0 * z, 0.0 * z
        return self.rest - z - (self._of_unknowns(self._at(*rest))
                                + self._of_unknowns(self._drawn(*rest))) / self.stiffness

    def _drawn(self, *x: Array) -> Forces:
        return self.dynamics.drawn(self._motion(*x))

    def _at(self, *x: Array, weight: Array | float = 1.0) -> Forces:
        return self.dynamics.whole(self._motion(*x), weight)

    def _motion(self, *x: Array) -> ModalMotion:
        """Return the motion as a ModalMotion. x: positions, velocities and accelerations of driven joints (..., J),
        then of the unknowns (..., Z)."""
        s = len(self.springs)
        shape = np.broadcast_shapes(*(part.shape[:-1] for part in x))
        parts, modes = [], []
        for of_driven, of_unknowns in zip(x[:3], x[3:], strict=True):
            joints = np.empty((*shape, self.tree.n))
            joints[..., self.driven], joints[..., self.springs] = of_driven, of_unknowns[..., :s]
            parts.append(joints)
            modes.append(of_unknowns[..., s:])
        return ModalMotion(*parts, *modes)

    def _of_unknowns(self, at: Forces) -> Array:
        return np.concatenate([at.joints[..., self.springs], at.modes], axis=-1)

    def step(self, q_next: ArrayLike, u: ArrayLike) -> Array:
        """Return the torque (J,), N m or N, at s_k. q(s_k+1) and u = (q(s_k+1) - q(s_k)) / 2 are both (J,)."""
        q_next, u = np.asarray(q_next, float), np.asarray(u, float)
        dt, count = self.dt, len(self.z)
        q, velocities, accelerations = q_next - 2.0 * u, (u + self.u_driven) / dt, 2.0 * (u - self.u_driven) / dt**2
        # the predicted motion, then one motion per unknown in which its acceleration is 1
        alone = np.eye(1 + count)
        first = alone[:, :1]
        implicit = self.stiffness + 2.0 / dt * self.damping
        new = 2.0 * self.d - self.d_before
        for _ in range(self.iterations):
            guess, z_velocities = new, 2.0 / dt * (self.u + new)
            every = self._at(q, velocities * first, accelerations * first, self.z, z_velocities * first,
                             np.vstack([4.0 / dt**2 * guess, np.eye(count)]), weight=first)
            drawn = self._drawn(q, velocities, accelerations, self.z, z_velocities, 4.0 / dt**2 * guess)
            needed = self._of_unknowns(every)
            mass = needed[1:]
            left = (needed[0] + self._of_unknowns(drawn) + self.damping * z_velocities
                    + self.stiffness * (self.z - self.rest + guess))
            correction = -np.linalg.solve(4.0 / dt**2 * mass + np.diag(implicit), left)
            new = guess + correction
        tau = every.joints[0] + drawn.joints + 4.0 / dt**2 * correction @ every.joints[1:]
        self.d_before, self.d, self.u = self.d, new, self.u + 2.0 * new
        self.z, self.u_driven = self.z + 2.0 * self.u, u
        return tau[self.driven] + self.load * (q - self.load_rest)

    def torque(self, positions: Array, u: Array | None = None) -> Array:
        """Return the torques of a motion that is at rest at its first sample, as the functions in discrete.py do."""
        self.start(positions[0])
        u = 0.5 * np.diff(positions, axis=0) if u is None else u
        return np.array([self.step(q, du) for q,
                         du in zip(positions[1:], u, strict=True)])[1:].reshape(-1, len(self.driven))


def _turned(R: Array, inertia: Array, v: Array) -> Array:
    """Return R J R' v."""
    return rotate(R, rotate_back(R, v) @ inertia)
