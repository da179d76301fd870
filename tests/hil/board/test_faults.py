"""Things that go wrong in mid-motion: each ends in completion or in its named state, stopped on the path, outputs safe.

Nothing can hang: every run is bounded in simulated time by the host's own time limits.
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.support import rig


def stopped_on_path(result) -> bool:
    """The targets stayed on the path all the time, slowed down and came to rest before its end."""
    share, off = rig.along_path(result.target_positions[result.moving])
    rest = result.target_positions[result.moving.stop:result.moving.stop + 100]
    return bool(off < 1e-6 and np.all(np.diff(share) >= -1e-9) and share[-1] < 1.0 and len(rest) == 100
                and np.all(rest == rest[0]))


def test_a_tenth_of_all_frames_flipped_and_a_tenth_lost_changes_nothing_of_the_motion():
    result = rig.play("noise", motion=rig.long_motion())
    assert result.ended == "done" and result.state == "DISARMED" and result.faults == ()
    assert result.retransmissions > 0
    assert result.bit_identical is True
    assert result.outputs_safe


def test_frames_that_come_twice_change_nothing():
    result = rig.play("duplicates")
    assert result.ended == "done" and result.faults == () and result.bit_identical is True


@pytest.mark.parametrize("fault", ["random-bytes", "host-stall"])
def test_a_silent_host_stops_the_arm_on_its_path_and_lets_go(fault):
    result = rig.play(fault)
    assert "stopped on the path" in result.ended and "host was silent" in result.ended
    assert stopped_on_path(result)
    assert result.state == "FAULT" and result.faults == ("HOST_LOST",)  # as the host then left for good
    assert result.outputs_safe


@pytest.mark.parametrize("fault", ["random-bytes", "host-stall"])
def test_the_motion_is_resumed_when_the_host_is_back(fault):
    result = rig.play(fault, resume=1)
    assert result.ended == "done" and result.state == "DISARMED" and result.faults == ()
    np.testing.assert_allclose(result.record.q[-1], rig.start() + rig.REACH, atol=4e-3)
    assert rig.along_path(result.target_positions[result.moving])[1] < 1e-6


def test_a_host_that_disappears_leaves_the_arm_stopped_on_its_path_and_without_power():
    result = rig.play("host-gone")
    assert result.state == "FAULT" and result.faults == ("HOST_LOST",)
    assert stopped_on_path(result)
    assert result.outputs_safe


@pytest.mark.parametrize("fault, cause", [("reset", "PIN"), ("brown-out", "BROWNOUT")])
def test_a_reset_in_mid_motion_is_noticed_and_named(fault, cause):
    result = rig.play(fault)
    assert f"was reset (cause {cause})" in result.ended
    assert result.state == "DISARMED"
    assert result.outputs_safe


def test_the_e_stop_ends_the_motion_in_its_own_state():
    result = rig.play("estop")
    assert "e-stop" in result.ended
    assert result.state == "ESTOP"
    assert result.outputs_safe


@pytest.mark.parametrize("fault, named", [
    ("encoder-jump", "ENCODER"), ("encoder-stuck", "ENCODER_STUCK"), ("supply-off", "UNDER_VOLTAGE"),
    ("over-voltage", "OVER_VOLTAGE"), ("over-temperature", "OVER_TEMPERATURE"),
])
def test_measurement_and_supply_faults_end_in_their_named_fault(fault, named):
    result = rig.play(fault, motion=rig.long_motion())
    assert result.state == "FAULT" and result.faults == (named,)
    assert named in result.ended
    assert result.outputs_safe


def test_a_crystal_that_stops_resets_the_chip_into_a_latched_fault():
    result = rig.play("crystal")
    assert result.state == "FAULT" and result.faults == ("CLOCK",)
    assert result.outputs_safe


def test_a_dead_crystal_never_lets_the_outputs_on():
    result = rig.play("dead-crystal")
    assert "CLOCK" in result.ended
    assert result.state == "FAULT" and result.faults == ("CLOCK",)
    assert result.outputs_safe and not np.any(result.record.duty)
