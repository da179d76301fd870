"""The search for the step with the fewest instructions, over frames, base parameters and unit of length.

The search tries the choices of a joint one at a time. The C separates the code of links (FT_KEEP_ORDER), branch after
branch, so that a compiler needs fewer registers. A further link costs more in a long chain than in a short chain,
because the first links and the last link need the fewest instructions. assurance/bench/test_step_instructions.py has
the totals.

Two options gave no advantage. The compiler's scheduling flags did not save instructions. Common normals of nearly
parallel axes are far away, and the noise of single precision increases with these lever arms."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import numpy as np

from femtorque import codegen
from femtorque.codegen.common import kept, key_of, put_off, sources
from femtorque.codegen.mechanism import canonical
from femtorque.codegen.model import GROUND, Model
from femtorque.codegen.step.base_parameters import Choice, Tree, arrange
from femtorque.codegen.step.frames import FrameStep, Members
from femtorque.codegen.step.instant import InstantTorque
from femtorque.codegen.step.nodal import NodalStep
from femtorque.codegen.step.printed import PrintedStep

OPTIONS = {
    "origin": ("parent", "child", "given"),
    "mass": ("own", "parent"),
    "kappa": ("yy", "xx", "zz"),
    "axes": ("frame", "body"),
}
PASSES = 2
EFFORT = 420  # maximum number of bodies in one search; the search then takes about half a second
FILE = "step.json"  # in the cache

Step = NodalStep | PrintedStep
Form = TypeVar("Form", bound=FrameStep)


def plain_step(model: Model, shared: Sequence[Members] = ()) -> Step:
    """Return the graph of the step before any search."""
    if model.scheme == "printed":
        return PrintedStep(model, shared)
    return NodalStep(model, arrange(model), shared)


@put_off()
def step_of(model: Model, shared: Sequence[Members] = ()) -> Step:
    """Return the graph of the step with the choices that need the fewest instructions."""
    first = plain_step(model, shared)
    if isinstance(first, PrintedStep):  # nothing to choose
        return first

    def made(tree: Tree) -> NodalStep:
        return NodalStep(model, tree, shared)

    return _found_before(model, "nodal", shared, made, lambda: cheapest(model, first, made))


def instant_of(model: Model, form: type[InstantTorque], shared: Sequence[Members] = ()) -> InstantTorque:
    """Return the graph of torques at an instant with the fewest instructions. form: torques in motion, or torques at
    rest."""
    def made(tree: Tree) -> InstantTorque:
        return form(model, tree, shared)

    return _found_before(model, form.__name__, shared, made, lambda: cheapest(model, made(arrange(model)), made))


def _found_before(model: Model, what: str, shared: Sequence[Members], make: Callable[[Tree], Form],
                  search: Callable[[], Form]) -> Form:
    """Return the result of a search.

    The user's cache stores the result. The key of the result covers the mechanism and the code of the search."""
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
    """Return the graph with the fewest instructions of all graphs that `make` builds from a tree. first: the first
    candidate.

    The search tries the choices one at a time, joint by joint. The search keeps a choice if the graph has fewer
    instructions. The search then tries the mechanism's offsets as the unit of length, because products with the chosen
    offset then disappear."""
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
                    if value != getattr(choices[j], name) and _matters(first.tree, j, name):
                        new = replace(choices[j], **{name: value})
                        improved |= better((*choices[:j], new, *choices[j + 1 :]), length)
        if not any(b.prismatic for b in model.bodies):
            lengths = {f"{abs(x):.12g}" for b in best.tree.bodies for x in b.offset if x}
            if all(map(best.tree.is_upright, range(model.n))):  # a mass is 1 then
                lengths |= {f"{0.5 * model.dt / abs(b.mass) ** 0.5:.15g}" for b in best.tree.bodies if b.mass}
            for unit in sorted(map(float, lengths)):
                improved |= better(choices, unit)
        if not improved:
            break
    return best


def _matters(tree: Tree, j: int, option: str) -> bool:
    """Return True if a choice for a joint can change the graph."""
    b = tree.bodies[j]
    if b.prismatic or option == "origin":
        return not b.prismatic and not b.continues
    return b.parent != GROUND if option == "mass" else not tree.is_upright(j)
