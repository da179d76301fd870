"""Reads and writes theorems/results.txt: the last outcome of every proof, and the functions that proofs reach."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from assurance.proofs.harness import FOLDER
from assurance.sources import bare_c

TABLE = FOLDER / "results.txt"
HEAD = ("# made by `make prove`: theorem, mechanism, outcome, claims, seconds of a processor, day, digest of its "
        "sources, figures found\n")
FILES = "\n# functions that proofs reach: file, digest of its text without comments, functions\n"


@dataclass(frozen=True)
class Row:
    """The outcome of one proof."""

    theorem: str
    mechanism: str
    outcome: str
    claims: int  # the theorem's and run-time checks
    seconds: float
    day: str  # ISO 8601
    digest: str
    note: str = ""  # figures

    @property
    def which(self) -> tuple[str, str]:
        return self.theorem, self.mechanism


@dataclass(frozen=True)
class Reached:
    """The functions that proofs reach in the version of a file with this digest."""

    digest: str
    functions: frozenset[str] = frozenset()


def digest_of(text: str) -> str:
    """Return the digest of a file's C."""
    return hashlib.sha256(" ".join(bare_c(text).split()).encode()).hexdigest()[:16]


def read() -> tuple[list[Row], dict[str, Reached]]:
    """Return the table: (rows, {file: its reached functions})."""
    rows, files = TABLE.read_text(encoding="utf-8").removeprefix(HEAD).split(FILES)
    return [_row(line) for line in rows.splitlines()], dict(_file(line) for line in files.splitlines())


def write(rows: Iterable[Row], files: Mapping[str, Reached], table: Path | None = None) -> None:
    lines = [f"{r.theorem} {r.mechanism} {r.outcome} {r.claims} {r.seconds} {r.day} {r.digest} {r.note}".rstrip()
             for r in rows]
    seen = [" ".join([name, r.digest, *sorted(r.functions)]) for name, r in sorted(files.items())]
    text = HEAD + "".join(f"{line}\n" for line in lines) + FILES + "".join(f"{line}\n" for line in seen)
    (table or TABLE).write_text(text, encoding="utf-8", newline="\n")


def join(files: Mapping[str, Reached], more: Mapping[str, Reached]) -> dict[str, Reached]:
    """Return the union of the reached functions. For a changed file only the new functions are used."""
    both = dict(files) | dict(more)
    for name in files.keys() & more.keys():
        if files[name].digest == more[name].digest:
            both[name] = Reached(files[name].digest, files[name].functions | more[name].functions)
    return both


def _row(line: str) -> Row:
    theorem, mechanism, outcome, claims, seconds, day, digest, *note = line.split(" ", 7)
    return Row(theorem, mechanism, outcome, int(claims), float(seconds), day, digest, " ".join(note))


def _file(line: str) -> tuple[str, Reached]:
    name, digest, *functions = line.split(" ")
    return name, Reached(digest, frozenset(functions))
