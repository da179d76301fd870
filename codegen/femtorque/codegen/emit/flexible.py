"""Emitted C of mechanisms with flexible links: ft_step.c for the tree, ft_flexible.c for the modes of the links. Tables
contain the constants of the link modes. In each tick the C loops over the modes of each bending plane. A mode takes
about 50 instructions (assurance/bench/test_flexible_instructions.py)."""

from dataclasses import dataclass

import numpy as np

from femtorque.codegen.common import square, template
from femtorque.codegen.emit.step import STATE, Form, write
from femtorque.codegen.model import Model
from femtorque.codegen.reference import SETTLING
from femtorque.codegen.step import FlexibleStep, Names, comment, literal, of_pieces, unit_of


@dataclass(frozen=True)
class Mode:
    """A row of the table of modes, with a title and with its numbers as C."""

    title: str
    march: str
    stiffness: str
    damping: str
    sag: str
    shape: str
    x_shape: str
    tip: str
    slope: str


@dataclass(frozen=True)
class Draw:
    """A row of the table of flexible links: the shortening by the two lowest modes of a plane."""

    title: str
    tip: str
    first: str
    second: str


@dataclass(frozen=True)
class Spring:
    """A row of the table of springs."""

    title: str
    stiffness: str
    damping: str
    sag: str


@dataclass(frozen=True)
class Context:
    """Context of ft_flexible.h.j2 and ft_flexible.c.j2."""

    name: str
    modes: list[Mode]
    draws: list[Draw]
    springs: list[Spring]
    two_planes: bool
    rolls: bool
    nested: bool
    settles: bool


def render(model: Model) -> dict[str, str]:
    """Return {file name: text} of the step and of its flexible links."""
    step = FlexibleStep(model)
    frames = {i: k for k, i in enumerate(sorted(step.turning))}
    angles = [f"(ft_angle)q[{step.number[step.tree.pieces[i].mover]}]" for i in frames]
    names = Names(STATE, units=[unit_of(joint.type == "prismatic") for joint in model.mechanism.streamed],
                  frames=frames)
    form = Form(flexible=True, settling=SETTLING, what="mechanism with flexible links",
                sagging=", flexible links in their static sag")
    files = write(model, step.graph, step.intro, names, angles, provenance=[comment(rows) for rows in of_pieces(step)],
                  form=form)
    context = Context(name=model.mechanism.name, modes=_modes(step), draws=_draws(step), springs=_springs(step),
                   two_planes=step.two_planes, rolls=step.rolls, nested=step.nested,
                   settles=step.nested or bool(step.springs))
    return files | {name: template(name).render(vars(context)) for name in ("ft_flexible.h", "ft_flexible.c")}


def tables(step: FlexibleStep) -> list[Mode | Draw | Spring]:
    """Return the rows of all tables in ft_flexible.c."""
    return [*_modes(step), *_draws(step), *_springs(step)]


def _modes(step: FlexibleStep) -> list[Mode]:
    """Return the rows of the table of modes, in the order of the state."""
    dt, rows = step.tree.dt, []
    scale = 2.0 / dt  # of modal coordinates
    for i in step.tree.beams:
        link = step.tree.pieces[i].tip
        for plane in link.planes:
            for k, K in enumerate(link.stiffness[plane]):
                stiffness, damping = 0.25 * K * square(dt), 0.5 * link.damping * K * dt
                rows.append(Mode(
                    f"{link.name}, {plane}, {np.sqrt(K) / (2.0 * np.pi):.4g} Hz",
                    march=literal(1.0 / (1.0 + stiffness + damping)), stiffness=literal(stiffness),
                    damping=literal(damping), sag=literal((1.0 + stiffness + damping) / stiffness - 4.0),
                    shape=literal(link.beta[k] * scale), x_shape=literal(link.gamma[k] * scale),
                    tip=literal(link.tip[k] / scale), slope=literal(link.slope[k] / scale),
                ))
    return rows


def _draws(step: FlexibleStep) -> list[Draw]:
    rows = []
    for i in step.tree.beams:
        link = step.tree.pieces[i].tip
        tip = 0.25 * square(step.tree.dt) * link.drawn.tip
        rows.append(Draw(link.name, *(
            "{ " + ", ".join(literal(float(G[r, c])) for r, c in ((0, 0), (0, 1), (1, 1))) + " }"
            for G in (tip, link.drawn.first, link.drawn.second))))
    return rows


def _springs(step: FlexibleStep) -> list[Spring]:
    """Return the rows of the table of springs, in the order of the state."""
    rows = []
    for i in step.springs:
        joint = step.tree.mechanism.moving[step.tree.pieces[i].mover]
        K = step.joint(i).stiffness
        rows.append(Spring(joint.name, literal(K), literal(2.0 * joint.friction.viscous / step.tree.dt),
                           literal(1.0 / K)))
    return rows
