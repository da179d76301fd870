"""Tests that run images on a second, independent emulator. One test is `pio test` of the assembled project, which
reports all its cases by name. The further tests run the unmodified images of boards on a chip on which most registers
read 0. On this chip no clock starts, and the e-stop inputs are low."""

import json
import sys
import time
from pathlib import Path

import pytest

from femtorque.codegen.mechanism import Mechanism, load_mechanism
from femtorque.codegen.toolchain import platformio as build
from femtorque.codegen.wire import messages
from tests.support import boards

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "firmware" / "test"))
import smoke  # noqa: E402
from emulator import PATIENCE, emulator  # noqa: E402

TICKS = 300
TICK, STATE, FAULT = 6, 10, 11  # word indices in ft_telemetry_map, ft_port.h
EXACT = ("three_link", "damiao_arm", "odrive_arm", "so101_sts", "three_link on odrive-v3.6", "on_buses on f405rg-4")


@pytest.fixture(scope="module")
def report(tmp_path_factory) -> dict[str, dict]:
    """Return the result of each case that `pio test` reports, by name. A failed case sets pio's exit status to 1. This
    status is no error here, because the tests check each case."""
    project = build.assemble(load_mechanism(ROOT / "mechanisms" / "three_link.toml"), tmp_path_factory.mktemp("smoke"))
    out = project / "report.json"
    arguments = ["test", "-e", "emulator", "--json-output-path", str(out)]
    try:
        build.run_pio(project, arguments)
    except build.Refused as refused:
        assert out.is_file(), str(refused)
    suites = json.loads(out.read_text(encoding="utf-8"))["test_suites"]
    return {case["name"]: case for suite in suites if suite["env_name"] == "emulator" for case in suite["test_cases"]}


@pytest.mark.xdist_group("qemu")
@pytest.mark.parametrize("case", [c.__name__ for c in smoke.CASES])
def test_image_on_qemu(report, case):
    assert case in report, f"pio test ran only {sorted(report)}"
    assert report[case]["status"] == "PASSED", report[case].get("message") or report[case].get("exception")


def exact(name: str, folder: Path) -> Mechanism:
    if name == "on_buses on f405rg-4":
        return boards.on_buses("f405rg-4")
    name, _, board = name.partition(" on ")
    return boards.three_link(board, folder) if board else load_mechanism(ROOT / "mechanisms" / f"{name}.toml")


@pytest.mark.xdist_group("qemu")
@pytest.mark.parametrize("name", EXACT)
def test_exact_image_waits_for_no_part_that_does_not_answer(name, tmp_path):
    """The image ticks on the internal clock, reports it, and stays in ESTOP, without a crash or an endless wait."""
    built = build.build_image(exact(name, tmp_path), tmp_path / "image")
    with emulator(built.elf) as machine:
        words = machine.words("ft_telemetry", 12)
        machine.symbols |= {"tick": words[TICK], "state": words[STATE] & ~3, "fault": words[FAULT] & ~3}
        until = time.monotonic() + PATIENCE
        while machine.words("tick", 1)[0] < TICKS:
            assert time.monotonic() < until, "no ticks"
            time.sleep(0.1)  # every read halts the processor
        state, fault = (machine.words(what, 1)[0] >> 8 * (words[place] & 3) & 0xFF
                        for what, place in (("state", STATE), ("fault", FAULT)))
        assert (state, fault) == (messages.STATES["ESTOP"][0], messages.FAULTS["CLOCK"][0])
        _, _, _, exception, *_ = machine.words("ft_kept", 8)
        assert exception == 0
