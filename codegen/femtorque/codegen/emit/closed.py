"""Emission of the step of closed mechanisms. ft_tree is the open tree's step, ft_loop solves the closed loops, and
ft_step calls ft_tree and ft_loop. ft_step has the same interface as the step of every mechanism, with the streamed
joints only. In each tick, ft_loop corrects the dependent joints' positions once and computes their velocities and
accelerations. The open tree's step then computes the torques of all joints. The transposed velocity matrix at s_k maps
the dependent joints' torques to the independent joints."""

from dataclasses import dataclass
from textwrap import wrap

import numpy as np

from femtorque.codegen.common import template
from femtorque.codegen.emit import step
from femtorque.codegen.mechanism import Joint
from femtorque.codegen.model import SINGULAR, Assembly, Model, assemble
from femtorque.codegen.reference import PACE_OF_CORRECTION, SWING
from femtorque.codegen.step import (
    Block, LoopStep, Names, Printer, allocation, comment, literal, of_friction, step_of, unit_of)
from femtorque.codegen.wire import position_unit

PACE, LEAST = 0.02, 1e-3  # maximum step of a start, and smallest step before the start fails, rad or m

INTRO = """
The actuated joints are streamed. {passive} follow from the loops.
In every tick ft_loop corrects the dependent joints once, and forms their
velocities and accelerations. ft_tree forms the open tree's torques at all
joints. G' carries the torques of dependent joints to the independent joints:

    dq_d = G dq_i,   tau = tau_i + G' tau_d.

This equals tau_i + J_ci' lambda. The forces lambda at the cuts leave no
torque to passive joints. G belongs to s_k, like the torque.
""".strip()

PARTITION = """
The actuated joints are streamed. {passive} follow from the loops.
allocation = "partition" gives the open tree's torques without forces at the
cuts. This is only for comparison.
""".strip()


@dataclass(frozen=True)
class Common:
    """Context that every file of a closed mechanism needs.

    A pair holds a joint's index in the tree and its index among the streamed joints."""

    name: str
    length: str  # m
    intro: list[str]
    pace: float
    least: float
    farthest: float
    swing: float
    start: list[str]
    independent: list[tuple[int, int]]
    actuated: list[tuple[int, int]]
    units: list[str]
    m: str  # prefix of names, in small letters and in capitals
    M: str
    moded: bool
    local: str
    place: str
    ramped: bool
    displacement: bool
    shared: bool
    uses_loop: bool


@dataclass(frozen=True)
class Closure:
    """Context of ft_loop.h.j2 and ft_loop.c.j2, in addition to Common: the solution of the closed loops."""

    dependent: list[str]
    ratios: list[str]
    positions: list[tuple[int, str]]
    angles: list[str]
    rigid: bool
    poseless: bool
    pairs: int
    blocks: list[Block]


@dataclass(frozen=True)
class Dependent:
    """A dependent joint: index in the tree, unit of its position, half of its displacement as C."""

    i: int
    unit: str
    led: str


@dataclass(frozen=True)
class Allocation:
    """Context of ft_closed.c.j2, with Common: the map from the dependent joints' torques to independent joints."""

    dependent: list[Dependent]
    singular: str  # squared sines: at margin 0, and per unit of margin
    scales: list[str]
    blocks: list[Block]


def render(model: Model, prefix: str = "", ramped: bool = False) -> dict[str, str]:
    """Return {file name: text} of ft_model.h, ft_trig.h, and ft_tree, ft_loop, ft_step (.h and .c). prefix: prefix of
    the names if there are several modes. ramped: true if the constraint forces rise and fall gradually at a change of
    mode."""
    assembly = assemble(model)
    loop = LoopStep(assembly)
    partition = model.mechanism.control.allocation == "partition"
    half = model.dt / 2.0
    torques = allocation(assembly, loop.entries, half, partition)
    rubs = of_friction(assembly, half)
    names = [body.joint.name for body in model.bodies]
    units = [unit_of(body.prismatic) for body in model.bodies]
    places = {i: k for k, i in enumerate(assembly.actuated)}
    passive = ", ".join(names[i] for i in assembly.passive) or "none"
    intro = (PARTITION if partition else INTRO).format(passive=passive).splitlines()
    shared = [angle.members for angle in loop.angles]
    tree = step_of(model, shared)
    files = step.rendered(model, tree, "tree", prefix)
    context = Common(
        name=model.mechanism.name,
        length=f"{assembly.length:.9g}",
        intro=[line for text in intro for line in wrap(text, 76, subsequent_indent="") or [""]],
        pace=PACE, least=LEAST, farthest=PACE_OF_CORRECTION, swing=SWING,
        start=[angle(float(q), body.joint) for q, body in zip(assembly.start, model.bodies, strict=True)],
        independent=[(i, places[i]) for i in assembly.independent],
        units=units, m=prefix, M=prefix.upper(), moded=bool(prefix), local="" if prefix else "static ",
        place=f"ft_{prefix}step_place" if prefix else "ft_place", ramped=ramped,
        actuated=[(i, k) for i, k in places.items()],
        displacement="w" in tree.graph.inputs(), shared="r" in tree.graph.inputs(),
        uses_loop=bool({"G", "velocity"} & torques.inputs()),
    )
    ratios = [f"{names[assembly.dependent[d]]} by {names[assembly.independent[k]]}" for d, k in loop.entries]
    dependent = [Dependent(i, units[i], _led(assembly, loop, d)) for d, i in enumerate(assembly.dependent)]
    solve = Closure(
        dependent=[names[i] for i in assembly.dependent], ratios=ratios,
        positions=[(j, units[j]) for j in loop.positions],
        angles=[_theta(angle.members) for angle in loop.angles], rigid=not loop.entries,
        poseless=not (loop.angles or loop.positions), pairs=max(1, len(loop.angles)),
        blocks=Printer(loop.graph, Names(results="now->")).blocks,
    )
    names_of = Names({"G": "s->loop.", "velocity": "s->loop."})
    allocate = Allocation(dependent, literal(SINGULAR**2), [literal(float(scale)**-2) for scale in assembly.scale],
                          Printer(torques, names_of, provenance=[comment(rows) for rows in rubs]).blocks)
    beside: dict[str, dict[str, object]] = {"ft_loop": vars(solve), "ft_closed": vars(allocate)}
    for name, source in (("loop", "ft_loop"), ("step", "ft_closed")):
        for suffix in (".h", ".c"):
            files[f"ft_{prefix}{name}{suffix}"] = template(source + suffix).render(vars(context) | beside[source])
    return files


def _led(assembly: Assembly, loop: LoopStep, d: int) -> str:
    """Return C for half of the displacement of dependent joint d, computed with the velocity matrix."""
    places = {i: k for k, i in enumerate(assembly.actuated)}
    terms = [f"s->loop.G[{e}] * u[{places[assembly.independent[k]]}]"
             for e, (row, k) in enumerate(loop.entries) if row == d]
    return " + ".join(terms) or "FT_C(0.0)"


def _theta(members: tuple[tuple[int, int], ...]) -> str:
    first, *rest = (f"(ft_angle)q[{j}]" if sign > 0 else f"-(ft_angle)q[{j}]" for j, sign in members)
    signs = ["-" if sign < 0 else "+" for _, sign in members]
    terms = [f" {sign} {term.lstrip('-')}" for sign, term in zip(signs[1:], rest, strict=True)]
    return ("(ft_angle)0 - " + first[1:] if signs[0] == "-" else first) + "".join(terms)


def angle(position: float, joint: Joint) -> str:
    """Return a position as an unsigned C number, for single and for double precision."""
    steps = position / position_unit(joint)
    whole = int(np.floor(steps))
    fine = round((steps - whole) * 2.0**32)
    return f"FT_ANGLE(0x{round(steps) % 2**32:08x}, 0x{((whole << 32) + fine) % 2**64:016x})"
