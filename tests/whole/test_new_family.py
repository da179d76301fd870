"""Tests the drive family of docs/new-family.md, outside of femtorque, with frames longer than classic CAN's."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.suite import HANG, ROOT

BLOCK = re.compile(r"^```\w+\n(?:# |/\* )([\w/]+\.\w+)(?: \*/)?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
RUN = """
import json
from pathlib import Path
import numpy as np
from femtorque.codegen.mechanism.reader import load_mechanism
from femtorque.codegen.motion.trajectory import knots
from femtorque.codegen.toolchain import platformio
from femtorque.hil.board.virtual import VirtualBoard
from femtorque.hil.cost.measurement import short_motion
from femtorque.hil.plant.selection import plant_of
from femtorque.hil.play import play_motion as play

arm = load_mechanism("arm.toml")
elf = platformio.build_image(arm, Path("image")).elf
for fault in (None, "drive-ails"):
    with VirtualBoard(elf, arm, plant_of(arm)) as board:
        board.brakes = True
        passed = []
        board.wiring.buses.wires["can1"].log = passed.append
        result = play(board, arm, knots(short_motion(arm), arm), feedforward=True, fault=fault)
        positions = [int.from_bytes(p.frame.data[:4], "little", signed=True) for p in passed if p.frame.id == 0x105]
        drive, = board.wiring.buses.drives.values()
        print(json.dumps({
            "ended": result.ended, "state": result.state, "faults": result.faults, "error": result.tracking_max[0],
            "moved": np.ptp(result.record.q[:, 0]), "exact": result.bit_identical, "driving": drive.driving,
            "frames": sorted({(p.frame.id, len(p.frame.data), p.frame.fast) for p in passed}),
            "wrong": sum(p.error is not None for p in passed), "positions": [min(positions), max(positions)]}))
"""


@pytest.fixture(scope="module")
def outside(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("outside")
    for name, text in BLOCK.findall((ROOT / "docs" / "new-family.md").read_text(encoding="utf-8")):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def run(folder: Path, *arguments: str, families: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run Python in a folder, with the families in this folder or in the named folders."""
    environment = os.environ | {"FEMTORQUE_FAMILIES": str(folder) if families is None else families,
                                "PYTHONPATH": str(ROOT)}
    return subprocess.run([sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True,
                          timeout=HANG)


def test_its_arm_moves_and_a_fault_of_its_drive_ends_by_name(outside):
    done = run(outside, "-c", RUN)
    assert done.returncode == 0, done.stderr
    good, ailing = map(json.loads, done.stdout.splitlines())
    assert (good["ended"], good["state"], good["exact"]) == ("done", "DISARMED", True)
    assert good["moved"] > 0.03 and good["error"] < 1e-3 and not good["driving"]
    assert good["frames"] == [[5, 24, True], [0x105, 16, True]] and good["wrong"] == 0
    # -1.57 rad of the joint is twice this angle at the drive, which exceeds 16 bits
    assert good["positions"][0] < -1 << 17
    assert (ailing["state"], ailing["faults"][0], ailing["driving"]) == ("FAULT", "DRIVE_FAULT", False)


def test_the_command_line_knows_it_from_its_folder_alone(outside):
    checked = run(outside, "-m", "femtorque", "check", "arm.toml")
    assert checked.returncode == 0 and "toy-20" in checked.stdout
    without = run(outside, "-m", "femtorque", "check", "arm.toml", families="")
    assert without.returncode == 2 and "no such drive" in without.stderr


def test_frames_of_24_bytes_are_refused_on_a_bus_of_classic_can(outside):
    text = (outside / "arm.toml").read_text(encoding="utf-8")
    (outside / "classic.toml").write_text(text.replace("can-fd", "can"), encoding="utf-8")
    checked = run(outside, "-m", "femtorque", "check", "classic.toml")
    assert checked.returncode == 2 and "frames of 24 bytes, and classic CAN of 8" in checked.stderr


def test_a_folder_without_families_is_refused(outside, tmp_path):
    checked = run(outside, "-m", "femtorque", "check", "arm.toml", families=str(tmp_path))
    assert checked.returncode == 2 and "has no folder codegen/drive/families" in checked.stderr


def test_an_image_of_another_arm_is_the_same_beside_it(outside):
    line = ("-c", "from femtorque.codegen.mechanism.reader import load_mechanism as load\n"
            "from femtorque.codegen.toolchain.platformio import project\n"
            f"print(project(load({str(ROOT / 'mechanisms' / 'damiao_arm.toml')!r})).digest)")
    beside, alone = run(outside, *line), run(outside, *line, families="")
    assert beside.returncode == alone.returncode == 0 and beside.stdout == alone.stdout != ""


def test_nothing_of_the_product_names_it():
    paths = [path for room in ("codegen", "host", "hil", "femtorque", "firmware") for path in (ROOT / room).rglob("*")
             if path.suffix in (".py", ".c", ".h", ".j2", ".toml", ".ini")]
    assert len(paths) > 500
    assert not [path for path in paths if re.search(r"\btoy|_toy", path.read_text(encoding="utf-8"), re.IGNORECASE)]
