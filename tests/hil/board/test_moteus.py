"""A whole arm of moteus controllers, and the maker's tool with these drives."""

import json
import sys
from dataclasses import replace

import pytest

from femtorque.hil.board.drives_alone import DrivesAlone
from femtorque.hil.drives.families.moteus.drive import STOPPED, TIMEOUT
from femtorque.hil.plant import plant_of
from femtorque.host.lab import maker_configuration
from tests.hil.board.test_boards import armed
from tests.hil.board.test_drives import board, drives, moved
from tests.hil.board.test_drives_alone import output_of
from tests.support.bus_arm import described

HOME, VERSION, FIRMWARE = "home_state", "register_map_version", "firmware_version"


@pytest.mark.parametrize(("change", "said"), [
    (lambda drive: setattr(drive, "home", 1), "its home_state is 1 (rotor), and must be 2 (output)"),
    (lambda drive: setattr(drive, "version", 4), "its register_map_version is 4, and must be 5")])
def test_a_drive_that_is_set_otherwise_is_not_armed(change, said):
    with board("moteus") as on:
        change(drives(on)[0])
        result = moved(on)
        assert "DRIVE_SETTING" in result.ended and result.state == "DISARMED" and said in result.ended
        assert not any(drive.driving for drive in drives(on))


def test_other_firmware_than_the_file_s_is_refused(monkeypatch):
    monkeypatch.setattr("femtorque.hil.drives.families.moteus.drive.FIRMWARE", 0x010203)
    with board("moteus") as on:
        assert "its firmware_version is 1.2.3, and must be 1.1.0" in moved(on).ended


def test_a_drive_that_has_timed_out_stays_so_until_the_board_stops_it_and_arms_again():
    """After its cable was off for a short time, the drive is in mode 11, which no position command ends."""
    with board("moteus") as on:
        armed(on)
        on.run(0.02)
        first = drives(on)[0]
        first.cut = True
        on.run(0.03)
        assert first.mode == TIMEOUT and first.brakes_alone
        first.cut = False
        on.run(0.01)
        assert first.mode == STOPPED and not first.driving  # the board is in FAULT, and stops the drive in each tick


@pytest.mark.parametrize("arguments", [["--info"], ["--dump-config"]])
def test_the_makers_tool_reads_a_drive_over_python_can(arguments, tmp_path):
    """A millisecond of simulated time passes with each frame. The package's tool runs in another process."""
    mechanism = replace(described("moteus"), gravity=(0.0, 0.0, 0.0))
    with DrivesAlone(mechanism, plant_of(mechanism)) as alone:
        line = [sys.executable, "-m", "moteus.moteus_tool", "--force-transport", "pythoncan", "--can-iface", "slcan",
                "--can-chan", alone.terminals["can1"], "-t", "2", *arguments]
        out = output_of(line, alone)
    if arguments == ["--info"]:
        told = json.loads(out)
        assert told["model"] == "d0412" and told["git_hash"] == "5a" * 20
        assert told["uuid"] == "a0a1a2a3-a4a5-a6a7-a8a9-aaabacadaeaf" and told["serial_number"]
    else:
        lines = dict(line.split() for line in out.splitlines() if line)
        assert float(lines["id.id"]) == 2 and float(lines["servo.pid_position.kp"]) == pytest.approx(753.98, rel=1e-4)
        printed = tmp_path / "told.txt"
        printed.write_text(out)
        none, held, missing = maker_configuration.compare_configured(mechanism, printed)
        assert not held.problems and held.marks and "has none with id.id 1" in none.problems[0] and missing.problems
