"""An environment of its own with LeRobot, made once by pip and kept in the cache.

LeRobot 0.4.4 is the newest for Python 3.11. Its torch is the build for processors alone; torchvision, of which there is
none that goes with it, is a stand-in beside this file, as no test looks at pictures. LeRobot itself is whole.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

from femtorque.codegen.common import cache
from tests.conftest import ROOT

PLUGIN = ROOT / "integrations" / "lerobot"
HERE = Path(__file__).resolve().parent
ALONE = ("lerobot==0.4.4", "draccus==0.10.0", "pyyaml-include<2", "diffusers<0.36", "accelerate==1.14.0", "safetensors",
         "psutil", "torch")  # without what they ask for
BESIDE = ("torch==2.13.0", "numpy<2.3", "huggingface-hub<0.36", "datasets<5", "mergedeep", "typing-inspect", "toml",
          "deepdiff", "termcolor", "einops", "opencv-python-headless<4.13", "pyserial", "av<16", "jsonlines",
          "gymnasium", "pandas", "pyarrow", "imageio", "rerun-sdk<0.27", "pynput", "python-can>=4.3",
          "feetech-servo-sdk", "setuptools>=71", "pytest", "hypothesis", "packaging")


def _femtorque() -> list[str]:
    """Packages that femtorque with its virtual board needs; its own code is that of the checkout."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return [*project["dependencies"], *project["optional-dependencies"]["hil"]]


def made() -> Path:
    """The environment's bin folder, with the plugin as it is now. Takes minutes the first time."""
    lines = [*ALONE, *BESIDE, *_femtorque()]
    key = hashlib.sha256("\n".join(lines).encode()).hexdigest()[:12]
    place = cache.cache_directory() / f"lerobot-{key}"
    done = place / "made"
    python = place / "bin" / "python"
    if not done.exists():
        shutil.rmtree(place, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", place], check=True)
        pip = [python, "-m", "pip", "install", "--quiet"]
        subprocess.run([*pip, *BESIDE, *_femtorque()], check=True, timeout=1800)
        subprocess.run([*pip, "--no-deps", *ALONE], check=True, timeout=600)
        done.touch()
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--editable", ROOT],
                   check=True, timeout=300)  # the checkout itself, with its metadata
    source = place / "plugin"
    shutil.rmtree(source, ignore_errors=True)
    shutil.copytree(PLUGIN, source, ignore=shutil.ignore_patterns("build", "*.egg-info", "__pycache__"))
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-deps", "--force-reinstall", "--no-build-isolation",
                    source], check=True, timeout=300)
    return place / "bin"


def variables(bin: Path, home: Path) -> dict[str, str]:
    """Environment variables for programs that run in it. home: folder for what LeRobot keeps."""
    own = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "PYTEST_"))}
    return own | {"PATH": f"{bin}:{os.environ['PATH']}", "PYTHONPATH": f"{ROOT}:{HERE}", "HF_LEROBOT_HOME": str(home),
                  "HF_HUB_OFFLINE": "1", "FEMTORQUE_LEROBOT": "installed", "COLUMNS": "200"}
