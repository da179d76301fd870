"""Environments in the cache for further packages, and a Python 3.12, which ROS 2's wheels and LeRobot 0.6 need."""

import hashlib
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterable
from pathlib import Path

from femtorque.codegen.common import cache
from tests.support.suite import ROOT


def found() -> Path | None:
    """Return an interpreter of Python 3.12 in PATH or of pyenv, or None."""
    for name in ("python3.12", *sorted((Path.home() / ".pyenv" / "versions").glob("3.12*/bin/python"))):
        try:
            done = subprocess.run([name, "-c", "import sys, venv; print(sys.version_info[:2], sys.executable)"],
                                  capture_output=True, text=True, timeout=20)
        except OSError:
            continue
        if done.returncode == 0 and done.stdout.startswith("(3, 12) "):
            return Path(done.stdout.split(") ")[1].strip())
    return Path(sys.executable) if sys.version_info[:2] == (3, 12) else None


def femtorque() -> list[str]:
    """Return the dependencies of femtorque with its virtual board. The code of femtorque comes from the checkout."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return [*project["dependencies"], *project["optional-dependencies"]["hil"]]


def pip(place: Path, *arguments: str | Path) -> None:
    """Install packages into an environment."""
    subprocess.run([place / "bin" / "python", "-m", "pip", "install", "--quiet", *arguments], check=True, timeout=1800)


def kept(kind: str, python: Path, lines: Iterable[str], fill: Callable[[Path], None]) -> Path:
    """Return the environment in the cache for these requirements. If the environment is missing, create it."""
    key = hashlib.sha256("\n".join([str(python), *lines]).encode()).hexdigest()[:12]
    place = cache.cache_directory() / f"{kind}-{key}"
    if not (place / "made").exists():
        shutil.rmtree(place, ignore_errors=True)
        subprocess.run([python, "-m", "venv", place], check=True)
        fill(place)
        (place / "made").touch()
    return place
