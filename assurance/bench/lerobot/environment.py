"""Environments of their own with LeRobot, made once by pip and kept in the cache.

LeRobot 0.4.4 is the newest for Python 3.11; 0.6.1 is for Python 3.12, and is installed with all that it needs (6 GB).
Torchvision is a stand-in beside this file, as no test looks at pictures.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

from assurance.bench import python312
from femtorque.codegen.common import cache
from tests.support.suite import ROOT

PLUGIN = ROOT / "integrations" / "lerobot"
HERE = Path(__file__).resolve().parent
OLD, NEW = "0.4.4", "0.6.1"
NEWER = (f"lerobot[core-scripts,feetech]=={NEW}", "python-can>=4.3", "setuptools>=71,<82", "pytest", "hypothesis")
ALONE = (f"lerobot=={OLD}", "draccus==0.10.0", "pyyaml-include<2", "diffusers<0.36", "accelerate==1.14.0",
         "safetensors", "psutil", "torch")  # without what they ask for
BESIDE = ("torch==2.13.0", "numpy<2.3", "huggingface-hub<0.36", "datasets<5", "mergedeep", "typing-inspect", "toml",
          "deepdiff", "termcolor", "einops", "opencv-python-headless<4.13", "pyserial", "av<16", "jsonlines",
          "gymnasium", "pandas", "pyarrow", "imageio", "rerun-sdk<0.27", "pynput", "python-can>=4.3",
          "feetech-servo-sdk", "setuptools>=71", "pytest", "hypothesis", "packaging")


def _femtorque() -> list[str]:
    """Packages that femtorque with its virtual board needs; its own code is that of the checkout."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return [*project["dependencies"], *project["optional-dependencies"]["hil"]]


def made(version: str) -> Path | None:
    """The environment's bin folder, with the plugin as it is now; None without the Python that it needs. Takes minutes
    the first time."""
    python = Path(sys.executable) if version == OLD else python312.found()
    if python is None:
        return None
    place = _old(python) if version == OLD else _new(python)
    bin = place / "bin"
    _pip(bin, "--no-deps", "--no-build-isolation", "--editable", ROOT)  # the checkout itself, with its metadata
    for name, folder in (("plugin", PLUGIN), ("wave", HERE / "wave")):
        source = place / name
        shutil.rmtree(source, ignore_errors=True)
        shutil.copytree(folder, source, ignore=shutil.ignore_patterns("build", "*.egg-info", "__pycache__"))
        _pip(bin, "--no-deps", "--force-reinstall", "--no-build-isolation", source)
    return bin


def _pip(bin: Path, *arguments: str | Path) -> None:
    subprocess.run([bin / "python", "-m", "pip", "install", "--quiet", *arguments], check=True, timeout=1800)


def _old(python: Path) -> Path:
    def fill(bin: Path) -> None:
        _pip(bin, *BESIDE, *_femtorque())
        _pip(bin, "--no-deps", *ALONE)

    return _kept(python, [*ALONE, *BESIDE, *_femtorque()], fill)


def _new(python: Path) -> Path:
    lines = [*NEWER, *_femtorque()]
    return _kept(python, lines, lambda bin: _pip(bin, *lines))


def _kept(python: Path, lines: list[str], fill: Callable[[Path], None]) -> Path:
    """An environment that was filled before, or is filled now."""
    key = hashlib.sha256("\n".join([str(python), *lines]).encode()).hexdigest()[:12]
    place = cache.cache_directory() / f"lerobot-{key}"
    if not (place / "made").exists():
        shutil.rmtree(place, ignore_errors=True)
        subprocess.run([python, "-m", "venv", place], check=True)
        fill(place / "bin")
        (place / "made").touch()
    return place


def variables(bin: Path, home: Path) -> dict[str, str]:
    """Environment variables for programs that run in it. home: folder for what LeRobot keeps."""
    own = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "PYTEST_"))}
    return own | {"PATH": f"{bin}:{os.environ['PATH']}", "PYTHONPATH": f"{ROOT}:{HERE}", "HF_LEROBOT_HOME": str(home),
                  "HF_HUB_OFFLINE": "1", "FEMTORQUE_LEROBOT": "installed", "COLUMNS": "200"}
