"""The wheel. Tests that an installed wheel can do everything that the checkout can do."""

import ast
import email
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
import zipfile
from pathlib import Path

import pytest

import femtorque
from femtorque.codegen.common import EXTRAS

ROOT = Path(__file__).parents[2]
# the wheel's package femtorque contains all of these folders
FOLDERS = ("codegen", "host", "hil", "firmware", "mechanisms")
ROOMS = ("femtorque", *FOLDERS)


def copied(folder: Path) -> Path:
    """Copy the checkout without its tests into another folder, because a build leaves files behind."""
    for room in ROOMS:
        shutil.copytree(ROOT / room, folder / room, symlinks=True,
                        ignore=shutil.ignore_patterns("__pycache__", ".pio"))
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder / name)
    return folder


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("wheel")
    subprocess.run([sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation",
                    "--wheel-dir", out,
                    copied(tmp_path_factory.mktemp("source") / "femtorque")], check=True)
    return next(out.glob("femtorque-*.whl"))


def _held(path: Path) -> str:
    """Return a file's name in the wheel: codegen/femtorque/codegen/x becomes femtorque/codegen/x."""
    parts = path.parts[1:] if path.parts[1] == "femtorque" else path.parts
    return "/".join(parts if parts[0] == "femtorque" else ("femtorque", *parts))


def test_the_wheel_holds_every_file_that_is_read_at_run_time(wheel):
    held = set(zipfile.ZipFile(wheel).namelist())
    skip = {"THEORY.md", "__pycache__", ".pio"}
    wanted = {_held(path.relative_to(ROOT)) for room in ROOMS
              for path in (ROOT / room).rglob("*") if path.is_file() and not skip.intersection(path.parts)}
    assert wanted - held == set()


def test_site_packages_receives_one_package_and_no_other_name(wheel):
    tops = {name.split("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"femtorque"}


def test_the_metadata_are_fit_for_a_package_index(wheel):
    with zipfile.ZipFile(wheel) as file:
        said = email.message_from_bytes(file.read(next(n for n in file.namelist()
                                                       if n.endswith(".dist-info/METADATA"))))
    assert said["Version"] == femtorque.__version__ and said["Requires-Python"] == ">=3.11"
    assert said["Summary"] and said["Keywords"] and said["Description-Content-Type"] == "text/markdown"
    targets = re.findall(r"\]\(([^)\s]+)\)", said.get_payload())
    assert targets and all(target.startswith("https://") for target in targets), "nothing else leads anywhere there"
    assert said["License-Expression"] == "MIT" and said["Metadata-Version"] >= "2.4"
    assert said["Author"] and len(said.get_payload()) > 5000
    known = importlib.util.find_spec("trove_classifiers") and importlib.import_module("trove_classifiers").classifiers
    classifiers = said.get_all("Classifier")
    assert len(classifiers) > 10 and (not known or set(classifiers) <= known)


class Installed:
    """An installed copy of femtorque. home: its environment. work: a working folder outside the checkout."""

    def __init__(self, home: Path, work: Path, also: str = "") -> None:
        self.work, self.python = work, home / "bin" / "python"
        self.site = next((home / "lib").glob("python*")) / "site-packages"
        self.environment = {name: value for name, value in os.environ.items()
                            if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
        self.environment["PATH"] = f"{home / 'bin'}:{also}{os.environ['PATH']}"

    def run(self, *words: object) -> str:
        done = subprocess.run(list(map(str, words)), cwd=self.work, env=self.environment,
                              capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def femtorque(self, *lines: str) -> str:
        """Run several verbs in one process, so that all imports are done once."""
        return self.run(self.python, "-c", "import shlex, sys, femtorque\n"
                        "for line in sys.argv[1:]:\n"
                        "    try:\n"
                        "        femtorque.main(shlex.split(line))\n"
                        "    except SystemExit as left:\n"
                        "        if left.code:\n"
                        "            raise\n", *lines)


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory) -> Installed:
    """Return an installed copy. The copy's environment contains only the wheel. Python imports the wheel's requirements
    from the present environment. The campaign at the end downloads the requirements."""
    home = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", home], check=True)
    subprocess.run([sys.executable, "-m", "pip", "--python", home / "bin" / "python", "install", "--quiet",
                    "--no-deps", wheel],
                   check=True)
    found = Installed(home, tmp_path_factory.mktemp("work"), f"{Path(sys.executable).parent}:")
    (found.site / "lent.pth").write_text("\n".join(path for path in sys.path if path.endswith("site-packages")) + "\n")
    (found.site / "sitecustomize.py").write_text(BARRED)
    return found


# The present environment may contain an editable install of the checkout. The copy must not find the editable install.
BARRED = f"""
import sys
sys.meta_path = [finder for finder in sys.meta_path if "__editable__" not in getattr(finder, "__module__", "")]
sys.path = [path for path in sys.path if path != {str(ROOT)!r}]
"""


def test_an_installed_copy_is_found_outside_the_checkout(installed):
    code = ("import femtorque; from femtorque import codegen, hil, host; "
            "print(codegen.__file__, host.__file__, hil.__file__, femtorque.__file__)")
    assert all(Path(path).is_relative_to(installed.site)
               for path in installed.run(installed.python, "-c", code).split())


def test_an_installed_copy_inits_checks_verifies_builds_and_runs(installed):
    """The commands go from an empty folder to a motion of the exact image on the virtual board."""
    assert installed.run("femtorque", "init", "arm").startswith("arm.toml: edit it")
    (installed.work / "motion.csv").write_text("t,shoulder,elbow\n0.0,0.0,0.0\n0.2,0.1,-0.1\n")
    told = installed.femtorque("check arm.toml", "verify arm.toml --motions 1", "build arm.toml",
                               "hil run arm.toml motion.csv --log run.mcap", "plot run.mcap -o run.html")
    assert "yes: every criterion holds" in told and "firmware.bin" in told and "Tracking was worst at" in told
    assert (installed.work / "build" / "arm" / "firmware.bin").stat().st_size > 1000
    assert (installed.work / "run.html").read_text(encoding="utf-8").count("<canvas ") >= 10


def interpreter(version: str) -> str:
    """Return a Python of this version, from PATH or from pyenv."""
    names = f"python{version}", *map(str, Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
    for name in filter(None, map(shutil.which, names)):
        if subprocess.run([name, "-c", ""], capture_output=True, check=False).returncode == 0:
            return name
    pytest.fail(f"no Python {version} on this machine: this campaign needs one")


@pytest.mark.bench
@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13"])
def test_the_wheel_in_an_empty_environment_does_the_same(wheel, tmp_path, version):
    """All requirements are first downloaded into a folder, in their newest versions, and then installed only from this
    folder."""
    home, work = tmp_path / "environment", tmp_path / "work"
    work.mkdir()
    seconds = {}

    def timed(what, *words):
        began = time.monotonic()
        said = alone.run(*words)
        seconds[what] = time.monotonic() - began
        return said

    subprocess.run([interpreter(version), "-m", "venv", home], check=True)
    alone, pip = Installed(home, work), (home / "bin" / "python", "-m", "pip")
    timed("pip download", *pip, "download", "--quiet", "--dest", tmp_path / "index",
          f"{wheel}[all]", "setuptools", "wheel")
    timed("pip install", *pip, "install", "--quiet", "--no-index", "--find-links", tmp_path / "index",
          f"{wheel}[all]")
    (work / "there.csv").write_text("shoulder,elbow\n0.2,-0.1\n")
    for line in ("init arm", "check arm.toml", "verify arm.toml --motions 1 --json", "build arm.toml",
                 "plan arm.toml there.csv -o motion.csv --figure motion.png",
                 "hil run arm.toml motion.csv --log run.mcap --json",
                 "plot run.mcap"):
        said = timed(line, "femtorque", *line.split())
        assert "--json" not in line or json.loads(said)["bit_identical"] is True
    assert (work / "build" / "arm" / "firmware.bin").is_file()
    assert (work / "run.report.html").read_text(encoding="utf-8").count("<canvas ") >= 10
    print("".join(f"\n{taken:6.1f} s  {what}" for what, taken in seconds.items()), alone.run(*pip, "freeze"), sep="\n")


def test_every_import_is_asked_for():
    """Each package that the code imports is among the wheel's requirements or extras."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    asked = [*project["dependencies"], *(line for extra in extras if extra != "test" for line in extras[extra])]
    names = {re.split(r"[><=\[ ]", line)[0].lower().replace("_", "-") for line in asked}
    given = {"yaml": "pyyaml", "serial": "pyserial", "elftools": "pyelftools", "mcap-ros2": "mcap-ros2-support",
             "pydantic-core": "pydantic", "annotated-types": "pydantic", "mpl-toolkits": "matplotlib",
             "zstandard": "mcap", "lz4": "mcap", "pygame": "pygame-ce",
             "zenoh": "eclipse-zenoh"}
    for room in ROOMS[:4]:
        for path in (ROOT / room).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                modules = ([node.module] if isinstance(node, ast.ImportFrom) and not node.level else
                           [alias.name for alias in node.names] if isinstance(node, ast.Import) else [])
                for module in modules:
                    top = str(module).split(".")[0]
                    outside = top not in sys.stdlib_module_names and top not in (*ROOMS, "tests")
                    package = top.lower().replace("_", "-")
                    assert not outside or given.get(package,
                                                    package) in names or package in OPTIONAL, f"{path}: {module}"


def test_remedies_name_the_extras_of_the_project_file():
    asked = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    for extra, packages in EXTRAS.items():
        assert sorted(packages.values()) == sorted(asked[extra]), extra


def test_a_copy_installed_in_place_builds_from_anywhere(tmp_path):
    """`pip install --editable` uses firmware and examples of the checkout."""
    source, home, work = copied(tmp_path / "source"), tmp_path / "home", tmp_path / "work"
    work.mkdir()
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", home], check=True)
    backend = f"import setuptools.build_meta as b; b.build_editable({str(tmp_path)!r})"  # as pip calls it
    subprocess.run([sys.executable, "-c", backend], cwd=source, check=True, capture_output=True)
    subprocess.run([sys.executable, "-m", "pip", "--python", home / "bin" / "python", "install", "--quiet", "--no-deps",
                    next(tmp_path.glob("femtorque-*.whl"))], check=True)
    found = Installed(home, work)
    (found.site / "lent.pth").write_text("\n".join(path for path in sys.path if path.endswith("site-packages")) + "\n")
    code = ("import femtorque.codegen.common.firmware as f, femtorque.command_line\n"
            "print(f.FIRMWARE, f.MECHANISMS, femtorque.__file__)")
    assert found.run(found.python, "-c", code).split() == [str(source / "firmware"), str(source / "mechanisms"),
                                                           str(source / "femtorque" / "__init__.py")]


OPTIONAL = {"pinocchio"}  # the code works without the package
