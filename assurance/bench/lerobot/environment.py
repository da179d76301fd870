"""Environments with LeRobot, installed once by pip and stored in the cache.

LeRobot 0.4.4 is the newest release for Python 3.11. LeRobot 0.6.1 is for Python 3.12, and is installed with all its
dependencies (6 GB). For 0.4.4, torchvision is replaced by a stand-in in this folder, as no test examines images."""

import os
import shutil
import sys
from pathlib import Path

from assurance.bench import python312
from tests.support.suite import ROOT

PLUGIN = ROOT / "integrations" / "lerobot"
HERE = Path(__file__).resolve().parent
OLD, NEW = "0.4.4", "0.6.1"
NEWER = (f"lerobot[core-scripts,async,feetech]=={NEW}", "python-can>=4.3", "setuptools>=71,<82", "pytest", "hypothesis")
ALONE = (f"lerobot=={OLD}", "draccus==0.10.0", "pyyaml-include<2", "diffusers<0.36", "accelerate==1.14.0",
         "safetensors", "psutil", "torch")  # installed without their dependencies
BESIDE = ("torch==2.13.0", "numpy<2.3", "huggingface-hub<0.36", "datasets<5", "mergedeep", "typing-inspect", "toml",
          "deepdiff", "termcolor", "einops", "opencv-python-headless<4.13", "pyserial", "av<16", "jsonlines",
          "gymnasium", "pandas", "pyarrow", "imageio", "rerun-sdk<0.27", "pynput", "python-can>=4.3",
          "feetech-servo-sdk", "setuptools>=71", "pytest", "hypothesis", "packaging")


def made(version: str) -> Path | None:
    """Return the environment's bin folder, with the present plugin, or None if the required Python is missing.

    The first call takes minutes."""
    python = Path(sys.executable) if version == OLD else python312.found()
    if python is None:
        return None
    lines = [*(ALONE + BESIDE if version == OLD else NEWER), *python312.femtorque()]

    def fill(place: Path) -> None:
        python312.pip(place, *(line for line in lines if version == NEW or line not in ALONE))
        if version == OLD:
            python312.pip(place, "--no-deps", *ALONE)

    place = python312.kept("lerobot", python, lines, fill)
    # the checkout, with its package metadata
    python312.pip(place, "--no-deps", "--no-build-isolation", "--editable", ROOT)
    for name, folder in (("plugin", PLUGIN), ("wave", HERE / "wave")):
        source = place / name
        shutil.rmtree(source, ignore_errors=True)
        shutil.copytree(folder, source, ignore=shutil.ignore_patterns("build", "*.egg-info", "__pycache__"))
        python312.pip(place, "--no-deps", "--force-reinstall", "--no-build-isolation", source)
    return place / "bin"


def variables(bin: Path, home: Path) -> dict[str, str]:
    """Return environment variables for programs in the environment. home: LeRobot's data folder."""
    paths = [ROOT] if any(bin.parent.glob("lib/python*/site-packages/torchvision")) else [ROOT, HERE]
    own = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "PYTEST_"))}
    return own | {"PATH": f"{bin}:{os.environ['PATH']}", "PYTHONPATH": ":".join(map(str, paths)),
                  "HF_LEROBOT_HOME": str(home), "HF_HUB_OFFLINE": "1", "FEMTORQUE_LEROBOT": "installed",
                  "COLUMNS": "200"}
