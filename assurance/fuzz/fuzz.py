"""Coverage-guided fuzzing of the whole application under AddressSanitizer and UndefinedBehaviorSanitizer: build and
run.

The application is compiled as one object with separate sections for its variables. So the harness can restore the
variables before every input. Each input describes one run of a board, beginning with reset."""

import hashlib
import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from zipfile import ZipFile

from femtorque.codegen.common import kept, key_of, program
from femtorque.codegen.common.cache import cache_directory
from femtorque.codegen.mechanism import Mechanism
from tests.firmware.app import sources, three_link
from tests.support import mixed
from tests.support.boards import driven
from tests.support.suite import HANG

HERE = Path(__file__).resolve().parent
LONGEST, SHORT = 512, 48  # bytes of one input
SANITIZE = ("-fsanitize=address,undefined,float-cast-overflow", "-fno-sanitize-recover=all")
OPTIONS = ("-std=gnu99", "-O2", "-g1", "-fno-omit-frame-pointer", "-ffp-contract=off")
# branches only: instrumentation of comparisons would halve the speed
COVERAGE = "-fsanitize-coverage=inline-8bit-counters,pc-table"
PROFILE = ("-fprofile-instr-generate", "-fcoverage-mapping")
UNGUIDED = ("fake_chip.c", "ft_crc.c")  # instrumenting their branches costs much time and does not guide the search
OBJCOPY = "alloc,load,data,contents"


@dataclass(frozen=True)
class Target:
    """A fuzz target: a mechanism's application and its harness."""

    mechanism: Callable[[], Mechanism]
    harness: Path
    corpus: Path  # inputs that cover all code covered so far, reduced by set-cover merge


# its current loops may fail
ARM = Target(lambda: driven(three_link(), "current"), HERE / "harness.c", HERE / "corpus.zip")
# theorems show the same properties of the other families' frames for all values
BUSES = Target(mixed.newer, HERE / "buses.c", HERE / "buses.zip")


def tool(name: str) -> str:
    """Return a program of LLVM by its name on this computer."""
    found = next((path for which in (name, *(f"{name}-{n}" for n in range(14, 20))) if (path := shutil.which(which))),
                 None)
    assert found, f"{name} is missing: apt-get install clang libclang-rt-dev llvm"
    return found


def written(target: Target, patches: dict | None = None) -> dict[str, str]:
    """Return all source files of a fuzzer: {name: text}."""
    files = sources(target.mechanism(), patches)
    files["fake_chip.c"] = files["fake_chip.c"].replace("#define BUFFER 65536u", "#define BUFFER 4096u")
    files["ft_crc.c"] = (HERE / "quick_crc.c").read_text()
    headers = {path.name: path.read_text() for path in HERE.glob("*.h")}
    return files | headers | {"harness.c": target.harness.read_text()}


def build(target: Target = ARM, patches: dict | None = None, profile: bool = False) -> Path:
    """Build an application's fuzzer in the folder of its sources. profile: count branches, without sanitizers."""
    files, clang = written(target, patches), tool("clang")
    options = (*OPTIONS, *(PROFILE if profile else SANITIZE))
    guide = () if profile else (COVERAGE,)
    code = sorted(name for name in files if name.endswith(".c") and name != "harness.c")

    def make(folder: Path) -> None:
        for name, text in files.items():
            (folder / name).write_text(text)

        def run(*command: str) -> None:
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
            assert done.returncode == 0, done.stderr[-2000:]

        run(clang, *options, *guide, "-c", *(name for name in code if name not in UNGUIDED))
        run(clang, *options, "-c", *UNGUIDED)
        run("ld", "-r", "-o", "application.o", *(name[:-2] + ".o" for name in code))
        run("objcopy", f"--rename-section=.bss=app_bss,{OBJCOPY}", f"--rename-section=.data=app_data,{OBJCOPY}",
            "--set-section-alignment", "app_bss=64", "--set-section-alignment", "app_data=64", "application.o")
        run(clang, *options, "-c", "harness.c")  # coverage of the harness would not guide the search
        run(clang, *options, "-fsanitize=fuzzer", "harness.o", "application.o", "-lm", "-o", "fuzzer")
        for left in folder.glob("*.o"):
            left.unlink()

    parts = (x for item in sorted(files.items()) for x in item)
    return kept(key_of("fuzzer", program(clang), *options, *guide, *parts), make) / "fuzzer"


@dataclass(frozen=True)
class Outcome:
    """executions: inputs. features: libFuzzer's coverage features. failure: the violated property, or empty."""

    executions: int
    features: int
    seconds: float
    failure: str


def run(fuzzer: Path, corpus: Path, seconds: int, executions: int = -1, seed: int = 1,
        longest: int = LONGEST, target: Target = ARM) -> Outcome:
    """Fuzz for a number of seconds, or a number of inputs of at most `longest` bytes. Found inputs are added to the
    corpus. An input that violates a property is written next to the corpus."""
    corpus.mkdir(parents=True, exist_ok=True)
    with ZipFile(target.corpus) as inputs:
        inputs.extractall(corpus)
    done = subprocess.run(
        [fuzzer, f"-max_total_time={seconds}", f"-runs={executions}", f"-seed={seed}", f"-max_len={longest}",
         "-print_final_stats=1", f"-timeout={HANG:.0f}", "-entropic=0", f"-artifact_prefix={corpus.parent}/", corpus],
        capture_output=True, text=True, errors="replace", timeout=seconds + HANG)
    report = done.stderr

    def last(pattern: str) -> float:
        found = re.findall(pattern, report)
        return float(found[-1]) if found else 0.0

    broken = re.findall(r"^(?:broken: .*|.*runtime error.*|.*ERROR: .*)$", report, re.M)
    failure = "" if done.returncode == 0 else "; ".join(broken[:3]) or report[-500:]
    return Outcome(int(last(r"number_of_executed_units: (\d+)")), int(last(r"ft: (\d+)")),
                   last(r"in (\d+) second"), failure)


def run_all(fuzzer: Path, corpus: Path, seconds: int, seed: int, longest: int, target: Target) -> list[Outcome]:
    """Run one fuzzer on each processor, all with the same corpus."""
    count = len(os.sched_getaffinity(0))
    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(lambda i: run(fuzzer, corpus, seconds, -1, seed + i, longest, target), range(count)))


@dataclass(frozen=True)
class Branch:
    """A condition in a source file: its text, and how often it was true and false."""

    file: str
    line: int
    text: str
    true: int
    false: int


def branches(target: Target, names: Iterable[str], folder: Path) -> list[Branch]:
    """Return the conditions in these files, with the counts of both outcomes over the corpus. A condition of a header
    counts wherever the header is included."""
    fuzzer = build(target, profile=True)
    counts, merged = folder / "counts", folder / "merged"
    with ZipFile(target.corpus) as inputs:
        inputs.extractall(folder / "corpus")
    subprocess.run([fuzzer, "-runs=0", folder / "corpus"], cwd=folder, check=True, capture_output=True,
                   env=os.environ | {"LLVM_PROFILE_FILE": str(counts)})
    subprocess.run([tool("llvm-profdata"), "merge", "-o", merged, counts], check=True)
    told = subprocess.run([tool("llvm-cov"), "export", fuzzer, f"-instr-profile={merged}"], check=True,
                          capture_output=True, text=True).stdout
    found = []
    for file in json.loads(told)["data"][0]["files"]:
        if (name := Path(file["filename"]).name) not in names:
            continue
        lines = (fuzzer.parent / name).read_text().splitlines()
        for line, column, last, end, true, false, *_ in file["branches"]:
            text = lines[line - 1][column - 1:end - 1 if last == line else None]
            found.append(Branch(name, line, text.strip(), true, false))
    return found


def identity(folder: Path) -> str:
    """Return the digest of the built sources. Executions are added up only for equal sources."""
    texts = (path.read_bytes() for path in sorted(folder.glob("*.[ch]")))
    return hashlib.sha256(b"\0".join(texts)).hexdigest()[:16]


def default_folder() -> Path:
    """Return the folder that stores long campaigns between runs."""
    return cache_directory() / "fuzz"
