"""docs/proofs.md: what `make prove` proves and last found. The theorems themselves are a page of the site."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from assurance.proofs import reached, results, sample  # noqa: E402
from assurance.proofs.harness import Theorem, harnesses, theorems, title  # noqa: E402
from assurance.proofs.prove import changed  # noqa: E402
from assurance.proofs.results import Reached, Row  # noqa: E402
from assurance.proofs.seeded import SEEDED  # noqa: E402

PAGE = ROOT / "docs" / "proofs.md"

EARLIER = "proofs of earlier sources alone may have gone through it: `make prove` tells"
Old = set[tuple[str, str]]  # theorems and mechanisms whose sources have changed since, or that were never run

HEAD = """<!-- made from assurance/proofs/theorems by docs/proofs_page.py; change the harnesses, not this page -->
# What is proved

`make prove` proves theorems about the C sources that boards run: not of runs that were tried, but of every value that
what is called "any" may have. Each harness in `assurance/proofs/theorems/` includes one module as it is and calls it;
CBMC, a model checker, either shows that no values break a claim, or names values that do. It works on bits, with sizes,
rounding and conversions of the chip. Where 2^32 values or fewer are all there are, a program goes through them;
chains of real numbers that are too long for both are bounded by arithmetic of intervals, with the chip's rounding.
Beside the claims of a theorem it looks for run-time errors on every way through the code: reads and writes out of
bounds, pointers that point to nothing, signed overflow, division by zero, shifts out of range, and where a proof says
so reals converted to integers that cannot hold them. A theorem holds under what it assumes, for the mechanisms that
are named with it, and for the C source: that the compiler translates it rightly is not proved. Interrupts between two
statements are looked at only where a theorem says so: in queue_struck and outputs_off. That the end of every proof can
be reached is checked with it, so none holds for want of values.

What is not proved is tested, fuzzed and mutated only: what torques the emitted step asks for, but that they are
numbers below a bound for chains of rigid links, open or closed; and functions that no proof goes through, of which
the site's page of theorems has a list. What goes out is bounded for each kind of them: whatever the step asks for, a
number or not, the law gives a joint no more than its effort, and a bridge no more than the board allows.

- **Open chains** are asked for torques below a bound, within twice the limits of velocity: torques_finite.
- **Closed loops** likewise, in every pose that is not refused: torques_loops. In one that is, nothing is asked for
  anew, and it is a fault of the same tick: step_closed.
- **Links that bend** may be asked for anything, as how far they swing is not bounded. What is no number is no torque,
  and a fault of the same tick: law_wild.
- **What goes out** of all of them: law_torque, lab_law, outputs_duties.

"""

RUNS = """## Which ran when

`make prove` runs what has changed since it was proved last, `make prove PROVE=--fresh` all. What came of it stands in
`assurance/proofs/theorems/results.txt`, a line for each theorem and mechanism: the outcome, how many claims, seconds
of a processor, the day, and a digest of the sources that it is of. `make assure` compares the digests with the
sources that there are, and holds this page to say where they differ: such a result is marked as one of earlier
sources, and claims nothing of the present ones until `make prove` has run again. All others are of the present
sources, as somebody proved them on that day.

`make assure` believes that table but for a part that it proves again:
theorems of {theorems:.0f} s of a processor together, those first whose sources have changed since they were proved. Of
the {errors} errors that are put into the sources on purpose, one for every theorem at least, it has those refuted that
take {seeded:.0f} s together. Which ones, a digest of the whole tree chooses: the same tree gives the same choice,
another tree another one. `make bench` has all of these errors refuted. `make prove` alone runs what takes longer:
{long}.

"""

FUNCTIONS = """## functions

The prover tells of its own walk which functions of the firmware the proofs above go through. One that is listed here is
in none of them, with the reason. A line that a walk reaches is looked at for run-time errors; claims are those above,
and no others.

"""


def render() -> str:
    """docs/proofs.md."""
    rows, _ = results.read()
    old = {(theorem.name, mechanism) for theorem, mechanism in changed()}
    return HEAD + _sum(rows, old) + "\n" + _runs(rows).rstrip("\n") + "\n"


def listed() -> str:
    """The theorems as the harnesses state them, with their results, and the functions that no proof goes through."""
    rows, files = results.read()
    old = {(theorem.name, mechanism) for theorem, mechanism in changed()}
    parts = [part for harness in harnesses() for part in (
        f"## {harness.stem}\n\n{title(harness)}\n", *(_theorem(theorem, rows, old) for theorem in theorems(harness)))]
    return "# Theorems\n\n" + "\n".join(parts) + "\n" + _functions(files)


def _sum(rows: list[Row], old: Old) -> str:
    """How many results there are, and of how many the sources are the present ones."""
    proved = [row for row in rows if row.outcome == "proved"]
    claims, seconds = sum(row.claims for row in proved), sum(row.seconds for row in rows)
    now, new = [row for row in proved if row.which not in old], old - {row.which for row in rows}
    text = (f"{len(proved)} of {len(rows)} are proved, {claims} claims in {seconds:.0f} s of a processor, "
            f"{_days(rows)}; {len(now)} of them of the present sources, the others of earlier ones")
    return text + (f". {len(new)} more have not been run yet.\n" if new else ".\n")


def _days(rows: list[Row]) -> str:
    first, last = min(row.day for row in rows), max(row.day for row in rows)
    return f"on {last}" if first == last else f"from {first} to {last}"


def _runs(rows: list[Row]) -> str:
    """Describe which proofs run when, and which are too long for `make assure`."""
    long = [f"{row.theorem} (`{row.mechanism}`)" for row in rows if row.seconds >= sample.THEOREMS_S]
    return RUNS.format(theorems=sample.THEOREMS_S, seeded=sample.SEEDED_S, errors=len(SEEDED), long=", ".join(long))


def _functions(files: dict[str, Reached]) -> str:
    """Which functions a proof goes through, and why it is not all of them."""
    missed = reached.missed(files)
    written = [_room(room, files, missed) for room, files in reached.rooms().items()]
    return FUNCTIONS + "\n".join(written)


def _room(room: str, files: dict[str, list[str]], missed: dict[tuple[str, str], frozenset[int]]) -> str:
    every = [(file, name) for file, names in files.items() for name in names]
    whole = sum(which in missed and not missed[which] for which in every)
    part = sum(bool(missed.get(which)) for which in every)
    head = f"**{room}**: {len(every)} functions; proofs go through every line of {whole}, and through {part} in part."
    lines = [line for file, names in files.items() for line in _left(file, names, missed)]
    return "\n".join([head, "", *lines]) + "\n"


def _left(file: str, names: list[str], missed: dict[tuple[str, str], frozenset[int]]) -> list[str]:
    """One line for each reason that functions of a file have."""
    by_reason: dict[str, list[str]] = {}
    for name in names:
        if (file, name) not in missed:
            by_reason.setdefault(reached.reason(file, name) or EARLIER, []).append(name)
    return [f"- `{file}`: {_names(those, len(names))}: {why}" for why, those in by_reason.items()]


def _names(those: list[str], of: int) -> str:
    return "all" if len(those) == of else ", ".join(f"`{name}`" for name in those)


def _theorem(theorem: Theorem, rows: list[Row], old: Old) -> str:
    own = [row for row in rows if row.theorem == theorem.name]
    assumes = f" *Assumes:* {theorem.assumes}" if theorem.assumes else ""
    return f"**{theorem.name}.** {theorem.text}{assumes} ({_outcome(theorem.name, own, old)})\n"


def _outcome(name: str, rows: list[Row], old: Old) -> str:
    """Return of which mechanisms one theorem was proved, how, and of which sources."""
    waits = ", ".join(f"`{mechanism}`" for theorem, mechanism in sorted(old - {row.which for row in rows})
                      if theorem == name)
    if not rows:
        return f"not run yet: {waits}"
    bad = "".join(f"; **{row.outcome}** of `{row.mechanism}`" for row in rows if row.outcome != "proved")
    notes = "".join(f"; `{row.mechanism}`: {row.note}" for row in rows if row.note)
    names = ", ".join(f"`{row.mechanism}`" for row in rows)
    claims, seconds = sum(row.claims for row in rows), sum(row.seconds for row in rows)
    return (f"{names}: {claims} claims, {seconds:.1f} s{_age(rows, old)}"
            f"{bad}{notes}" + (f"; not run yet: {waits}" if waits else ""))


def _age(rows: list[Row], old: Old) -> str:
    """Mark what was proved of earlier sources."""
    those = [f"`{row.mechanism}`" for row in rows if row.which in old]
    if not those:
        return ""
    return "; of earlier sources" + ("" if len(those) == len(rows) else f": {', '.join(those)}")


if __name__ == "__main__":
    PAGE.write_text(render(), encoding="utf-8", newline="\n")
