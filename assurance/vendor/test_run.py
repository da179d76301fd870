"""Tests of the runner of ST's drivers, without the drivers: its error messages, its reports, and its page."""

import json

import pytest

from assurance.vendor import run
from assurance.vendor.run import PROGRAMS, RESULTS, SOURCES, TABLE, Judged, main, sources
from docs import vendor_page
from femtorque.codegen.common import Refused


def test_without_a_folder_it_names_the_sources_and_the_commands(capsys):
    assert main([]) == 1
    said = capsys.readouterr().err
    assert said.startswith("make vendor VENDOR=<folder>: say where ST's sources are")
    for name in SOURCES:
        assert f"git clone --depth 1 https://github.com/STMicroelectronics/{name} vendor/{name}" in said


def test_exactly_the_missing_repositories_are_named(tmp_path, capsys):
    """The name of a repository's folder may have - or _."""
    for name in ("cmsis-core", "cmsis_device_g4", "stm32g4xx_hal_driver"):
        (tmp_path / name).mkdir()
    assert main([str(tmp_path)]) == 1
    said = capsys.readouterr().err
    assert said.startswith(f"VENDOR = {tmp_path}: has no cmsis-device-f4, stm32f4xx-hal-driver; get ST's sources by")
    assert said.count("git clone") == 2
    for name in ("cmsis-device-f4", "stm32f4xx_hal_driver"):
        (tmp_path / name).mkdir()
    assert sources(tmp_path)["cmsis-device-g4"] == tmp_path / "cmsis_device_g4"


def test_a_folder_that_is_no_repository_has_no_commit(tmp_path):
    assert run.commit(tmp_path) == "no commit known"


@pytest.mark.parametrize("rows, why, wrong", [
    ([Judged("one", 1, 1, 1), Judged("two", 3, 3, 4)], "", 0),
    ([Judged("one", 1, 1, 1), Judged("two", 5, 3, 4)], "", 1),
    ([Judged("one", 1, 1, 1)], "the virtual chip refuses: bits", 1)])
def test_a_difference_and_a_refusal_are_named_and_return_1(monkeypatch, tmp_path, capsys, rows, why, wrong):
    def played(program, elf):
        yield from rows
        if why:
            raise Refused(why)

    monkeypatch.setattr(run, "played", played)
    monkeypatch.setattr(run, "compiled", lambda *given: tmp_path)
    monkeypatch.setattr(run, "RESULTS", tmp_path / "results.json")
    for name in SOURCES:
        (tmp_path / name).mkdir()
    assert main([str(tmp_path), "g4 FDCAN"]) == wrong and not (tmp_path / "results.json").exists()
    said = capsys.readouterr().out
    assert why in said
    assert ("two: 0x5, awaited 0x3 to 0x4" in said) == (wrong and not why)
    assert main([str(tmp_path)]) == wrong
    assert set(json.loads((tmp_path / "results.json").read_text())["programs"]) == set(TABLE)


def test_every_program_exists_and_has_its_line_on_the_page():
    assert {path.name for path in PROGRAMS.glob("*.c")} == {p.file for p in TABLE.values()} | {"judge.c"}
    assert {p.file for p in TABLE.values()} == set(vendor_page.WHAT)


def test_the_page_says_whether_the_virtual_chips_have_changed_since(monkeypatch):
    text = vendor_page.render()
    assert (vendor_page.PRESENT in text) != (vendor_page.EARLIER in text)
    monkeypatch.setattr(vendor_page, "models", lambda: "others")
    assert vendor_page.EARLIER in vendor_page.render()


@pytest.mark.parametrize("old, new, same", [
    ("x = 1", "x = 2", False), ('"""Of a chip."""', '"""Of it."""', True), ("# why", "# because", True)])
def test_the_digest_of_virtual_chips_changes_with_their_code_alone(monkeypatch, tmp_path, old, new, same):
    text = '"""Of a chip."""\n\nx = 1  # why\n'
    monkeypatch.setattr(run, "HIL", tmp_path)
    (tmp_path / "chip").mkdir()
    file = tmp_path / "chip" / "timer.py"
    file.write_text(text, encoding="utf-8")
    before = run.models()
    file.write_text(text.replace(old, new), encoding="utf-8")
    assert (run.models() == before) is same


def test_the_page_is_up_to_date_and_nothing_on_it_differs():
    assert vendor_page.PAGE.read_text(encoding="utf-8") == vendor_page.render(), "run python docs/vendor_page.py"
    programs = json.loads(RESULTS.read_text(encoding="utf-8"))["programs"]
    assert set(programs) == set(TABLE)
    assert all(row["found"] == row["awaited"] > 0 and not row["refused"] for row in programs.values())
