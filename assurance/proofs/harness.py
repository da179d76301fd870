"""Theorems as the harnesses in theorems/ state them: every `void prove_NAME(void)` under its comment."""

import re
from dataclasses import dataclass, field
from pathlib import Path

FOLDER = Path(__file__).parent / "theorems"
DEFAULT_MECHANISM = "three_link"

_THEOREM = re.compile(r"/\*((?:(?!\*/).)*)\*/\s*void prove_(\w+)\(void\)\n\{", re.DOTALL)
_TITLE = re.compile(r"\A/\*(.*?)\*/", re.DOTALL)


@dataclass(frozen=True)
class Run:
    """How a proof is run.

    unwind: how often a loop may go round; more is an error. contracts: loops have invariants. exhaust: by going through
    every value, compiled for this computer. intervals: by arithmetic of intervals. slice: what no claim rests on is
    left out. functions: arrays are functions of which only what is asked for is known: sooner where few places of long
    ones are looked at. seconds: processor time it may take. floats: conversions of reals are looked at. registers:
    those of the chip give any value, each time that they are read. interrupts: files in which an interrupt may strike
    after every store.
    """

    unwind: int = 10
    contracts: bool = False
    floats: bool = False
    registers: bool = field(default=False, repr=False)  # told apart by what is preprocessed
    slice: bool = field(default=False, repr=False)  # no other result, only sooner
    functions: bool = field(default=False, repr=False)  # no other result, only sooner
    exhaust: bool = False
    intervals: bool = field(default=False, repr=False)  # told apart by what proves it
    interrupts: tuple[str, ...] = field(default=(), repr=False)  # told apart by what is preprocessed
    seconds: int = 300
    define: tuple[str, ...] = ()
    mechanisms: tuple[str, ...] = field(default=(DEFAULT_MECHANISM,), repr=False)


@dataclass(frozen=True)
class Theorem:
    """harness: the file it is in. text: what is claimed. assumes: under what, empty if nothing."""

    name: str
    harness: Path
    text: str
    assumes: str
    run: Run = field(default_factory=Run)


def harnesses() -> list[Path]:
    return [*sorted(FOLDER.glob("*.c")), *sorted((FOLDER / "exhaustive").glob("*.c"))]


def title(harness: Path) -> str:
    """Title of a file: its first comment."""
    return _plain(_first(_TITLE, harness)[1])


def theorems(harness: Path) -> list[Theorem]:
    """Those of one file, in its order. A proof without a comment that says what it claims is an error."""
    text = harness.read_text(encoding="utf-8")
    found = [_theorem(harness, comment, name) for comment, name in _THEOREM.findall(text)]
    named = re.findall(r"^void prove_(\w+)\(void\)", text, re.MULTILINE)
    if named != [theorem.name for theorem in found]:
        raise ValueError(f"{harness.name}: a proof has no comment: {set(named) - {t.name for t in found}}")
    return found


def every() -> list[Theorem]:
    found = [theorem for harness in harnesses() for theorem in theorems(harness)]
    if len({theorem.name for theorem in found}) != len(found):
        raise ValueError("two proofs have the same name")
    return found


def _first(pattern: re.Pattern[str], harness: Path) -> re.Match[str]:
    found = pattern.search(harness.read_text(encoding="utf-8"))
    if found is None:
        raise ValueError(f"{harness.name} does not begin with a comment")
    return found


def _theorem(harness: Path, comment: str, name: str) -> Theorem:
    claim, said, run = _plain(comment).partition("Run:")
    text, _, assumes = claim.partition("Assumes:")
    if not said:
        raise ValueError(f"{harness.name}: {name} does not say how it is run")
    return Theorem(name, harness, text.strip(), assumes.strip(), _run(run.split()))


def _plain(comment: str) -> str:
    """A comment's text as one line; paragraphs are kept."""
    lines = [line.strip().removeprefix("*").strip() for line in comment.strip().splitlines()]
    return "\n\n".join(" ".join(part.split("\n")) for part in "\n".join(lines).strip().split("\n\n"))


def _run(words: list[str]) -> Run:
    values = dict(word.partition("=")[::2] for word in words)
    words_alone = ("contracts", "floats", "slice", "functions", "exhaust", "intervals", "registers")
    flags = {name: name in values for name in words_alone}
    numbers = {name: int(values[name]) for name in ("unwind", "seconds") if name in values}
    lists = {name: tuple(values[name].split(",")) for name in ("define", "mechanisms", "interrupts") if name in values}
    if unknown := set(values) - set(flags) - {"unwind", "seconds", "define", "mechanisms", "interrupts"}:
        raise ValueError(f"a proof is run with {sorted(unknown)}, which is not known")
    return Run(**flags, **numbers, **lists)  # type: ignore[arg-type]
