"""Test of the cost of `make test`: at most 5 s of processor time per row, 20 s per file, and 900 s in total."""

import subprocess
import sys

import pytest

from tests.support.suite import ROOT


@pytest.mark.bench
def test_that_make_test_stays_within_its_processor_time():
    done = subprocess.run([sys.executable, "-m", "pytest", "-n", "2", "--dist", "loadfile", "--cpu", "-m",
                           "not assure and not bench and not soak"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-4000:]
