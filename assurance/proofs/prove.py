"""A program that runs the proofs: `python -m assurance.proofs.prove [--fresh] [NAME ...]`.

Without names it proves the theorems whose sources have changed since their last proof, according to the digests in
results.txt. With --fresh it proves all theorems. The cache stores each proof under the hash of its preprocessed
harness, its options and the prover. The limit of a proof is in processor time."""

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from assurance.proofs import interrupts, intervals, mechanisms, prover, registers, results
from assurance.proofs.harness import FOLDER, Run, Theorem, every
from assurance.proofs.reached import of_walk, walked
from assurance.sources import bare, bare_c
from femtorque.codegen.common import Refused, entry_of, kept, key_of
from femtorque.codegen.drive import application
from femtorque.codegen.toolchain import host_compiler

COMPILER = "arm-none-eabi-gcc"
# sizes and calling conventions are the chip's
CHIP = ("-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16")
CHECKS = ("--pointer-overflow-check", "--object-bits", "12")  # checks in addition to the prover's default checks
MEMORY = 6 << 30  # memory limit of one proof, bytes
WORKERS = 2
FORMAT = "proof 4"  # version of the cache format; a change of the judgement needs a new version
WALK_FORMAT = "walk 2"

Patch = Mapping[str, Callable[[str], str]]  # {file name: function that changes the file's text}

_PROPERTY = re.compile(r"^\[(\S+)\] (?:line \d+ )?(.*): (SUCCESS|FAILURE|ERROR|UNKNOWN)$", re.MULTILINE)
_REACHED = "the end is reached"
_MARK = re.compile(r"^#.*\n", re.MULTILINE)  # line marks of the preprocessor
_INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
# the compiler already checks integer overflow
_WHOLE_NUMBERS = re.compile(r"arithmetic overflow on (un)?signed to (un)?signed type conversion")


@dataclass(frozen=True)
class Result:
    """Result of one proof."""

    theorem: str
    mechanism: str
    outcome: str  # proved, refuted, vacuous, or open (limit of time or memory reached)
    checks: int  # number of claims and checks for run-time errors
    seconds: float  # processor time, s
    megabytes: int  # maximum memory, MB
    failed: tuple[str, ...] = ()  # refuted claims, or the reason for open
    note: str = ""  # figures that the proof prints
    day: str = ""  # date in ISO 8601


def prove(theorem: Theorem, mechanism: str, patches: Patch | None = None, fresh: bool = False) -> Result:
    """Prove one theorem for the sources of one mechanism."""
    with tempfile.TemporaryDirectory(prefix="femtorque-proof-") as name:
        folder = Path(name)
        text = _preprocessed(theorem, mechanism, patches or {}, folder)
        key = key_of(FORMAT, *_tool(theorem), theorem.name, repr(theorem.run), _MARK.sub("", text))
        if fresh and (old := entry_of(key) / "result.json").exists():
            old.unlink()
        how = _exhausted if theorem.run.exhaust else _enclosed if theorem.run.intervals else _proved
        entry = kept(key, lambda made: _write(made, how(theorem, mechanism, folder)),
                     lambda entry: (entry / "result.json").exists())
        known = json.loads((entry / "result.json").read_text(encoding="utf-8"))
        return replace(Result(**known), mechanism=mechanism, failed=tuple(known["failed"]))


def _write(folder: Path, result: Result) -> None:
    result = replace(result, day=datetime.now(UTC).date().isoformat())
    (folder / "result.json").write_text(json.dumps(asdict(result)), encoding="utf-8")


def included(theorem: Theorem, mechanism: str) -> dict[str, str]:
    """Return {file name: text without comments} of the harness and all project files that it includes."""
    texts = _texts(theorem, mechanism)
    read: dict[str, str] = {}
    ahead = ["harness.c"]
    while ahead:
        name = ahead.pop()
        if name in texts and name not in read and _guard(name) not in texts["harness.c"]:
            read[name] = bare_c(texts[name])
            ahead += _INCLUDE.findall(read[name])
    return read


def digest(theorem: Theorem, mechanism: str) -> str:
    """Return the digest on which a result depends: the harness and its includes without comments, and its options."""
    read = included(theorem, mechanism)
    words = [part for name in sorted(read) for part in (name, " ".join(read[name].split()))]
    return key_of(FORMAT, *_tool(theorem), theorem.name, repr(theorem.run), *words)


def _tool(theorem: Theorem) -> tuple[str, ...]:
    """Return the identity of the tool of a proof: the prover and its checks, or the interval arithmetic."""
    if theorem.run.intervals:
        return (bare(Path(intervals.__file__)),)
    how: tuple[str, ...] = (bare(Path(registers.__file__)),) if theorem.run.registers else ()
    if theorem.run.interrupts:
        how += (*theorem.run.interrupts, bare(Path(interrupts.__file__)))
    return str(prover.PINNED), str(CHECKS), *how


def _guard(name: str) -> str:
    """Return the include guard of a header, which a harness defines to replace the header."""
    return f"#define {re.sub(r'[^A-Za-z0-9]', '_', name).upper()} "


def _texts(theorem: Theorem, mechanism: str) -> dict[str, str]:
    """Return {file name: text} of the harness and all files that it may include."""
    texts = {path.name: path.read_text(encoding="utf-8") for path in
             [*application().values(), *FOLDER.glob("*.[ch]"), FOLDER / "exhaustive" / "exhaust.h"]}
    texts |= mechanisms.chip_sources(mechanism)
    return texts | mechanisms.sources(mechanism) | {"harness.c": theorem.harness.read_text(encoding="utf-8")}


def _preprocessed(theorem: Theorem, mechanism: str, patches: Patch, folder: Path) -> str:
    """Write the patched sources, and preprocess the harness for the chip."""
    texts = _texts(theorem, mechanism)
    for name, patch in patches.items():
        texts[name], before = patch(texts[name]), texts[name]
        if texts[name] == before:
            raise ValueError(f"the patch of {name} does not apply")
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    defines = [f"-D{define}" for define in theorem.run.define]
    compiler = _compiler(theorem.run, folder)
    done = subprocess.run([*compiler, "-std=c99", *defines, "-I.", "-E", "harness.c", "-o", "it.i"],
                          cwd=folder, capture_output=True, text=True)
    if done.returncode:
        raise Refused(f"{theorem.harness.name}: {done.stderr.strip().splitlines()[0]}")
    text = (folder / "it.i").read_text(encoding="utf-8")
    if theorem.run.registers:
        text = registers.any_reading(text, {*mechanisms.chip_sources(mechanism)})
        (folder / "it.i").write_text(text, encoding="utf-8")
    if theorem.run.interrupts:
        text = interrupts.anywhere(text, {*theorem.run.interrupts})
        (folder / "it.i").write_text(text, encoding="utf-8")
    return text


def _compiler(run: Run, folder: Path) -> list[str]:
    """Return the command of the preprocessor. The interval arithmetic needs plain C with plain headers."""
    if run.intervals:
        for name, text in intervals.HEADERS.items():
            (folder / name).write_text(text, encoding="utf-8")
        return [host_compiler.compiler(), "-nostdinc", "-U__GNUC__", "-P"]
    return [host_compiler.compiler()] if run.exhaust else [COMPILER, *CHIP]


# -- one proof --------------------------------------------------------------------------------------------------------


def _proved(theorem: Theorem, mechanism: str, folder: Path) -> Result:
    """Translate and instrument the C, and prove the theorem."""
    programs, run, entry = prover.programs(), theorem.run, f"prove_{theorem.name}"
    steps = [*_translation(theorem), [*programs["cbmc"], "it.goto", *_options(run)]]
    seconds, megabytes, said = 0.0, 0, ""
    for command in steps:
        code, used, said = _bounded(command, folder, run.seconds)
        seconds, megabytes = seconds + used.ru_utime + used.ru_stime, max(megabytes, used.ru_maxrss // 1024)
        if code not in (0, 10):  # 10: a claim was refuted
            return Result(theorem.name, mechanism, "open", 0, round(seconds, 1), megabytes, (_why(code, said),))
    outcome, checks, failed = _judged(said, entry)
    return Result(theorem.name, mechanism, outcome, checks, round(seconds, 1), megabytes, failed)


def _translation(theorem: Theorem) -> Iterator[list[str]]:
    """Yield the commands that translate C for the prover."""
    programs, entry = prover.programs(), f"prove_{theorem.name}"
    yield [*programs["goto-cc"], "--native-compiler", COMPILER, *CHIP, "--function", entry, "it.i", "-o", "it.goto"]
    if theorem.run.contracts:
        yield [*programs["goto-instrument"], "--dfcc", entry, "--apply-loop-contracts", "it.goto", "it.goto"]


def walk(theorem: Theorem, mechanism: str) -> dict[str, list[str]]:
    """Return the functions that the prover's walk reaches, as walked() does. Other tools have no walk."""
    if theorem.run.exhaust or theorem.run.intervals:
        return {}
    with tempfile.TemporaryDirectory(prefix="femtorque-proof-") as name:
        folder = Path(name)
        text = _MARK.sub("", _preprocessed(theorem, mechanism, {}, folder))
        entry = kept(key_of(WALK_FORMAT, *_tool(theorem), theorem.name, repr(theorem.run), text),
                     lambda made: _walk(made, theorem, folder), lambda entry: (entry / "walk.json").exists())
        found: dict[str, list[str]] = json.loads((entry / "walk.json").read_text(encoding="utf-8"))
        return found


def _walk(made: Path, theorem: Theorem, folder: Path) -> None:
    """Store the prover's walk through a theorem, without a proof."""
    only = ("--unwind", str(theorem.run.unwind), "--drop-unused-functions", "--object-bits", "12",
            "--no-standard-checks", "--no-assertions", "--symex-coverage-report", "walk.xml")
    for command in (*_translation(theorem), [*prover.programs()["cbmc"], "it.goto", *only]):
        code, _, said = _bounded(command, folder, theorem.run.seconds)
        if code:
            raise Refused(f"{theorem.name}: {_why(code, said)}")
    (made / "walk.json").write_text(json.dumps(walked(folder / "walk.xml", folder)), encoding="utf-8")


def _exhausted(theorem: Theorem, mechanism: str, folder: Path) -> Result:
    """Compile the harness for this computer, and run it on every value."""
    entry = f"prove_{theorem.name}"
    with (folder / "it.i").open("a", encoding="utf-8") as text:
        text.write(f"\nint main(void)\n{{\n    {entry}();\n    return 0;\n}}\n")
    build = [host_compiler.compiler(), "-O2", *host_compiler.ARITHMETIC, "it.i", "-lm", "-o", "it"]
    done = subprocess.run(build, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        return Result(theorem.name, mechanism, "open", 0, 0.0, 0, (_why(1, done.stderr),))
    code, used, said = _bounded([str(folder / "it")], folder, theorem.run.seconds)
    figures = dict(line.split(": ", 1) for line in said.splitlines() if ": " in line)
    checks, seconds = int(figures.get("checks", 0)), round(used.ru_utime, 1)
    outcome = "proved" if code == 0 and checks else "refuted" if "refuted" in figures else "open"
    failed = () if outcome == "proved" else (figures.get("refuted") or _why(code, said),)
    note = figures.get("note", "")
    return Result(theorem.name, mechanism, outcome, checks, seconds, used.ru_maxrss // 1024, failed, note)


def _enclosed(theorem: Theorem, mechanism: str, folder: Path) -> Result:
    """Bound every number by intervals. A number without bounds leaves the theorem open, but does not refute it."""
    since = time.process_time()
    torque, checks, failed = list[float](), 0, tuple[str, ...]()
    try:
        torque, checks = intervals.bounds((folder / "it.i").read_text(encoding="utf-8"))
    except intervals.Unbounded as why:
        failed = (str(why),)
    seconds, used = round(time.process_time() - since, 1), resource.getrusage(resource.RUSAGE_SELF)
    note = "" if failed else f"torques below {', '.join(f'{x:.3g}' for x in torque)} N m (N)"
    return Result(theorem.name, mechanism, "open" if failed else "proved", checks, seconds, used.ru_maxrss // 1024,
                  failed, note)


def _options(run: Run) -> Iterator[str]:
    yield from ("--unwind", str(run.unwind), "--drop-unused-functions", *CHECKS)
    if run.floats:
        yield "--conversion-check"
    if run.slice:
        yield "--slice-formula"
    if run.functions:
        yield "--arrays-uf-always"


def _bounded(command: list[str], folder: Path, seconds: int) -> tuple[int, resource.struct_rusage, str]:
    """Run a command within limits of processor time and memory. Return (exit code, usage, output)."""
    def bound() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))

    with (folder / "said").open("wb") as said:
        process = subprocess.Popen(command, cwd=folder, stdout=said, stderr=subprocess.STDOUT, preexec_fn=bound)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, used, (folder / "said").read_text(errors="replace")


def _why(code: int, said: str) -> str:
    """Return the reason why a proof has no result."""
    if code < 0:
        return f"out of time (signal {-code})"
    lines = [line for line in said.splitlines() if "error" in line.lower() or "memory" in line.lower()]
    return (lines or said.splitlines()[-1:] or ["no output"])[0].strip()


def _judged(said: str, entry: str) -> tuple[str, int, tuple[str, ...]]:
    """Return (outcome, checks, failures) from the prover's output."""
    found = [row for row in _PROPERTY.findall(said) if not _WHOLE_NUMBERS.search(row[1])]
    claims = [row for row in found if row[1] != _REACHED]
    bad = sorted((row for row in claims if row[2] != "SUCCESS"), key=lambda row: row[2] != "FAILURE")
    failed = tuple(f"{name}: {what} ({how.lower()})" for name, what, how in bad)
    reached = any(name.startswith(f"{entry}.") and what == _REACHED and how == "FAILURE" for name, what, how in found)
    outcome = "refuted" if failed else "proved" if reached else "vacuous"
    return outcome, len(claims), failed


# -- all theorems ------------------------------------------------------------------------------------------------------


def jobs(names: list[str]) -> list[tuple[Theorem, str]]:
    """Return the jobs (theorem, mechanism). A name may be the beginning of several theorem names."""
    wanted = [t for t in every() if not names or t.name.startswith(tuple(names))]
    if not wanted:
        raise Refused(f"no proof is named {' or '.join(names)}")
    return [(theorem, mechanism) for theorem in wanted for mechanism in theorem.run.mechanisms]


def changed() -> list[tuple[Theorem, str]]:
    """Return the jobs without a proof, and the jobs whose sources have changed since the proof."""
    kept = {row.which: row.digest for row in results.read()[0] if row.outcome == "proved"}
    return [(theorem, mechanism) for theorem, mechanism in jobs([])
            if kept.get((theorem.name, mechanism)) != digest(theorem, mechanism)]


def _one(job: tuple[Theorem, str], fresh: bool) -> tuple[results.Row, dict[str, results.Reached]]:
    """Prove one theorem and print the outcome. The digest is computed from the sources before the proof."""
    of = digest(*job)
    it = prove(*job, fresh=fresh)
    note = f"; {it.note}" if it.note else ""
    print(f"{it.outcome:8} {it.theorem} ({it.mechanism}): {it.checks} claims, {it.seconds:.1f} s, "
          f"{it.megabytes} MB{note}", *(f"\n         {what}" for what in it.failed[:8]), flush=True)
    row = results.Row(it.theorem, it.mechanism, it.outcome, it.checks, it.seconds, it.day, of, it.note)
    return row, of_walk(it.mechanism, walk(*job))


def _keep(made: list[tuple[results.Row, dict[str, results.Reached]]], anew: bool) -> None:
    """Write the new results to results.txt. All further results remain."""
    rows, files = results.read()
    known = {row.which: row for row in rows} | {row.which: row for row, _ in made}
    reached = dict[str, results.Reached]() if anew else files
    for _, more in made:
        reached = results.join(reached, more)
    results.write((known[which] for which in ((t.name, m) for t, m in jobs([])) if which in known), reached)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="prove")
    parser.add_argument("--fresh", action="store_true", help="prove again what has not changed")
    parser.add_argument("--workers", type=int, default=WORKERS)
    parser.add_argument("names", nargs="*", help="proofs, by the beginning of their names")
    given = parser.parse_args(arguments)
    try:
        prover.programs()  # find the prover before the workers need it
        work = jobs(given.names) if given.names or given.fresh else changed()
        with ThreadPoolExecutor(given.workers) as pool:
            made = list(pool.map(lambda job: _one(job, given.fresh), work))
    except Refused as why:
        print(why, file=sys.stderr)
        return 1
    _keep(made, anew=given.fresh and not given.names)
    bad = [row for row, _ in made if row.outcome != "proved"]
    print(f"{len(made) - len(bad)} of {len(made)} proved")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
