"""Which scheme a mechanism gets whose file names none: the midpoint rule, or Newton-Euler where that is too noisy.

The midpoint rule takes the difference of two momenta, so single precision errs by a few roundings of |p|/dt, whatever
the torque is (noise_floor.py). How much that is of a motion's peak torque is measured on the very graph that would be
emitted, in float32, on random motions of a second within the mechanism's limits. Over 120 random chains the worst of 64
motions errs by two to five times the mean: hence the mean must stay below a QUARTER of the promised error. Newton-Euler
errs by some 1e-6 (newton_euler.py). If it takes more than COST_RATIO_LIMIT times the instructions, the midpoint rule
stays up to a mean of HALF the promise; one or two motions in a hundred then miss it. None of those tried may: they are
the ones that `verify` plays first. If Newton-Euler takes fewer instructions, as for a single joint, there is nothing to
weigh. The choice is made once: the user's cache keeps it under the mechanism and the code that made it.
"""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from femtorque import codegen
from femtorque.codegen.common import kept, key_of, put_off, sources
from femtorque.codegen.mechanism import Mechanism, canonical
from femtorque.codegen.model import Model
from femtorque.codegen.step.planar import PlanarStep
from femtorque.codegen.step.search import plain_step
from femtorque.codegen.step.single_precision import PROMISE, error_of_peak
from femtorque.codegen.step.spatial import SpatialStep

QUARTER, HALF = 0.25 * PROMISE, 0.5 * PROMISE
COST_RATIO_LIMIT = 1.3  # instructions of newton-euler over those of midpoint
MOTIONS = 12
FILE = "scheme.json"  # in the cache


@dataclass(frozen=True)
class Chosen:
    """scheme: the answer. noise, worst: of the midpoint rule, the worst error of a motion, of its peak torque, mean and
    worst of the motions tried; fewer are tried where it is too noisy anyway. price: instructions of Newton-Euler over
    those of the midpoint rule, by the graphs' own counts. bound: what the mean was held against."""

    scheme: str
    noise: float
    worst: float
    price: float
    bound: float

    def __str__(self) -> str:
        if self.price <= 1.0:
            return f"{self.scheme}, chosen: it takes {self.price:.2f} times the instructions of midpoint"
        return (f"{self.scheme}, chosen: with midpoint single precision errs by {self.noise:.1e} of peak in the mean "
                f"of "
                f"random motions, {self.worst:.1e} in the worst ({self.bound:.1e} and {PROMISE:.1e} are allowed); "
                f"newton-euler takes {self.price:.2f} times the instructions")


def chosen(mechanism: Mechanism) -> Chosen | None:
    """How the scheme of a mechanism is chosen, once for all; None where there is no choice
    (Mechanism.settled_scheme)."""
    return None if mechanism.settled_scheme is not None else _known(canonical(mechanism), mechanism)


_here: dict[str, Chosen] = {}  # what this process knows, by the mechanism's canonical text


def _known(text: str, mechanism: Mechanism) -> Chosen:
    """From this process, from the user's cache, or chosen now and kept in both."""
    if text not in _here:
        key = key_of("scheme", text, np.__version__, *sources(Path(codegen.__file__).parent, "*.py"))
        try:
            entry = kept(key, lambda folder: _write(folder, choose(mechanism)), _whole)
            _here[text] = _read(entry)
        except OSError:  # nowhere to keep it
            _here[text] = choose(mechanism)
    return _here[text]


def _write(entry: Path, choice: Chosen) -> None:
    (entry / FILE).write_text(json.dumps(vars(choice)), encoding="utf-8")


def _read(entry: Path) -> Chosen:
    return Chosen(**json.loads((entry / FILE).read_text(encoding="utf-8")))


def _whole(entry: Path) -> bool:
    try:
        return bool(_read(entry))
    except (OSError, ValueError, TypeError):
        return False


def scheme_of(mechanism: Mechanism) -> str:
    """The scheme that is emitted: midpoint, newton-euler or nodal."""
    choice = chosen(mechanism)
    return choice.scheme if choice is not None else mechanism.settled_scheme or "midpoint"


def model_of(mechanism: Mechanism) -> Model:
    """The mechanism's model, its scheme chosen where the file leaves it open: what is emitted and played."""
    return Model.of(mechanism, scheme_of(mechanism))


@put_off()
def choose(mechanism: Mechanism) -> Chosen:
    """For a mechanism whose file leaves it open. Deterministic."""
    model = Model.of(mechanism)
    if not model.n:
        return Chosen("midpoint", 0.0, 0.0, 1.0, HALF)
    midpoint = plain_step(model, "midpoint")
    assert isinstance(midpoint, PlanarStep | SpatialStep)
    price = plain_step(model, "newton-euler").graph.cost() / midpoint.graph.cost()
    bound = HALF if price > COST_RATIO_LIMIT else QUARTER if price > 1.0 else 0.0
    total = worst = 0.0
    for i in range(MOTIONS):
        noise = error_of_peak(model, midpoint, i)
        total, worst = total + noise, max(worst, noise)
        if total > bound * MOTIONS or worst > PROMISE:
            return Chosen("newton-euler", total / (i + 1), worst, price, bound)
    return Chosen("midpoint", total / MOTIONS, worst, price, bound)
