"""The step that costs least: which frames, base parameters and unit of length the graph's own count prefers.

Gains of each idea, in executed instructions of a Cortex-M4F (assurance/bench/test_step_instructions.py gives the
total: planar-3 153, planar-8 355, UR5 309, PUMA560 374, Panda-7 670, of which some 50 are exact sines; figures below
are without these):

- nodal form for planar chains: planar-8 422 -> 308; sqrt(M) in the unit of length spares a multiplication per link;
- finding A again on the way in instead of keeping it: planar-8 308 -> 293;
- link vectors as the turning pairs of a group, gravity's direction apart from its size: UR5 283 -> 272, PUMA 354 ->
  339;
- choice of frames and base parameters by the graph's count: UR5 272 -> 257, Panda 659 -> 638, half of it by the unit of
  length;
- a difference and its opposite as one value: Panda 638 -> 632;
- one component instead of one pair made exact per tick, by one odd polynomial: 18 less in the worst tick;
- links kept apart (FT_KEEP_ORDER), branch after branch: Panda 632 -> 626, a random tree of 32 joints 8082 -> 5896;
- values that wait for the way in stored by name beyond 8 joints: random trees of 32 joints 5066 -> 4933, chains 6173 ->
  5860 (all of it copies from register to register), but UR5 259 -> 297: fewer joints keep them in registers.

The first links of a chain are the cheapest, since the base neither moves nor turns, and so is the last. One link more
costs 194 instructions (general axes) or 152 (twists of 0 and 90 degrees), the first four 122 and 69 each. It is not the
search: eight times as many trials save 0.4 % at 32 links. Nor is it the registers: arithmetic alone grows from 67 to
134 operations a link of a random tree between 4 and 32 links, twice as many, and instructions from 116 to 185, 1.6
times (newton-euler 86 to 160 and 150 to 226).

Ideas without a gain: second differences of the link vectors formed from those of u, in the nodal form, against its
noise: on a horizontal arm with three links the step errs by 6.9e-5 of peak at 1 kHz, of which 3.2e-5 are the roundings
of u itself, but six more instructions per link cost as much as scheme "newton-euler", given du; a staggered leapfrog,
with one rounding fewer per tick, would gain 10 %; the compiler's scheduling flags (-fno-schedule-insns is worth between
-1 % and 1 % once links are kept apart); D in the body's frame below some eight joints; common normals wherever they are
(those of nearly parallel axes are far away, and single precision's noise rises with the lever arms).
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import numpy as np

from femtorque import codegen
from femtorque.codegen.common import kept, key_of, put_off, sources
from femtorque.codegen.mechanism import canonical
from femtorque.codegen.model import Model
from femtorque.codegen.reference import is_planar
from femtorque.codegen.step.base_parameters import Choice, Tree, arrange
from femtorque.codegen.step.frames import FrameStep, Members
from femtorque.codegen.step.instant import InstantTorque
from femtorque.codegen.step.newton_euler import NewtonEulerStep
from femtorque.codegen.step.nodal import NodalStep
from femtorque.codegen.step.planar import PlanarStep
from femtorque.codegen.step.single_precision import PROMISE, error_of_peak
from femtorque.codegen.step.spatial import SpatialStep

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
FILE = "step.json"  # in the cache
MANY = 8  # with more joints than this fewer values should be kept from the way out to the way in: D in the body's frame


Step = PlanarStep | SpatialStep | NewtonEulerStep | NodalStep
Form = TypeVar("Form", bound=FrameStep)


def plain_step(model: Model, scheme: str, shared: Sequence[Members] = ()) -> Step:
    """The graph of the step of a scheme in its form, before anything is searched for."""
    if scheme == "nodal":
        return NodalStep(model, shared)
    if scheme != "newton-euler" and is_planar(model):
        planar = PlanarStep(model, arrange(model, (Choice(mass="parent"),) * model.n))
        if planar.turning:
            return planar
    tree = arrange(model, (Choice(D="body" if model.n > MANY else "frame"),) * model.n)
    return NewtonEulerStep(model, tree, shared) if scheme == "newton-euler" else SpatialStep(model, tree)


@put_off()
def step_of(model: Model, shared: Sequence[Members] = ()) -> Step:
    """The graph of the step in the form and under the choices that cost least."""
    first = plain_step(model, model.scheme, shared)
    if isinstance(first, PlanarStep | NodalStep):  # nothing to choose
        return first
    if isinstance(first, NewtonEulerStep):
        def euler(tree: Tree) -> NewtonEulerStep:
            return NewtonEulerStep(model, tree, shared)

        return _found_before(model, "newton-euler", shared, euler, lambda: cheapest(model, first, euler))

    def spatial(tree: Tree) -> SpatialStep:
        return SpatialStep(model, tree)

    return _found_before(model, "spatial", shared, spatial, lambda: _quieter(model, cheapest(model, first, spatial)))


def instant_of(model: Model, form: type[InstantTorque], shared: Sequence[Members] = ()) -> InstantTorque:
    """The graph of torques at one instant under the choices that cost least. form: with motion, or at rest."""
    def made(tree: Tree) -> InstantTorque:
        return form(model, tree, shared)

    return _found_before(model, form.__name__, shared, made, lambda: cheapest(model, made(arrange(model)), made))


def _found_before(model: Model, what: str, shared: Sequence[Members], make: Callable[[Tree], Form],
                  search: Callable[[], Form]) -> Form:
    """Result of a search. The user's cache keeps the choices under the mechanism and the code that found them."""
    key = key_of("step", what, canonical(model.mechanism), str(EFFORT), repr([list(map(tuple, m)) for m in shared]),
                 np.__version__, *sources(Path(codegen.__file__).parent, "*.py"))

    def write(entry: Path) -> None:
        tree = search().tree
        found = {"choices": [vars(choice) for choice in tree.choices], "length": tree.length}
        (entry / FILE).write_text(json.dumps(found), encoding="utf-8")

    def read(entry: Path) -> Tree:
        found = json.loads((entry / FILE).read_text(encoding="utf-8"))
        return arrange(model, tuple(Choice(**choice) for choice in found["choices"]), found["length"])

    def whole(entry: Path) -> bool:
        try:
            return len(read(entry).bodies) == model.n
        except (OSError, ValueError, TypeError, KeyError):
            return False

    try:
        return make(read(kept(key, write, whole)))
    except OSError:  # nowhere to keep it
        return search()


def cheapest(model: Model, first: Form, make: Callable[[Tree], Form]) -> Form:
    """Cheapest graph, in instructions, among those that `make` forms of a tree; `first` is the first candidate.

    The choices are tried joint by joint, one at a time, and kept if the graph's own count of instructions falls; then
    the unit of length, which is one of the mechanism's own offsets, whose products vanish.
    """
    best, choices, length = first, first.tree.choices, first.tree.length
    cost, effort = best.graph.cost(), model.n

    def better(new_choices: tuple[Choice, ...], new_length: float) -> bool:
        nonlocal best, cost, choices, length, effort
        if effort + model.n > EFFORT:
            return False
        effort += model.n
        step = make(arrange(model, new_choices, new_length))
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
    return best


def _quieter(model: Model, best: SpatialStep) -> SpatialStep:
    """Other frames at the same cost, if single precision misses its promise with these on a motion tried.

    Roundings are of random sign: Panda, 1.15e-4 of peak on one of them, 7.8e-5 with the regrouping about x at one
    joint.
    """
    if not TRIED_BELOW_HZ >= model.mechanism.control.rate_hz or model.n > MANY or model.mechanism.constrained:
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
