"""Emission of the feed-forward step: ft_model.h, ft_trig.h, ft_step.h, ft_step.c for any model.

The recursions of step/planar.py or step/spatial.py run once, on expressions instead of numbers (step/graph.py), over
the frames and base parameters of step/base_parameters.py; what is live in the end is printed (step/c_text.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap as fill

import numpy as np
from numpy.typing import NDArray

from femtorque.codegen.common.templating import template
from femtorque.codegen.mechanism.description import Joint, Mechanism
from femtorque.codegen.model.bodies import Model
from femtorque.codegen.step.base_parameters import Tree
from femtorque.codegen.step.c_text import NEVER, Names, Printer, literal, unit_of, wrap
from femtorque.codegen.step.frames import tidy
from femtorque.codegen.step.graph import Fixed, Graph
from femtorque.codegen.step.made_of import comment, made_of
from femtorque.codegen.step.newton_euler import NewtonEulerStep
from femtorque.codegen.step.nodal import GROUNDS, TABLE, NodalStep
from femtorque.codegen.step.planar import PlanarStep
from femtorque.codegen.step.search import MANY, Step, plain_step, step_of
from femtorque.codegen.step.single_precision import EXACT_BELOW_HZ

STATE = {"X": "s->", "turn": "s->", "link": "s->", "flexible": "s->", "P": "s->"}
FAR = 4  # blocks: what a long function needs again later than that waits in memory


def render(model: Model) -> dict[str, str]:
    """The emitted files of the cheapest step of an open tree."""
    return rendered(model, step_of(model))


HEADERS = ("ft_model.h", "ft_trig.h")


def headers(model: Model) -> dict[str, str]:
    """Of the emitted files those that say nothing of the step itself."""
    files = rendered(model, plain_step(model, model.scheme), "tree" if model.mechanism.constrained else "step")
    return {name: files[name] for name in HEADERS}


def rendered(model: Model, step: Step, name: str = "step", prefix: str = "") -> dict[str, str]:
    """The emitted files of a step, by name: ft_model.h, ft_trig.h, ft_step.h and .c, or those of another `name`.

    prefix: of the names of one of several modes.

    control.trig: "tick" makes one component of one turning frame exact in every tick, in rotation; "knot" leaves all of
    them to the caller, at every knot: ft_step_pairs forms them outside the tick, ft_step_take hands them over.
    """
    planar = isinstance(step, PlanarStep)
    far = FAR if model.n > MANY and not planar else NEVER
    frames = {j: i for i, j in enumerate(step.turning)}
    names = Names(STATE, units=[unit_of(b.prismatic) for b in model.bodies], frames=frames)
    radii = [step.reach[j] * (step.length_unit if isinstance(step, PlanarStep) else 1.0) for j in frames]
    return write(
        model, step.graph, step.intro, names, [angle_of(step.tree, j) for j in frames], far, name, prefix,
        made_of=[comment(rows) for rows in made_of(step)],
        planar=planar,
        euler=isinstance(step, NewtonEulerStep),
        **(nodes(step) if isinstance(step, NodalStep) else {}),
        array="link" if planar else "turn",
        parts="xy" if planar else "cs",
        frame="link vector" if planar else "turning frame",
        radius_unit="m times sqrt(M) / tick" if planar else f"m / {step.tree.length:.9g}",
        radii=[literal(r) for r in radii] if any(r != 1.0 for r in radii) else [],
    )


def write(model: Model, graph: Graph, intro: list[str], names: Names, angles: list[str], far: int = NEVER,
          name: str = "step", prefix: str = "", made_of: Sequence[list[str]] = (), **form: object) -> dict[str, str]:
    """The emitted files of a graph. names: what C calls its places; angles: the C of its turning frames' angles; form:
    what the templates ask of the form of the step. With another name than "step" it is that of an open tree, whose
    joints are not all streamed."""
    control, inputs = model.mechanism.control, graph.inputs()
    blocks = Printer(graph, names, far, made_of).blocks
    tree, looped = name != "step", model.mechanism.constrained
    form = RIGID | form
    rotate = control.trig == "tick" and bool(angles)
    kept = [fill(f"ft_real {', '.join(block.kept)};", 72, subsequent_indent="    ") for block in blocks if block.kept]
    read = inputs | ({"q"} if rotate else set())
    taken = [given for given in GIVEN if given["member"] in read]
    sections = dict(
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
        unused=([] if taken else ["next"]) + ([] if rotate or inputs & STATE.keys() else ["s"]),
        turns=[dict(label="default:" if i + 1 == len(angles) else f"case {i}:", lines=wrap(f"return {angle};", 80))
               for i, angle in enumerate(angles)],
        frames=len(angles),
        components=2 * len(angles),
        pairs=max(1, len(angles)),
        rotate=rotate,
        radius="ft_radius[i] * " if form["radii"] else "",
        at_knots=int(control.trig == "knot" and bool(angles)),
        uses_positions=int("q" in read),
        uses_changes=int(bool(form["euler"] or form["nodal"])),
        primed=form["flexible"] or not (form["euler"] or form["planar"] or form["nodal"]),
        momenta=not form["planar"] and not form["euler"] and not form["nodal"],
        empty=form["euler"] and not (rotate or angles or form["flexible"]),
        exact_turns=control.rate_hz < EXACT_BELOW_HZ,
        intro=intro, blocks=blocks, kept=kept, clobbers='"+m"(kept) ' if kept else "",
    ) | form
    own = f"ft_{prefix}{name}"
    return {
        "ft_model.h": template("ft_model.h").render(
            **sizes(model.mechanism, [body.joint for body in model.bodies] if tree else []), name=model.mechanism.name),
        "ft_trig.h": template("ft_trig.h").render(sections),
        f"{own}.h": template("ft_step.h").render(sections),
        f"{own}.c": template("ft_step.c").render(sections),
    }


def sizes(mechanism: Mechanism, tree: Sequence[Joint] = (), modes: Sequence[tuple[int, int]] = ()) -> dict[str, object]:
    """What ft_model.h says. tree: its joints, where not all are streamed; modes: streamed and all joints of each."""
    control = mechanism.control
    return dict(
        joints=mechanism.streamed, tree=tree, modes=modes,
        tick_hz=control.rate_hz, knot_hz=control.knot_hz, ticks_per_knot=control.rate_hz // control.knot_hz,
        units=["FT_METRE_UNIT" if j.type == "prismatic" else "FT_TURN_UNIT" for j in mechanism.streamed],
    )


GIVEN = [dict(type="ft_turn", name="q_next", member="q"), dict(type="ft_real", name="w", member="w"),
         dict(type="ft_real", name="u", member="u"), dict(type="ft_real", name="du", member="du"),
         dict(type="ft_pair", name="r", member="r")]
RIGID = dict(planar=False, euler=False, flexible=False, nodal=False, array="turn", parts="cs", frame="turning frame",
             radius_unit="", radii=[], what="rigid mechanism", settling=0, sagging="")


def nodes(step: NodalStep) -> dict[str, object]:
    """What the templates ask of a step by nodal forces: the table of its links."""
    rows = []
    for link, parameters in zip(step.links, made_of(step), strict=True):
        J = link.inertia * step.unit
        rows.append(dict(
            made_of=comment(parameters), M=literal(link.mass * step.unit),
            J=row([J[0, 0], J[1, 1], J[2, 2]]), K=row([J[0, 1], J[0, 2], J[1, 2]]), c=row(link.c), l=row(link.l),
            X=row(link.R[:, 0]), Y=row(link.R[:, 1]), Z=row(link.R[:, 2])))
    read = {e.place.array for i in step.graph.live()[0] if isinstance(e := step.graph.nodes[i], Fixed)}
    return dict(nodal=True, links=rows if TABLE in read else [], ground=row(step.ground) if GROUNDS in read else "")


def row(x: Sequence[float] | NDArray[np.float64]) -> str:
    """Numbers of a table."""
    return ", ".join(literal(tidy(float(value))) for value in x)


def angle_of(tree: Tree, j: int, array: str = "q") -> str:
    """C of the angle of body j in its group's frame, theta_j, in units of ft_angle. array: of whole positions."""
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
