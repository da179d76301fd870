"""The parameters behind the numbers of an emitted step, by link. The parameters appear in comments of the C and in
`elements --find`. `beside` returns the parameters that are not inertias of links: turns and origins of joints, the
tick, modes of flexible links."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from femtorque.codegen.common import product, square
from femtorque.codegen.emit import flexible
from femtorque.codegen.emit.closed import LEAST, PACE
from femtorque.codegen.emit.modes import POSITION, VELOCITY
from femtorque.codegen.model import GROUND, SINGULAR, Model, assemble, frame_to_axis
from femtorque.codegen.reference import PACE_OF_CORRECTION, SWING
from femtorque.codegen.step import (
    AXES, HALF_TICK_OF_A_SECOND, LITERAL, FlexibleStep, InstantTorque, InstantWeight, LoopStep, Members, NodalStep,
    Parameter, instant_of, of_friction, of_pieces, provenance, step_of)

GRAVITY, LOOPS, METHOD = "gravity", "loops", "method"


def parameters(model: Model) -> dict[str, tuple[Parameter, ...]]:
    """Return the parameters (name, value, unit, origin, number) of every moving link, by the link's name.

    If the mechanism has modes, pass the model of one mode."""
    if model.mechanism.flexible:
        step = FlexibleStep(model)
        return dict(zip((piece.name for piece in step.tree.pieces), of_pieces(step), strict=True))
    return dict(zip(_names(model), provenance(step_of(model, _shared(model))), strict=True))


def at_an_instant(model: Model) -> dict[str, tuple[Parameter, ...]]:
    """Return the parameters behind the numbers of ft_rnea and ft_gravity, which flexible links do not have."""
    if model.mechanism.flexible:
        return {}
    both = [provenance(instant_of(model, form, _shared(model))) for form in (InstantTorque, InstantWeight)]
    return {name: a + b for name, a, b in zip(_names(model), *both, strict=True)}


def beside(model: Model) -> dict[str, tuple[Parameter, ...]]:
    """Return the parameters that the remaining numbers of the C come from, by link or other part of the mechanism."""
    if model.mechanism.flexible:
        return _of_beams(FlexibleStep(model))
    found = _of_frames(model)
    if model.mechanism.modes or model.mechanism.constrained:
        found[METHOD] = tuple(Parameter(name, value, "", ("control",), value) for name, value in (
            ("PACE", PACE), ("LEAST", LEAST), ("FARTHEST", PACE_OF_CORRECTION), ("SWING", SWING),
            ("POSITION", POSITION), ("VELOCITY", VELOCITY), ("SINGULAR^2", SINGULAR**2)))
    if model.mechanism.constrained:
        found[LOOPS] = tuple(_of_loops(model))
    if isinstance(step := step_of(model, _shared(model)), NodalStep):
        for body, name, radius in zip(model.bodies, _names(model), step.reach, strict=True):
            ends = [model.bodies[k].joint.name for k in body.children[:1]] or [name]
            found[name] += (Parameter("|r|", radius, "", tuple(ends), radius),)
    return found


def _names(model: Model) -> list[str]:
    return [body.joint.child for body in model.bodies]


def _shared(model: Model) -> list[Members]:
    return [a.members for a in LoopStep(assemble(model)).angles] if model.mechanism.constrained else []


def _vector(name: str, v: NDArray[np.float64], unit: str, origin: str, scale: float = 1.0) -> Iterable[Parameter]:
    return (Parameter(f"{name}_{axis}", float(x), unit, (origin,), float(x) * scale)
            for axis, x in zip(AXES, v, strict=True) if x)


def _of_frames(model: Model) -> dict[str, tuple[Parameter, ...]]:
    """Return rotations and origins of joints in link axes, with z along the joints, and gravity times dt^2."""
    found, Q = {}, [frame_to_axis(body.axis) for body in model.bodies]
    for body, own in zip(model.bodies, Q, strict=True):
        parent, joint = np.eye(3) if body.parent == GROUND else Q[body.parent], body.joint.name
        rows = [*_vector("l", body.p0, "m", joint), *_vector("l", product(parent.T, body.p0), "m", joint)]
        for R in (product(parent.T, body.R0, own), body.R0):
            rows += [row for k, name in enumerate("XYZ") for row in _vector(name, R[:, k], "", joint)]
        found[body.joint.child] = (*rows, *_vector("axis", body.axis, "", joint))
    scale = square(model.dt)
    found[GRAVITY] = tuple(row for k in (1.0, 0.5) for row in _vector("g", model.gravity, "m/s^2", GRAVITY, k * scale))
    return found


def _of_loops(model: Model) -> Iterable[Parameter]:
    """Return the parameters of the loop equations and of the prediction, with lengths in the mechanism's size."""
    assembly = assemble(model)
    size = assembly.length
    yield Parameter("1/size", 1.0 / size, "1/m", (LOOPS,), 1.0 / size)
    for body in model.bodies:
        yield from _vector("l", body.p0, "m", body.joint.name, 1.0 / size)
    for cut in assembly.equations.cuts:
        for side in (cut.a, cut.b):
            yield from _vector("anchor", side.p, "m", cut.loop.name, 1.0 / size)
    for half in (model.dt / 2.0, HALF_TICK_OF_A_SECOND / 2.0):
        for rows in of_friction(assembly, half):
            yield from rows
    for joint, scale in zip(assembly.dependent, assembly.scale, strict=True):
        least = square(SINGULAR * float(scale))
        yield Parameter("least pivot^2", least, "", (model.bodies[joint].joint.name,), least)
        margin = float(scale)**-2
        yield Parameter("1/scale^2 of a pivot", margin, "", (model.bodies[joint].joint.name,), margin)
    weights = assembly.weights()
    for joint, weight in zip(assembly.actuated, weights, strict=True):
        value = float(weight)
        yield Parameter("weight", value, "", (model.bodies[joint].joint.name,), value / float(weights.max()))


def _of_beams(step: FlexibleStep) -> dict[str, tuple[Parameter, ...]]:
    """Return the positions of the rigid and flexible pieces.

    For flexible links, also return the numbers of ft_flexible.c, and the moments of the mass along the link."""
    found: dict[str, tuple[Parameter, ...]] = {}
    for row in flexible.tables(step):
        name, _, mode = row.title.partition(", ")
        found[name] = found.get(name, ()) + tuple(
            Parameter(f"{what} ({mode})" if mode else what, float(x), "", (name,), float(x))
            for what, text in vars(row).items() if what != "title" for x in LITERAL.findall(text))
    for piece in step.tree.pieces:
        rows = [*_vector("l", piece.p0, "m", piece.name),
                *(row for k, name in enumerate("XYZ") for row in _vector(name, piece.R0[:, k], "", piece.name))]
        found[piece.name] = found.get(piece.name, ()) + tuple(rows)
        if (link := piece.link) is not None:
            m, L, k = link.mass, link.length, step.unit
            found[link.name] = found.get(link.name, ()) + (
                Parameter("m L / 2", m * L / 2.0, "kg m", (link.name,), k * m * L / 2.0),
                Parameter("m L^2 / 3", m * square(L) / 3.0, "kg m^2", (link.name,), k * m * square(L) / 3.0))
    return found
