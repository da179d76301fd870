"""Emission of the feed-forward step: ft_model.h, ft_trig.h, ft_step.h, ft_step.c for any model.

The recursions of step/planar.py or step/spatial.py run once, on expressions instead of numbers (step/graph.py), over
the frames and base parameters of step/base_parameters.py; what is live in the end is printed (step/c_text.py).

What each idea is worth, in executed instructions of a Cortex-M4F (tests/bench/test_step_instructions.py measures the
total: planar-3 102, planar-8 291, UR5 259, PUMA560 324, Panda-7 626 without exact sines, about 50 more with):

- nodal form for planar chains: planar-8 422 -> 308; sqrt(M) in the unit of length spares a multiplication a link;
- finding A again on the way in instead of keeping it: planar-8 308 -> 293;
- link vectors as the turning pairs of a group, gravity's direction apart from its size: UR5 283 -> 272, PUMA 354 ->
  339;
- choice of frames and base parameters by the graph's count: UR5 272 -> 257, Panda 659 -> 638, half of it by the unit of
  length;
- a difference and its opposite as one value: Panda 638 -> 632;
- one component instead of one pair made exact a tick, by one odd polynomial: 18 less in the worst tick;
- links kept apart (FT_KEEP_ORDER), branch after branch: Panda 632 -> 626, a random tree of 32 joints 8082 -> 5896;
- values that wait for the way in stored by name beyond 8 joints: random trees of 32 joints 5066 -> 4933, chains 6173 ->
  5860 (all of it copies from register to register), but UR5 259 -> 297: fewer joints keep them in registers.

The first links of a chain are the cheapest, since the base neither moves nor turns, and so is the last. One link more
costs 194 instructions (general axes) or 152 (twists of 0 and 90 degrees), the first four 122 and 69 each. It is not the
search: eight times as many trials save 0.4 % at 32 links. Nor is it the registers: arithmetic alone grows from 67 to 134
operations a link of a random tree between 4 and 32 links, twice as many, and instructions from 116 to 185, 1.6 times
(newton-euler 86 to 160 and 150 to 226).

What did not pay: second differences of the link vectors formed from those of u, in the nodal form, against its noise: on
a horizontal arm with three links the step errs by 6.9e-5 of peak at 1 kHz, of which 3.2e-5 are the roundings of u
itself, but six instructions more a link cost as much as scheme "newton-euler", which is told du; a staggered
leapfrog, with one rounding less a tick, would gain a tenth; the compiler's scheduling flags (-fno-schedule-insns is worth between -1 % and 1 % once links are
kept apart); D in the body's frame below some eight joints; common normals wherever they are (those of nearly parallel
axes are far away, and single precision's noise rises with the lever arms).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from textwrap import wrap as fill

import numpy as np

from codegen.discretisation import is_planar
from codegen.mechanism import Joint, Mechanism
from codegen.model import Model
from codegen.step.base_parameters import Choice, Tree, arrange
from codegen.step.c_text import NEVER, blocks_of, literal, wrap
from codegen.step.frames import Members
from codegen.step.graph import Graph
from codegen.step.newton_euler import NewtonEulerStep
from codegen.step.planar import PlanarStep
from codegen.step.single_precision import EXACT_BELOW_HZ, PROMISE, error_of_peak
from codegen.step.spatial import SpatialStep
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

OPTIONS = {
    "origin": ("parent", "child", "given"),
    "mass": ("own", "parent"),
    "kappa": ("yy", "xx"),
    "D": ("frame", "body"),
}
TRIED, NEARLY = 3, 0.9  # random motions that the step is tried on, and how near to the promise it may come on them
TRIED_BELOW_HZ = 2000  # faster ticks are too noisy for the midpoint rule with any frames
PASSES = 2
EFFORT = 600  # bodies that are worked through at most while searching: about half a second
MANY = 8  # with more joints than this fewer values should be kept from the way out to the way in: D in the body's frame


Step = PlanarStep | SpatialStep | NewtonEulerStep


def plain_step(model: Model, scheme: str, shared: Sequence[Members] = ()) -> Step:
    """The graph of the step of a scheme in its form, before anything is searched for."""
    if scheme != "newton-euler" and is_planar(model):
        planar = PlanarStep(model, arrange(model, (Choice(mass="parent"),) * model.n))
        if planar.turning:
            return planar
    tree = arrange(model, (Choice(D="body" if model.n > MANY else "frame"),) * model.n)
    return NewtonEulerStep(model, tree, shared) if scheme == "newton-euler" else SpatialStep(model, tree)


def step_of(model: Model, shared: Sequence[Members] = ()) -> Step:
    """The graph of the step in the form and under the choices that cost least.

    The choices are tried joint by joint, one at a time, and kept if the graph's own count of instructions falls; then
    the unit of length, which is one of the mechanism's own offsets, whose products vanish.
    """
    best = plain_step(model, model.scheme, shared)
    if isinstance(best, PlanarStep):
        return best
    euler, choices, length = isinstance(best, NewtonEulerStep), best.tree.choices, best.tree.length
    cost, effort = best.graph.cost(), model.n

    def better(new_choices: tuple[Choice, ...], new_length: float) -> bool:
        nonlocal best, cost, choices, length, effort
        if effort + model.n > EFFORT:
            return False
        effort += model.n
        tree = arrange(model, new_choices, new_length)
        step = NewtonEulerStep(model, tree, shared) if euler else SpatialStep(model, tree)
        new_cost = step.graph.cost()
        if new_cost >= cost:
            return False
        best, cost, choices, length = step, new_cost, new_choices, new_length
        return True

    for _ in range(PASSES):
        improved = False
        for name, values in OPTIONS.items():
            for j in reversed(range(model.n)):
                for value in values:
                    if value != getattr(choices[j], name):
                        new = replace(choices[j], **{name: value})
                        improved |= better((*choices[:j], new, *choices[j + 1 :]), length)
        if not any(b.prismatic for b in model.bodies):
            for offset in sorted({float(f"{abs(x):.12g}") for b in best.tree.bodies for x in b.offset if x}):
                improved |= better(choices, offset)
        if not improved:
            break
    return _quieter(model, best) if isinstance(best, SpatialStep) else best


def _quieter(model: Model, best: SpatialStep) -> SpatialStep:
    """Other frames at the same cost, if single precision misses its promise with these on a motion tried.

    Roundings are of random sign: Panda, 1.15e-4 of peak on one of them, 7.8e-5 with the regrouping about x at one joint.
    """
    if not TRIED_BELOW_HZ >= model.mechanism.control.rate_hz or model.n > MANY or model.mechanism.loops:
        return best

    def worst(step: SpatialStep) -> float:
        return max(error_of_peak(model, step, number) for number in range(TRIED))

    error, cost = worst(best), best.graph.cost()
    for j in range(model.n):
        if error <= NEARLY * PROMISE:
            break
        kappa = "xx" if best.tree.choices[j].kappa == "yy" else "yy"
        new = (*best.tree.choices[:j], replace(best.tree.choices[j], kappa=kappa), *best.tree.choices[j + 1 :])
        step = SpatialStep(model, arrange(model, new, best.tree.length))
        if step.graph.cost() <= cost and (quieter := worst(step)) < error:
            best, error = step, quieter
    return best


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
