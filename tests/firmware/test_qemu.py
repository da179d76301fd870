"""The image on a second, independent emulator: `pio test` of the assembled project, every case of it by name."""

import json
import sys
from pathlib import Path

import pytest

from femtorque.codegen.mechanism.reader import load_mechanism
from femtorque.codegen.toolchain import platformio as build

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "firmware" / "test"))
import smoke  # noqa: E402


@pytest.fixture(scope="module")
def report(tmp_path_factory) -> dict[str, dict]:
    """Case name -> what `pio test` reports of it. A failed case makes pio's status 1, which is not an error here."""
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
