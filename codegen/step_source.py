"""Emission of the feed-forward step: ft_model.h, ft_trig.h, ft_step.h, ft_step.c for any model.

The recursions of step/planar.py or step/spatial.py run once, on expressions instead of numbers (step/graph.py), over
the frames and base parameters of step/base_parameters.py; what is live in the end is printed (step/c_text.py).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from textwrap import wrap as fill

import numpy as np

from codegen.mechanism import Joint, Mechanism
from codegen.model import Model
from codegen.step.base_parameters import Tree
from codegen.step.c_text import NEVER, blocks_of, literal, wrap
from codegen.step.frames import Members
from codegen.step.graph import Graph
from codegen.step.newton_euler import NewtonEulerStep
from codegen.step.planar import PlanarStep
from codegen.step.search import MANY, Step, plain_step, step_of
from codegen.step.single_precision import EXACT_BELOW_HZ
from codegen.templating import template

FAR = 4  # blocks: what a long function needs again later than that waits in memory


def render(model: Model, name: str = "step", shared: Sequence[Members] = ()) -> dict[str, str]:
    """The emitted files of the step, by name: ft_model.h, ft_trig.h, ft_step.h and .c, or those of another `name`.

    shared: angles whose sines and cosines closed loops have formed already, see FrameStep.

    control.trig: "tick" makes one component of one turning frame exact in every tick, in rotation; "knot" leaves all of
    them to the caller, at every knot: ft_step_pairs forms them outside the tick, ft_step_take hands them over.
    """
    return _rendered(model, step_of(model, shared), name)


HEADERS = ("ft_model.h", "ft_trig.h")


def headers(model: Model) -> dict[str, str]:
    """Of the emitted files those that say nothing of the step itself."""
    files = _rendered(model, plain_step(model, model.scheme), "tree" if model.mechanism.loops else "step")
    return {name: files[name] for name in HEADERS}


def _rendered(model: Model, step: Step, name: str) -> dict[str, str]:
    planar = isinstance(step, PlanarStep)
    far = FAR if model.n > MANY and not planar else NEVER
    indices = {j: i for i, j in enumerate(step.turning)}
    radii = [step.reach[j] * (step.length_unit if isinstance(step, PlanarStep) else 1.0) for j in indices]
    return write(
        model, step.graph, step.intro, indices, [_angle(step.tree, j) for j in indices], step.uses_positions, far, name,
        planar=planar,
        euler=isinstance(step, NewtonEulerStep),
        array="link" if planar else "turn",
        parts="xy" if planar else "cs",
        frame="link vector" if planar else "turning frame",
        radius_unit="m times sqrt(M) / tick" if planar else f"m / {step.tree.length:.9g}",
        radii=[literal(r) for r in radii] if any(r != 1.0 for r in radii) else [],
    )


def write(model: Model, graph: Graph, intro: list[str], indices: dict[int, int], angles: list[str],
          uses_positions: bool, far: int = NEVER, name: str = "step", **form: object) -> dict[str, str]:
    """The emitted files of a graph. indices: of turning frames by joint; angles: the C of their angles; form: what
    the templates ask of the form of the step. With another name than "step" it is that of an open tree, whose joints
    are not all streamed."""
    control = model.mechanism.control

    def with_index(line: str) -> str:
        j = int(line.split("[@")[1].split("]")[0]) if "[@" in line else None
        return line if j is None else line.replace(f"[@{j}]", f"[{indices[j]}]")

    read = [graph.nodes[i].text for i in graph.live()[0]]

    def reads(name: str) -> bool:
        return any(text.startswith(name) for text in read)

    blocks = blocks_of(graph, with_index, far)
    turns = [wrap(f"return {angle};", 80) for angle in angles]
    closed = name != "step"
    shared = dict(
        name=model.mechanism.name,
        step=f"ft_{name}",
        STEP=f"FT_{name.upper()}",
        JOINTS="FT_TREE_JOINTS" if closed else "FT_JOINTS",
        closed=closed,
        shares=reads("r["),
        uses_ways=reads("w["),
        taken=[name for name, text in (("u", r"\bu\["), ("du", r"\bdu\["), ("s", r"\bs->")) if any(
            re.search(text, line) for block in blocks for line in block.lines)],
        turns=turns,
        rotate=control.trig == "tick" and bool(turns),
        at_knots=control.trig == "knot" and bool(turns),
        exact_turns=control.rate_hz < EXACT_BELOW_HZ,
    ) | RIGID | form
    files: dict[str, dict[str, object]] = {
        "ft_model.h": sizes(model.mechanism, [body.joint for body in model.bodies] if closed else []),
        "ft_trig.h": {},
        f"ft_{name}.h": dict(uses_positions=uses_positions),
        f"ft_{name}.c": dict(
            intro=intro,
            blocks=blocks,
            kept=[fill(f"ft_real {', '.join(block.kept)};", 72, subsequent_indent="    ") for block in blocks if block.kept],
            uses_positions=uses_positions,
        ),
    }
    return {file: template(file.replace(f"ft_{name}.", "ft_step.")).render(**shared, **values)
            for file, values in files.items()}


def sizes(mechanism: Mechanism, tree: Sequence[Joint] = (), modes: Sequence[tuple[int, int]] = ()) -> dict[str, object]:
    """What ft_model.h says. tree: its joints, where not all are streamed; modes: streamed and all joints of each."""
    control = mechanism.control
    return dict(
        joints=mechanism.streamed, tree=tree, modes=modes,
        tick_hz=control.rate_hz, knot_hz=control.knot_hz, ticks_per_knot=control.rate_hz // control.knot_hz,
        units=["FT_METRE_UNIT" if j.type == "prismatic" else "FT_TURN_UNIT" for j in mechanism.streamed],
    )


RIGID = dict(planar=False, euler=False, flexible=False, array="turn", parts="cs", frame="turning frame",
             radius_unit="", radii=[])

def _angle(tree: Tree, j: int) -> str:
    """C of the angle of body j in its group's frame, theta_j, in units of ft_angle."""
    terms = ""
    for i in tree.members(j):
        q = f"(ft_angle)q[{i}]"
        if tree.bodies[i].sign > 0.0:
            terms += f" + {q}" if terms else q
        else:
            terms += f" - {q}" if terms else f"(ft_angle)0 - {q}"
    steps = round(tree.bodies[j].turn / (2.0 * np.pi) * 2**64) % 2**64
    if steps:
        short = ((steps + 2**31) >> 32) % 2**32
        terms += f" + FT_ANGLE(0x{short:08x}, 0x{steps:016x})"
    return terms
