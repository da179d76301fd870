"""A measurement of the processor time of each test row, and of the programs that the row started. Wall-clock time would
also depend on unrelated programs on the computer. The time of a program is included after the test has waited for its
end. `pytest --cpu` writes all figures to build/rows.json, and fails if a run exceeds the limits of `make test`."""

import json
import os
from collections import Counter
from pathlib import Path

import pytest

ROW, FILE, ALL = 5.0, 20.0, 900.0  # limits of `make test`, s of processor time


def spent() -> float:
    """Return the processor time, s, of this process and of its finished children."""
    return sum(os.times()[:4])


class ProcessorTime:
    """A plugin that adds to each test report the processor time, s, since the previous report.

    At the end of the run the plugin adds up the times by row and by file."""

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
        """Return the rows, files and runs that exceed the limits of `make test`."""
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
