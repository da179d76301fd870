"""Tests that the exact versions that `make` installs satisfy pyproject.toml."""

import subprocess
import tomllib

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.support.suite import ROOT


def asked() -> dict[str, Requirement]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    every = [project["dependencies"], *project["optional-dependencies"].values()]
    found = [Requirement(line) for lines in every for line in lines]
    return {canonicalize_name(one.name): one for one in found if one.name != "femtorque"}


def pinned() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pairs = [line.split("==") for line in lines if not line.startswith("#")]
    assert all(len(pair) == 2 for pair in pairs), "exact versions alone"
    return {canonicalize_name(name): version for name, version in pairs}


@pytest.mark.parametrize("name", asked())
def test_every_package_that_is_asked_for_has_an_exact_version_that_will_do(name):
    assert asked()[name].specifier.contains(pinned()[name])


def test_the_hashes_are_of_the_same_versions():
    lines = (ROOT / "constraints-hashes.txt").read_text(encoding="utf-8").splitlines()
    pairs = (line.split(";")[0].rstrip(" \\").split("==") for line in lines if not line.startswith((" ", "#")))
    known = {canonicalize_name(name): version.strip() for name, version in pairs}
    assert all(pinned().get(name, version) == version for name, version in known.items())
    assert set(asked()) <= set(known) and all("--hash=sha256:" in line for line in lines if line[0] == " ")


def test_make_installs_these_versions_and_installs_again_when_they_change():
    said = subprocess.run(["make", "--dry-run", "--always-make", "PYTHON=python3", "demo", ".venv/.test"], cwd=ROOT,
                          capture_output=True, text=True, check=True).stdout
    installs = [line for line in said.splitlines() if "pip install" in line]
    assert len(installs) == 2 and all("--constraint constraints.txt" in line for line in installs)
    rules = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert rules.count(": pyproject.toml constraints.txt .ci/system-packages") == 2
