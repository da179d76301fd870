"""Cost of each test file: `pytest --cpu` prints the processor time of its tests and of the programs that they ran.

Processor time and not time by the clock, which on a busy machine says little. A program counts once it has been waited
for.
"""

import os
from collections import Counter

import pytest


def spent() -> float:
    """Seconds of processor time of this process and of those that it has waited for."""
    return sum(os.times()[:4])


class ProcessorTime:
    """Gives every report of a test the seconds since the report before it; sums them by file at the end."""

    def __init__(self):
        self.last, self.files = 0.0, Counter()

    def pytest_collection_finish(self):
        self.last = spent()

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self):
        outcome = yield
        now = spent()
        outcome.get_result().processor, self.last = now - self.last, now

    def pytest_runtest_logreport(self, report):
        self.files[report.nodeid.partition("::")[0]] += report.processor

    def pytest_terminal_summary(self, terminalreporter):
        terminalreporter.section("processor time, s")
        for file, seconds in [*self.files.most_common(), ("all", sum(self.files.values()))]:
            terminalreporter.write_line(f"{seconds:8.1f}  {file}")
