"""Origins of the numbers in an emitted step, link by link. All comments of the C about numbers come from this module.

A step uses base parameters instead of the links' masses (base_parameters.py). Base parameters are sums over a link and
its load, in units in which most factors are one. This module returns each parameter's name, value, links, and number in
the C. The printed step uses the links' original parameters."""

from collections.abc import Iterable
from dataclasses import dataclass
from textwrap import wrap

from femtorque.codegen.common import Array, norm, product
from femtorque.codegen.model import GROUND, Assembly, Model, PassiveFriction, joint_stiffness, placed_links, skew
from femtorque.codegen.step.flexible import FlexibleStep
from femtorque.codegen.step.graph import Const, Graph
from femtorque.codegen.step.links import links
from femtorque.codegen.step.nodal import NodalStep
from femtorque.codegen.step.printed import PrintedStep

AXES = "xyz"
DIGITS, WIDTH = 9, 68
KEPT = "\N{NO-BREAK SPACE}"  # a space at which a line is not broken
AGREES = 1e-11  # tolerance for a number that is written with 14 digits
PAIRS = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))


@dataclass(frozen=True)
class Parameter:
    """A parameter with its name in the theory and its value in `unit` (SI)."""

    name: str
    value: float
    unit: str
    origin: tuple[str, ...]  # the links and payloads whose values it contains
    number: float  # literal in the C


def provenance(step: NodalStep | PrintedStep) -> tuple[tuple[Parameter, ...], ...]:
    """Return, for every body of a step in the order of joints, the parameters behind the numbers of the emitted C."""
    if isinstance(step, PrintedStep):
        return of_links(step.model, step.unit)
    live, found = _constants(step.graph), []
    for j, b in enumerate(step.tree.bodies):
        turns = {1.0, *map(abs, (*b.alpha, *b.gamma))} - {0.0}
        found.append(tuple(p for p in _base(step, j) if any(_is_in(abs(p.number) * t, live) for t in turns)))
    return tuple(found)


def _constants(graph: Graph) -> set[float]:
    return {abs(e.value) for i in graph.live()[0] if isinstance(e := graph.nodes[i], Const)}


def _is_in(number: float, live: set[float]) -> bool:
    """Return True if the C contains a number. A factor of one does not appear in the C."""
    return abs(number - 1.0) < AGREES or any(abs(number - x) <= AGREES * x for x in live)


def solids(model: Model) -> tuple[tuple[str, ...], ...]:
    """Return the links and payloads that each body contains."""
    found: list[list[str]] = [[] for _ in model.bodies]
    placed = placed_links(model.mechanism)
    for link in model.mechanism.links:
        if placed[link.name][0] != GROUND:
            found[placed[link.name][0]].append(link.name)
    for payload in model.mechanism.payloads:
        if placed[payload.link][0] != GROUND:
            found[placed[payload.link][0]].append(payload.name)
    return tuple(map(tuple, found))


def _base(step: NodalStep, j: int) -> Iterable[Parameter]:
    """Return the base parameters of body j."""
    b, s, names = step.tree.bodies[j], step.scales(j), solids(step.model)

    def of(bodies: Iterable[int]) -> tuple[str, ...]:
        return tuple(name for i in sorted(bodies) for name in names[i])

    if b.mass:
        yield Parameter("m", b.mass, "kg", of(b.mass_of), b.mass * s.mass)
    yield from _vector("m c", b.moment, "kg m", of(b.moment_of), s.moment)
    if step.tree.is_upright(j):  # the link rotates only about z
        yield from _tensor("J", b.inertia * [0.0, 0.0, 1.0], of(b.inertia_of), s.inertia)
    elif step.tree.choices[j].kappa != "zz":
        yield from _tensor("J", b.inertia, of(b.inertia_of), s.inertia)
    else:
        yield from _tensor("G", b.second_moments, of(b.inertia_of), s.inertia)
    joint = step.model.bodies[j].joint
    if stiffness := joint_stiffness(step.model, j):
        yield Parameter("k", stiffness, "N/m" if b.prismatic else "N m/rad", (joint.name,), stiffness)
    if b.parent == GROUND:
        g = step.tree.gravity[j] * float(norm(step.model.gravity))
        yield from _vector("g", g, "m/s^2", ("gravity",), s.weight)
    else:
        place = (joint.name,)
        yield from _vector("l", b.offset, "m", place, s.offset)
        for name, (cosine, sine) in (("gamma", b.gamma), ("alpha", b.alpha)):
            if abs(cosine) not in (0.0, 1.0):
                yield Parameter(f"cos {name}", cosine, "", place, cosine)
                yield Parameter(f"sin {name}", sine, "", place, sine)


def _vector(name: str, v: Array, unit: str, origin: tuple[str, ...], scale: float) -> Iterable[Parameter]:
    return (Parameter(f"{name}_{axis}", float(x), unit, origin, float(x * scale))
            for axis, x in zip(AXES, v, strict=True) if x)


def _tensor(name: str, J: Array, origin: tuple[str, ...], scale: float) -> Iterable[Parameter]:
    return (Parameter(f"{name}_{AXES[r]}{AXES[c]}", float(J[r, c]), "kg m^2", origin, float(J[r, c] * scale))
            for r, c in PAIRS if J[r, c])


def of_pieces(step: FlexibleStep) -> tuple[tuple[Parameter, ...], ...]:
    """Return the parameters of a step with flexible links, by piece: those of rigid pieces in the joint's axes, and
    mass and length of bending pieces."""
    live, found = _constants(step.graph), []
    for piece, axes in zip(step.tree.pieces, step.axes, strict=True):
        name, com = (piece.name,), product(axes.T, piece.com)
        J = product(axes.T, piece.inertia, axes) - product(piece.mass * skew(com), skew(com))
        rows = [Parameter("m", piece.mass, "kg", name, piece.mass * step.unit)] if piece.mass else []
        rows += _vector("m c", piece.mass * com, "kg m", name, step.unit)
        rows += _tensor("J", J, name, step.unit)
        if piece.link is not None:
            link = (piece.link.name,)
            rows += [Parameter("m", piece.link.mass, "kg", link, piece.link.mass * step.unit),
                     Parameter("L", piece.link.length, "m", link, piece.link.length)]
        found.append(tuple(p for p in rows if _is_in(abs(p.number), live)))
    return tuple(found)


def of_links(model: Model, unit: float) -> tuple[tuple[Parameter, ...], ...]:
    """Return the parameters of a step in link axes. Masses and inertias are multiplied by `unit`."""
    found: list[tuple[Parameter, ...]] = []
    for link, name, body in zip(links(model), solids(model), model.bodies, strict=True):
        rows = [Parameter("m", link.mass, "kg", name, link.mass * unit), *_vector("c", link.c, "m", name, 1.0),
                *_tensor("J", link.inertia, name, unit),
                *_vector("l", link.l, "m", (body.joint.name,), 1.0)]
        if stiffness := joint_stiffness(model, len(found)):
            kind = "N/m" if body.prismatic else "N m/rad"
            rows.append(Parameter("k", stiffness, kind, (body.joint.name,), stiffness))
        found.append(tuple(rows))
    return tuple(found)


def of_friction(assembly: Assembly, half: float) -> tuple[tuple[Parameter, ...], ...]:
    """Return, for every joint, the friction that the allocation of torques includes, with velocities per half tick."""
    friction, found = PassiveFriction.of(assembly.model), []
    for j, body in enumerate(assembly.model.bodies):
        name, viscous, coulomb, width = (body.joint.name,), *(
            float(x[j]) for x in (friction.viscous, friction.coulomb, friction.width))
        rows = list[Parameter]()
        if viscous:
            unit = "N s/m" if body.prismatic else "N m s/rad"
            rows.append(Parameter("D", viscous, unit, name, viscous / half))
        if coulomb:
            rows += [Parameter("f_c", coulomb, "N" if body.prismatic else "N m", name, coulomb),
                     Parameter("from", width, "m/s" if body.prismatic else "rad/s", name, 1.0 / (half * width))]
        found.append(tuple(rows))
    return tuple(found)


def comment(rows: Iterable[Parameter], width: int = WIDTH) -> list[str]:
    """Return the lines of the C comment about a link's parameters. Parameters of the same links are listed together."""
    groups: dict[tuple[str, ...], list[Parameter]] = {}
    for row in rows:
        groups.setdefault(row.origin, []).append(row)
    parts = []
    for origin, members in groups.items():
        ends = [*(b.unit for b in members[1:]), None]
        given = [f"{p.name} = {p.value:.{DIGITS}g}" + (f" {p.unit}" if p.unit and p.unit != end else "")
                 for p, end in zip(members, ends, strict=True)]
        parts.append(f"of {', '.join(origin)}: {', '.join(text.replace(' ', KEPT) for text in given)}")
    text = "; ".join(parts)
    lines = wrap(text[:1].upper() + text[1:] + ".", width, break_long_words=False, break_on_hyphens=False)
    return [line.replace(KEPT, " ") for line in lines] if parts else []
