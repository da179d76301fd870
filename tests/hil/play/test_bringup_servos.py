"""First power-up of an arm on servos whose mounting, settings or wiring differ from the file."""

import json
import math
from dataclasses import replace

import pytest

from femtorque.codegen.mechanism import load_mechanism
from femtorque.hil.drives.families.feetech import servo as sts
from femtorque.host.lab import bring_up_advice
from femtorque.host.lab.bringup import Finding, zero_of
from tests.support.plugged import Steady, plugged_in
from tests.support.servos import DYNAMIXELS, LYING, so101

COUNT = math.tau / 4096


class Gentle(Steady):
    stiffness, damping = 60.0, 4.0


@pytest.fixture
def looked_at(brought_up):
    """Bring up the arm after `spoil`. Returns the report, the file, and the bytes that the servos store."""
    def look(spoil, *options, text=LYING, world=None):
        told, file, board = brought_up(text, *options, hand=Gentle, spoil=lambda board: spoil(board.wiring.buses),
                                       world=world)
        servos = board.wiring.buses.servos.values()
        assert not any(servo.driving for servo in servos)
        return told, file, [bytes(servo.stored) for servo in servos]

    return look


def test_a_reversed_servo_with_another_zero_is_mended_in_the_file_alone(looked_at):
    """The command finds the correct zero and the correct sign together. The elbow starts at 0.3 rad."""
    before = []

    def turn_round(buses):
        buses.turn_round(1)
        buses.servos[1].centre = -700.0 * COUNT
        before.extend(bytes(servo.stored) for servo in buses.servos.values())

    told, file, stored = looked_at(turn_round, "--zero", "--write")
    assert [told[name]["problem"] for name in ("shoulder", "elbow")] == ["", "its drive counts the wrong way"]
    shoulder, elbow = (j.drive for j in file.moving)
    assert (shoulder.sign, elbow.sign) == (1, -1)
    assert abs(shoulder.servo.zero - 2048) <= 5 and abs(elbow.servo.zero - (2048 + 700)) <= 5
    assert {j["firmware"] for j in told.values()} == {"3.10"} and stored == before


@pytest.mark.bench
def test_sign_gear_and_zero_of_a_dynamixel_are_found_and_mended_in_the_file_alone(looked_at, tmp_path):
    """The elbow has a belt of 2:1 that the file does not mention, the opposite direction and another zero."""
    head, elbow = DYNAMIXELS.replace("two_dynamixels", "belted").split('name = "elbow"')
    elbow = elbow.replace("lower = -1.8, upper = 1.8, velocity = 4.0", "lower = -1.2, upper = 1.2, velocity = 2.0")
    file = f'{head}name = "elbow"{elbow}'
    (tmp_path / "world.toml").write_text(
        f'{head}name = "elbow"{elbow.replace("id = 2", "id = 2, gear = 2.0, sign = -1, zero = 2700")}')
    before = []
    told, mended, stored = looked_at(
        lambda buses: before.extend(bytes(servo.stored) for servo in buses.servos.values()), "--zero", "--write",
        text=file, world=load_mechanism(tmp_path / "world.toml"))
    assert told["shoulder"]["problem"] == "" and told["elbow"]["gear"] == pytest.approx(2.0, rel=0.05)
    assert told["elbow"]["problem"].startswith("its drive counts the wrong way; its servo makes ")
    assert told["elbow"]["problem"].endswith("turns per turn of the joint, and the file says 1: a gear of 2")
    shoulder, elbow = (j.drive for j in mended.moving)
    assert (shoulder.sign, shoulder.gear, elbow.sign, elbow.gear) == (1, 1.0, -1, 2.0)
    assert abs(shoulder.servo.zero - 2048) <= 5 and abs(elbow.servo.zero - 2700) <= 8
    assert {j["firmware"] for j in told.values()} == {"47"}
    kept = [i for i in range(64) if i not in (9, 11)]  # the board sets return delay and operating mode
    assert [[s[i] for i in kept] for s in stored] == [[s[i] for i in kept] for s in before]


def test_an_offset_stored_by_another_tool_goes_into_the_file_and_no_joint_is_driven(looked_at):
    def calibrated(buses):
        servo = buses.servos[1]
        servo.stored[sts.OFFSET:sts.OFFSET + 2] = (0x800 | 123).to_bytes(2, "little")
        servo.power_up(0.3)

    told, file, _ = looked_at(calibrated, "--no-hand", "--write")
    assert told["elbow"]["problem"] == "its position offset is -123, and must be 0"
    assert all("no joint is driven" in j["unknown"] for j in told.values())
    assert file.moving[1].drive.servo.offset == -123


@pytest.mark.parametrize("happens", ["wrong id", "the same id twice", "wrong rate"])
def test_silent_servos_are_named_with_possible_causes(looked_at, happens):
    def spoil(buses):
        first, second = buses.servos.values()
        register, value = {"wrong id": (sts.ID, 7), "the same id twice": (sts.ID, 1),
                           "wrong rate": (sts.BAUD, 1)}[happens]
        second.stored[register] = value
        second.power_up(0.3)

    told, _, _ = looked_at(spoil, "--no-hand")
    assert told["elbow"]["problem"].startswith("nothing answers as id 2 on bus 'servos': check its id")
    twice = happens == "the same id twice"
    assert told["shoulder"]["problem"].startswith("nothing answers as id 1" if twice else "") or not twice
    assert "no joint is driven" in told["shoulder"]["unknown"]


def test_one_look_at_a_board_tells_rate_losses_and_firmware_of_its_servos(here, tmp_path):
    file = tmp_path / "arm.toml"
    file.write_text(LYING, encoding="utf-8")
    with plugged_in(load_mechanism(file)) as board:
        board.run(0.5)
        told = json.loads(here("monitor", file, "--port", "auto", "--json").stdout)
    assert [(d["joint"], d["firmware"], d["state"]) for d in told["drives"]] == [
        ("shoulder", "3.10", "seen"), ("elbow", "3.10", "seen")]
    assert all(450.0 < d["rate"] <= 500.0 and d["age"] <= 1 and d["lost"] < 0.1 * d["answers"] for d in told["drives"])
    assert [bus["bus"] for bus in told["buses"]] == ["servos"]


@pytest.mark.parametrize(("sign", "place", "zero"), [
    (1, 0.0, 2048), (1, 0.5, 2048 + round(0.5 / COUNT)), (-1, 0.5, 2048 + round(0.5 / COUNT)),
    (1, -3.0, 2048 - round(3.0 / COUNT)), (1, math.pi, 0)])
def test_the_count_where_a_servo_stands_at_its_start_is_its_zero(sign, place, zero):
    joint = so101().joints[0]
    assert zero_of(joint, place, replace(joint.drive, sign=sign)) == zero % 4096


def test_servos_of_different_firmware_are_named():
    found = [Finding(name, "", 0.1, None, {}, firmware=version) for name, version in (
        ("elbow_flex", "3.10"), ("gripper", "3.9"))]
    assert bring_up_advice(so101(), found) == (
        "servos have different firmware (3.10: elbow_flex; 3.9: gripper): bring all to "
        "one version with Feetech's tool")
    assert bring_up_advice(so101(), found[:1]) == ""
