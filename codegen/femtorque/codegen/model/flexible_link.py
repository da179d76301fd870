"""A flexible link: a finite-element model, reduced to the modes that make mass, stiffness and damping diagonal.

The link is a uniform beam along its x axis, clamped at x = 0 to the frame of its hub (THEORY.md section 8). A link with
a shear stiffness is a Timoshenko beam. Without a shear stiffness it is an Euler-Bernoulli beam. Elements with a
consistent mass matrix give M and K for two freedoms per node: deflection and slope. With shear, a slope means the
rotation of the section. The shear strain is the difference between dy/dx and this rotation. The clamp fixes the section
at the root, and the tip's frame rotates with the section at the tip. Damping is proportional to the rate of strain: C =
damping K. The eigenvectors of K against M therefore make M, C and K diagonal. The matrix

    A = M / (beta dt^2) + gamma C / (beta dt) + K,      beta = 1/4, gamma = 1/2

becomes diagonal too, so a tick needs one multiplication per mode. A beam of E elements has 2 E modes per bending plane.
Both bending planes have the same shapes, scaled to unit modal mass. The planes differ only in stiffness. With shear,
both planes must have equal ratios EI / GA_s.

The dynamics also needs two integrals of the shapes phi_i over the mass, beta_i = <phi_i> and gamma_i = <x phi_i>, and
deflection and slope at the tip. Deflections are perpendicular to the link. The beam keeps its length, so bending by w
moves its points towards the root by

    u(x) = 1/2 integral of w'^2 from 0 to x.

Tension, gravity along the link and rotation do work on u. Three constant matrices describe this work (`Shortening`).
The rotary inertia of the cross-section rotates with the hub."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from femtorque.codegen.common import Array, BadInput, modes, product, square
from femtorque.codegen.mechanism import Link, Mechanism

T = TypeVar("T", bound=Any)

STRETCHED = 2  # number of modes in each plane that shorten the link; further modes change torques by 1e-4 of peak
# four points per element, exact for squared slopes times quadratic weights
GAUSS = np.array([[-0.861136311594052575, -0.339981043584856265, 0.339981043584856265, 0.861136311594052575],
                  [0.347854845137453857, 0.652145154862546143, 0.652145154862546143, 0.347854845137453857]])
UNIFORM = 1e-6  # tolerance for a uniform beam, relative to L or M L^2


@dataclass(frozen=True)
class Elements:
    """Matrices of a free beam with E equal elements.

    The 2 (E + 1) freedoms are deflection and slope of the section at each node, from the root on. M (2E+2, 2E+2):
    consistent mass. K: stiffness matrix for EI = 1."""

    M: Array
    K: Array
    first: Array  # (2E+2,): <B>
    second: Array  # <x B>


def beam_elements(length: float, mass: float, elements: int, shear: float = 0.0) -> Elements:
    """Return the two-node elements of a uniform beam. length in m, mass in kg. shear: EI / GA_s, m^2; 0 without shear.

    The shapes are exact if loads act only at the nodes. Deflection is cubic and slope quadratic in x, with phi = 12 EI
    / (GA_s l^2) between them (Przemieniecki, 1968, section 5.6). The mass matrix is that of Friedman and Kosmatka,
    1993, without rotary inertia. phi = 0 gives Hermite's element."""
    l, m = length / elements, mass / elements
    ll = l * l
    phi = 12.0 * shear / ll
    ends, apart = 312.0 + phi * (588.0 + phi * 280.0), 108.0 + phi * (252.0 + phi * 140.0)
    near, far = (44.0 + phi * (77.0 + phi * 35.0)) * l, (26.0 + phi * (63.0 + phi * 35.0)) * l
    turn, counter = (8.0 + phi * (14.0 + phi * 7.0)) * ll, (6.0 + phi * (14.0 + phi * 7.0)) * ll
    M_e = m / (840.0 * square(1.0 + phi)) * np.array([
        [ends, near, apart, -far],
        [near, turn, far, -counter],
        [apart, far, ends, -near],
        [-far, -counter, -near, turn],
    ])
    K_e = 1.0 / (ll * l * (1.0 + phi)) * np.array([
        [12.0, 6.0 * l, -12.0, 6.0 * l],
        [6.0 * l, (4.0 + phi) * ll, -6.0 * l, (2.0 - phi) * ll],
        [-12.0, -6.0 * l, 12.0, -6.0 * l],
        [6.0 * l, (2.0 - phi) * ll, -6.0 * l, (4.0 + phi) * ll],
    ])
    size = 2 * elements + 2
    M, K, nodes = np.zeros((size, size)), np.zeros((size, size)), np.zeros((2, size))
    for e in range(elements):
        at = slice(2 * e, 2 * e + 4)
        M[at, at] += M_e
        K[at, at] += K_e
    nodes[0, 0::2] = 1.0  # nodal values of the functions 1 and x, which the shapes represent exactly
    nodes[1, 0::2], nodes[1, 1::2] = np.arange(elements + 1) * l, 1.0
    return Elements(M, K, *product(nodes, M))


@dataclass(frozen=True)
class Shortening:
    """Displacement of a bent beam's points towards the root: u = 1/2 X'GX in the coordinates X of one plane. first,
    second: <G>, <x G>, integrals over the beam's mass."""

    tip: Array  # (n, n): G of the tip
    first: Array
    second: Array

    def of(self, shapes: Array) -> Shortening:
        """Return the shortening in k new coordinates. shapes (n, k): its columns are these coordinates' shapes."""
        return Shortening(*(product(shapes.T, G, shapes) for G in (self.tip, self.first, self.second)))


def beam_shortening(length: float, mass: float, elements: int, shear: float = 0.0) -> Shortening:
    """Return the shortening in the coordinates of `beam_elements`.

    The displacement of a point depends on the slopes between the root and the point. A slope at s is therefore weighted
    with the mass beyond s, (L - s) rho, and with the first moment of this mass, (L^2 - s^2) rho / 2."""
    l, rho = length / elements, mass / length
    phi = 12.0 * shear / square(l)
    s, weights = 0.5 * (1.0 + GAUSS[0]), 0.5 * l * GAUSS[1]
    slopes = np.stack([6.0 * (s**2 - s) - phi, l * (3.0 * s**2 - (4.0 + phi) * s + 1.0 + 0.5 * phi),
                       6.0 * (s - s**2) + phi, l * (3.0 * s**2 - (2.0 - phi) * s - 0.5 * phi)], axis=1)
    slopes /= l * (1.0 + phi)
    size = 2 * elements + 2
    tip, first, second = np.zeros((3, size, size))
    for e in range(elements):
        at, x = slice(2 * e, 2 * e + 4), (e + s) * l
        for G, weight in ((tip, weights), (first, rho * (length - x) * weights),
                          (second, 0.5 * rho * (square(length) - x**2) * weights)):
            G[at, at] += product(slopes.T * weight, slopes)
    return Shortening(tip, first, second)


@dataclass(frozen=True)
class ModalLink:
    """A clamped beam in modal coordinates. Shapes have unit modal mass, so modal coordinates are in m sqrt(kg). section
    (3,): inertia of the cross-sections about x, y, z, which a slender beam lacks, kg m^2. This inertia rotates with the
    hub. beta, gamma (N,): <phi>, <x phi>, kg^1/2, kg^1/2 m. tip, slope (N,): phi and the slope of the section at x = L.
    stiffness: {plane: squares of the natural frequencies (N,), rad^2/s^2}. Plane "y" means deflection along y, with
    bending about z."""

    name: str
    length: float
    mass: float
    section: Array
    beta: Array
    gamma: Array
    tip: Array
    slope: Array
    stiffness: dict[str, Array]
    damping: float  # damping time, s
    drawn: Shortening  # shortening by the shapes, zero for shapes after the first STRETCHED shapes

    @property
    def modes(self) -> int:
        """Return the number of modes in each plane."""
        return len(self.beta)

    @property
    def planes(self) -> tuple[str, ...]:
        return tuple(self.stiffness)

    def farther(self, moment: T) -> T:
        """Return the equivalent tip mass, kg, by which a first moment (kg m) beyond the tip resists the shortening u:
        15/7 / L times the moment."""
        return moment * (15.0 / 7.0 / self.length)

    def curved(self, mass: float) -> tuple[float, float, float]:
        """Return the third-order coefficients of the Lagrangian beyond `drawn` for a mass, kg, at the tip (THEORY.md
        section 8). linear, kg/m, and square, kg/m^2, belong to deflections y, z of the tip that move around the axis:
        linear (w_y y + w_z z) j - square j^2 / 2, with j = y z' - z y' + w_x (y^2 + z^2). shorter, kg/m^2, belongs to a
        transverse acceleration a, because the mass moves by less than y, z: + shorter (a_y y + a_z z) (y^2 + z^2). In
        units of length, a force at the tip bends the beam by f = (3 x^2 - x^3) / 2. The force moves the tip inwards by
        half of g = int f'^2, and outwards again by int f'^3 / 6. The second number of each pair is the integral over
        the mass of the beam."""
        l, own = self.length, self.mass
        return ((4.0 / 5.0 * mass + 71.0 / 420.0 * own) / l, (12.0 / 25.0 * mass + 71.0 / 770.0 * own) / (l * l),
                (9.0 / 35.0 * mass + 9.0 / 128.0 * own) / (l * l))


def modal_link(mechanism: Mechanism, link: Link) -> ModalLink:
    """Return the modes of a link that has a `beam`.

    Raise BadInput if the link is not a uniform beam, or cannot bend in any plane."""
    beam = link.beam
    assert beam is not None
    source, key = mechanism.source or mechanism.name, f"link.{link.name}"
    across = link.mass * square(beam.length) / 12.0
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
    EI = {plane: EI for plane, EI in zip("zy", beam.EI, strict=True) if np.isfinite(EI)}  # EI = [about y, about z]
    if not EI:
        raise BadInput(source, f"{key}.beam.EI", None, "bends in no plane", "remove beam: a rigid link")
    shear = [EI / GA_s for EI, GA_s in zip(beam.EI, beam.GA_s, strict=True) if np.isfinite(EI)]
    if np.ptp(shear) > UNIFORM * max(shear):
        raise BadInput(source, f"{key}.beam.GA_s", list(beam.GA_s),
                       "both planes must have the same shapes: the same EI / GA_s",
                       f"GA_s = [{beam.EI[0] / max(shear):g}, {beam.EI[1] / max(shear):g}]")
    parts = beam_elements(beam.length, link.mass, beam.elements, shear[-1])
    squares, shapes = modes(parts.K[2:, 2:], parts.M[2:, 2:])
    shapes = shapes * np.where(shapes[-2] < 0.0, -1.0, 1.0)
    low = np.vstack([np.zeros_like(shapes[:2]), shapes]) * (np.arange(shapes.shape[1]) < STRETCHED)
    return ModalLink(
        name=link.name, length=beam.length, mass=link.mass,
        section=np.array([around, aside, aside]),
        beta=product(parts.first[2:], shapes), gamma=product(parts.second[2:], shapes),
        tip=shapes[-2], slope=shapes[-1],
        stiffness={plane: EI[plane] * squares for plane in "yz" if plane in EI}, damping=beam.damping,
        drawn=beam_shortening(beam.length, link.mass, beam.elements, shear[-1]).of(low),
    )
