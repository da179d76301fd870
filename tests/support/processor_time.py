"""The cost of the tests: seconds of processor time of every row and of the programs that the row ran.

Wall-clock time says little on a busy machine. The time of a program counts once the program has been waited for.
`pytest --cpu` fails if a run costs more than `make test` may, and writes all figures to build/rows.json.
"""

import json
import os
from collections import Counter
from pathlib import Path

import pytest

ROW, FILE, ALL = 5.0, 20.0, 900.0  # s, the most that `make test` may take


def spent() -> float:
    """Return the seconds of processor time of this process and of its finished children."""
    return sum(os.times()[:4])


class ProcessorTime:
    """Assigns every report of a test the seconds since the report before. Sums the seconds by row and by file at the
    end."""

    def __init__(self, config):
        self.config, self.last, self.rows = config, 0.0, Counter()

    def pytest_collection_finish(self):
        self.last = spent()

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self):
        outcome = yield
        now = spent()
        outcome.get_result().processor, self.last = now - self.last, now

    def pytest_runtest_logreport(self, report):
        self.rows[report.nodeid] += report.processor

    def files(self):
        found = Counter()
        for row, seconds in self.rows.items():
            found[row.partition("::")[0]] += seconds
        return found

    def pytest_sessionfinish(self, session):
        if self.config.getoption("--cpu") and not hasattr(self.config, "workerinput"):
            kept = Path(self.config.rootpath) / "build" / "rows.json"
            kept.parent.mkdir(exist_ok=True)
            kept.write_text(json.dumps(dict(self.rows.most_common()), indent=1))
            if self.beyond() and session.exitstatus == 0:
                session.exitstatus = 1

    def beyond(self):
        """Return rows, files and the whole run if they cost more than `make test` may."""
        return [f"{seconds:8.1f}  {name}, of {most:g}" for most, found in (
            (ROW, self.rows), (FILE, self.files()), (ALL, {"all": sum(self.rows.values())}))
            for name, seconds in found.items() if seconds > most]

    def pytest_terminal_summary(self, terminalreporter):
        terminalreporter.section("processor time, s: the whole and its ten dearest files")
        for file, seconds in [("all", sum(self.rows.values())), *self.files().most_common(10)]:
            terminalreporter.write_line(f"{seconds:8.1f}  {file}")
        if self.config.getoption("--cpu"):
            terminalreporter.section("dearer than `make test` may be")
            for line in self.beyond():
                terminalreporter.write_line(line)
