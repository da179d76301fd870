"""Tests of a build's stored results: they are used only for the same input, and only in an unchanged folder."""

from dataclasses import replace
from pathlib import Path

import pytest

from femtorque.codegen.mechanism import Mechanism, load_mechanism
from femtorque.codegen.toolchain import build_cache
from femtorque.codegen.toolchain.build_cache import Known
from femtorque.codegen.toolchain.build_result import BuildResult, record
from tests.support.suite import ROOT

FILES = {"src/emitted/ft_step.c": b"int a;\n", "platformio.ini": b"[env]\n", ".platformio/appstate.json": b"{}"}


@pytest.fixture(autouse=True)
def program(tmp_path, monkeypatch) -> Path:
    """Return the file of a program that consists of one file, with an empty cache."""
    monkeypatch.setenv("FEMTORQUE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(build_cache, "ROOMS", (tmp_path / "program" / "codegen",))
    file = tmp_path / "program" / "codegen" / "emit.py"
    file.parent.mkdir(parents=True)
    file.write_text("x = 1\n")
    return file


@pytest.fixture
def arm() -> Mechanism:
    return load_mechanism(ROOT / "mechanisms" / "three_link.toml")


@pytest.fixture
def folder(tmp_path) -> Path:
    """Return a folder in its state after a build."""
    folder = tmp_path / "built"
    for name, content in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    for name in ("firmware.elf", "firmware.bin"):
        (folder / name).write_text(name)
    record(folder, result(folder))
    (folder / ".pio" / "build").mkdir(parents=True)
    return folder


def result(folder: Path) -> BuildResult:
    return BuildResult("arm", "f405rg-4", "ab" * 32, "gcc", 1, 2, 3, 4, ("main", "leaf"), folder / "firmware.elf",
                       folder / "firmware.bin")


@pytest.fixture
def sure(arm, folder) -> Known:
    it = Known.of(arm, True, False)
    assert it.image(folder) is None and it.cost() is None
    it.keep_image("ab" * 32, FILES)
    it.keep_cost({"cycles": 7, "left_out": []})
    return it


def test_what_was_kept_is_known(sure, folder, arm):
    again = Known.of(arm, True, False)
    assert again.image(folder) == result(folder) and again.cost() == {"cycles": 7, "left_out": []}


def test_another_input_is_not_known(sure, folder, arm, program, monkeypatch):
    keys = {sure.key, Known.of(arm, False, False).key, Known.of(arm, True, True).key,
            Known.of(replace(arm, control=replace(arm.control, rate_hz=500)), True, False).key}
    with monkeypatch.context() as patch:
        patch.setenv("PLATFORMIO_BUILD_FLAGS", "-DOTHER=1")
        keys.add(Known.of(arm, True, False).key)
    with monkeypatch.context() as patch:
        patch.setattr(build_cache, "version", lambda package: "another")
        keys.add(Known.of(arm, True, False).key)
    with monkeypatch.context() as patch:
        patch.setattr(build_cache, "compiler_identity", lambda: "another")
        keys.add(Known.of(arm, True, False).key)
    program.write_text("x = 2\n")
    keys.add(Known.of(arm, True, False).key)
    program.rename(program.with_name("other.py"))
    keys.add(Known.of(arm, True, False).key)
    assert len(keys) == 9


def damage(folder: Path, name: str) -> None:
    (folder / name).write_text("damaged")


@pytest.mark.parametrize("change", [
    lambda folder: damage(folder, "src/emitted/ft_step.c"),
    lambda folder: damage(folder, "platformio.ini"),
    lambda folder: damage(folder, "firmware.bin"),
    lambda folder: damage(folder, "firmware.elf"),
    lambda folder: damage(folder, "build.json"),
    lambda folder: (folder / "platformio.ini").unlink(),
    lambda folder: damage(folder, "src/emitted/ft_more.c"),
    lambda folder: record(folder, replace(result(folder), digest="cd" * 32)),
], ids=["source", "settings", "image", "elf", "record", "missing", "one more", "another's"])
def test_a_folder_that_is_not_as_building_leaves_it_is_not_known(sure, folder, change):
    change(folder)
    assert sure.image(folder) is None


def test_what_platformio_writes_later_and_files_of_the_users_own_do_not_matter(sure, folder):
    for name in (".platformio/appstate.json", "notes.txt", ".pio/build/firmware.elf"):
        damage(folder, name)
    assert sure.image(folder) == result(folder)


def test_the_last_that_was_kept_is_known(sure):
    sure.keep_cost({"cycles": 8})
    assert sure.cost() == {"cycles": 8}
