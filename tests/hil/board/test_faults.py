"""After a fault in mid-motion, the arm completes the motion, or it stops on the path in the state that the fault names.
Outputs are safe. The host's time limits also bound the simulated time of each run."""

from dataclasses import replace

import numpy as np
import pytest

from femtorque.codegen.common import BadInput
from femtorque.codegen.motion import from_rows
from femtorque.hil.play import run_closed_loop
from tests.support import boards, rig


def stopped_on_path(result) -> bool:
    """Check that the targets stayed on the path, slowed down and came to rest before the end of the path."""
    share, off = rig.along_path(result.target_positions[result.moving])
    rest = result.target_positions[result.moving.stop:result.moving.stop + 100]
    return bool(off < 1e-6 and np.all(np.diff(share) >= -1e-9) and share[-1] < 1.0 and len(rest) == 100
                and np.all(rest == rest[0]))


@pytest.mark.parametrize("fault", ["noise", "duplicates"])
def test_frames_that_are_spoilt_lost_or_come_twice_change_nothing_of_the_motion(fault):
    result = rig.play(fault, motion=rig.long_motion())
    assert (result.ended, result.state, result.faults) == ("done", "DISARMED", ())
    assert result.bit_identical is True and result.outputs_safe and (result.retransmissions > 0 or fault != "noise")


@pytest.mark.parametrize("fault", ["random-bytes", "host-stall", "host-gone"])
def test_a_silent_host_stops_the_arm_on_its_path_and_lets_go(fault):
    result = rig.play(fault)
    assert fault == "host-gone" or "stopped on the path" in result.ended and "host was silent" in result.ended
    assert stopped_on_path(result)
    assert result.state == "FAULT" and result.faults == ("HOST_LOST",)  # the host did not return
    assert result.outputs_safe


@pytest.mark.parametrize("fault", ["random-bytes", "host-stall"])
def test_the_motion_is_resumed_when_the_host_is_back(fault):
    result = rig.play(fault, resume=1)
    assert result.ended == "done" and result.state == "DISARMED" and result.faults == ()
    np.testing.assert_allclose(result.record.q[-1], rig.start() + rig.REACH, atol=4e-3)
    assert rig.along_path(result.target_positions[result.moving])[1] < 1e-6


@pytest.mark.parametrize("fault, state, named, said", [
    ("reset", "DISARMED", None, "was reset (cause PIN)"), ("brown-out", "DISARMED", None, "was reset (cause BROWNOUT)"),
    ("estop", "ESTOP", None, "e-stop"), ("crystal", "FAULT", "CLOCK", ""), ("dead-crystal", "FAULT", "CLOCK", "CLOCK"),
    ("wrong-crystal", "FAULT", "CRYSTAL", "CRYSTAL"), ("supply-sag", "FAULT", "SUPPLY", ""),
    *((fault, "FAULT", name, name) for fault, name in (
        ("encoder-jump", "ENCODER"), ("encoder-stuck", "ENCODER_STUCK"), ("supply-off", "UNDER_VOLTAGE"),
        ("over-voltage", "OVER_VOLTAGE"), ("over-temperature", "OVER_TEMPERATURE"), ("encoder-reversed", "OVERSPEED"),
        ("stack-overrun", "STACK")))])
def test_a_fault_ends_in_its_named_state_and_one_at_start_never_lets_the_outputs_on(fault, state, named, said):
    result = rig.play(fault, motion=rig.long_motion())
    assert result.state == state and said in result.ended and result.outputs_safe
    assert named is None or result.faults == (named,)
    assert np.any(result.record.duty) == (fault not in ("dead-crystal", "wrong-crystal"))


def played(mechanism, fault):
    """Play a short motion on an arm that is not the test rig's arm."""
    names = [joint.name for joint in mechanism.streamed]
    start = np.array([joint.start for joint in mechanism.streamed])
    motion = from_rows(names, [0.0, 1.0], np.array([start, start + rig.REACH[:len(start)]]))
    return run_closed_loop(mechanism, motion, fault=fault,
                           out=rig.ROOT / "build" / "faults" / f"{mechanism.board.use}-{fault}")


@pytest.mark.parametrize("name, drive, fault, named", [
    ("f405rg-4", "current", "sensor-backwards", {"CURRENT_SIGN"}),
    ("f405rg-4", "current", "sensor-stuck", {"OVER_CURRENT"}),
    ("f405rg-4", "current", "cable-shorted", {"OVER_CURRENT", "CURRENT_LOOP"}),
    ("f405rg-4", "current", "cable-off", {"CURRENT_LOOP", "FOLLOWING"}),
    ("odrive-v3.6", "voltage", "driver-forgets", {"DRIVER"}), ("odrive-v3.6", "voltage", "phase-shorted", {"DRIVER"}),
    ("f405rg-4", "voltage", "overload", {"OVERLOAD"}),
])
def test_what_only_some_arms_can_suffer_ends_in_its_named_fault_there(name, drive, fault, named, tmp_path):
    mechanism = boards.driven(boards.three_link(name, tmp_path), drive)
    if fault == "overload":
        mechanism = rated(mechanism)
    result = played(mechanism, fault)
    assert result.state == "FAULT" and set(result.faults) <= named and result.outputs_safe


@pytest.mark.parametrize("name", ["f405rg-4", "nucleo-g474re-6"])
def test_a_current_sensor_that_loses_gain_leaves_the_motion_to_its_feedback_or_ends_in_its_own_fault(name, tmp_path):
    """The current loop compensates the reduced gain. Therefore the board finds the fault only when the loop needs the
    full voltage, or when the board is armed next time."""
    result = played(boards.driven(boards.three_link(name, tmp_path), "current"), "sensor-gain-loss")
    assert result.faults == ("CURRENT_LOOP",) or (result.ended == "done" and result.faults == ())
    assert result.outputs_safe


def rated(mechanism):
    """Return an arm whose first motor overheats in 0.1 s with twice its continuous torque."""
    first, *others = mechanism.joints
    motor = replace(first.motor, continuous=4.0, thermal_s=0.3)
    return replace(mechanism, joints=(replace(first, motor=motor), *others))


@pytest.mark.parametrize("fault, needs", [
    ("cable-off", "drive = 'current'"), ("driver-forgets", "gate drivers"), ("overload", "continuous")])
def test_a_fault_that_an_arm_cannot_have_is_refused_with_those_that_it_can(fault, needs):
    with pytest.raises(BadInput, match=f"--fault = '{fault}': needs .*{needs}.*of this arm: estop, noise"):
        rig.play(fault)
