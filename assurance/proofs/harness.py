"""A reader of theorems from the harnesses in theorems/: every `void prove_NAME(void)` with its comment."""

import re
from dataclasses import dataclass, field
from pathlib import Path

FOLDER = Path(__file__).parent / "theorems"
DEFAULT_MECHANISM = "three_link"

_THEOREM = re.compile(r"/\*((?:(?!\*/).)*)\*/\s*void prove_(\w+)\(void\)\n\{", re.DOTALL)
_TITLE = re.compile(r"\A/\*(.*?)\*/", re.DOTALL)


@dataclass(frozen=True)
class Run:
    """Options of a proof.

    intervals: interval arithmetic. slice: remove code that no claim needs. functions: treat arrays as functions, which
    is faster for few accesses to long arrays. registers: each read of a register of the chip returns any value.
    interrupts: files in which an interrupt may occur after every store."""

    unwind: int = 10  # the largest number of iterations of a loop; more iterations are an error
    contracts: bool = False  # true if loops have invariants
    floats: bool = False  # true to check conversions of floating-point numbers
    registers: bool = field(default=False, repr=False)  # changes the preprocessed text
    slice: bool = field(default=False, repr=False)  # same result, faster
    functions: bool = field(default=False, repr=False)  # same result, faster
    exhaust: bool = False  # true if a program for this computer checks every value
    intervals: bool = field(default=False, repr=False)  # selects another prover
    interrupts: tuple[str, ...] = field(default=(), repr=False)  # changes the preprocessed text
    seconds: int = 300  # limit of processor time, s
    define: tuple[str, ...] = ()
    mechanisms: tuple[str, ...] = field(default=(DEFAULT_MECHANISM,), repr=False)


@dataclass(frozen=True)
class Theorem:
    """A theorem."""

    name: str
    harness: Path  # its file
    text: str  # its claim
    assumes: str  # its assumptions, empty if none
    run: Run = field(default_factory=Run)


def harnesses() -> list[Path]:
    return [*sorted(FOLDER.glob("*.c")), *sorted((FOLDER / "exhaustive").glob("*.c"))]


def title(harness: Path) -> str:
    """Return the title of a file: its first comment."""
    return _plain(_first(_TITLE, harness)[1])


def theorems(harness: Path) -> list[Theorem]:
    """Return the theorems of one file, in order. Raise ValueError for a proof without a comment."""
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
        raise ValueError(f"{harness.name}: {name} has no line `Run:`")
    return Theorem(name, harness, text.strip(), assumes.strip(), _run(run.split()))


def _plain(comment: str) -> str:
    """Return a comment's text, with each paragraph in one line."""
    lines = [line.strip().removeprefix("*").strip() for line in comment.strip().splitlines()]
    return "\n\n".join(" ".join(part.split("\n")) for part in "\n".join(lines).strip().split("\n\n"))


def _run(words: list[str]) -> Run:
    values = dict(word.partition("=")[::2] for word in words)
    words_alone = ("contracts", "floats", "slice", "functions", "exhaust", "intervals", "registers")
    flags = {name: name in values for name in words_alone}
    numbers = {name: int(values[name]) for name in ("unwind", "seconds") if name in values}
    lists = {name: tuple(values[name].split(",")) for name in ("define", "mechanisms", "interrupts") if name in values}
    if unknown := set(values) - set(flags) - {"unwind", "seconds", "define", "mechanisms", "interrupts"}:
        raise ValueError(f"unknown options of a proof: {sorted(unknown)}")
    return Run(**flags, **numbers, **lists)  # type: ignore[arg-type]
