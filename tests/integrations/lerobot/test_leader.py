"""Tests `femtorque_leader`. The board floats the arm, and the measured positions are the actions."""

import math

import pytest

from femtorque import Refused
from femtorque.codegen.wire import messages
from tests.support.suite import ROOT, until

ARM = ROOT / "mechanisms" / "three_link.toml"


@pytest.fixture
def leader(plugin, fake):
    fake.flags |= messages.FLAGS["HOMED"][0]
    leader = plugin.FemtorqueLeader(plugin.FemtorqueLeaderConfig(mechanism=str(ARM), port="any", friction=30))
    leader.connect()
    yield leader
    if leader.is_connected:
        leader.disconnect()


def test_it_floats_while_it_is_connected_and_is_held_when_it_is_left(leader, fake):
    until(lambda: fake.state == "FLOAT")
    assert leader.is_calibrated
    assert leader.get_action() == {f"{joint}.pos": pytest.approx(0.0, abs=1e-6) for joint in ("shoulder", "elbow",
                                                                                           "wrist")}
    leader.send_feedback({})
    leader.disconnect()
    assert fake.state == "HOLD" and not leader.is_connected


def test_its_positions_are_degrees(leader, fake):
    until(lambda: fake.state == "FLOAT")
    fake.target[1] = round(0.1 * 2**32 / math.tau)
    until(lambda: leader.get_action()["elbow.pos"] == pytest.approx(math.degrees(0.1), abs=1e-5))


def test_a_board_that_floats_no_more_ends_the_script_with_a_reason(leader, fake):
    until(lambda: fake.state == "FLOAT")
    fake.state = "HOLD"
    with pytest.raises(Refused, match="no longer floats"):
        until(lambda: leader.get_action() is None)
    with pytest.raises(Refused, match="no longer floats"):
        leader.disconnect()
    assert not leader.is_connected


def test_a_script_that_was_busy_for_longer_than_the_board_waits_floats_again(leader, fake):
    until(lambda: fake.state == "FLOAT")
    fake.flags |= messages.FLAGS["HOST_SILENT"][0]
    fake.state = "HOLD"
    until(lambda: fake.state == "FLOAT")
    leader.disconnect()
    assert fake.state == "HOLD"


def test_zeros_are_asked_for_before_anything_is_armed(plugin, fake, monkeypatch):
    leader = plugin.FemtorqueLeader(plugin.FemtorqueLeaderConfig(mechanism=str(ARM), port="any"))
    asked = []
    monkeypatch.setattr("builtins.input", asked.append)
    leader.connect(calibrate=False)
    assert not leader.is_calibrated and fake.state == "DISARMED" and not asked
    leader.calibrate()
    assert leader.is_calibrated and "shoulder -0.8, elbow 0.5, wrist 0.4" in asked[0]
    leader.calibrate()
    assert len(asked) == 1, "a board that has its zeros keeps them"
    leader.disconnect()
