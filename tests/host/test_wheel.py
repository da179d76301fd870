"""The wheel: what is installed away from the checkout can do what the checkout can."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = ("codegen", "host", "hil", "commands", "firmware")


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


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """femtorque(*arguments) of a copy in an environment of its own, in a folder far from the checkout.

    The environment is empty but for the wheel and what the wheel asks for; that is not fetched anew, but lent by this one.
    """
    home, work = tmp_path_factory.mktemp("environment"), tmp_path_factory.mktemp("work")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", home], check=True)
    site = next((home / "lib").glob("python*")) / "site-packages"
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--prefix", home, wheel], check=True)
    lent = [path for path in sys.path if path.endswith("site-packages")]
    (site / "lent.pth").write_text("\n".join(lent) + "\n")
    (site / "sitecustomize.py").write_text(BARRED)
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    environment["PATH"] = f"{home / 'bin'}:{Path(sys.executable).parent}:{os.environ['PATH']}"

    def femtorque(*arguments: object, status: int = 0) -> str:
        done = subprocess.run([home / "bin" / "python", home / "bin" / "femtorque", *map(str, arguments)], cwd=work, env=environment, capture_output=True,
                              text=True)
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout

    femtorque.work, femtorque.site, femtorque.python = work, site, home / "bin" / "python"
    femtorque.environment = environment
    return femtorque


# An editable install of the checkout, which this environment may have, must not be what is found.
BARRED = f"""
import sys
sys.meta_path = [finder for finder in sys.meta_path if "__editable__" not in getattr(finder, "__module__", "")]
sys.path = [path for path in sys.path if path != {str(ROOT)!r}]
"""


def test_an_installed_copy_is_found_outside_the_checkout(installed):
    code = "import codegen, host, hil, femtorque; print(codegen.__file__, host.__file__, hil.__file__, femtorque.__file__)"
    shown = subprocess.run([installed.python, "-c", code], cwd=installed.work, env=installed.environment, capture_output=True,
                           text=True, check=True).stdout
    assert all(Path(path).is_relative_to(installed.site) for path in shown.split())


def test_an_installed_copy_inits_checks_verifies_builds_and_runs(installed):
    """From nothing to a report on a motion of the exact image on the virtual board."""
    work = installed.work
    installed("init", "arm")
    installed("check", "arm.toml")
    assert json.loads(installed("verify", "arm.toml", "--motions", "1", "--json"))["bit_identical"] is True
    assert "firmware.bin" in installed("build", "arm.toml")
    assert (work / "build" / "arm" / "firmware.bin").stat().st_size > 1000
    (work / "there.csv").write_text("shoulder,elbow\n0.2,-0.1\n")
    installed("plan", "arm.toml", "there.csv", "-o", "motion.csv", "--figure", "motion.png")
    told = json.loads(installed("hil", "arm.toml", "motion.csv", "--log", "run.mcap", "--json"))
    assert told["ended"] == "done" and told["bit_identical"] is True
    assert "Tracking was worst at" in installed("plot", "run.mcap")
    assert (work / "run.html").stat().st_size > 50_000


def test_what_an_installed_copy_serves_is_in_it(installed):
    """The live page's template travels too."""
    code = "from host.web import Environment, PackageLoader; print(len(PackageLoader('host').list_templates()))"
    shown = subprocess.run([installed.python, "-c", code], cwd=installed.work, env=installed.environment, capture_output=True,
                           text=True, check=True).stdout
    assert int(shown) >= 2


def test_every_import_is_asked_for():
    """What the code imports from outside is among the wheel's requirements or extras."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    asked = [*project["dependencies"], *project["optional-dependencies"]["hil"], *project["optional-dependencies"]["parquet"]]
    names = {re.split(r"[><=\[ ]", line)[0].lower().replace("_", "-") for line in asked}
    given = {"yaml": "pyyaml", "serial": "pyserial", "elftools": "pyelftools", "mcap-ros2": "mcap-ros2-support",
             "pydantic-core": "pydantic", "annotated-types": "pydantic", "mpl-toolkits": "matplotlib"}
    for room in ROOMS[:4]:
        for path in [*(ROOT / room).rglob("*.py"), ROOT / "femtorque.py"]:
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                modules = ([node.module] if isinstance(node, ast.ImportFrom) and not node.level else
                           [alias.name for alias in node.names] if isinstance(node, ast.Import) else [])
                for module in modules:
                    top = str(module).split(".")[0]
                    outside = top not in sys.stdlib_module_names and top not in (*ROOMS, "femtorque", "tests")
                    package = top.lower().replace("_", "-")
                    assert not outside or given.get(package, package) in names or package in OPTIONAL, f"{path}: {module}"


OPTIONAL = {"pinocchio"}  # asked for where it is used, and done without
