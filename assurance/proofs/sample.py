"""A choice of the proofs that `make assure` runs again: some theorems and seeded errors, selected by the digest of the
source tree.

The same tree gives the same choice. Theorems whose sources have changed since their proof are chosen first."""

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
THEOREMS_S, SEEDED_S = 40.0, 20.0  # processor time, estimated from the table, s: a minute together
UNKNOWN_S = 5.0  # processor time of a proof that is not yet in the table, s

Item = TypeVar("Item")


@cache
def tree() -> str:
    """Return the digest of all sources and tests."""
    it = hashlib.sha256()
    for path in sorted(path for room in ROOMS for path in (ROOT / room).rglob("*") if path.suffix in KINDS):
        it.update(f"{path.relative_to(ROOT).as_posix()}\0".encode() + path.read_bytes())
    return it.hexdigest()


def place(name: str, by: str) -> bytes:
    """Return a sort key for names. The order differs for every digest."""
    return hashlib.sha256(f"{by} {name}".encode()).digest()


def within(items: Iterable[Item], name: Callable[[Item], str], cost: Callable[[Item], float], most: float,
           by: str) -> list[Item]:
    """Return the first items in the order that a digest gives, within a total cost."""
    left, chosen = most, []
    for item in sorted(items, key=lambda item: place(name(item), by)):
        if cost(item) <= left:
            left -= cost(item)
            chosen.append(item)
    return chosen


def theorems(changed: Iterable[tuple[Theorem, str]]) -> list[tuple[Theorem, str]]:
    """Return the jobs (theorem, mechanism) to prove again. Jobs with changed sources come first."""
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
    """Return the seeded errors to refute."""
    costs, of = _costs(), {theorem.name: theorem for theorem in every()}
    return within(SEEDED, lambda s: f"{s.theorem} {s.file} {s.old} {s.new}",
                  lambda s: _cost((of[s.theorem], s.mechanism), costs), SEEDED_S, tree())


def _cost(job: tuple[Theorem, str], costs: dict[tuple[str, str], float]) -> float:
    """Return the seconds of a job: without a result, the limit of the job if this limit is longer than usual."""
    theorem, mechanism = job
    unknown = UNKNOWN_S if theorem.run.seconds <= Run.seconds else theorem.run.seconds
    return costs.get((theorem.name, mechanism), unknown)


def _costs() -> dict[tuple[str, str], float]:
    """Return {(theorem, mechanism): seconds}, including half a second for the set-up of a proof."""
    return {row.which: 0.5 + row.seconds for row in results.read()[0]}
