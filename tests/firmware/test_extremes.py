"""The extreme values of number types cause no run-time error under the compiler's sanitizers."""

import subprocess
from pathlib import Path

import pytest

from assurance.proofs import mechanisms
from femtorque.codegen.toolchain import host_compiler
from tests.firmware.app import HERE, SANITIZE, Patch, executable, replace, sources

SILENT_NAN, SILENT_FAST, OUTSIDE, FAR, FARTHEST, BELOW, ABOVE = range(7)
CASES = {SILENT_NAN: "velocity that is no number", SILENT_FAST: "velocity beyond any count",
         OUTSIDE: "before the field", FAR: "counts beyond the largest", FARTHEST: "smallest count",
         BELOW: "below all places", ABOVE: "above all places"}

GUESS = ("ft_size(counts) <= (ft_real)ft_joint[j].counts ? (int32_t)counts : 0", "(int32_t)counts")
SIGN = ("displacement >> 31 != 0u ? 0u - displacement : displacement",
        "(uint32_t)(lab->travelled < 0 ? -lab->travelled : lab->travelled)")
SUM = ("(uint32_t)lab->travelled\n                            + (uint32_t)in->counts[lab->joint]",
       "(uint32_t)(lab->travelled + in->counts[lab->joint])")


def built(patches: Patch | None = None) -> Path:
    """Build the cases as a program with sanitizers. The file of cases includes two modules."""
    files = sources(mechanisms.mechanism("drives"), patches)
    names = [*(n for n in files if n.endswith(".c") and n not in ("ft_bus.c", "ft_lab.c")), "extremes.c"]
    files["extremes.c"] = (HERE / "extremes.c").read_text()
    return executable(names, files, (*SANITIZE, *host_compiler.ARITHMETIC, *host_compiler.WARNINGS))


def run(program: Path, case: int) -> subprocess.CompletedProcess[str]:
    return subprocess.run([program, str(case)], capture_output=True, text=True)


@pytest.fixture(scope="module")
def program() -> Path:
    return built()


@pytest.mark.parametrize("case", CASES, ids=CASES.values())
def test_that_numbers_at_the_ends_of_their_types_are_no_run_time_errors(program, case):
    done = run(program, case)
    assert (done.returncode, done.stderr) == (0, "")


def test_that_each_check_at_the_ends_of_types_can_fail():
    def unguarded(text: str) -> str:
        return text.replace(*SIGN).replace(*SUM)

    program = built({"ft_bus.c": replace(*GUESS), "ft_lab.c": unguarded})
    for case in (SILENT_NAN, SILENT_FAST, FAR, FARTHEST):
        assert run(program, case).returncode != 0, CASES[case]
