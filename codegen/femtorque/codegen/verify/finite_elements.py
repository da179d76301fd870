"""The finite elements behind a mechanism's torques, and the number of constants in the emitted step.

All values come from the functions that compute the reference and the emitted C. The only exception is a NOMINAL section
for a link without a section in the file. The torque of a rigid link does not depend on its section."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from femtorque.codegen.common import Array, BadInput, hint, modes, norm, product
from femtorque.codegen.emit import step_sources
from femtorque.codegen.mechanism import BASE, Mechanism, Section, Vector
from femtorque.codegen.model import (
    GROUND, Assembly, Body, Element, Model, accumulation, assemble, beam_elements, element_axes, first_element,
    has_modes, in_mode, lambda_matrix, levers, material, modal_link, offsets, placed_links, pose, second_element,
    stiffness, strain_displacement)
from femtorque.codegen.step import LITERAL
from femtorque.codegen.verify.find_constant import Search

NOMINAL = Section(area=np.pi * 0.01**2, radius=0.01, E=210e9, poisson=0.3)  # a round steel bar of 20 mm
EVERYWHERE = 0.37  # displacement from the start to a pose without symmetry, rad or m; there only structural zeros are 0
NONE = 1e-12  # fraction of a matrix's largest entry; a smaller entry is a structural zero


@dataclass(frozen=True)
class Bar:
    """A beam element of a link. start, end: nodes. axes (3, 3): rotation from the element's axes (z along the element)
    to the link's axes. B (6, 12), D (6, 6), stiffness (12, 12): Eq. 2, in the element's axes. The freedoms are [u v w
    theta_x theta_y theta_z] of the first node, then of the second. Forces N, moments N m, translations m, rotations
    rad."""

    start: str
    end: str
    length: float
    s1: float
    r1: float
    c_mot: float
    EA: float
    EI: tuple[float, float]
    GJ: float
    GA_s: float
    axes: Array
    B: Array
    D: Array
    stiffness: Array

    @staticmethod
    def of(start: str, end: str, along: Vector, element: Element) -> Bar:
        e = element
        return Bar(start, end, e.length, e.s1, e.r1, e.c_mot, e.EA, e.EI, e.GJ, e.GA_s, element_axes(along),
                   strain_displacement(e.length, e.s1), material(e), stiffness(e))


@dataclass(frozen=True)
class RigidLink:
    """A moving body and the nodes of its elements, in body axes. mass kg, com (3,) m and inertia (3, 3) kg m^2 about
    the centre of gravity: lumped at the node."""

    name: str
    names: tuple[str, ...]  # the body's links in the file
    joint: str
    parent: str
    children: tuple[str, ...]
    mass: float
    com: Vector
    inertia: Array
    section: Section  # section of the elements, nominal if the file has no section
    nominal: bool
    elements: tuple[Bar, ...]
    missing: tuple[str, ...]  # reasons for missing elements
    matrix: Array  # (3, 6 + 3 c): [Lambda_i] for c children, m

    def data(self) -> dict[str, Any]:
        own = {name: value for name, value in vars(self).items() if name not in ("section", "nominal", "matrix")}
        return own | {"section": asdict(self.section) | {"nominal": self.nominal}, "lambda": self.matrix,
                      "elements": [vars(bar) for bar in self.elements]}


@dataclass(frozen=True)
class Beam:
    """A flexible link in one bending plane: E elements, with 2 E freedoms [deflection, slope] of all nodes but the root
    node.

    M kg, kg m, kg m^2; K N/m, N, N m; A = M / (beta dt^2) + gamma C / (beta dt) + K with C = damping K (2E, 2E each).
    factor (2E,): 1 / (beta dt^2), divided by the diagonal of A. The emitted C multiplies by `factor`."""

    name: str
    plane: str
    length: float
    M: Array
    K: Array
    A: Array
    shapes: Array  # (2E, 2E): columns of unit modal mass, which make M, K and A diagonal
    hz: Array  # (2E,): natural frequencies
    factor: Array


@dataclass(frozen=True)
class Loops:
    """The equations of the loops."""

    equations: tuple[str, ...]
    joints: tuple[str, ...]
    structure: NDArray[np.bool_]  # (m, n): nonzero entries of their Jacobian, one column per joint
    independent: tuple[str, ...]
    order: tuple[str, ...]  # the dependent joints in the order of elimination


REGROUPED = ("Masses are regrouped along the joints' axes. The torques are right, but {P} of a joint on the chip is "
             "not the load of its bearing.")


@dataclass(frozen=True)
class Elements:
    """All elements of a mechanism."""

    mechanism: Mechanism
    scheme: str
    dt: float
    links: tuple[RigidLink, ...]
    bodies: tuple[str, ...]  # (n,): names of the links that move
    accumulation: NDArray[np.bool_]  # (n, n): true if [T_Lambda] has the block T_ij
    blocks: tuple[int, ...]  # (n,): sizes of the links' blocks in {P}, and of the blocks of [T]
    beams: tuple[Beam, ...]
    loops: Loops | None
    constants: tuple[str, ...]  # the numbers of the file in the emitted step, each once

    @property
    def regrouped(self) -> str:
        """Return the note about {P} for a step that regroups masses."""
        return "" if self.scheme == "printed" or self.mechanism.flexible else REGROUPED

    def data(self) -> dict[str, Any]:
        """Return data for JSON."""
        return {
            "mechanism": self.mechanism.name, "scheme": self.scheme, "tick_s": self.dt,
            "links": [link.data() for link in self.links], "accumulation": self.accumulation,
            "blocks": list(self.blocks), "flexible": [vars(beam) for beam in self.beams],
            "loops": vars(self.loops) if self.loops else None, "constants_on_chip": len(self.constants),
        }


def elements_of(mechanism: Mechanism, link: str | None = None) -> Elements:
    """Return the elements of all links, or of one link, in the first mode.

    Raise BadInput if the link is missing or fixed."""
    alone = in_mode(mechanism, mechanism.modes[0].name if has_modes(mechanism) else None)
    model = Model.of(alone)
    wanted = _wanted(model, link)
    q = np.array([body.joint.start for body in model.bodies])
    at = pose(model, q)
    R, arms = at.R, levers(model, at)
    matrix, blocks = lambda_matrix(model, R, arms), offsets(model)
    links = tuple(_link(model, i, matrix[3 * i:3 * i + 3, blocks[i]]) for i in range(model.n) if i in wanted)
    carried = accumulation(model, R).reshape(model.n, 3, model.n, 3)
    names = {name for one in links for name in one.names}
    emitted, search = Model.of(mechanism), Search.of(mechanism)
    return Elements(
        mechanism, emitted.scheme, model.dt, links, tuple(body.joint.child for body in model.bodies),
        np.any(carried != 0.0, axis=(1, 3)), tuple(block.stop - block.start for block in blocks),
        tuple(beam for flexible in alone.links if flexible.beam and flexible.name in names
              for beam in _beams(alone, flexible.name, model.dt)),
        _loops(assemble(model)) if alone.constrained else None,
        tuple(number for number in literals(step_sources(emitted)) if not search.of_the_method(number)),
    )


def literals(files: dict[str, str]) -> tuple[str, ...]:
    """Return the literals in the emitted sources without sign, each once, in ascending order."""
    found = {number.lstrip("-") for name, text in files.items() if name.endswith(".c")
             for number in LITERAL.findall(text)}
    return tuple(sorted(found, key=float))


def _wanted(model: Model, link: str | None) -> set[int]:
    if link is None:
        return set(range(model.n))
    placed = placed_links(model.mechanism)
    source = model.mechanism.source or model.mechanism.name
    if link not in placed:
        raise BadInput(source, "link", link, "no such link",
                       hint(link, [name for name in placed if name != BASE]))
    if placed[link][0] == GROUND:
        raise BadInput(source, "link", link, "is fixed to the ground and has no dynamics", "name one that moves")
    return {placed[link][0]}


def _link(model: Model, i: int, matrix: Array) -> RigidLink:
    body = model.bodies[i]
    own = model.mechanism.link(body.joint.child)
    section = own.section or NOMINAL
    bars, missing = _bars(model, body, section)
    names = tuple(name for name, (k, _, _) in placed_links(model.mechanism).items() if k == i)
    parent = "ground" if body.parent == GROUND else model.bodies[body.parent].joint.child
    children = tuple(model.bodies[k].joint.name for k in body.children)
    return RigidLink(own.name, names, body.joint.name, parent, children, body.mass, body.com, body.inertia, section,
                     own.section is None, tuple(bars), tuple(missing), matrix)


def _bars(model: Model, body: Body, section: Section) -> tuple[list[Bar], list[str]]:
    """Return the elements of a body: from the joint to the centre of gravity, and from there to child joints and cuts.
    The last element of a body without child joints and cuts ends at twice the distance of its centre of gravity."""
    centre, bars, missing = "centre of gravity", [], []
    ends = [(model.bodies[k].joint.name, model.bodies[k].p0) for k in body.children]
    placed = placed_links(model.mechanism)
    for loop in model.mechanism.loops:
        for k, R, p, xyz in ((*placed[anchor.link], anchor.xyz) for anchor in (loop.a, loop.b)):
            ends += [(f"cut of {loop.name}", p + product(R, xyz))] if k != GROUND and model.bodies[k] is body else []
    ends = ends or [("tip", 2.0 * body.com)]
    if norm(body.com) > 0.0:
        bars.append(Bar.of(body.joint.name, centre, body.com, first_element(body, section)))
    else:
        missing.append(f"{body.joint.name} lies in the centre of gravity")
    for name, end in ends:
        if norm(end - body.com) > 0.0:
            bars.append(Bar.of(centre, name, end - body.com, second_element(body, end, section)))
        elif name != "tip":
            missing.append(f"{name} lies in the centre of gravity")
    return bars, missing


def _beams(mechanism: Mechanism, name: str, dt: float) -> list[Beam]:
    link = mechanism.link(name)
    planes, beam = modal_link(mechanism, link).planes, link.beam
    assert beam is not None
    stiff = {plane: beam.EI["zy".index(plane)] for plane in planes}
    shear = beam.EI["zy".index(planes[0])] / beam.GA_s["zy".index(planes[0])]
    parts = beam_elements(beam.length, link.mass, beam.elements, shear)
    M = parts.M[2:, 2:]
    squares, shapes = modes(parts.K[2:, 2:], M)
    ahead, damped = 4.0 / dt**2, 1.0 + 2.0 * beam.damping / dt  # 1 / (beta dt^2), 1 + damping gamma / (beta dt)
    found = []
    for plane, EI in stiff.items():
        K = EI * parts.K[2:, 2:]
        found.append(Beam(name, plane, beam.length, M, K, ahead * M + damped * K, shapes,
                          np.sqrt(EI * squares) / (2.0 * np.pi), ahead / (ahead + damped * EI * squares)))
    return found


def _loops(assembly: Assembly) -> Loops:
    q = assembly.start + EVERYWHERE * np.sqrt(1.0 + np.arange(assembly.model.n))
    J = np.abs(assembly.jacobian(q))
    joints = tuple(body.joint.name for body in assembly.model.bodies)
    return Loops(tuple(assembly.row_name(row) for row in assembly.kept), joints, J > NONE * J.max(initial=0.0),
                 tuple(joints[i] for i in assembly.independent), tuple(joints[i] for i in assembly.dependent))
