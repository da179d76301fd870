"""The maps of the code are those of the code."""

import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
MAPS = runpy.run_path(str(ROOT / "docs" / "architecture.py"))


def test_picture_and_rooms_are_those_of_the_imports():
    for path, made in ((MAPS["PICTURE"], MAPS["svg"]()), (MAPS["TABLE"], MAPS["table"]())):
        assert path.read_text(encoding="utf-8") == made, f"{path.name} is old: python docs/architecture.py"


def test_rooms_that_use_each_other_are_refused():
    with pytest.raises(ValueError, match=r"a\.x -> a\.y -> a\.x"):
        MAPS["floors"]({"a.x": {"a.y"}, "a.y": {"a.x"}})


def test_arrows_that_follow_from_others_are_left_out():
    rooms = {"a.x": {"a.y", "a.z"}, "a.y": {"a.z"}, "a.z": set()}
    assert MAPS["reduced"](rooms) == {"a.x": {"a.y"}, "a.y": {"a.z"}, "a.z": set()}
    assert MAPS["floors"](rooms) == {"a.x": 2, "a.y": 1, "a.z": 0}


@pytest.mark.parametrize("page", ["docs/architecture.md", "CONTRIBUTING.md"])
def test_every_path_on_the_page_is_there(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    paths = [p for p in re.findall(r"`([\w./-]+)`", text) if "/" in p and not p.startswith(".")]
    assert len(paths) > 5
    for path in paths:
        assert (ROOT / path).exists(), path


def test_ten_concerns_have_one_place_each():
    table = PAGE.split("## Ten concerns and where they are")[1].split("\n## ")[0]
    rows = re.findall(r"^\| ([^|]+) \| `([^`|]+)` \|$", table, re.MULTILINE)
    assert len(rows) == 10 and len({where for _, where in rows}) == 10
    assert all((ROOT / where).exists() for _, where in rows)


def test_imports_keep_to_the_floors():
    done = subprocess.run([Path(sys.executable).with_name("lint-imports"), "--no-cache"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_an_import_against_the_floors_is_found(tmp_path):
    """The contracts see a plant that asks the inverse model, however it comes by it."""
    for house in ("codegen", "host", "hil", "femtorque"):
        for path in (ROOT / house).rglob("*.py"):
            copy = tmp_path / path.relative_to(ROOT)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text(path.read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "pyproject.toml").write_text((ROOT / "pyproject.toml").read_text(encoding="utf-8"), encoding="utf-8")
    with (tmp_path / "hil" / "plant" / "motors.py").open("a", encoding="utf-8") as file:
        file.write("\nfrom codegen.toolchain import step_library as step_library\n")
    done = subprocess.run([Path(sys.executable).with_name("lint-imports"), "--no-cache"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1 and "hil.plant is not allowed to import codegen.step" in done.stdout
