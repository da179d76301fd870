"""A flexible link: finite elements, condensed to the modes in which mass, stiffness and damping are all diagonal.

The link is a uniform Euler-Bernoulli beam along its x axis, clamped at x = 0 to the frame of its hub (THEORY.md
section 8). Hermite elements with a consistent mass matrix give M and K of the nodes' deflections and slopes (2 a node).
Damping is proportional to the rate of strain, C = damping K, so the eigenvectors of K against M make all three
diagonal, and with them

    A = M / (beta dt^2) + gamma C / (beta dt) + K,      beta = 1/4, gamma = 1/2:

its factorisation, once and for all, is the eigenvectors themselves, and the substitution of a tick is one
multiplication a mode. A beam of E elements has 2 E modes a plane of bending. Both planes have the same shapes, scaled to
unit modal mass; only their stiffnesses differ. What else the dynamics needs of the shapes phi_i are integrals over the
mass, beta_i = <phi_i> and gamma_i = <x phi_i>, and deflection and slope at the tip.

Deflections are across the link and small: its points stay at their x, so the foreshortening of a bent beam, and the
stiffening by centrifugal tension that comes of it, are left out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from codegen.errors import BadInput
from codegen.mechanism import Link, Mechanism

Array = NDArray[np.float64]

UNIFORM = 1e-6  # of L or M L^2: how exactly a flexible link has to be a uniform beam


@dataclass(frozen=True)
class Elements:
    """Matrices of a free beam of E equal elements; nodal deflection and slope, root first: 2 (E + 1) freedoms.

    M (2E+2, 2E+2): consistent mass; K: stiffness for EI = 1; first (2E+2,) = <B>, second = <x B>.
    """

    M: Array
    K: Array
    first: Array
    second: Array


def hermite(length: float, mass: float, elements: int) -> Elements:
    """Cubic Hermite elements of a uniform beam: length m, mass kg."""
    l, m = length / elements, mass / elements
    M_e = m / 420.0 * np.array([
        [156.0, 22.0 * l, 54.0, -13.0 * l],
        [22.0 * l, 4.0 * l**2, 13.0 * l, -3.0 * l**2],
        [54.0, 13.0 * l, 156.0, -22.0 * l],
        [-13.0 * l, -3.0 * l**2, -22.0 * l, 4.0 * l**2],
    ])
    K_e = 1.0 / l**3 * np.array([
        [12.0, 6.0 * l, -12.0, 6.0 * l],
        [6.0 * l, 4.0 * l**2, -6.0 * l, 2.0 * l**2],
        [-12.0, -6.0 * l, 12.0, -6.0 * l],
        [6.0 * l, 2.0 * l**2, -6.0 * l, 4.0 * l**2],
    ])
    size = 2 * elements + 2
    M, K, nodes = np.zeros((size, size)), np.zeros((size, size)), np.zeros((2, size))
    for e in range(elements):
        at = slice(2 * e, 2 * e + 4)
        M[at, at] += M_e
        K[at, at] += K_e
    nodes[0, 0::2] = 1.0  # nodal values of the fields 1 and x, which cubics represent exactly
    nodes[1, 0::2], nodes[1, 1::2] = np.arange(elements + 1) * l, 1.0
    return Elements(M, K, *(nodes @ M))


@dataclass(frozen=True)
class ElasticLink:
    """A clamped beam in its modes. Shapes have unit modal mass, so modal coordinates are in m sqrt(kg).

    section (3,): inertia of the section about x, y, z beyond that of a slender beam, kg m^2; it turns with the hub. beta, gamma (N,): <phi>, <x phi>, kg^1/2, kg^1/2 m. tip, slope (N,):
    phi and dphi/dx at x = L. stiffness: plane "y" (deflection along y, bending about z) or "z" to (N,) squares of the
    natural frequencies, rad^2/s^2. damping: s.
    """

    name: str
    length: float
    mass: float
    section: Array
    beta: Array
    gamma: Array
    tip: Array
    slope: Array
    stiffness: dict[str, Array]
    damping: float

    @property
    def modes(self) -> int:
        """In each plane."""
        return len(self.beta)

    @property
    def planes(self) -> tuple[str, ...]:
        return tuple(self.stiffness)


def elastic_link(mechanism: Mechanism, link: Link) -> ElasticLink:
    """The modes of a link with `beam`. Raises BadInput where it is not a uniform beam, or bends in no plane."""
    beam = link.beam
    assert beam is not None
    source, key = mechanism.source or mechanism.name, f"link.{link.name}"
    across = link.mass * beam.length**2 / 12.0
    if link.mass <= 0.0:
        raise BadInput(source, f"{key}.mass", link.mass, "a flexible link has mass", "give it some")
    if np.abs(link.com - [0.5 * beam.length, 0.0, 0.0]).max() > UNIFORM * beam.length:
        raise BadInput(source, f"{key}.com", link.com.tolist(), "a flexible link is a uniform beam along its x axis",
                       f"com = [{0.5 * beam.length:g}, 0, 0]; put other masses into links fixed to it")
    around, aside = float(link.inertia[0, 0]), float(link.inertia[1, 1]) - across
    uniform = np.diag([around, across + aside, across + aside])
    if (not -UNIFORM * across <= aside <= around + UNIFORM * across
            or np.abs(link.inertia - uniform).max() > UNIFORM * across):
        raise BadInput(source, f"{key}.inertia", None, "a flexible link is a uniform beam along its x axis",
                       f"Iyy = Izz = m L^2 / 12 = {across:.6g}; put other masses into links fixed to it")
    parts = hermite(beam.length, link.mass, beam.elements)
    square, shapes = eigh(parts.K[2:, 2:], parts.M[2:, 2:])
    shapes = shapes * np.where(shapes[-2] < 0.0, -1.0, 1.0)
    EI = {plane: EI for plane, EI in zip("zy", beam.EI, strict=True) if np.isfinite(EI)}  # EI = [about y, about z]
    if not EI:
        raise BadInput(source, f"{key}.beam.EI", None, "bends in no plane", "remove beam: a rigid link")
    return ElasticLink(
        name=link.name, length=beam.length, mass=link.mass,
        section=np.array([around, aside, aside]),
        beta=parts.first[2:] @ shapes, gamma=parts.second[2:] @ shapes, tip=shapes[-2], slope=shapes[-1],
        stiffness={plane: EI[plane] * square for plane in "yz" if plane in EI}, damping=beam.damping,
    )
