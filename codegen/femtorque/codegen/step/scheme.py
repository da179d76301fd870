"""The choice of scheme for a file that names none: the midpoint rule, or Newton-Euler where that is too noisy.

The midpoint rule takes the difference of two momenta. Single precision therefore errs by a few roundings of |p|/dt, for
any torque (rounding_noise.py). The error in units of the peak torque is measured on the graph that would be emitted, in
float32, on random motions of a second within the mechanism's limits. Over 120 random chains the worst of 64 motions
errs by two to five times the mean. The mean must therefore stay below a QUARTER of the promised error. Newton-Euler
errs by some 1e-6 (newton_euler.py). If it takes more than COST_RATIO_LIMIT times the instructions, the midpoint rule
may have a mean of HALF the promise; one or two motions in a hundred then miss the promise, but none of the motions
tried, which `verify` plays first. If Newton-Euler takes fewer instructions, as for a single joint, it is chosen. The
choice is made once. The user's cache keeps it under the mechanism and the code that made it.
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
    """The chosen scheme, and the reasons. noise, worst: of the midpoint rule, mean and worst over the motions tried of
    the worst error, in units of the peak torque. Fewer motions are tried if it is clearly too noisy. price:
    instructions of Newton-Euler over those of the midpoint rule, by the graphs' own counts. bound: the largest mean
    allowed."""

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
    """Return how the scheme of a mechanism is chosen; None if its file settles it (Mechanism.settled_scheme)."""
    return None if mechanism.settled_scheme is not None else _known(canonical(mechanism), mechanism)


_here: dict[str, Chosen] = {}  # choices of this process, by the mechanism's canonical text


def _known(text: str, mechanism: Mechanism) -> Chosen:
    """Return the choice from this process or the user's cache, or choose now and keep the choice in both."""
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
    """Return the emitted scheme: midpoint, newton-euler or nodal."""
    choice = chosen(mechanism)
    return choice.scheme if choice is not None else mechanism.settled_scheme or "midpoint"


def model_of(mechanism: Mechanism) -> Model:
    """Return the model that is emitted and played, with its scheme chosen if the file leaves it open."""
    return Model.of(mechanism, scheme_of(mechanism))


@put_off()
def choose(mechanism: Mechanism) -> Chosen:
    """Choose the scheme of a mechanism whose file leaves it open. The choice is deterministic."""
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
