"""Tests that the maps of the code agree with the code."""

import ast
import re
import runpy
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from femtorque.codegen.common import house
from tests.support.suite import ROOT

PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
MAPS = runpy.run_path(str(ROOT / "docs" / "architecture.py"))


def test_the_picture_is_that_of_the_imports():
    assert MAPS["PICTURE"].read_text(encoding="utf-8") == MAPS["svg"](), "python docs/architecture.py"


def test_rooms_that_use_each_other_are_refused():
    with pytest.raises(ValueError, match=r"a\.x -> a\.y -> a\.x"):
        MAPS["floors"]({"a.x": {"a.y"}, "a.y": {"a.x"}})


def test_arrows_that_follow_from_others_are_left_out():
    rooms = {"a.x": {"a.y", "a.z"}, "a.y": {"a.z"}, "a.z": set()}
    assert MAPS["reduced"](rooms) == {"a.x": {"a.y"}, "a.y": {"a.z"}, "a.z": set()}
    assert MAPS["floors"](rooms) == {"a.x": 2, "a.y": 1, "a.z": 0}


def placed(path: str) -> Path:
    """Return the path of a file that a page names. Pages name Python files by their place in the package femtorque."""
    first, *rest = path.split("/")
    inside = first in MAPS["HOUSES"] and rest and rest[0] not in ("THEORY.md", "femtorque")
    return house(first).joinpath(*rest) if inside else ROOT / path


@pytest.mark.parametrize("page", ["docs/architecture.md", "docs/extending.md", "CONTRIBUTING.md"])
def test_every_path_on_the_page_is_there(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    paths = [p for p in re.findall(r"`([\w./-]+)`", text) if "/" in p and not p.startswith(".")]
    assert len(paths) > 5
    for path in paths:
        assert placed(path).exists(), path


def sources() -> dict[str, ast.Module]:
    return {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in MAPS["modules"]().items()}


def test_no_module_imports_itself_round_about():
    """Imports in functions and imports for types also count."""
    trees = sources()
    graph = {name: MAPS["imported"](tree, trees) - {name} for name, tree in trees.items()}
    assert len(list(TopologicalSorter(graph).static_order())) == len(trees)


def test_no_function_imports_what_is_the_projects_own():
    """One function may import: a bare port does not need this import."""
    trees = sources()
    functions = ((name, node) for name, tree in trees.items() for node in ast.walk(tree)
                 if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    assert {name for name, node in functions if MAPS["imported"](node, trees)} == {"femtorque.host.link.configuration"}


def test_a_mass_goes_from_room_to_room_in_one_direction():
    """From the mechanism file to the emitted constant, every step stays in its room or goes to a higher floor."""
    journey = PAGE.split("## The journey of a mass")[1].split("\n## ")[0]
    steps = re.split(r"\n\d+\. ", journey)[1:8]
    paths = [re.search(r"`(codegen/[\w/]+)\.py`", step)[1] for step in steps]
    heights = MAPS["floors"](MAPS["uses"]())
    floors = [heights[MAPS["room"](path.replace("/", "."))] for path in paths]
    assert floors == sorted(floors) and len(set(floors)) >= 4


def test_imports_keep_to_the_floors():
    done = subprocess.run([Path(sys.executable).with_name("lint-imports"), "--no-cache"], cwd=ROOT,
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_an_import_against_the_floors_is_found(tmp_path):
    """The contracts refuse a plant that imports the inverse model, and a chip that does so indirectly."""
    for folder in ("femtorque", "codegen", "host", "hil", "assurance"):
        for path in (ROOT / folder).rglob("*.py*"):
            if path.suffix not in (".py", ".pyi"):
                continue
            copy = tmp_path / path.relative_to(ROOT)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text(path.read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "pyproject.toml").write_text((ROOT / "pyproject.toml").read_text(encoding="utf-8"), encoding="utf-8")
    for place in ("plant/motors.py", "clock/library.py"):
        with (tmp_path / "hil" / "femtorque" / "hil" / place).open("a", encoding="utf-8") as file:
            file.write("\nfrom femtorque.codegen.toolchain import step_library as step_library\n")
    done = subprocess.run([Path(sys.executable).with_name("lint-imports"), "--no-cache"], cwd=tmp_path,
                          capture_output=True, text=True)
    assert done.returncode == 1 and "hil.plant is not allowed to import femtorque.codegen.toolchain" in done.stdout
    assert "reach other modules of femtorque too:" in done.stdout and "\nfemtorque.codegen.wire\n" in done.stdout
