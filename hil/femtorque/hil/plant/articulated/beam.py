"""Deformable beams: cells with mass, joined by elastic elements.

A beam of E elements has E + 1 nodes. The cell of a node has the mass of half an element on each side; it is a slender
solid with rotary inertia. Therefore the beam as a whole has exactly the mass, the centre of gravity and the inertia of
a uniform beam, and the mass matrix stays diagonal. A mechanism connects to a node in the same way as to a solid.

Between two nodes there is an elastic element. The element's strains are measured in the co-rotational frame of its
chord c = pB - pA of length l. The strains of the element are the slopes of the nodes' sections relative to the chord,
and the twist,

    phi_Az = -c . a2 / l   phi_Bz = -c . b2 / l   phi_Ay = c . a3 / l   phi_By = c . b3 / l   twist = a2 . b3

The strains are bilinear in the points and do not change under a rigid motion. Therefore they are valid for large
rotations with small strains in each element: the sine replaces the slope, an error of 0.2 % at 0.1 rad. The elastic
energy is a quadratic form of the strains,

    U = EI/l (2 phi_A^2 + 2 phi_A phi_B + 2 phi_B^2) per plane, GJ/(2 l) twist^2

The force on the points is the exact gradient of the energy, so energy is conserved. With shear (Timoshenko), the shear
force V = (M_A + M_B) / l has the energy V^2 l / (2 GA_s). Therefore each element of the bending flexibility matrix
increases by 1 / (GA_s l). A row keeps the chord's length constant. An inextensible beam has no axial waves, which would
otherwise limit the stable step. Damping is proportional to the strain rate: moments K (phi + damping dphi/dt).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from femtorque.codegen.common import Array, BadInput
from femtorque.codegen.mechanism import Beam, Link
from femtorque.hil.plant.articulated.elements import Frame, Row, directions, point, subtract
from femtorque.hil.plant.articulated.forms import Combination, Forms
from femtorque.hil.plant.articulated.solids import Solid

POISSON = 0.3  # torsional stiffness of a round section, if the file gives none: GJ = EI / (1 + nu)
UNIFORM = 1e-6  # fraction of M L^2: tolerance for the mass of a uniform beam
STRAINS = ("slope of a about 3", "slope of b about 3", "slope of a about 2", "slope of b about 2", "twist")
BENDING = np.array([[2.0, -1.0], [-1.0, 2.0]])  # times l / (6 EI): end slopes per end moment, without shear


@dataclass(frozen=True)
class Cell:
    """The mass around node `node` at x, up to `end`: mass, com (3,), inertia (3, 3) about com, in the link frame."""

    node: int
    x: float
    end: float
    mass: float
    com: Array
    inertia: Array


@dataclass(frozen=True)
class Element:
    """An elastic element between the frames of two nodes (axis 1 along the beam)."""

    name: str
    a: Frame
    b: Frame
    length: float
    EI: tuple[float, float]  # about axes 2 and 3
    GJ: float
    damping: float
    GA_s: tuple[float, float]  # in the planes of EI

    def bending(self, about: int) -> Array:
        """Return the end moments (2, 2), N m, for the end slopes in the plane of bending about axis 2 or 3."""
        EI, GA_s = self.EI[about - 2], self.GA_s[about - 2]
        return np.linalg.inv(self.length / (6.0 * EI) * BENDING + 1.0 / (GA_s * self.length))


def _beam(link: Link) -> Beam:
    """Return the beam of a flexible link."""
    assert link.beam is not None
    return link.beam


def cells(link: Link) -> list[Cell]:
    """Return the cells of a flexible link. Raises BadInput if the link's mass does not match a uniform beam along x."""
    beam = _beam(link)
    across = link.mass * beam.length**2 / 12.0
    if np.abs(link.com - np.array([0.5 * beam.length, 0.0, 0.0])).max() > UNIFORM * beam.length:
        raise BadInput(f"link {link.name}", "com", link.com.tolist(), "a beam is uniform along its x axis",
                       f"com = [{0.5 * beam.length:g}, 0, 0]; put other masses into links fixed to it")
    around, aside = float(link.inertia[0, 0]), float(link.inertia[1, 1]) - across  # aside: of a thick section
    uniform = np.diag([around, across + aside, across + aside])
    if not -UNIFORM * across <= aside <= around + UNIFORM * across or np.abs(link.inertia
                                                                             - uniform).max() > UNIFORM * across:
        raise BadInput(f"link {link.name}", "inertia", None, "a beam is uniform along its x axis",
                       f"Iyy = Izz = m L^2 / 12 = {across:.6g}; put other masses into links fixed to it")
    h = beam.length / beam.elements
    ends = np.concatenate([[0.0], h * (np.arange(beam.elements) + 0.5), [beam.length]])
    result = []
    for node, (low, high) in enumerate(zip(ends[:-1], ends[1:], strict=True)):
        share = (high - low) / beam.length
        own = link.mass * share * (high - low) ** 2 / 12.0
        inertia = np.diag([max(around * share, _least_around(link, share)), own + aside * share, own + aside * share])
        result.append(Cell(node, node * h, np.inf if node == beam.elements else high, link.mass * share,
                           np.array([0.5 * (low + high), 0.0, 0.0]), inertia))
    return result


def _least_around(link: Link, share: float) -> float:
    """Return the smallest rotary inertia of a cell about the beam's axis. With it torsion is no faster than bending.
    The inertia of a slender beam is far smaller, or unknown, and would determine the stable step by a motion without
    energy. The returned inertia is at most the maximum of a cell of this length."""
    beam = _beam(link)
    h, m = beam.length / beam.elements, link.mass * share
    EI = min(beam.EI)
    if rigid_torsion(link):
        return 0.0
    return min(torsion(link) / EI * m * h**2 / 48.0, 1.5 * m * (beam.elements * share * h) ** 2 / 12.0)


def rigid_torsion(link: Link) -> bool:
    """Return True if the beam does not twist. A beam that bends in one plane twists only if the file gives its GJ."""
    beam = _beam(link)
    return beam.GJ is None and not np.isfinite(beam.EI).all()


def torsion(link: Link) -> float:
    """Return GJ, N m^2; infinite for a beam that does not twist."""
    if rigid_torsion(link):
        return np.inf
    beam = _beam(link)
    return beam.GJ if beam.GJ is not None else float(np.mean(beam.EI)) / (1.0 + POISSON)


def elements(link: Link, frames: list[Frame]) -> list[Element]:
    """Return the elements between the nodes of a flexible link."""
    beam = _beam(link)
    return [Element(f"{link.name}[{k}-{k + 1}]", a, b, beam.length / beam.elements, beam.EI, torsion(link),
                    beam.damping,
                    beam.GA_s)
            for k, (a, b) in enumerate(zip(frames[:-1], frames[1:], strict=True))]


def rows(element: Element, solids: Sequence[Solid]) -> list[Row]:
    """Return the rows of an element: the length of its chord is constant, and infinitely stiff strains stay zero."""
    chord = _chord(element, solids)
    # (c . c) / (2 l) has the unit of a length
    result = [Row(element.name, "length", chord, _scaled(chord, 0.5 / element.length), 0.5 * element.length)]
    rigid = ~np.isfinite([element.EI[1], element.EI[1], element.EI[0], element.EI[0], element.GJ])
    pairs = _strains(element, solids)
    return result + [Row(element.name, STRAINS[k], *pairs[k]) for k in np.flatnonzero(rigid)]


class Beams:
    """All elastic elements of a system. strains: (E, 5): phi_Az, phi_Bz, phi_Ay, phi_By, twist."""

    def __init__(self, elements: tuple[Element, ...], solids: tuple[Solid, ...]) -> None:
        self.elements = elements
        self.forms = Forms.of([pair for element in elements for pair in _strains(element, solids)], len(solids))
        self.stiffness = np.zeros((len(elements), 5, 5))
        for k, e in enumerate(elements):  # row that keeps an infinitely stiff strain at zero
            if np.isfinite(e.EI[1]):
                self.stiffness[k, 0:2, 0:2] = e.bending(3)
            if np.isfinite(e.EI[0]):
                self.stiffness[k, 2:4, 2:4] = e.bending(2)
            if np.isfinite(e.GJ):
                self.stiffness[k, 4, 4] = e.GJ / e.length
        self.damping = np.array([e.damping for e in elements])[:, None]

    def moments(self, x: Array, v: Array) -> Array:
        """Return the moments (E, 5), N m, conjugate to the strains at points x and velocities v (P, 3)."""
        return self._moments(self.forms.factors(x), v)

    def forces(self, x: Array, v: Array, share: ArrayLike = 1.0) -> Array:
        """Return the elastic and damping forces on the points (P, 3). share (E,): counted fraction of each element."""
        factors = self.forms.factors(x)
        moments = np.asarray(share, float).reshape(-1, 1) * self._moments(factors, v)
        return -self.forms.forces(factors, moments.ravel())

    def energy(self, x: Array) -> float:
        strains = self.forms.values(x).reshape(-1, 5)
        return 0.5 * float(np.einsum("ei,eij,ej->", strains, self.stiffness, strains))

    def _moments(self, factors: tuple[Array, Array], v: Array) -> Array:
        (u, w), (du, dw) = factors, self.forms.factors(v)
        strains = np.einsum("kc,kc->k", u, w).reshape(-1, 5)
        strain_rates = (np.einsum("kc,kc->k", du, w) + np.einsum("kc,kc->k", u, dw)).reshape(-1, 5)
        return np.einsum("eij,ej->ei", self.stiffness, strains + self.damping * strain_rates)


def _strains(element: Element, solids: Sequence[Solid]) -> list[tuple[Combination, Combination]]:
    """Return the forms of an element's strains, in the order of STRAINS."""
    a, b = directions(element.a, solids), directions(element.b, solids)
    chord = _scaled(_chord(element, solids), 1.0 / element.length)
    back = _scaled(chord, -1.0)
    return [(back, a[1]), (back, b[1]), (chord, a[2]), (chord, b[2]), (a[1], b[2])]


def _chord(element: Element, solids: Sequence[Solid]) -> Combination:
    return subtract(point(element.b, solids), point(element.a, solids))


def _scaled(combination: Combination, factor: float) -> Combination:
    return {solid: factor * coefficients for solid, coefficients in combination.items()}
