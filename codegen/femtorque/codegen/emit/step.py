"""Emission of the feed-forward step of any model: ft_model.h, ft_trig.h, ft_step.h, ft_step.c. The recursions of
step/nodal.py run once, with expressions instead of numbers (step/graph.py). step/base_parameters.py computes frames and
base parameters. step/c_text.py prints the expressions that the result uses."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from femtorque.codegen.common import template
from femtorque.codegen.mechanism import Joint, Mechanism
from femtorque.codegen.model import Model, is_passive
from femtorque.codegen.step import (
    EXACT_BELOW_HZ, GROUNDS, TABLE, Block, Fixed, Graph, Names, PrintedStep, Printer, Step, Tree, comment, literal,
    plain_step, provenance, step_of, tidy, unit_of, wrapped_c)


@dataclass(frozen=True)
class Element:
    """A row of a printed step's table: the numbers' origin, mass M, inertia J, products K, places c, l, axes X to Z."""

    provenance: list[str]
    M: str
    J: str
    K: str
    c: str
    l: str
    X: str
    Y: str
    Z: str


@dataclass(frozen=True)
class Form:
    """Properties of a step that the templates need, and the table of a printed step."""

    printed: bool = False
    radii: Sequence[str] = ()  # factors |r| of the rotating frames, if they are not all 1
    flexible: bool = False
    what: str = "rigid mechanism"
    settling: int = 0
    sagging: str = ""
    links: Sequence[Element] = ()  # of the printed step
    ground: str = ""


@dataclass(frozen=True)
class Given:
    """A member of ft_sample that a step may read: its C type, its name in ft_step, and its name in ft_sample."""

    type: str
    name: str
    member: str


@dataclass(frozen=True)
class Turn:
    """A case of the switch statement that returns a rotating frame's angle."""

    label: str
    lines: list[str]


@dataclass(frozen=True)
class Sections:
    """Context of ft_step.c.j2, ft_step.h.j2 and ft_trig.h.j2, together with Form."""

    name: str
    step: str  # prefix of the functions
    STEP: str  # prefix of the include guard
    JOINTS: str  # name of the C constant for the number of joints
    m: str  # prefix of the names if there are several modes
    alone: bool  # true for the step of a whole mechanism, false for the tree of a closed mechanism
    sample: str  # type of a sample
    tree: bool  # a closed mechanism's
    displacement: bool
    shared: bool
    taken: list[Given]
    unused: list[str]  # parameters that the step does not use
    turns: list[Turn]
    frames: int
    components: int
    pairs: int
    radius: str
    uses_positions: int
    exact_turns: bool
    dry: bool  # true if passive joints have Coulomb friction
    intro: list[str]
    blocks: list[Block]


@dataclass(frozen=True)
class Sizes:
    """Context of ft_model.h.j2."""

    name: str
    joints: Sequence[Joint]
    tick_hz: int
    knot_hz: int
    ticks_per_knot: int
    units: list[str]
    tree: Sequence[Joint] = field(default=())  # joints of the open tree, if the host does not stream all of them
    modes: Sequence[tuple[int, int]] = field(default=())  # numbers of streamed joints and of all joints in each mode


STATE = {"turn": "s->", "flexible": "s->", "P": "s->"}


def render(model: Model) -> dict[str, str]:
    """Return the emitted files of an open tree's step, in the form with the fewest instructions."""
    return rendered(model, step_of(model))


HEADERS = ("ft_model.h", "ft_trig.h")


def headers(model: Model) -> dict[str, str]:
    """Return the emitted files that do not depend on the form of the step."""
    files = rendered(model, plain_step(model), "tree" if model.mechanism.constrained else "step")
    return {name: files[name] for name in HEADERS}


def rendered(model: Model, step: Step, name: str = "step", prefix: str = "") -> dict[str, str]:
    """Return {file name: text} of a step: ft_model.h, ft_trig.h, and ft_step.h and .c. name: part of the file names
    that replaces "step". prefix: prefix of the names if there are several modes."""
    frames = {j: i for i, j in enumerate(step.turning)}
    names = Names(STATE, units=[unit_of(b.prismatic) for b in model.bodies], frames=frames)
    radii = [] if isinstance(step, PrintedStep) else [step.reach[j] for j in frames]
    return write(
        model, step.graph, step.intro, names, [angle_of(step.tree, j) for j in frames], name, prefix,
        provenance=[comment(rows) for rows in provenance(step)],
        form=Form(
            printed=isinstance(step, PrintedStep),
            radii=[literal(r) for r in radii] if any(r != 1.0 for r in radii) else [],
            links=links(step) if isinstance(step, PrintedStep) and _reads(step, TABLE) else [],
            ground=row(step.ground) if isinstance(step, PrintedStep) and _reads(step, GROUNDS) else "",
        ))


def write(model: Model, graph: Graph, intro: list[str], names: Names, angles: list[str],
          name: str = "step", prefix: str = "", provenance: Sequence[list[str]] = (), *, form: Form) -> dict[str, str]:
    """Return the emitted files of a graph. names: C names of the graph's variables. angles: C expressions for the
    angles of its rotating frames. Pass a name other than "step" for an open tree with joints that the host does not
    stream."""
    control, inputs = model.mechanism.control, graph.inputs()
    blocks = Printer(graph, names, provenance).blocks
    tree, looped = name != "step", model.mechanism.constrained
    read = inputs | ({"q"} if angles else set())
    taken = [given for given in GIVEN if given.member in read]
    sections = Sections(
        name=model.mechanism.name,
        step=f"ft_{prefix}{name}",
        STEP=f"FT_{(prefix + name).upper()}",
        JOINTS=f"FT_{prefix.upper()}TREE_JOINTS" if tree else "FT_JOINTS",
        m=prefix,
        alone=not tree,
        sample=f"ft_{prefix}tree_sample" if looped else "ft_sample",
        tree=looped,
        displacement="w" in inputs,
        shared="r" in inputs,
        taken=taken,
        unused=([] if taken else ["next"]) + ([] if angles or inputs & STATE.keys() else ["s"]),
        turns=[Turn("default:" if i + 1 == len(angles) else f"case {i}:", wrapped_c(f"return {angle};", 80))
               for i, angle in enumerate(angles)],
        frames=len(angles),
        components=2 * len(angles),
        pairs=max(1, len(angles)),
        radius="ft_radius[i] * " if form.radii else "",
        uses_positions=int("q" in read),
        exact_turns=control.rate_hz < EXACT_BELOW_HZ,
        dry=any(is_passive(joint) and joint.friction.coulomb > 0.0 for joint in model.mechanism.moving),
        intro=intro, blocks=blocks,
    )
    context = vars(sections) | vars(form)
    own = f"ft_{prefix}{name}"
    return {
        "ft_model.h": model_header(model.mechanism, [body.joint for body in model.bodies] if tree else []),
        "ft_trig.h": template("ft_trig.h").render(context),
        f"{own}.h": template("ft_step.h").render(context),
        f"{own}.c": template("ft_step.c").render(context),
    }


def model_header(mechanism: Mechanism, tree: Sequence[Joint] = (), modes: Sequence[tuple[int, int]] = ()) -> str:
    """Return ft_model.h. The arguments are those of Sizes."""
    control = mechanism.control
    sizes = Sizes(
        name=mechanism.name, joints=mechanism.streamed, tree=tree, modes=modes,
        tick_hz=control.rate_hz, knot_hz=control.knot_hz, ticks_per_knot=control.rate_hz // control.knot_hz,
        units=["FT_METRE_UNIT" if j.type == "prismatic" else "FT_TURN_UNIT" for j in mechanism.streamed],
    )
    return template("ft_model.h").render(vars(sizes))


GIVEN = [Given("ft_turn", "q_next", "q"), Given("ft_real", "w", "w"), Given("ft_real", "u", "u"),
         Given("ft_real", "du", "du"), Given("ft_pair", "r", "r")]


def links(step: PrintedStep) -> list[Element]:
    """Return the rows of the table of links that a printed step uses."""
    rows: list[Element] = []
    for link, parameters in zip(step.links, provenance(step), strict=True):
        J = link.inertia * step.unit
        rows.append(Element(
            provenance=comment(parameters), M=literal(link.mass * step.unit),
            J=row([J[0, 0], J[1, 1], J[2, 2]]), K=row([J[0, 1], J[0, 2], J[1, 2]]), c=row(link.c), l=row(link.l),
            X=row(link.R[:, 0]), Y=row(link.R[:, 1]), Z=row(link.R[:, 2])))
    return rows


def _reads(step: PrintedStep, table: str) -> bool:
    """Return True if the step reads a table of constants."""
    return any(isinstance(e, Fixed) and e.place.array == table
               for e in (step.graph.nodes[i] for i in step.graph.live()[0]))


def row(x: Sequence[float] | NDArray[np.float64]) -> str:
    """Return the numbers of a table row as text."""
    return ", ".join(literal(tidy(float(value))) for value in x)


def angle_of(tree: Tree, j: int, array: str = "q") -> str:
    """Return C for the angle theta_j of body j in its group, in units of ft_angle. array: name of the positions."""
    terms = ""
    for i in tree.members(j):
        q = f"(ft_angle){array}[{i}]"
        if tree.bodies[i].sign > 0.0:
            terms += f" + {q}" if terms else q
        else:
            terms += f" - {q}" if terms else f"(ft_angle)0 - {q}"
    steps = round(tree.bodies[j].turn / (2.0 * np.pi) * 2**64) % 2**64
    if steps:
        short = ((steps + 2**31) >> 32) % 2**32
        terms += f" + FT_ANGLE(0x{short:08x}, 0x{steps:016x})"
    return terms
