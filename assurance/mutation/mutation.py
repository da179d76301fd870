"""A program that runs the application's tests against its mutants: python -m assurance.mutation.mutation OUT.json
FILE... (--help: other options).

First every test runs once without a mutant. The test must pass, and the run records the mutants that would have changed
a value. Then each mutant is activated in a separate process. This process runs the tests in which the mutant changes a
value, until a test fails. A crash and a time-out are regarded as a failure too."""

import argparse
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import cffi
import hypothesis
import pytest
from _pytest.runner import runtestprotocol

from assurance.mutation.mutants import Mutant, Schemata
from femtorque.codegen.drive import application
from femtorque.codegen.toolchain import host_compiler
from tests.firmware import app
from tests.support.suite import CLOCKLESS

HERE = Path(__file__).resolve().parents[2] / "tests" / "firmware"
TESTS = ("safety", "brake", "heat", "lab", "link", "motion", "pace", "law", "loops", "turns", "follow", "park",
         "touches", "returns")
FLAGS = ("-O1", "-w", "-std=gnu99", "-fPIC", *host_compiler.ARITHMETIC)
PATIENCE, AT_LEAST = 10.0, 5.0  # limits of a test: multiple of its normal time, and s of processor time
MOST = 100  # number of tests for a mutant that is known to survive; other mutants are run with all tests
CHUNK = 40  # number of tests per process, at first

Outcome = dict[str, Any]


def library(files: dict[str, str], flags: tuple[str, ...], folder: Path) -> Path:
    """Compile C files into a library in a folder. Objects are cached, because boards differ in few files."""
    own = Path(tempfile.mkdtemp(dir=folder))
    objects = [app.compiled(name, files, flags) for name in sorted(n for n in files if n.endswith(".c"))]
    subprocess.run([host_compiler.compiler(), "-shared", *objects, "-o", own / "library.so"], check=True)
    return own / "library.so"


class Living:
    """The active mutant of this process, in all loaded libraries."""

    def __init__(self, schemata: Schemata, folder: Path) -> None:
        self.schemata, self.folder, self.number, self.count = schemata, folder, 0, 0
        self.loaded: list[tuple[cffi.FFI, Any]] = []

    def load(self, files: dict[str, str], cdef: str,
             precision: host_compiler.Precision = "single") -> tuple[cffi.FFI, Any]:
        """Load an application with mutants, as a replacement for `app.load`."""
        key = hashlib.sha256(repr((precision, sorted(files.items()))).encode()).hexdigest()[:32]
        kept = self.folder / f"{key}.so"
        if not kept.exists():
            os.replace(library(self.schemata.put_into(files),
                               (*FLAGS, *host_compiler.precision_flags(precision)), self.folder),
                       kept)
        self.count += 1
        own = self.folder / f"{os.getpid()}-{self.count}.so"
        shutil.copy(kept, own)
        ffi = cffi.FFI()
        ffi.cdef(cdef + self.schemata.cdef)
        lib = ffi.dlopen(str(own))
        own.unlink()
        lib.ft_mutant = self.number
        self.loaded.append((ffi, lib))
        return ffi, lib

    def hit(self) -> set[int]:
        """Return the mutants that would have changed a value since the last call."""
        found: set[int] = set()
        for ffi, lib in self.loaded:
            marks = ffi.buffer(lib.ft_mutant_hit)
            found |= {i for i, mark in enumerate(bytes(marks)) if mark}
            marks[:] = bytes(len(marks))
        return found


def passes(item: pytest.Item) -> bool:
    return not any(report.failed for report in runtestprotocol(item, log=False, nextitem=None))


def forked(tasks: Sequence[Callable[[], Any]], folder: Path, workers: int) -> Iterator[tuple[int, Any]]:
    """Yield (index, result) of tasks in separate processes: None after a crash or beyond the time."""
    waiting, running = list(enumerate(tasks))[::-1], {}
    while waiting or running:
        while waiting and len(running) < workers:
            index, task = waiting.pop()
            pid = os.fork()
            if pid == 0:
                try:
                    (folder / f"{index}.json").write_text(json.dumps(task()))
                finally:
                    os._exit(0)
            running[pid] = index
        index = running.pop(os.wait()[0])
        result = folder / f"{index}.json"
        yield index, json.loads(result.read_text()) if result.exists() else None
        result.unlink(missing_ok=True)


class Campaign:
    """A pytest plugin that runs the tests with mutants."""

    def __init__(self, schemata: Schemata, wanted: Sequence[Mutant], known: set[str], folder: Path) -> None:
        self.schemata, self.wanted, self.known, self.folder = schemata, wanted, known, folder
        self.workers = os.cpu_count() or 1
        self.living = Living(schemata, folder)
        self.outcomes: list[Outcome] = []
        app.load = self.living.load

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        items = {item.nodeid: item for item in session.items}
        healthy = self._healthy(list(items.values()))
        seconds = {nodeid: took for nodeid, took, _ in healthy}
        killers: dict[int, list[str]] = {}
        for nodeid, _, hit in sorted(healthy, key=lambda row: row[1]):
            for number in hit:
                killers.setdefault(number, []).append(nodeid)

        # number of mutants that a test has killed: in a function, and anywhere
        kills: Counter[tuple[str, str]] = Counter()

        def order(mutant: Mutant) -> list[str]:
            """Return the tests in the order in which they are run. The first half are the tests that have killed most
            mutants, especially mutants in the same function. Then follow the quickest tests of each file in turn."""
            tests = killers.get(self.schemata.numbers[mutant], [])
            known = sorted(tests, key=lambda test: (-kills[mutant.function, test], -kills["", test]))[:MOST // 2]
            files: Counter[str] = Counter()
            turns = {}
            for test in tests:
                turns[test] = files[test.partition("::")[0]]
                files[test.partition("::")[0]] += 1
            rest = sorted(set(tests) - set(known), key=lambda test: (turns[test], test))
            return [*known, *rest][:MOST if str(mutant) in self.known else None]

        def trial(number: int) -> tuple[str, float]:
            self.living.number, start = number, time.process_time()
            for nodeid in order(self.schemata.mutants[number - 1]):
                (self.folder / f"at-{number}").write_text(nodeid)
                signal.setitimer(signal.ITIMER_PROF, AT_LEAST + PATIENCE * seconds[nodeid])
                if not passes(items[nodeid]):
                    return nodeid, time.process_time() - start
            return "", time.process_time() - start

        numbers = [self.schemata.numbers[mutant] for mutant in self.wanted]
        tasks = [lambda number=number: trial(number) for number in numbers]
        for index, outcome in forked(tasks, self.folder, self.workers):
            killer, took = outcome or (None, AT_LEAST)
            at = self.folder / f"at-{numbers[index]}"
            mutant = self.wanted[index]
            kills.update([(mutant.function, killer), ("", killer)] if killer else [])
            self.outcomes.append({
                "file": mutant.file, "mutant": str(mutant), "tests": len(killers.get(numbers[index], [])),
                "killer": at.read_text() + " (crash or time-out)" if killer is None else killer,
                "seconds": round(took, 3),
            })
            print(self.outcomes[-1], flush=True)
        return True

    def _healthy(self, items: list[pytest.Item]) -> list[tuple[str, float, list[int]]]:
        """Return each test's name, its time without a mutant, and the mutants that would change a value."""
        def run(some: list[pytest.Item]) -> list[tuple[str, float, list[int]]]:
            rows = []
            for item in some:
                start = time.process_time()  # excludes the time of compilers
                if not passes(item):
                    raise RuntimeError(item.nodeid)
                rows.append((item.nodeid, time.process_time() - start, sorted(self.living.hit())))
            return rows

        chunks = [items[i:i + CHUNK] for i in range(0, len(items), CHUNK)]
        rows = []
        for index, found in forked([lambda some=some: run(some) for some in chunks], self.folder, self.workers):
            if found is None:
                raise RuntimeError(f"without a mutant a test fails among {[i.nodeid for i in chunks[index]]}")
            rows += found
        return rows


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--tests", nargs="*", default=TESTS)
    parser.add_argument("--match", default="", help="which of the tests, as of pytest -k")
    parser.add_argument("--like", default="", help="a regular expression that the mutants hold")
    parser.add_argument("--known", type=Path, help="mutants of which is known that they live on, as JSON")
    arguments = parser.parse_args()
    known = set(json.loads(arguments.known.read_text())) if arguments.known else set()
    hypothesis.settings.register_profile("same", CLOCKLESS, derandomize=True, database=None)
    hypothesis.settings.load_profile("same")
    schemata = Schemata({name: application()[name].read_text() for name in arguments.files})
    wanted = [mutant for mutant in schemata.mutants if re.search(arguments.like, str(mutant))]
    with tempfile.TemporaryDirectory(prefix="femtorque-mutants-") as folder:
        campaign = Campaign(schemata, wanted, known, Path(folder))
        status = pytest.main(["-q", "-s", "-p", "no:faulthandler", "--tb=native", "--assert=plain",
                              "-m", "not bench and not soak", "-k", arguments.match,
                              *(str(HERE / f"test_{name}.py") for name in arguments.tests)], plugins=[campaign])
        arguments.out.write_text(json.dumps(campaign.outcomes, indent=1))
    sys.exit(status)


if __name__ == "__main__":
    main()
