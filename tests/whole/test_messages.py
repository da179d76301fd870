"""Tests that refusals name the file, the limit and the remedy."""

import csv
import errno
import os

import pytest

from femtorque import BadInput, Board, Mechanism, Trajectory
from femtorque.codegen.common import MECHANISMS
from femtorque.host.record import log
from tests.support.fake_board import a_session

ARM, MOTION = MECHANISMS / "three_link.toml", MECHANISMS / "three_link.csv"


@pytest.fixture
def arm():
    return Mechanism.load(ARM)


def refusal(shown, status=2):
    assert shown.returncode == status and shown.stderr.count("\n") == 1, shown.stderr
    return shown.stderr


def test_degrees_of_a_waypoint_are_told_in_radians(here, tmp_path):
    (tmp_path / "w.toml").write_text("[[waypoint]]\njoints = { shoulder = 90 }\n")
    said = refusal(here("plan", ARM, tmp_path / "w.toml", "-o", tmp_path / "w.csv"))
    assert "-3.1 .. 3.1; angles are in rad: 90 degrees are 1.571" in said


def test_velocities_that_belong_to_other_times_are_named(arm, tmp_path):
    """All times were divided by ten, but the velocities were not scaled."""
    head, *rows = MOTION.read_text(encoding="utf-8").split()
    squeezed = [f"{float(row.split(',')[0]) / 10.0:.9g},{row.partition(',')[2]}" for row in rows]
    (tmp_path / "squeezed.csv").write_text("\n".join([head, *squeezed]) + "\n")
    with pytest.raises(BadInput, match="the positions change 10 times as fast as the velocities say"):
        Trajectory.load(tmp_path / "squeezed.csv", arm)


def test_a_board_that_is_not_there_is_named_with_the_file(here, tmp_path):
    (tmp_path / "arm.toml").write_text(ARM.read_text(encoding="utf-8").replace('"f405rg-4"', '"f405rg4"'))
    for line in (("check",), ("build",), ("hil run", MOTION)):
        said = refusal(here(*line[0].split(), tmp_path / "arm.toml", *line[1:]))
        assert said.startswith(f"femtorque: {tmp_path / 'arm.toml'}: board.use = 'f405rg4'"), said


def test_an_unknown_board_of_init_is_named_by_its_option(here, tmp_path):
    """The command's name begins the line, and is not repeated."""
    (tmp_path / "arm.urdf").write_text(
        '<robot name="arm"><link name="base"/><link name="hand"/>'
        '<joint name="j" type="continuous"><parent link="base"/><child link="hand"/></joint></robot>')
    said = refusal(here("init", "refused", "--from", tmp_path / "arm.urdf", "--board", "f405rg-3"))
    assert said.startswith("femtorque init: --board = 'f405rg-3': no such board; did you mean"), said


def test_a_locked_joint_in_a_waypoint_is_refused_as_locked(here, tmp_path):
    text = ARM.read_text(encoding="utf-8").replace("[control]", "lock = { wrist = 0.1 }\n\n[control]", 1)
    (tmp_path / "arm.toml").write_text(text)
    (tmp_path / "w.toml").write_text("[[waypoint]]\njoints = { wrist = 0.3 }\n")
    said = refusal(here("plan", tmp_path / "arm.toml", tmp_path / "w.toml", "-o", tmp_path / "w.csv"))
    assert "wrist = 0.3: this joint is locked at 0.1; take it out of lock, or leave it out here" in said


def test_a_log_on_a_full_disk_is_named(tmp_path):
    """The disk fills when the log is open."""
    session, _ = a_session()
    with pytest.raises(OSError, match="No space left") as error, log.Log(tmp_path / "run.mcap",
                                                                         session.configuration) as written:
        written._csv_file.close()
        written._csv_file = open("/dev/full", "w", buffering=1)
        written._csv = csv.writer(written._csv_file)
        written.write(session.status)
    assert error.value.filename == str(tmp_path / "run.mcap")


def test_a_page_that_cannot_be_written_takes_its_motion_with_it(here, tmp_path, monkeypatch):
    """So the user can repeat the command, and no file blocks the repetition."""
    from femtorque.host import show

    def full(path, *_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    (tmp_path / "w.toml").write_text("[[waypoint]]\njoints = { shoulder = 0.5 }\n")
    line = ("plan", ARM, tmp_path / "w.toml", "-o", tmp_path / "w.csv", "--page", tmp_path / "w.html")
    with monkeypatch.context() as patch:
        patch.setattr(show, "write_planned", full, raising=False)
        assert "w.html: No space left" in refusal(here(*line))
    assert not (tmp_path / "w.csv").exists() and here(*line).returncode == 0


def test_a_jog_that_is_too_fast_is_refused_with_the_limit_before_anything_is_armed(arm, fake):
    with Board.connect("/dev/ttyFAKE", arm) as board:
        board.home()
        with pytest.raises(BadInput, match=r"rate = 99: must be within -0.8 .. 0.8 for shoulder"):
            board.jog("shoulder", 99, 1.0)
        with pytest.raises(BadInput, match=r"three-link: joint = 'sholder': no such joint; did you mean 'shoulder'"):
            board.jog("sholder", 0.1, 1.0)
        assert board.state == "DISARMED"


def test_a_hint_to_python_can_be_typed_into_python(arm, fake, tmp_path):
    with Board.connect("/dev/ttyFAKE", arm) as board, pytest.raises(Exception, match=r"board\.home\(\)"):
        board.stream(MOTION)
    motion = Trajectory.load(MOTION, arm)
    motion.save(tmp_path / "m.csv")
    (tmp_path / "m.csv").write_text((tmp_path / "m.csv").read_text() + "\n")
    with pytest.raises(BadInput, match=r"force=True"):
        motion.save(tmp_path / "m.csv")


def test_the_address_of_a_page_is_not_printed_before_a_refusal(here, fake):
    said = refusal(here("stream", ARM, MOTION, "--port", "/dev/ttyFAKE", "--web", "0"), status=1)
    assert "no zero yet" in said and "http://" not in said
