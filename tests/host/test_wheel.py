"""The wheel: what is installed away from the checkout can do what the checkout can."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = ("codegen", "host", "hil", "firmware")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("wheel")
    source = tmp_path_factory.mktemp("source") / "femtorque"
    for room in ROOMS:  # a copy: building leaves folders behind
        shutil.copytree(ROOT / room, source / room, ignore=shutil.ignore_patterns("__pycache__", ".pio"))
    for name in ("pyproject.toml", "README.md", "LICENSE", "femtorque.py"):
        shutil.copy(ROOT / name, source / name)
    subprocess.run([sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", out, source], check=True)
    return next(out.glob("femtorque-*.whl"))


def test_the_wheel_holds_every_file_that_is_read_at_run_time(wheel):
    held = set(zipfile.ZipFile(wheel).namelist())
    skip = {"THEORY.md", "__pycache__", ".pio"}
    wanted = {path.relative_to(ROOT).as_posix() for room in ROOMS for path in (ROOT / room).rglob("*")
              if path.is_file() and not skip.intersection(path.parts)}
    assert wanted - held == set()


def test_an_installed_copy_starts_checks_and_builds(wheel, tmp_path):
    site, work = tmp_path / "site", tmp_path / "work"
    work.mkdir()
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", site, wheel], check=True)
    environment = {**os.environ, "PYTHONPATH": str(site), "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}

    def femtorque(*arguments: str) -> str:
        command = [sys.executable, "-c", "import femtorque; femtorque.main()", *arguments]
        done = subprocess.run(command, cwd=work, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    where = subprocess.run([sys.executable, "-c", "import codegen; print(codegen.__file__)"], cwd=work, env=environment,
                           capture_output=True, text=True, check=True).stdout
    assert Path(where.strip()).is_relative_to(site)
    femtorque("init", "arm")
    femtorque("check", "arm.toml")
    assert "firmware.bin" in femtorque("build", "arm.toml")
    assert (work / "build" / "arm" / "firmware.bin").stat().st_size > 1000
