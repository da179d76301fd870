"""Coverage-guided fuzzing of the whole application under AddressSanitizer and UndefinedBehaviorSanitizer: build and
run.

The application is compiled as one object whose variables lie in sections of their own, so that the harness can put them
back before every input: each input is a board's life from reset on.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from zipfile import ZipFile

from codegen.common.cache import cache_directory
from tests.conftest import HANG
from tests.firmware.app import sources, three_link
from tests.support.boards import driven

HERE = Path(__file__).resolve().parent
CORPUS = HERE / "corpus.zip"  # inputs that reach every corner found so far, set-cover merged
LONGEST, SHORT = 512, 48  # bytes of one input
SANITIZE = ("-fsanitize=address,undefined,float-cast-overflow", "-fno-sanitize-recover=all")
OPTIONS = ("-std=gnu99", "-O2", "-g1", "-fno-omit-frame-pointer", "-ffp-contract=off", *SANITIZE)
COVERAGE = "-fsanitize-coverage=inline-8bit-counters,pc-table"  # by branches: to trace comparisons too halves the speed
UNGUIDED = ("fake_chip.c", "ft_crc.c")  # whose branches guide nowhere and cost much
OBJCOPY = "alloc,load,data,contents"


def compiler() -> str:
    """clang, by the name it has here."""
    found = next((path for name in ("clang", "clang-14", "clang-15", "clang-16", "clang-17", "clang-18", "clang-19")
                  if (path := shutil.which(name))), None)
    assert found, "clang is missing: apt-get install clang libclang-rt-dev"
    return found


def build(folder: Path, patches: dict | None = None) -> Path:
    """The fuzzer of the three-link arm's application, in `folder`: on current loops, which may fail too."""
    folder.mkdir(parents=True, exist_ok=True)
    files = sources(driven(three_link(), "current"), patches)
    files["fake_chip.c"] = files["fake_chip.c"].replace("#define BUFFER 65536u", "#define BUFFER 4096u")
    files["ft_crc.c"] = (HERE / "quick_crc.c").read_text()
    for name, text in files.items():
        (folder / name).write_text(text)
    code = sorted(name for name in files if name.endswith(".c"))

    def run(*command: str) -> None:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[-2000:]

    clang = compiler()
    run(clang, *OPTIONS, COVERAGE, "-c", *(name for name in code if name not in UNGUIDED))
    run(clang, *OPTIONS, "-c", *UNGUIDED)
    run("ld", "-r", "-o", "application.o", *(name[:-2] + ".o" for name in code))
    run("objcopy", f"--rename-section=.bss=app_bss,{OBJCOPY}", f"--rename-section=.data=app_data,{OBJCOPY}",
        "--set-section-alignment", "app_bss=64", "--set-section-alignment", "app_data=64", "application.o")
    run(clang, *OPTIONS, "-I.", "-c", str(HERE / "harness.c"), "-o", "harness.o")  # its own coverage guides nowhere
    run(clang, *OPTIONS, "-fsanitize=fuzzer", "harness.o", "application.o", "-lm", "-o", "fuzzer")
    return folder / "fuzzer"


@dataclass(frozen=True)
class Outcome:
    """executions: inputs run. features: of coverage, as libFuzzer counts. failure: what was broken, or empty."""

    executions: int
    features: int
    seconds: float
    failure: str


def run(fuzzer: Path, corpus: Path, seconds: int, executions: int = -1, seed: int = 1,
        longest: int = LONGEST) -> Outcome:
    """Fuzz for so many seconds, or so many inputs of at most `longest` bytes. corpus: grows; what breaks a promise is
    left in the fuzzer's folder."""
    corpus.mkdir(parents=True, exist_ok=True)
    with ZipFile(CORPUS) as kept:
        kept.extractall(corpus)
    done = subprocess.run(
        [fuzzer, f"-max_total_time={seconds}", f"-runs={executions}", f"-seed={seed}", f"-max_len={longest}",
         "-print_final_stats=1", f"-timeout={HANG:.0f}", "-entropic=0", f"-artifact_prefix={fuzzer.parent}/", corpus],
        capture_output=True, text=True, errors="replace", timeout=seconds + HANG)
    report = done.stderr

    def last(pattern: str) -> float:
        found = re.findall(pattern, report)
        return float(found[-1]) if found else 0.0

    broken = re.findall(r"^(?:broken: .*|.*runtime error.*|.*ERROR: .*)$", report, re.M)
    failure = "" if done.returncode == 0 else "; ".join(broken[:3]) or report[-500:]
    return Outcome(int(last(r"number_of_executed_units: (\d+)")), int(last(r"ft: (\d+)")),
                   last(r"in (\d+) second"), failure)


def run_all(fuzzer: Path, corpus: Path, seconds: int, seed: int, longest: int) -> list[Outcome]:
    """One fuzzer a processor, all on the same corpus."""
    count = len(os.sched_getaffinity(0))
    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(lambda i: run(fuzzer, corpus, seconds, -1, seed + i, longest), range(count)))


def identity(folder: Path) -> str:
    """Of the sources that were built there: executions count for these only."""
    texts = (path.read_bytes() for path in [*sorted(folder.glob("*.[ch]")), HERE / "harness.c"])
    return hashlib.sha256(b"\0".join(texts)).hexdigest()[:16]


def default_folder() -> Path:
    """Where long campaigns are kept between runs."""
    return cache_directory() / "fuzz"
