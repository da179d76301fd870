"""First power-up of an arm with drives on a bus whose mounting or settings differ from the file."""

import math
import re
from dataclasses import replace
from pathlib import Path

import pytest

from femtorque.codegen.mechanism import load_mechanism
from femtorque.hil.board import DrivesAlone
from femtorque.hil.plant import plant_of
from femtorque.host.lab.bringup import Look, Probed, asked, judge_drive
from tests.support.bus_arm import described, file_of
from tests.support.plugged import Steady, plugged_in


class Firm(Steady):
    stiffness, damping, seconds = 400.0, 30.0, 1.0


class Careless(Firm):
    """A person who releases a joint immediately after moving it, and presses Enter when the joint lies on a surface."""

    def readline(self) -> str:
        super().readline()
        self.board.brakes = False
        self.board.run(1.5)
        self.board.brakes = True
        return "\n"


@pytest.fixture
def looked_at(brought_up):
    """Bring up an arm that lies on a surface. Returns the problems by joint, the unknown joints, and the file."""
    def look(spoil, *options, change=lambda text: text, hand=Firm, gravity="0.0"):
        text = change(Path(file_of().source).read_text().replace("[0.0, -9.81, 0.0]", f"[0.0, {gravity}, 0.0]"))
        text = text.replace("gains = {", "friction = { viscous = 0.5, coulomb = 0.05 }\ngains = {")
        told, file, _ = brought_up(text, *options, hand=hand, spoil=lambda board: spoil(board.wiring.buses))
        problems, unknown = ({name: j[key] for name, j in told.items()} for key in ("problem", "unknown"))
        return problems, unknown, file

    return look


def test_a_joint_that_sinks_after_its_release_shows_no_gear_and_no_sign(looked_at):
    """The arm is upright, and friction lets its joints come to rest at some angle."""
    said, unknown, file = looked_at(lambda buses: None, "--write", hand=Careless, gravity="-9.81")
    print(said)
    assert "turn back differ: hold the joint until it has been counted" in said["shoulder"]
    assert not any("gear of" in what or "turns per turn" in what or "the wrong way" in what for what in said.values())
    assert [(j.drive.sign, j.drive.gear) for j in file.moving] == [(1, 1.0), (1, 1.0), (-1, 1.0)]


OTHERS = {
    "moteus": (('damiao-4340"', 'moteus-r4", torque = 28.0, kp = 120.0, kd = 6.0'),
               ('damiao-4310"', 'moteus-c1", torque = 10.0, kp = 16.0, kd = 0.6'),
               ('"can"', '"can-fd"'), ("f405rg-4", "nucleo-g474re-6")),
    "odrive": (('damiao-4340"', 'odrive-pro", torque = 28.0'), ('damiao-4310"', 'odrive-s1"'))}


def told(mechanism, **changes: str) -> str:
    """Return the configurations of a mechanism's virtual drives in words, with some values changed in each drive."""
    with DrivesAlone(mechanism, plant_of(mechanism)) as alone:
        said = []
        for drive in alone.buses.drives.values():
            drive.stream.take(b"conf enumerate\n")
            said.append(drive.stream.give(1 << 16).decode())
    text = "".join(said)
    for name, value in changes.items():
        text = re.sub(rf"(?m)^{name.replace('__', '[.]')} .*?\r$", f"{name.replace('__', '.')} {value}\r", text)
    return text


def test_nothing_moves_while_a_drive_is_configured_otherwise_than_the_file_says(here, tmp_path):
    """The command does not search for the board. Without the maker's printout it says that nothing was compared."""
    file = tmp_path / "arm.toml"
    file.write_text(Path(described("moteus").source).read_text())
    printed = tmp_path / "told.txt"
    printed.write_text(told(load_mechanism(file), servo__pid_position__kp="500"))
    done = here("bringup", file, "--port", "nowhere", "--settings", printed, "--write")
    assert done.returncode == 1 and "nothing was driven" in done.stdout
    assert "elbow: its servo.pid_position.kp is 500, and must be 753.982, 2 pi times drive.kp" in done.stdout
    assert "configured" not in file.read_text()


def test_the_file_holds_a_configuration_after_its_comparison(here, tmp_path):
    file, printed = tmp_path / "arm.toml", tmp_path / "told.txt"
    text = Path(described("moteus").source).read_text()
    for was, becomes in (("[0.0, -9.81, 0.0]", "[0.0, 0.0, 0.0]"), ('"moteus_arm"', '"lying_moteus"'),
                         ("gains = {", "friction = { viscous = 0.5, coulomb = 0.05 }\ngains = {")):
        text = text.replace(was, becomes)
    file.write_text(text)
    mechanism = load_mechanism(file)
    printed.write_text(told(mechanism))
    with plugged_in(mechanism):
        unread = here("bringup", file, "--port", "auto", "--no-hand")
        done = here("bringup", file, "--port", "auto", "--no-hand", "--settings", printed, "--write")
    assert "not compared with what its owner has configured: moteus_tool -t 1,2,3 --dump-config" in unread.stdout
    assert done.returncode == 0 and "not compared" not in done.stdout, done.stdout
    assert [len(j.drive.configured) for j in load_mechanism(file).streamed] == [36] * 3
    printed.write_text(told(mechanism, motor_position__output__offset="0.25"))
    again = here("bringup", file, "--port", "nowhere", "--settings", printed)
    assert again.returncode == 1 and "its motor_position.output has changed" in again.stdout


@pytest.mark.bench
@pytest.mark.parametrize("kind", OTHERS)
def test_a_drive_of_another_family_mounted_the_other_way_is_found_and_mended(looked_at, kind):
    def change(text: str) -> str:
        for was, becomes in OTHERS[kind]:
            assert was in text
            text = text.replace(was, becomes)
        return text

    said, unknown, file = looked_at(lambda buses: buses.turn_round(1), "--write", change=change)
    assert said == {"shoulder": "", "elbow": "its drive counts the wrong way", "wrist": ""}
    assert [j.drive.sign for j in file.moving] == [1, -1, -1] and set(unknown.values()) == {""}


KINDS = {"robstride": ("robstride-02", "robstride-00", 44),
         "cubemars": ("cubemars-ak10-9", "cubemars-ak80-9", 50),
         "mini-cheetah": ("mini-cheetah", "mini-cheetah", 65)}  # velocities of shoulder and elbow; of the wrist; rad/s


@pytest.mark.bench
@pytest.mark.parametrize("kind", KINDS)
def test_a_wrong_velocity_range_of_a_drive_without_settings_shows_by_a_turn(looked_at, kind):
    """An incorrect torque range has no visible effect, and the report says so. Afterwards no joint is driven."""
    strong, weak, velocity = KINDS[kind]
    said, unknown, _ = looked_at(lambda buses: buses.drives[0].rescale(0.5), change=lambda text: (
        text.replace("damiao-4340", strong).replace("damiao-4310", weak).replace("effort = 20.0", "effort = 16.0")))
    seems = re.match(r"its motion shows a range of velocity of about (\S+) rad/s", said["shoulder"])
    assert float(seems[1]) == pytest.approx(0.5 * velocity, rel=0.05)
    assert said["shoulder"].endswith(f" rad/s, and it must be {velocity}") and said["elbow"] == said["wrist"] == ""
    assert re.match(r"whether its range of torque is \d+ N m: it does not report that", unknown["shoulder"])
    assert all("no joint is driven" in what for what in unknown.values())


def test_a_joint_with_a_drive_is_asked_to_be_turned_farther_where_its_limits_allow():
    """The test motion is three quarters of a radian, or half a radian within a narrow range."""
    elbow = file_of().streamed[1]
    assert [asked(replace(elbow, limits=replace(elbow.limits, upper=upper))) for upper in (2.5, 0.6, 0.3)] == [
        0.75, 0.6, 0.5]


def narrow(buses):
    """Set the position range of the first drive to 0.8 times its value."""
    drive = buses.drives[0]
    drive.ranges = replace(drive.ranges, position=0.8 * drive.ranges.position)


@pytest.mark.bench
@pytest.mark.parametrize("kind", ["cubemars", "mini-cheetah"])
def test_a_wrong_position_range_of_a_drive_without_settings_shows_by_a_turn(looked_at, kind):
    strong, weak, _ = KINDS[kind]
    said, _, _ = looked_at(narrow, change=lambda text: (
        text.replace("damiao-4340", strong).replace("damiao-4310", weak).replace("effort = 20.0", "effort = 16.0")))
    seems = re.search(r"times the angle: its range of position may be about (\S+) rad, and it must be 12.5",
                      said["shoulder"])
    assert float(seems[1]) == pytest.approx(10.0, rel=0.05) and said["elbow"] == said["wrist"] == ""


@pytest.mark.parametrize(("probed", "ratio", "words"), [
    (Probed(1, 0.5), 1.01, ""), (Probed(1, 0.5), 0.5, "its drive reports 0.5 times the angle"),
    (Probed(1, 0.5), 0.0, "does the id belong to this joint?"), (Probed(0, 0.0), 1.0, "nothing moves"),
    (None, math.nan, "hold the joint until it has been counted"),
    (Probed(0, 0.5, other=1), None, "joint 'elbow' moves when it is driven"),
    (Probed(-1, 0.5), 1.0, "it turns against its torque"),
    (Probed(0, 0.5, sinks=0), 1.0, "it sinks: support it, and bring it up again")])
def test_conclusions_from_two_looks_at_a_drive(probed, ratio, words):
    found = judge_drive(file_of(), 0, Look(ratio, None, probed))
    assert words in found.problem if words else found.problem == ""
