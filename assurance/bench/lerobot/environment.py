"""Environments of their own with LeRobot, made once by pip and kept in the cache.

LeRobot 0.4.4 is the newest for Python 3.11. That of 0.6.1, which asks for Python 3.12, lies over the one of 0.4.4; five
of its files say types in the syntax of 3.12, and that alone is changed (`lowered`). Torch is the build for processors
alone; torchvision, of which there is none that goes with it, is a stand-in beside this file, as no test looks at
pictures.
"""

from __future__ import annotations

import ast
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

from femtorque.codegen.common import cache
from tests.support.suite import ROOT

PLUGIN = ROOT / "integrations" / "lerobot"
HERE = Path(__file__).resolve().parent
OLD, NEW = "0.4.4", "0.6.1"
OVER = (f"lerobot=={NEW}", "draccus==0.11.6", "huggingface-hub>=1.6,<2", "setuptools>=71,<82")  # over those of 0.4.4
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


def made(version: str) -> Path:
    """The environment's bin folder, with the plugin as it is now. Takes minutes the first time."""
    place = _old() if version == OLD else _new(_old())
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


def _old() -> Path:
    lines = [*ALONE, *BESIDE, *_femtorque()]

    def fill(bin: Path) -> None:
        _pip(bin, *BESIDE, *_femtorque())
        _pip(bin, "--no-deps", *ALONE)

    return _kept(lines, fill)


def _new(old: Path) -> Path:
    def fill(bin: Path) -> None:
        (packages,), (below,) = ((place / "lib").glob("python*/site-packages") for place in (bin.parent, old))
        (packages / "zz_below.pth").write_text(f"{below}\n", encoding="utf-8")
        _pip(bin, "--no-deps", "--ignore-requires-python", *OVER)
        for file in (packages / "lerobot").rglob("*.py"):
            text = file.read_text(encoding="utf-8")
            if (changed := lowered(text)) != text:
                file.write_text(changed, encoding="utf-8")

    return _kept([*OVER, str(old), Path(__file__).read_text(encoding="utf-8")], fill)


def _kept(lines: list[str], fill: Callable[[Path], None]) -> Path:
    """An environment that was filled before, or is filled now."""
    key = hashlib.sha256("\n".join(lines).encode()).hexdigest()[:12]
    place = cache.cache_directory() / f"lerobot-{key}"
    if not (place / "made").exists():
        shutil.rmtree(place, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", place], check=True)
        fill(place / "bin")
        (place / "made").touch()
    return place


def lowered(text: str) -> str:
    """Python 3.12's declarations of types as 3.11 has them; a text that 3.11 reads stays as it is."""
    try:
        ast.parse(text)
        return text
    except SyntaxError:
        pass
    names: set[str] = set()

    def own(list_of: str) -> str:
        found = [one.partition(":")[0].strip() for one in list_of.split(",")]
        names.update(found)
        return f"Generic[{', '.join(found)}]"

    text = re.sub(r"(?m)^type (\w+) = ", r"\1 = ", text)
    text = re.sub(r"(?m)^class (\w+)\[([^\]]*)\](?:\((.*)\))?:",
                  lambda m: f"class {m[1]}({m[3] + ', ' if m[3] else ''}{own(m[2])}):", text)
    text = re.sub(r"(?m)^def (\w+)\[([^\]]*)\]\(", lambda m: own(m[2]) and f"def {m[1]}(", text)
    first = [node.end_lineno or 0 for node in ast.parse(text).body[:2] if isinstance(node, ast.Expr)
             or isinstance(node, ast.ImportFrom) and node.module == "__future__"]
    at = max(first, default=0)
    lines = text.splitlines(keepends=True)
    new = ["\nfrom typing import Generic, TypeVar\n", *(f'{name} = TypeVar("{name}")\n' for name in sorted(names))]
    return "".join([*lines[:at], *new, *lines[at:]])


def variables(bin: Path, home: Path) -> dict[str, str]:
    """Environment variables for programs that run in it. home: folder for what LeRobot keeps."""
    own = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "PYTEST_"))}
    return own | {"PATH": f"{bin}:{os.environ['PATH']}", "PYTHONPATH": f"{ROOT}:{HERE}", "HF_LEROBOT_HOME": str(home),
                  "HF_HUB_OFFLINE": "1", "FEMTORQUE_LEROBOT": "installed", "COLUMNS": "200"}
