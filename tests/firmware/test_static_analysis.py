"""cppcheck and clang-tidy have nothing to say about the sources of any board's image."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from codegen.board import reader as boards
from codegen.toolchain import platformio as build
from tests.support.boards import arm_for

INCLUDES = ("-Isrc/application", "-Isrc/chip", "-Isrc/emitted")
CHECKS = ("-*,bugprone-*,clang-analyzer-*,cert-*,misc-*,performance-*,portability-*,"
          "-bugprone-easily-swappable-parameters,"  # most functions of a chip take two numbers
          "-performance-no-int-to-ptr")  # registers are at addresses
CORE = ("--target=arm-none-eabi", "-mcpu=cortex-m4", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16", "-std=c99",
        "-ffreestanding",
        "-isystem", "/usr/lib/arm-none-eabi/include")


def tool(name: str) -> str:
    found = shutil.which(name)
    assert found, f"{name} is missing: apt install {name}"
    return found


def sources(folder: Path, whole: bool) -> list[str]:
    """The chip folder's, and of two boards everything, with motors and with buses: what is above is the same on all."""
    parts = ("chip", "application", "emitted") if whole else ("chip",)
    return sorted(p.relative_to(folder).as_posix() for part in parts for p in (folder / "src" / part).glob("*.c"))


@pytest.fixture(scope="module", params=boards.names())
def image(request, tmp_path_factory) -> tuple[Path, list[str]]:
    folder = tmp_path_factory.mktemp("sources")
    (folder / "project").mkdir()
    project = build.assemble(arm_for(request.param, folder), folder / "project")
    return project, sources(project, whole=request.param in (boards.DEFAULT, "robomaster-c"))


def test_cppcheck_finds_nothing(image):
    folder, files = image
    done = subprocess.run(
        [tool("cppcheck"), "--std=c99", "--enable=warning,style,performance,portability", "--quiet",
         "--platform=unix32",
         "-UFT_REAL", "-UFT_REAL_IS_DOUBLE", "--error-exitcode=1",
         "--suppress=badBitmaskCheck",  # a divider whose code is 0
         "--suppress=uninitvar:src/application/ft_motion.c",  # arrays that the function they are given to fills
         "--suppress=unusedStructMember",  # used in images whose plant is at the host
         *INCLUDES, *files], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_clang_tidy_finds_nothing(image):
    folder, files = image
    done = subprocess.run([tool("clang-tidy"), "--quiet", f"--checks={CHECKS}", "--warnings-as-errors=*", *files, "--",
                           *CORE, *INCLUDES], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_they_would_find_something(tmp_path):
    (tmp_path / "bad.c").write_text("int f(int *p);\nint f(int *p) { int a[2]; if (!p) *p = 1; return a[2]; }\n")
    assert subprocess.run([tool("cppcheck"), "--quiet", "--error-exitcode=1", "bad.c"], cwd=tmp_path,
                          capture_output=True).returncode == 1
    assert subprocess.run([tool("clang-tidy"), "--quiet", f"--checks={CHECKS}", "--warnings-as-errors=*", "bad.c", "--",
                           *CORE], cwd=tmp_path, capture_output=True).returncode != 0
