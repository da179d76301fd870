"""docs/proofs.md: the theorems as the harnesses state them, and what `make prove` last made of them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.firmware.proofs import reached  # noqa: E402
from tests.firmware.proofs.harness import Theorem, harnesses, theorems, title  # noqa: E402
from tests.firmware.proofs.prove import RESULTS  # noqa: E402

PAGE = ROOT / "docs" / "proofs.md"

HEAD = """<!-- made from firmware/proof by docs/proofs_page.py; change the harnesses, not this page -->
# What is proved

`make prove` proves theorems about the C sources that boards run: not of runs that were tried, but of every value that
what is called "any" may have. Each harness in `firmware/proof/` includes one module as it is and calls it; CBMC, a
model checker, either shows that no values break a claim, or names values that do. It works on bits, with sizes,
rounding and conversions of the chip. Where 2^32 values or fewer are all there are, a program goes through them;
chains of real numbers that are too long for both are bounded by arithmetic of intervals, with the chip's rounding.
Beside the claims of a theorem it looks for run-time errors on every way through the code: reads and writes out of
bounds, pointers that point to nothing, signed overflow, division by zero, shifts out of range, and where a proof says
so reals converted to integers that cannot hold them. A theorem holds under what it assumes, for the mechanisms that
are named with it, and for the C source: that the compiler translates it rightly is not proved. Interrupts between two
statements are looked at only where a theorem says so. That the end of every proof can be reached is checked with it,
so none holds for want of values. Each result is kept with a digest of the sources that it is of; `make test` says
which have changed since.

What is not proved is tested, fuzzed and mutated only: what torques the emitted step asks for, but that they are numbers
below a bound for chains of rigid links, open or closed; and functions that no proof goes through, of which there is
[a list](#functions). What goes out is bounded for each kind of them: whatever the step asks for, a number or not, the
law gives a joint no more than its effort, and a bridge no more than the board allows.

- **Open chains** are asked for torques below a bound, within twice the limits of velocity: torques_finite.
- **Closed loops** likewise, in every pose that is not refused: torques_loops. In one that is, nothing is asked for
  anew, and it is a fault of the same tick: step_closed.
- **Links that bend** may be asked for anything, as how far they swing is not bounded. What is no number is no torque,
  and a fault of the same tick: law_wild.
- **What goes out** of all of them: law_torque, lab_law, outputs_duties.

"""

FUNCTIONS = """## functions

The prover tells of its own walk which functions of the firmware the proofs above go through. One that is listed here is
in none of them, with the reason. A line that a walk reaches is looked at for run-time errors; claims are those above,
and no others.

"""


def render() -> str:
    results = json.loads(RESULTS.read_text(encoding="utf-8"))
    parts = [part for harness in harnesses() for part in (
        f"## {harness.stem}\n\n{title(harness)}\n", *(_theorem(theorem, results) for theorem in theorems(harness)))]
    return HEAD + _sum(results) + "\n" + "\n".join(parts) + "\n" + _functions(results)


def _sum(results: list[dict[str, Any]]) -> str:
    proved = [row for row in results if row["outcome"] == "proved"]
    checks, seconds = sum(row["checks"] for row in proved), sum(row["seconds"] for row in results)
    return (f"When all were last run, {len(proved)} of {len(results)} were proved, {checks} checks in {seconds:.0f} s "
            "of a processor.\n")


def _functions(results: list[dict[str, Any]]) -> str:
    """Which functions a proof goes through, and why it is not all of them."""
    missed = reached.missed(results)
    written = [_room(room, files, missed) for room, files in reached.rooms().items()]
    return FUNCTIONS + "\n".join(written)


def _room(room: str, files: dict[str, list[str]], missed: dict[tuple[str, str], set[int]]) -> str:
    every = [(file, name) for file, names in files.items() for name in names]
    whole = sum(which in missed and not missed[which] for which in every)
    part = sum(bool(missed.get(which)) for which in every)
    head = f"**{room}**: {len(every)} functions; proofs go through every line of {whole}, and through {part} in part."
    lines = [line for file, names in files.items() for line in _left(file, names, missed)]
    return "\n".join([head, "", *lines]) + "\n"


def _left(file: str, names: list[str], missed: dict[tuple[str, str], set[int]]) -> list[str]:
    """One line for each reason that functions of a file have."""
    by_reason: dict[str, list[str]] = {}
    for name in names:
        if (file, name) not in missed:
            by_reason.setdefault(reached.reason(file, name), []).append(name)
    return [f"- `{file}`: {_names(those, len(names))}: {why}" for why, those in by_reason.items()]


def _names(those: list[str], of: int) -> str:
    return "all" if len(those) == of else ", ".join(f"`{name}`" for name in those)


def _theorem(theorem: Theorem, results: list[dict[str, Any]]) -> str:
    rows = [row for row in results if row["theorem"] == theorem.name]
    lines = [f"**{theorem.name}.** {theorem.text}", ""]
    if theorem.assumes:
        lines += [f"*Assumes:* {theorem.assumes}", ""]
    lines += [_outcome(row) for row in rows] or ["- not run yet"]
    return "\n".join(lines) + "\n"


def _outcome(row: dict[str, Any]) -> str:
    note = f"; {row['note']}" if row["note"] else ""
    return (f"- `{row['mechanism']}`: {row['outcome']}, {row['checks']} checks, {row['seconds']} s, "
            f"{row['megabytes']} MB{note}")


if __name__ == "__main__":
    PAGE.write_text(render(), encoding="utf-8", newline="\n")
