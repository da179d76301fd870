"""Test that cppcheck and clang-tidy report nothing about the sources of any board's image."""

import shutil
import subprocess
from pathlib import Path

import pytest

from femtorque.codegen.board import reader as boards
from femtorque.codegen.common import kept, key_of, program, sources
from femtorque.codegen.toolchain import platformio as build
from tests.support.boards import arm_for

INCLUDES = ("-Isrc/application", "-Isrc/chip", "-Isrc/emitted")
CHECKS = ("-*,bugprone-*,clang-analyzer-*,cert-*,misc-*,performance-*,portability-*,"
          "-bugprone-easily-swappable-parameters,"  # most functions of a chip take two numbers
          "-performance-no-int-to-ptr")  # registers are at fixed addresses
LIBC = Path("/usr/lib/arm-none-eabi/include")
CORE = ("--target=arm-none-eabi", "-mcpu=cortex-m4", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16", "-std=c99",
        "-ffreestanding",
        "-isystem", str(LIBC))


def tool(name: str) -> str:
    found = shutil.which(name)
    assert found, f"{name} is missing: apt install {name}"
    return found


@pytest.fixture(scope="module", params=boards.board_names())
def image(request, tmp_path_factory) -> tuple[Path, list[str]]:
    folder = tmp_path_factory.mktemp("sources")
    (folder / "project").mkdir()
    project = build.assemble(arm_for(request.param, folder), folder / "project")
    # above the chip layer, two boards represent all: one with motors and one with buses
    parts = ("chip", "application", "emitted") if request.param in (boards.DEFAULT_BOARD, "robomaster-c") else ("chip",)
    return project, sorted(path.relative_to(project).as_posix() for part in parts
                           for path in (project / "src" / part).glob("*.c"))


def said(folder: Path, *command: str) -> str:
    """Return a tool's messages about a project's sources, or an empty text without a finding. The cache stores the
    messages under the hash of the tool, its arguments and all files that it may read."""
    def make(entry: Path) -> None:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        words = done.stdout + done.stderr if done.returncode else ""
        assert words or done.returncode == 0, f"{command[0]} ended with {done.returncode} and said nothing"
        (entry / "said").write_text(words, encoding="utf-8")

    key = key_of("analysis", program(command[0]), *command, *sources(folder / "src"), *sources(LIBC.resolve(), "*.h"))
    return (kept(key, make) / "said").read_text(encoding="utf-8")


def test_cppcheck_finds_nothing(image):
    folder, files = image
    assert not said(
        folder, tool("cppcheck"), "--std=c99", "--enable=warning,style,performance,portability", "--quiet",
        "--platform=unix32",
        "-UFT_REAL", "-UFT_REAL_IS_DOUBLE", "--error-exitcode=1",
        "--suppress=badBitmaskCheck",  # a divider is encoded as 0
        "--suppress=uninitvar:src/application/ft_motion.c",  # arrays that a called function fills
        "--suppress=knownConditionTrueFalse:src/chip/ft_outputs.c",  # bridges that need no time to wake up
        "--suppress=knownConditionTrueFalse:src/application/ft_conditions.c",  # 0u - above wraps
        "--suppress=unusedStructMember",  # used in images with the plant at the host
        *INCLUDES, *files)


def test_clang_tidy_finds_nothing(image):
    folder, files = image
    assert not said(folder, tool("clang-tidy"), "--quiet", f"--checks={CHECKS}", "--warnings-as-errors=*", *files,
                    "--", *CORE, *INCLUDES)


def test_that_what_is_wrong_is_said_again_and_is_forgotten_with_its_source(tmp_path):
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "bad.c").write_text("int f(void);\nint f(void) { int a[2] = { 0, 1 }; return a[2]; }\n")
    command = (tool("cppcheck"), "--quiet", "--error-exitcode=1", "src/bad.c")
    first = said(tmp_path, *command)
    assert "out of bounds" in first and said(tmp_path, *command) == first
    (tmp_path / "src" / "bad.c").write_text("int f(void);\nint f(void) { int a[2] = { 0, 1 }; return a[1]; }\n")
    assert said(tmp_path, *command) == ""


def test_clang_tidy_would_find_something(tmp_path):
    (tmp_path / "bad.c").write_text("int f(int *p);\nint f(int *p) { int a[2]; if (!p) *p = 1; return a[2]; }\n")
    assert subprocess.run([tool("clang-tidy"), "--quiet", f"--checks={CHECKS}", "--warnings-as-errors=*", "bad.c", "--",
                           *CORE], cwd=tmp_path, capture_output=True).returncode != 0
