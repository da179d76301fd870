"""Member forces and stresses of links with a section, and their maxima over the motion.

At a section of a rigid link the inboard side exerts on the outboard side the wrench

    F = sum m (gamma - g) - (forces of the outboard mechanisms), M likewise about the section's centre,

summed over the outboard mass. The accelerations of a solid are linear in the accelerations of its four points.
Therefore the sum is a fixed combination of the points. With alpha(r) the coefficients of the body-fixed point r, and p
the section,

    a = int alpha dm (4,),   B = int (alpha(r) - alpha(p)) alpha(r)' dm (4, 4)
    F = sum_k a_k (gamma_k - g),   M = sum_kl B_kl x_k x (gamma_l - g)

At the root of a link this sum is exact. Between root and tip the link's mass is distributed along a straight line. The
linear density matches the mass and the centre of gravity. For a flexible link, the forces are the moments of its
elastic elements. A section is a round tube of the given area and outer radius. The stress is that of the outer fibre:
|N|/A + M r/I from axial force and bending, and T r/(2 I) from torsion, combined by von Mises' criterion.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from femtorque.codegen.common import Array, BadInput
from femtorque.codegen.mechanism import Link, Mechanism, Payload
from femtorque.hil.plant.articulated import beam, solids
from femtorque.hil.plant.articulated.beam import Beams
from femtorque.hil.plant.articulated.cycle import Cycle
from femtorque.hil.plant.articulated.solids import Solid
from femtorque.hil.plant.articulated.system import System
from femtorque.hil.plant.articulated.tree import Assembly, Place

STATIONS = 5  # number of sections along a rigid link, including root and tip


@dataclass(frozen=True)
class Peak:
    """The maximum of a member force over the motion, its position along the link (m from the root) and its time (s)."""

    value: float
    station: float
    time: float


@dataclass(frozen=True)
class Member:
    """Maxima of one link: forces N, moments N m, stress (von Mises, outer fibre) Pa."""

    link: str
    axial: Peak
    shear: Peak
    torsion: Peak
    bending: Peak
    stress: Peak


@dataclass(frozen=True)
class Station:
    """A section of a rigid link, described by combinations (4,) of its solid's points."""

    link: int
    solid: int
    s: float
    p: Array
    frame: Array  # (3, 4): combinations of the points for the member's axis and its two normals
    a: Array
    B: Array
    outboard: tuple[str, ...]  # names of the elements on the far side of the station


class Members:
    """The links with a section."""

    def __init__(self, system: System, links: Sequence[Link], stations: Sequence[Station],
                 beams: Beams | None, flexible: Sequence[tuple[int, int]]) -> None:
        self.links, self.stations, self.flexible = tuple(links), tuple(stations), tuple(flexible)
        self._system, self._beams = system, beams
        names = system.coordinate_names
        owners = [row.element for row in system.rows] + [names[c] for c in system.geared]
        owners += [names[c.follower] for c in system.couplings] + list(names)
        # Rows of [C; G] of the elements that are outboard of each station.
        self._beyond = np.array([[owner in st.outboard for owner in owners] for st in self.stations], float)
        self._beyond = self._beyond.reshape(len(self.stations), len(owners))
        elastic = beams.elements if beams else ()
        self._springy = np.array([[e.name in st.outboard for e in elastic] for st in self.stations], float)
        self._springy = self._springy.reshape(len(self.stations), len(elastic))
        self._solid = np.array([st.solid for st in self.stations], int)
        self._p = np.array([st.p for st in self.stations]).reshape(-1, 4)
        self._a = np.array([st.a for st in self.stations]).reshape(-1, 4)
        self._B_T = np.array([st.B.T for st in self.stations]).reshape(-1, 4, 4)
        self._frame = np.array([st.frame for st in self.stations]).reshape(-1, 3, 4)
        lengths = {row.element: k for k, row in enumerate(system.rows) if row.label == "length"}
        self._tension = [lengths[elastic[e].name] for _, e in self.flexible]
        self.owner = np.array([st.link for st in self.stations] + [k for k, _ in self.flexible for _ in (0, 1)], int)
        along = [st.s for st in self.stations]
        for k, e in self.flexible:
            h = elastic[e].length
            first = min(e for other, e in self.flexible if other == k)
            along += [(e - first) * h, (e - first + 1) * h]
        self.along = np.array(along)
        section = [tube(links[k]) for k in self.owner]
        self._area, self._radius, self._second = np.array(section).reshape(-1, 3).T
        self.values = np.zeros((len(self.owner), 5))  # (stations, 5): axial force, shear, torsion, bending and stress
        self._peak, self._when = np.zeros_like(self.values), np.zeros_like(self.values)

    @staticmethod
    def of(mechanism: Mechanism, assembly: Assembly, system: System, beams: Beams | None) -> Members:
        links = [link for link in mechanism.links if link.section is not None
                 and (link.beam is not None or assembly.link_places[link.name].solid)]
        stations = [station for k, link in enumerate(links) if link.beam is None
                    for station in _stations(k, link, mechanism, assembly)]
        flexible = [(k, e) for k, link in enumerate(links) if link.beam is not None
                    for e, element in enumerate(assembly.beams) if element.name.startswith(f"{link.name}[")]
        return Members(system, links, stations, beams, flexible)

    def record(self, cycle: Cycle, torques: Array) -> None:
        """Record the present state. torques (n,): torques of drives and springs along the coordinates."""
        if not len(self.owner):
            return
        self.values[:, :4] = np.vstack([self._rigid(cycle, torques), self._elastic(cycle)])
        axial, _, torsion, bending = np.abs(self.values[:, :4]).T
        direct = axial / self._area + bending * self._radius / self._second
        twisting = 0.5 * torsion * self._radius / self._second
        self.values[:, 4] = np.sqrt(direct**2 + 3.0 * twisting**2)
        larger = np.abs(self.values) > self._peak
        self._peak = np.where(larger, np.abs(self.values), self._peak)
        self._when = np.where(larger, cycle.time, self._when)

    def report(self) -> tuple[Member, ...]:
        """Return the maxima of each link up to now."""
        result = []
        for k, link in enumerate(self.links):
            at = np.flatnonzero(self.owner == k)
            peaks = []
            for quantity in range(5):
                worst = at[int(np.argmax(self._peak[at, quantity]))]
                peaks.append(Peak(float(self._peak[worst, quantity]), float(self.along[worst]),
                                  float(self._when[worst, quantity])))
            result.append(Member(link.name, *peaks))
        return tuple(result)

    def _rigid(self, cycle: Cycle, torques: Array) -> Array:
        """Return axial force, shear, torsion and bending (stations, 4)."""
        s, equations = cycle.structure, cycle.equations
        if not self.stations:
            return np.zeros((0, 4))
        gamma, multipliers = cycle.consistent()
        acting = np.vstack([equations.C, equations.G])[:, : s.split]
        outside = (self._beyond * np.concatenate([multipliers, torques])) @ acting
        outside = outside.reshape(len(self.stations), -1, 4, 3)[np.arange(len(self.stations)), self._solid - 1]
        for k in np.flatnonzero(self._springy.any(axis=1)):
            assert self._beams is not None
            elastic = self._beams.forces(equations.x, s.system.velocities(cycle.v), self._springy[k])
            outside[k] += elastic.reshape(-1, 4, 3)[self._solid[k]]
        points = equations.x.reshape(-1, 4, 3)[self._solid]
        acceleration = gamma[: s.split].reshape(-1, 4, 3)[self._solid - 1] - self._system.gravity
        arms = points - np.einsum("sk,skc->sc", self._p, points)[:, None]
        force = np.einsum("sk,skc->sc", self._a, acceleration) - outside.sum(axis=1)
        moment = np.cross(self._B_T @ points, acceleration).sum(axis=1) - np.cross(arms, outside).sum(axis=1)
        axes = self._frame @ points
        F, M = np.einsum("sic,sc->si", axes, force), np.einsum("sic,sc->si", axes, moment)
        return np.column_stack([F[:, 0], np.hypot(F[:, 1], F[:, 2]), M[:, 0], np.hypot(M[:, 1], M[:, 2])])

    def _elastic(self, cycle: Cycle) -> Array:
        """Return the stresses at both ends of each elastic element."""
        if not self.flexible or self._beams is None:
            return np.zeros((0, 4))
        x, v = cycle.equations.x, self._system.velocities(cycle.v)
        which = [e for _, e in self.flexible]
        za, zb, ya, yb, twist = self._beams.moments(x, v)[which].T
        tension = -cycle.consistent()[1][self._tension]
        h = np.array([self._beams.elements[e].length for e in which])
        shear = np.hypot(za + zb, ya + yb) / h
        ends = [np.column_stack([tension, shear, twist, np.hypot(z, y)]) for z, y in ((za, ya), (zb, yb))]
        return np.stack(ends, axis=1).reshape(-1, 4)


def tube(link: Link) -> tuple[float, float, float]:
    """Return the area, the outer radius and the second moment of area of the round tube that represents a section."""
    section = link.section
    assert section is not None
    inner = section.radius**2 - section.area / np.pi
    if inner < -1e-6 * section.radius**2:
        raise BadInput(f"link {link.name}", "section", (section.area, section.radius),
                       "a round section has at most the area of its circle", f"area <= {np.pi * section.radius**2:.4g}")
    return section.area, section.radius, 0.25 * np.pi * (section.radius**4 - max(inner, 0.0) ** 2)


def _stations(k: int, link: Link, mechanism: Mechanism, assembly: Assembly) -> list[Station]:
    place = assembly.link_places[link.name]
    solid = assembly.solids[place.solid]
    fixed = [other for other in mechanism.links if _fixed_beyond(other.name, link.name, assembly)]
    hung = _hung(link, [other.name for other in fixed], mechanism, assembly)
    tip = max([at for _, at in hung] or [2.0 * link.com], key=lambda at: float(np.linalg.norm(at)))
    length = float(np.linalg.norm(tip))
    axis = tip / length if length else np.array([1.0, 0.0, 0.0])
    normal = np.cross(axis, np.eye(3)[int(np.argmin(np.abs(axis)))])
    normal /= np.linalg.norm(normal)
    axes = np.array([solid.along(place.R @ d) for d in (axis, normal, np.cross(axis, normal))])
    beams = tuple(e.name for e in assembly.beams
                  if e.a.solid == place.solid and e.name.split("[")[0] in [other.name for other in fixed])
    result = []
    for s in np.linspace(0.0, length, STATIONS if length else 1):
        p = solid.at(place.p + place.R @ (s * axis))
        a, B = _mass_beyond(link, place, solid, s, axis, length, p)
        for body, at in _carried(link, fixed, float(s), axis, mechanism, assembly):
            da, dB = _whole(body, at, solid, p)
            a, B = a + da, B + dB
        names = tuple(name for name, at in hung if float(at @ axis) > s - 1e-9 * (length or 1.0) or s == 0.0)
        result.append(Station(k, place.solid, float(s), p, axes, a, B, names + beams))
    return result


def _hung(link: Link, fixed: list[str], mechanism: Mechanism, assembly: Assembly) -> list[tuple[str, Array]]:
    """Return the elements attached to a link or to links fixed to it, with their positions along it, m."""
    place, found = assembly.link_places[link.name], []
    for element in assembly.joints + assembly.loops:
        for side, frame in zip(assembly.sides[element.name], (element.a, element.b), strict=True):
            is_root = frame is element.b and element.name in [j.name for j in mechanism.moving] and side == link.name
            if side in (link.name, *fixed) and frame.solid == place.solid and not is_root:
                found.append((element.name, place.R.T @ (frame.origin - place.p)))
    return found


def _carried(link: Link, fixed: list[Link], s: float, axis: Array, mechanism: Mechanism, assembly: Assembly
             ) -> Iterator[tuple[Link | Payload | beam.Cell, Place]]:
    """Return the masses that a link carries beyond s, with positions: fixed links or first cells, and payloads."""
    for other in fixed:
        yield other if other.beam is None else beam.cells(other)[0], assembly.link_places[other.name]
    for payload in mechanism.payloads:
        before = payload.link == link.name and s > 0.0 and float(payload.com @ axis) <= s
        if payload.link in (link.name, *(other.name for other in fixed)) and not before:
            yield payload, assembly.link_places[payload.link]


def _fixed_beyond(name: str, link: str, assembly: Assembly) -> bool:
    while name in assembly.fixed_to:
        name = assembly.fixed_to[name]
        if name == link:
            return True
    return False


def _mass_beyond(link: Link, place: Place, solid: Solid, s: float, axis: Array, length: float,
                 p: Array) -> tuple[Array, Array]:
    """Return a (4,) and B (4, 4) of the link's mass on the far side of s."""
    if s == 0.0:
        return _whole(link, place, solid, p)
    # With the density m/L (1 + k (2 x/L - 1)) the centre of gravity is at L/2 + k L/6. Gauss points integrate this
    # polynomial exactly.
    k = np.clip(6.0 * (float(link.com @ axis) / length - 0.5), -1.0, 1.0)
    nodes, weights = np.polynomial.legendre.leggauss(3)
    x = 0.5 * (length + s) + 0.5 * (length - s) * nodes
    dm = link.mass / length * (1.0 + k * (2.0 * x / length - 1.0)) * 0.5 * (length - s) * weights
    aside = link.com - (link.com @ axis) * axis
    return _sums([(float(m), solid.at(place.p + place.R @ (d * axis + aside))) for m, d in zip(dm, x, strict=True)], p)


def _whole(body: Link | Payload | beam.Cell, place: Place, solid: Solid, p: Array) -> tuple[Array, Array]:
    """Return the second moments of the mass of a whole body."""
    if body.mass <= 0.0:
        return np.zeros(4), np.zeros((4, 4))
    try:
        points = solids.reduce("", body.mass, body.com, body.inertia, 1e-6).points
    except BadInput:  # no physical body has this tensor: its weight and linear inertia are still correct
        points = np.tile(body.com, (4, 1))
    return _sums([(0.25 * body.mass, solid.at(place.p + place.R @ r)) for r in points], p)


def _sums(masses: list[tuple[float, Array]], p: Array) -> tuple[Array, Array]:
    a = sum((m * alpha for m, alpha in masses), np.zeros(4))
    B = sum((m * np.outer(alpha - p, alpha) for m, alpha in masses), np.zeros((4, 4)))
    return a, B
