"""Choice of the proofs that `make assure` runs again: a part of theorems and seeded errors, by the digest of the tree.

One tree always gives one choice, any change of it another. Theorems whose sources have changed since they were
proved come first.
"""

import hashlib
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import TypeVar

from assurance.proofs import results
from assurance.proofs.harness import Run, Theorem, every
from assurance.proofs.seeded import SEEDED, Seeded

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("codegen", "femtorque", "firmware", "hil", "host", "mechanisms", "tests", "assurance")
KINDS = (".py", ".c", ".h", ".s", ".S", ".ld", ".j2", ".toml", ".txt")
THEOREMS_S, SEEDED_S = 40.0, 20.0  # of a processor, as the table has it: together within a minute
UNKNOWN_S = 5.0  # what is not in the table yet

Item = TypeVar("Item")


@cache
def tree() -> str:
    """The digest of the sources and tests that there are."""
    it = hashlib.sha256()
    for path in sorted(path for room in ROOMS for path in (ROOT / room).rglob("*") if path.suffix in KINDS):
        it.update(f"{path.relative_to(ROOT).as_posix()}\0".encode() + path.read_bytes())
    return it.hexdigest()


def place(name: str, by: str) -> bytes:
    """Key by which names are put in order: another one for every digest."""
    return hashlib.sha256(f"{by} {name}".encode()).digest()


def within(items: Iterable[Item], name: Callable[[Item], str], cost: Callable[[Item], float], most: float,
           by: str) -> list[Item]:
    """Those that a digest puts first, as many as cost no more than that together."""
    left, chosen = most, []
    for item in sorted(items, key=lambda item: place(name(item), by)):
        if cost(item) <= left:
            left -= cost(item)
            chosen.append(item)
    return chosen


def theorems(changed: Iterable[tuple[Theorem, str]]) -> list[tuple[Theorem, str]]:
    """(theorem, mechanism) of those that this tree is to prove anew: first of what has changed since it was proved,
    so that a change of the sources is looked at where it is, then of the others."""
    first = {(theorem.name, mechanism) for theorem, mechanism in changed}
    jobs = [(theorem, mechanism) for theorem in every() for mechanism in theorem.run.mechanisms]
    costs, left, chosen = _costs(), THEOREMS_S, list[tuple[Theorem, str]]()
    for old in (True, False):
        those = [job for job in jobs if ((job[0].name, job[1]) in first) is old]
        some = within(those, lambda job: f"{job[0].name} {job[1]}", lambda job: _cost(job, costs), left, tree())
        left -= sum(_cost(job, costs) for job in some)
        chosen += some
    return chosen


def seeded() -> list[Seeded]:
    """The seeded errors that this tree is to have refuted."""
    costs, of = _costs(), {theorem.name: theorem for theorem in every()}
    return within(SEEDED, lambda s: f"{s.theorem} {s.file} {s.old} {s.new}",
                  lambda s: _cost((of[s.theorem], s.mechanism), costs), SEEDED_S, tree())


def _cost(job: tuple[Theorem, str], costs: dict[tuple[str, str], float]) -> float:
    """Seconds; of what the table does not have yet all that it may take, where that is more than others may."""
    theorem, mechanism = job
    unknown = UNKNOWN_S if theorem.run.seconds <= Run.seconds else theorem.run.seconds
    return costs.get((theorem.name, mechanism), unknown)


def _costs() -> dict[tuple[str, str], float]:
    """{(theorem, mechanism): seconds, half a one for what is around a proof}."""
    return {row.which: 0.5 + row.seconds for row in results.read()[0]}
