"""Makes docs/proofs.md and the site's page of theorems from the last results of `make prove`."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "docs")]

from assurance.proofs import reached, results, sample  # noqa: E402
from assurance.proofs.harness import Theorem, harnesses, theorems, title  # noqa: E402
from assurance.proofs.prove import changed  # noqa: E402
from assurance.proofs.results import Reached, Row  # noqa: E402
from assurance.proofs.seeded import SEEDED  # noqa: E402
from links import filled  # noqa: E402

PAGE = ROOT / "docs" / "proofs.md"

EARLIER = "only proofs of earlier sources may reach the function: `make prove` shows which proofs"
Old = set[tuple[str, str]]  # theorem and mechanism of each proof that has not run with the present sources

RUNS = """`make assure` uses this file, and repeats a part of the proofs: theorems of {theorems:.0f} s of processor time
in total, beginning with theorems whose sources have changed. There are also {errors} deliberate errors for the sources,
at least one for each theorem. `make assure` shows for some of these errors that the proof fails, within {seeded:.0f} s
of processor time. A digest of the whole tree selects the theorems and errors, so the selection is the same for the same
tree. `make bench` tests all deliberate errors. Only `make prove` runs the longer proofs: {long}.
"""

FUNCTIONS = """## functions

The prover reports the functions of the firmware that its proofs reach. The functions in this list are in no proof, for
the given reason. In functions that a proof reaches, every line is checked for run-time errors. Only the claims above
are proved.

"""


def render() -> str:
    """Return the text of docs/proofs.md, with numbers from the last results."""
    rows, _ = results.read()
    old = {(theorem.name, mechanism) for theorem, mechanism in changed()}
    return filled(PAGE, {"sum": _sum(rows, old), "runs": _runs(rows)})


def listed() -> str:
    """Return the page of all theorems with their results, and of the functions that no proof reaches."""
    rows, files = results.read()
    old = {(theorem.name, mechanism) for theorem, mechanism in changed()}
    parts = [part for harness in harnesses() for part in (
        f"## {harness.stem}\n\n{title(harness)}\n", *(_theorem(theorem, rows, old) for theorem in theorems(harness)))]
    return "# Theorems\n\n" + "\n".join(parts) + "\n" + _functions(files)


def _sum(rows: list[Row], old: Old) -> str:
    """Return a sentence with the number of successful proofs, and the number of proofs of the present sources."""
    proved = [row for row in rows if row.outcome == "proved"]
    claims, seconds = sum(row.claims for row in proved), sum(row.seconds for row in rows)
    now, new = [row for row in proved if row.which not in old], old - {row.which for row in rows}
    text = (f"{len(proved)} of {len(rows)} proofs have succeeded, with {claims} claims in {seconds:.0f} s of processor "
            f"time, {_days(rows)}. {len(now)} of these results are for the present sources, all others for earlier "
            "sources.")
    return text + (f" {len(new)} more proofs have not been run yet.\n" if new else "\n")


def _days(rows: list[Row]) -> str:
    first, last = min(row.day for row in rows), max(row.day for row in rows)
    return f"on {last}" if first == last else f"from {first} to {last}"


def _runs(rows: list[Row]) -> str:
    """Describe which proofs run when, and which are too long for `make assure`."""
    long = [f"{row.theorem} (`{row.mechanism}`)" for row in rows if row.seconds >= sample.THEOREMS_S]
    return RUNS.format(theorems=sample.THEOREMS_S, seeded=sample.SEEDED_S, errors=len(SEEDED), long=", ".join(long))


def _functions(files: dict[str, Reached]) -> str:
    """Return the functions that no proof reaches, with the reasons."""
    seen = {(file, name) for file, one in files.items() for name in one.functions}
    written = [_room(room, names, seen) for room, names in reached.rooms().items()]
    return FUNCTIONS + "\n".join(written)


def _room(room: str, files: dict[str, list[str]], seen: set[tuple[str, str]]) -> str:
    every = [(file, name) for file, names in files.items() for name in names]
    head = f"**{room}**: proofs reach {sum(which in seen for which in every)} of {len(every)} functions."
    lines = [line for file, names in files.items() for line in _left(file, names, seen)]
    return "\n".join([head, "", *lines]) + "\n"


def _left(file: str, names: list[str], seen: set[tuple[str, str]]) -> list[str]:
    """Return one line for each reason, with the functions of a file to which the reason applies."""
    by_reason: dict[str, list[str]] = {}
    for name in names:
        if (file, name) not in seen:
            by_reason.setdefault(reached.reason(file, name) or EARLIER, []).append(name)
    return [f"- `{file}`: {_names(those, len(names))}: {why}" for why, those in by_reason.items()]


def _names(those: list[str], of: int) -> str:
    return "all" if len(those) == of else ", ".join(f"`{name}`" for name in those)


def _theorem(theorem: Theorem, rows: list[Row], old: Old) -> str:
    own = [row for row in rows if row.theorem == theorem.name]
    assumes = f" *Assumes:* {theorem.assumes}" if theorem.assumes else ""
    return f"**{theorem.name}.** {theorem.text}{assumes} ({_outcome(theorem.name, own, old)})\n"


def _outcome(name: str, rows: list[Row], old: Old) -> str:
    """Return the outcome of a theorem for each mechanism. Results for earlier sources are marked."""
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
    """Return the mark for a result of earlier sources, or an empty text."""
    those = [f"`{row.mechanism}`" for row in rows if row.which in old]
    if not those:
        return ""
    return "; of earlier sources" + ("" if len(those) == len(rows) else f": {', '.join(those)}")


if __name__ == "__main__":
    PAGE.write_text(render(), encoding="utf-8", newline="\n")
