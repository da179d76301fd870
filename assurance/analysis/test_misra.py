"""Test that firmware/MISRA.md lists exactly the rules of MISRA C:2012 that an image's sources violate."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from femtorque.codegen.mechanism import Mechanism, load_mechanism
from femtorque.codegen.toolchain import platformio
from tests.support.boards import driven, three_link
from tests.support.bus_arm import arm

pytestmark = pytest.mark.bench
LISTED = Path(__file__).resolve().parents[2] / "firmware" / "MISRA.md"


EXTENSION = re.compile(r"__attribute__\(\(([^()]*)|"
                       r"(__builtin_\w+|_Pragma|__asm__|__extension__|__auto_type|__typeof__)")


def test_the_listed_language_extensions_are_those_that_the_sources_use():
    """cppcheck does not report language extensions."""
    root = LISTED.parents[1]
    folders = "firmware/src", "firmware/chip", "codegen/femtorque/codegen/emit/templates"
    texts = [p.read_text(encoding="utf-8") for folder in folders for p in sorted((root / folder).rglob("*"))
             if ".c" in p.suffixes or ".h" in p.suffixes]
    used = {name for text in texts for many, one in EXTENSION.findall(text)
            for name in (re.findall(r"[a-z_]+", many) or [one])}
    paragraph = LISTED.read_text(encoding="utf-8").split("Language extensions")[1].split("\n\n")[0]
    assert used | {"__attribute__"} == {name for name in re.findall(r"`(\w+)", paragraph) if name != "firmware"}


def images(folder: Path) -> Iterator[Mechanism]:
    """Yield arms for both chip families, with and without current loops and gate drivers, and with drives on buses."""
    yield three_link("f405rg-6", folder)
    for name in ("f405rg-4", "nucleo-g474re-6", "odrive-v3.6"):
        yield driven(three_link(name, folder), "current")
    yield from (arm(kind)[0] for kind in ("damiao", "fd", "moteus", "odrive-can"))
    yield load_mechanism(LISTED.parents[1] / "mechanisms" / "so101_sts.toml")


def test_the_listed_deviations_are_those_that_cppcheck_finds(tmp_path):
    tool = shutil.which("cppcheck")
    assert tool, "cppcheck is missing: apt install cppcheck"
    found: set[str] = set()
    for number, mechanism in enumerate(images(tmp_path)):
        folder = platformio.assemble(mechanism, tmp_path / str(number))
        done = subprocess.run(
            [tool, "--std=c99", "--addon=misra", "--quiet", "--platform=unix32", "-UFT_REAL", "-UFT_REAL_IS_DOUBLE",
             "-Isrc/application", "-Isrc/chip", "-Isrc/emitted", "src"], cwd=folder, capture_output=True, text=True)
        found |= set(re.findall(r"misra-c2012-(\d+\.\d+)", done.stderr))
    rows = re.findall(r"^\| ([\d., ]+) \|", LISTED.read_text(encoding="utf-8"), re.M)
    listed = {rule for row in rows for rule in row.split(", ")}
    assert found == listed, (sorted(found - listed), sorted(listed - found))
