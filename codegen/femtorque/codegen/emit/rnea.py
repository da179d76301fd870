"""Emitted C for torques at one instant: ft_rnea.h, ft_rnea.c and ft_units.h, for any rigid mechanism.

The C is for a user's controller. The functions compute tau(q, q', q'') and the torque that holds the weight at q, in
rad and m. Calls may come at any state and in any order. Open trees need no state between two calls. For closed loops,
the state is the last pose in which the loops were closed. The functions that start the step (ft_closed.c.j2) move the
loops from that pose to the next pose. The solution of the loops and the allocation of torques use the same code as the
step (step/closed.py).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from textwrap import wrap

from femtorque.codegen.common import template
from femtorque.codegen.emit.closed import angle
from femtorque.codegen.emit.step import angle_of
from femtorque.codegen.mechanism import Mechanism
from femtorque.codegen.model import Assembly, Model, assemble, has_modes, in_mode
from femtorque.codegen.step import (
    HALF_TICK_OF_A_SECOND, Block, InstantTorque, InstantWeight, LoopStep, Members, Names, Printer, allocation, comment,
    instant_of, of_friction, provenance, unit_of, wrapped_c)

COS_SIN, WHOLE = 24, 16  # instructions of an exact sine and cosine, and of a conversion to an integer position
SOLUTIONS = 2  # assumed number of loop solutions if a call is near the last call
CHECKED = 20  # instructions of one solution that check a dependent joint: three comparisons, and ft_led
COMPILED, COMPILED_LOOPS = 1.2, 1.6  # instructions of a Cortex-M4F divided by the graphs' operations

INTRO = """
Outwards: angular velocity w and acceleration e of each link, and acceleration a of its joint's origin. Gravity is an
acceleration of the ground. A is the matrix of e x + w x (w x. f and n are force and moment of the link's own motion,
about its joint. Inwards: S and N are force and moment of the joint's load. l_m is a link's first moment, h its inertia
times w. Vectors are in the frame of their joint, with z along its axis. Joints with parallel axes share one frame.
Endings: _s at the joint's origin in the parent body's frame, _f in the joint's frame before the joint's own motion, _b
in the body's own frame, _o about the beginning of a slide, _t about the joint's origin in the parent body's frame, _neg
with the opposite sign. turn and r are cosine and sine of a frame, l the vector to an origin, k a value that is used
twice. Units are s, N m and N.
""".strip()

LOOPS_LOST = """, or if a singular pose
 * is on the way of the loops from the last pose. A call far from the last pose
 * takes a solution of the loops for every 0.02 rad or m"""


@dataclass(frozen=True)
class Cost:
    """Instructions of one call on a Cortex-M4F, estimated from the graphs. tests/hil/chip/test_rnea.py verifies the
    estimate."""

    rnea: int
    gravity: int
    solution: int = 0  # instructions of one loop solution, of which rnea and gravity include two; 0 in an open tree


@dataclass(frozen=True)
class Closed:
    """Closed loops, for the templates."""

    independent: list[tuple[int, int]]
    dependent: list[int]
    allocate: list[Block]
    uses_loop: bool
    tree: list[str]
    carries: list[tuple[int, int]]
    solution: int  # instructions of one solution


@dataclass(frozen=True)
class Unit:
    """One mode, or a mechanism without modes, for the templates."""

    m: str  # prefix of the names, in small letters and in capitals
    M: str
    mode: str
    number: int
    label: str
    rule: str
    functions: list[Function]
    shared: bool
    turned: str
    field: str
    joints: str
    places: list[int]
    idle: list[int]
    loops: Closed | None  # None in an open tree
    cost: Cost


@dataclass(frozen=True)
class Context:
    """Context of ft_rnea.h.j2 and ft_rnea.c.j2.

    The fields from near to refusals are texts that the templates insert for closed loops and modes; otherwise "".
    """

    name: str
    intro: list[str]
    units: list[Unit]
    moded: bool
    closed: bool
    carried: list[str]
    position_units: list[str]
    near: str
    with_near: str
    mode: str
    method: str
    refusals: str


@dataclass(frozen=True)
class Units:
    """Context of ft_units.h.j2."""

    name: str


@dataclass(frozen=True)
class Function:
    """The torque function of a tree, for the template."""

    name: str
    moves: bool  # true if velocities and accelerations are arguments
    what: str
    turns: list[list[str]]  # C lines that compute the rotating frames
    length: str  # unit inside the library, m
    blocks: list[Block]
    inputs: set[str]
    unused: list[str]  # parameters that the blocks do not use
    cost: int


def render(model: Model) -> dict[str, str]:
    """Return {file name: text}. The returned files need the step's files.

    There is no ft_rnea for flexible links, because their torque depends on the past motion.
    """
    mechanism = model.mechanism
    modes = _modes(mechanism) if has_modes(mechanism) else []
    parts = [_unit(mechanism, modes, number) for number in range(max(1, len(modes)))]
    carried = [joint for joint in mechanism.moving if joint not in mechanism.streamed]
    closed, moded = any(part.loops for part in parts), bool(modes)
    context = Context(
        name=mechanism.name, intro=wrap(INTRO.replace("\n", " "), 76), units=parts, moded=moded, closed=closed,
        carried=[angle(joint.start, joint) for joint in carried] if modes else [],
        position_units=["m" if joint.type == "prismatic" else "rad" for joint in mechanism.streamed],
        near="ft_rnea_near *near, " if closed else "", with_near="near, " if closed else "",
        mode="uint32_t mode, " if moded else "",
        method=", with the forces at the cuts" if closed else "",
        refusals=(LOOPS_LOST if closed else "") + (", or for an unknown mode" if moded else ""),
    )
    return {name: template(name).render(vars(context)) for name in ("ft_rnea.h", "ft_rnea.c")} | units(mechanism)


def units(mechanism: Mechanism) -> dict[str, str]:
    """Return ft_units.h, which converts rad and m to integer positions and back."""
    return {"ft_units.h": template("ft_units.h").render(vars(Units(mechanism.name)))}


def cost(model: Model) -> list[Cost]:
    """Return the number of instructions of one call in every mode."""
    modes = _modes(model.mechanism) if has_modes(model.mechanism) else []
    return [_unit(model.mechanism, modes, number).cost for number in range(max(1, len(modes)))]


def _modes(mechanism: Mechanism) -> list[str]:
    return [mode.name for mode in mechanism.modes]


def _unit(mechanism: Mechanism, modes: list[str], number: int) -> Unit:
    """Return one mode, or a mechanism without modes, as the templates need it."""
    model = Model.of(in_mode(mechanism, modes[number] if modes else None))
    assembly = assemble(model) if model.mechanism.constrained else None
    loop = LoopStep(assembly) if assembly else None
    shared: list[Members] = [turned.members for turned in loop.angles] if loop else []
    tree = ", of the open tree" if loop else ""
    functions = [_function(model, InstantTorque, shared, "motion", "of a motion" + tree),
                 _function(model, InstantWeight, shared, "weight", "that hold weight and springs" + tree)]
    turned = any("r" in function.inputs for function in functions)
    functions = [replace(f, unused=_unused(f, turned)) for f in functions]
    names = [joint.name for joint in mechanism.streamed]
    prefix = f"m{number}_" if modes else ""
    costs = [f.cost + len(f.turns) * COS_SIN + len(model.mechanism.streamed) * WHOLE for f in functions]
    closed, checks = None, 0
    if assembly and loop:
        checks = CHECKED * len(assembly.dependent)
        partition = mechanism.control.allocation == "partition"
        half = HALF_TICK_OF_A_SECOND / 2.0
        torques = allocation(assembly, loop.entries, half, partition)
        rubs = [comment(rows) for rows in of_friction(assembly, half)]
        solution = loop.graph.cost() + COS_SIN * len(loop.angles)
        costs = [one + torques.cost() + SOLUTIONS * solution for one in costs]
        names_of = Names({"G": "near->loop.", "velocity": "near->loop."})
        closed = _closed(mechanism, assembly, Printer(torques, names_of, provenance=rubs).blocks,
                         bool({"G", "velocity"} & torques.inputs()), solution)
    return Unit(
        m=prefix, M=prefix.upper(), mode=modes[number] if modes else "", number=number,
        label="default:" if number + 1 == len(modes) else f"case {number}:",
        rule="-" * (66 - len(modes[number])) if modes else "",
        functions=functions, shared=turned, turned="near->loop.r, " if turned else "",
        field=prefix.rstrip("_"),
        joints=f"FT_{prefix.upper()}{'TREE_' if assembly or modes else ''}JOINTS",
        places=[names.index(joint.name) for joint in model.mechanism.streamed],
        idle=[k for k, name in enumerate(names) if name not in {j.name for j in model.mechanism.streamed}],
        loops=closed,
        cost=Cost(*(round(count * (COMPILED_LOOPS if assembly else COMPILED) + solutions * checks)
                    for count, solutions in ((costs[0], SOLUTIONS), (costs[1], SOLUTIONS),
                                             (closed.solution if closed else 0, 1)))),
    )


def _closed(mechanism: Mechanism, assembly: Assembly, blocks: list[Block], uses_loop: bool,
            solution: int) -> Closed:
    names = [joint.name for joint in mechanism.streamed]
    carried = [joint.name for joint in mechanism.moving if joint not in mechanism.streamed]
    bodies = [body.joint.name for body in assembly.model.bodies]
    return Closed(
        independent=[(i, assembly.actuated.index(i)) for i in assembly.independent],
        dependent=list(assembly.dependent), allocate=blocks, uses_loop=uses_loop,
        tree=[f"near->carried[{carried.index(name)}]" if name in carried else f"whole[{names.index(name)}]"
              for name in bodies],
        carries=[(carried.index(name), i) for i, name in enumerate(bodies) if name in carried],
        solution=solution,
    )


def _function(model: Model, form: type[InstantTorque], shared: list[Members], name: str, what: str) -> Function:
    step = instant_of(model, form, shared)
    frames = {j: i for i, j in enumerate(step.turning)}
    printed = Printer(step.graph, Names(units=[unit_of(b.prismatic) for b in model.bodies], whole="at", frames=frames),
                      provenance=[comment(rows) for rows in provenance(step)])
    turns = [wrapped_c(f"turn[{i}] = ft_cos_sin({angle_of(step.tree, j, 'at')});") for j, i in frames.items()]
    return Function(name, form is InstantTorque, what, turns, f"{step.length:.9g}", printed.blocks,
                    step.graph.inputs(), [], step.graph.cost())


def _unused(function: Function, turned: bool) -> list[str]:
    """Return the parameters that the function does not use. turned: the function gets rotations of frames."""
    given = ["at"] + ["r"] * turned + ["qd", "qdd"] * function.moves
    read = {"at" if name == "q" else name for name in function.inputs} | ({"at"} if function.turns else set())
    return [name for name in given if name not in read]
