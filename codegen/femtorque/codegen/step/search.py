"""The search for the cheapest step: frames, base parameters and unit of length, by the graph's own count.

Gains of each idea, in executed instructions of a Cortex-M4F without the exact sines
(assurance/bench/test_step_instructions.py has the totals):

- nodal form for planar chains: planar-8 422 -> 308; finding A again on the way in instead of keeping it: -> 293; - link
vectors as the turning pairs of a group, gravity's direction apart from its size: UR5 283 -> 272; - choice of frames and
base parameters: UR5 272 -> 257, Panda 659 -> 638, half of it by the unit of length; - a difference and its opposite as
one value: Panda 638 -> 632; - one component instead of one pair made exact per tick, by one odd polynomial: 18 less in
the worst tick; - links kept apart (FT_KEEP_ORDER), branch after branch: Panda 632 -> 626, a random tree of 32 joints
8082 -> 5896; - values that wait for the way in stored by name, beyond 8 joints only: random trees of 32 joints 5066 ->
4933.

A further link of a long chain costs more than one of a short chain, because the first links and the last are cheapest.
Eight times as many trials save only 0.4 % at 32 links.

Ideas without a gain: second differences of the link vectors from those of u (they cost as much as "newton-euler");
scheduling flags of the compiler; D in the body's frame below some eight joints; common normals of nearly parallel axes
(they are far away, and the noise of single precision rises with the lever arms).
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
TRIED, NEARLY = 3, 0.9  # random motions on which the step is tried, and the share of the promise that they may use
TRIED_BELOW_HZ = 2000  # faster ticks are too noisy for the midpoint rule with any frames
PASSES = 2
EFFORT = 600  # bodies formed in one search at most: about half a second
FILE = "step.json"  # in the cache
MANY = 8  # with more joints, D in the body's frame keeps fewer values from the way out to the way in


Step = PlanarStep | SpatialStep | NewtonEulerStep | NodalStep
Form = TypeVar("Form", bound=FrameStep)


def plain_step(model: Model, scheme: str, shared: Sequence[Members] = ()) -> Step:
    """Return the graph of a scheme's step before any search."""
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
    """Return the graph of the step with the form and the choices that cost least."""
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
    """Return the graph of torques at one instant with the choices that cost least. form: with motion, or at rest."""
    def made(tree: Tree) -> InstantTorque:
        return form(model, tree, shared)

    return _found_before(model, form.__name__, shared, made, lambda: cheapest(model, made(arrange(model)), made))


def _found_before(model: Model, what: str, shared: Sequence[Members], make: Callable[[Tree], Form],
                  search: Callable[[], Form]) -> Form:
    """Return the result of a search. The user's cache keeps it under the mechanism and the code that found it."""
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
    """Return the cheapest graph, in instructions, that `make` forms of a tree; `first` is the first candidate. The
    choices are tried joint by joint, one at a time, and kept if the graph's own count of instructions falls. Then the
    unit of length is tried: one of the mechanism's own offsets, whose products then vanish."""
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
    """Return other frames at the same cost if single precision misses its promise with these on a motion tried.
    Roundings have random signs. On one motion, Panda errs by 1.15e-4 of peak, and by 7.8e-5 with one joint regrouped
    about x."""
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
