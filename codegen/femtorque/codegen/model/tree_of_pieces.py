"""A mechanism with flexible links, represented as a tree of rigid pieces. Each piece is moved by a joint or by the tip
of a flexible link. Links that are fixed to each other form one piece, as in bodies.py. A flexible link separates two
pieces: the bodies at its root, with its hub, and the bodies at its tip. The tip's frame is the link's frame, moved to
(L, y, z) and rotated by R = Rz(theta_z) Ry(theta_y), with the deflections y, z, theta_z = dy/dx and theta_y = -dz/dx.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from femtorque.codegen.common import BadInput, product, square
from femtorque.codegen.mechanism import BASE, Matrix, Mechanism, Vector
from femtorque.codegen.model.bodies import GROUND, beyond, combine
from femtorque.codegen.model.flexible_link import ModalLink, modal_link
from femtorque.codegen.model.torsion import END, with_torsion

SAME = 1e-9  # largest difference between directions, as a fraction of the tip's load, that counts as 0


@dataclass(frozen=True)
class Piece:
    """A rigid piece. joint: index in Mechanism.moving of the joint that moves the piece; None if the tip of `link`
    moves it. R0 (3, 3), p0 (3,): the joint's frame at position zero, or the root frame of the flexible link. R0 and p0
    are in the parent piece's frame, or global for the parent GROUND. axis, mass, com and inertia have the meaning of
    model.Body's fields."""

    name: str
    parent: int
    R0: Matrix
    p0: Vector
    joint: int | None
    link: ModalLink | None
    axis: Vector
    prismatic: bool
    mass: float
    com: Vector
    inertia: Matrix

    @property
    def mover(self) -> int:
        assert self.joint is not None
        return self.joint

    @property
    def tip(self) -> ModalLink:
        assert self.link is not None
        return self.link


@dataclass(frozen=True)
class FlexibleTree:
    """Pieces in tree order, parents before their children.

    Every flexible link has a piece at its tip. The piece of a tip without load has no mass."""

    mechanism: Mechanism
    pieces: tuple[Piece, ...]
    gravity: Vector
    dt: float

    @property
    def n(self) -> int:
        """Return the number of moving joints, including the joints that springs hold."""
        return len(self.mechanism.moving)

    @property
    def springs(self) -> tuple[int, ...]:
        """Return the moving joints whose only torque comes from a spring."""
        return tuple(j for j, joint in enumerate(self.mechanism.moving) if joint.elastic)

    @property
    def driven(self) -> tuple[int, ...]:
        """Return the moving joints whose motion a trajectory specifies."""
        return tuple(j for j, joint in enumerate(self.mechanism.moving) if not joint.elastic)

    @property
    def beams(self) -> tuple[int, ...]:
        """Return the pieces at the tips of flexible links."""
        return tuple(i for i, piece in enumerate(self.pieces) if piece.link is not None)

    def twists(self, i: int) -> bool:
        """Return True if the rotation of a tip (piece i) about the axis of its flexible link has an effect.

        The link then bends in both planes, and the inertia of its load depends on the direction."""
        piece = self.pieces[i]
        if len(piece.tip.planes) < 2 or any(other.parent == i for other in self.pieces):
            return len(piece.tip.planes) == 2
        scale = max(float(np.abs(piece.inertia).max()), piece.mass * square(piece.tip.length))
        (_, xy, xz), (_, yy, yz), (_, _, zz) = piece.inertia
        beside = max(abs(piece.com[1]), abs(piece.com[2])) * piece.mass * piece.tip.length
        return bool(max(beside, abs(xy), abs(xz), abs(yz), abs(yy - zz)) > SAME * scale)

    def stiff_beyond(self, i: int) -> bool:
        """Return True if nothing at the tip of a flexible link, piece i, can move along the link by bending or through
        a spring.

        Torsion does not."""
        def stiff(piece: Piece) -> bool:
            around = abs(float(product(piece.R0, piece.axis)[0])) > 1.0 - SAME and not piece.prismatic
            return piece.link is None and (piece.joint not in self.springs or piece.parent == i and around)

        return all(stiff(self.pieces[k]) for k in self.beyond(i) if k != i)

    def beyond(self, i: int) -> tuple[int, ...]:
        """Return piece i and all pieces that it carries."""
        carried = {i}
        for k in range(i + 1, len(self.pieces)):
            if self.pieces[k].parent in carried:
                carried.add(k)
        return tuple(sorted(carried))


def flexible_tree(mechanism: Mechanism) -> FlexibleTree:
    """Return the tree. Raise BadInput if a joint is fixed to a flexible link, but not at one of its ends."""
    mechanism = with_torsion(mechanism)
    moving = {j.name: i for i, j in enumerate(mechanism.moving)}
    places: dict[str, tuple[int, Matrix, Vector]] = {BASE: (GROUND, np.eye(3), np.zeros(3))}
    tips: dict[str, int] = {}
    made: list[dict[str, Any]] = []
    parts: list[list[tuple[float, Vector, Matrix]]] = []

    def piece(**values: Any) -> int:
        made.append(values)
        parts.append([])
        return len(made) - 1

    def place(link: str, xyz: Vector, key: str) -> tuple[int, Matrix, Vector]:
        """Return the piece with the point xyz of a link, and R, p of the undeformed link in the piece's frame."""
        at, R, p = places[link]
        if link not in tips:
            return at, R, p
        beam = mechanism.link(link).beam
        assert beam is not None
        length = beam.length
        if xyz[0] >= length - END:
            return tips[link], np.eye(3), np.array([-length, 0.0, 0.0])
        if xyz[0] <= END:
            return at, R, p
        raise BadInput(mechanism.source or mechanism.name, key, xyz.tolist(),
                       f"flexible link {link!r} carries things at its root and at its tip only",
                       f"x = {length:g}, or divide the link there")

    for joint in mechanism.joints:
        at, R, p = place(joint.parent, joint.xyz, f"joint.{joint.name}.xyz")
        if joint.name in moving:
            Rj, pj = beyond(R, p, joint, 0.0)
            i = piece(name=joint.child, parent=at, R0=Rj, p0=pj, joint=moving[joint.name], link=None, axis=joint.axis,
                      prismatic=joint.type == "prismatic")
            here = (i, np.eye(3), np.zeros(3))
        else:
            here = (at, *beyond(R, p, joint, mechanism.lock.get(joint.name, 0.0)))
        places[joint.child] = here
        link = mechanism.link(joint.child)
        if link.beam is not None:
            at, R, p = here
            tips[link.name] = piece(name=f"{link.name}'s tip", parent=at, R0=R, p0=p, joint=None,
                                    link=modal_link(mechanism, link), axis=np.array([0.0, 0.0, 1.0]), prismatic=False)
        elif here[0] != GROUND:
            at, R, p = here
            parts[at].append((link.mass, p + product(R, link.com), product(R, link.inertia, R.T)))
    for load in mechanism.payloads:
        at, R, p = place(load.link, load.com, f"payload.{load.name}.com")
        if at != GROUND:
            parts[at].append((load.mass, p + product(R, load.com), product(R, load.inertia, R.T)))

    pieces = []
    for values, solids in zip(made, parts, strict=True):
        mass, com, inertia = combine(solids)
        pieces.append(Piece(**values, mass=mass, com=com, inertia=inertia))
    return FlexibleTree(mechanism, tuple(pieces), np.asarray(mechanism.gravity, float), 1.0 / mechanism.control.rate_hz)
