"""The types of the product hold together: what duck-typed users of a method expect of it, too."""

from __future__ import annotations

import subprocess
import sys

from tests.conftest import ROOT


def test_types_hold():
    found = subprocess.run([sys.executable, "-m", "mypy"], cwd=ROOT, capture_output=True, text=True)
    assert found.returncode == 0, found.stdout + found.stderr
