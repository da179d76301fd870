"""Test that a mechanism is planned, built and run with the newest version of every package, without constraints."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.suite import ROOT

pytestmark = pytest.mark.bench

ARM = ROOT / "mechanisms" / "three_link.toml"


def run(folder: Path, *words: object) -> str:
    done = subprocess.run(list(map(str, words)), cwd=folder, capture_output=True, text=True, timeout=1800)
    assert done.returncode == 0, f"{words}: {done.stdout[-2000:]}{done.stderr[-2000:]}"
    return done.stdout


def test_the_newest_packages_plan_build_and_run(tmp_path: Path) -> None:
    python = tmp_path / "home" / "bin" / "python"
    run(tmp_path, sys.executable, "-m", "venv", tmp_path / "home")
    run(tmp_path, python, "-m", "pip", "install", "--quiet", "--upgrade", "--upgrade-strategy", "eager", f"{ROOT}[all]")
    (tmp_path / "way.toml").write_text("[[waypoint]]\njoints = { shoulder = 0.3, elbow = 0.3, wrist = 0.3 }\n")
    for words in (("check", ARM), ("plan", ARM, "way.toml", "-o", "motion.csv", "--back"),
                  ("hil", "run", ARM, "motion.csv", "--log", "run.mcap"), ("plot", "run.mcap")):
        run(tmp_path, python, "-m", "femtorque", *words)
    print(run(tmp_path, python, "-m", "pip", "list", "--format", "freeze"))
