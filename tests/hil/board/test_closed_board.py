"""Closed loops and modes on the virtual board. The plant follows the image's modes, or gives a reason."""

from dataclasses import replace

import numpy as np
import pytest

from femtorque.codegen.mechanism import Mechanism, load_mechanism
from femtorque.codegen.motion import Trajectory, from_rows, knots
from femtorque.codegen.toolchain import platformio as build
from femtorque.hil.board.holding_brakes import HoldingBrakes
from femtorque.hil.board.virtual import VirtualBoard, VirtualClock
from femtorque.hil.plant import Wired, plant_of, wired
from femtorque.hil.play import Result, pil, play_motion
from femtorque.hil.play.closed_loop import Idle, in_motion
from tests.support.boards import IMAGES
from tests.support.closed import Closed
from tests.support.closed_motions import MECHANISMS

GRASP, UNTIL = 0.7, 0.8  # time of the switch, and end of the part of the motion that the test plays, s


def example(until: float = UNTIL, **changes: float) -> tuple[Mechanism, Trajectory]:
    """Return two arms and their motion until just after the grasp, or `until`, s. changes: to each mode."""
    mechanism = load_mechanism(MECHANISMS / "two_arm_grasp.toml")
    motion = Trajectory.load(MECHANISMS / "two_arm_grasp.csv", mechanism)
    last = int(np.searchsorted(motion.times, until - 1e-9)) + 1
    parts = (part[:last] for part in (motion.times, motion.positions, motion.velocities, motion.accelerations))
    motion = replace(from_rows(motion.joints, *parts), modes=motion.modes[:2])
    return replace(mechanism, modes=tuple(replace(mode, **changes) for mode in mechanism.modes)), motion


def played(mechanism: Mechanism, motion: Trajectory, image: str) -> tuple[Result, VirtualBoard]:
    """Play a motion. image: the folder of the mechanism's image."""
    with VirtualBoard(build.build_image(mechanism, IMAGES / image).elf, mechanism, plant_of(mechanism)) as board:
        board.brakes = True
        return play_motion(board, mechanism, knots(motion, mechanism), True), board


def test_a_board_sees_the_currents_of_driven_joints_alone():
    mechanism = load_mechanism(MECHANISMS / "five_bar.toml")
    seen = wired(plant_of(mechanism))
    assert isinstance(seen, Wired)
    seen.drive(1e-3, np.full(len(mechanism.streamed), 6.0))
    by_name = dict(zip([joint.name for joint in mechanism.moving], seen.plant.current, strict=True))
    assert seen.current.tolist() == [by_name[joint.name] for joint in mechanism.streamed]
    assert np.all(seen.current > 0.0)


@pytest.fixture(scope="module")
def grasped() -> dict[str, tuple[Result, VirtualBoard]]:
    """Results of the motion with the ramp of the file and without a ramp."""
    return {"ramp": played(*example(), "two_arms"), "none": played(*example(ramp_s=0.0), "two_arms_without_ramp")}


def test_arms_grasp_an_object_on_the_board_and_stay_on_their_path_with_the_host_s_bits(grasped):
    for result, board in grasped.values():
        assert (result.ended, result.faults, board.plant.mode) == ("done", (), "grasp")
        assert result.bit_identical is True
        assert result.modes == (0, 1, 0)  # when a board is disarmed, it returns to the first mode
        assert result.tracking_max.max() < 1.5e-3
        # the plant and the motion switch at the same time
        begins = result.record.seconds[in_motion(result.record).start]
        assert board.switched[0][0] - begins == pytest.approx(GRASP, abs=3e-3)


def around_switch(result: Result, board: VirtualBoard) -> int:
    """Return the number of the tick that computed the new mode's first torque, `lead` ticks before."""
    (seconds, mode, missed), = board.switched
    assert (mode, missed) == ("grasp", "")
    return int(np.argmin(np.abs(result.record.seconds - seconds))) - board.board.lead


def test_the_weight_of_the_object_is_carried_from_the_first_tick(grasped):
    """From the first tick of the new mode, the feed-forward includes the weight of arms and object, as computed by
    Pinocchio. The force share of the closed loop increases by a fiftieth in each tick."""
    result, board = grasped["ramp"]
    tick = around_switch(result, board)
    formed = result.record.torque_ff[tick - 1:]
    mechanism, motion = example()
    q, none = motion.at(GRASP)[0], np.zeros(4)
    weight = {name: Closed(replace(mechanism.in_mode(name), loops=())).open_torque(q, none, none)
              for name in ("open", "grasp")}
    step = weight["grasp"] - weight["open"]
    assert np.abs(step[:2]).min() > 1.0 and np.abs(step[2:]).max() < 1e-12
    closed = Closed(mechanism.in_mode("grasp"))
    cost = [joint.limits.effort**-2 for joint in mechanism.streamed]
    shared = closed.inverse(closed.assemble(q), none, none, weight=cost)[0] - weight["grasp"]
    np.testing.assert_allclose(formed[0], weight["open"], atol=1e-4)
    for k in (1, 2, 10, 50, 60):
        np.testing.assert_allclose(formed[k], weight["grasp"] + min(k / 50, 1.0) * shared, atol=1e-4)
    # the grasping arm does not sag; with PD alone it would sag by weight divided by stiffness
    stiff = np.array([joint.gains.ku for joint in mechanism.streamed])
    error = np.abs(result.target_positions - result.record.q)[tick:tick + 60]
    assert error[:, 0].max() < 0.05 * abs(step[0]) / stiff[0]


def test_the_ramp_takes_the_step_out_of_the_shared_torque(grasped):
    """The right arm carries its part of the object only through the closed loop."""
    largest = {}
    for name, (result, board) in grasped.items():
        tick = around_switch(result, board)
        largest[name] = np.abs(np.diff(result.record.torque_ff[tick - 5:tick + 80, 2:], axis=0)).max()
    print(f"largest torque step a tick of the arm that is joined: {largest['none']:.3f} without, "
          f"{largest['ramp']:.3f} with ramp")
    assert largest["none"] > 0.3 and largest["ramp"] < 0.05 * largest["none"]
    ends = [result.record.torque_ff[around_switch(result, board) + 70] for result, board in grasped.values()]
    np.testing.assert_allclose(*ends, atol=2e-3)  # at the end both arms carry equal loads


@pytest.mark.bench
def test_the_plant_at_the_host_follows_a_board_s_modes(tmp_path):
    """The relay reads the board's mode from STATUS. The grippers close when the torque changes."""
    mechanism, motion = example()
    elf = build.build_image(mechanism, tmp_path, pil=True).elf
    with VirtualBoard(elf, mechanism, Idle(4)) as board:
        board.recording = False
        result = pil.run_in_the_loop(board.url, mechanism, motion, wall=VirtualClock(board))
    assert (result.ended, result.faults, result.modes) == ("done", (), (0, 1, 0))
    (seconds, mode, missed), = result.switched
    assert (mode, missed) == ("grasp", "")
    k = int(np.argmin(np.abs(result.record.seconds - seconds)))
    assert np.abs(result.target_positions - result.record.q)[k:result.moving.stop].max() < 5e-4
    # the torque acts from here on; it was computed one tick earlier
    assert np.abs(result.record.torque_ff[k - 1] - result.record.torque_ff[k - 2])[:2].min() > 1.0


CARRIED, ON = 1.1, 0.1  # end of the part of the motion that is played, s; duration of the motion afterwards, s


def test_an_object_is_let_go_in_motion():
    """Half-way along the arc the grippers open, and both arms continue their motions undisturbed."""
    mechanism, motion = example(CARRIED + ON)
    motion = replace(motion, modes=(*motion.modes, (CARRIED, "open")))
    assert np.abs(motion.at(CARRIED)[1]).min() > 0.3  # rad/s
    result, board = played(mechanism, motion, "two_arms")
    assert (result.ended, result.faults, result.modes, board.plant.mode) == ("done", (), (0, 1, 0), "open")
    assert result.bit_identical is True
    (grasped, _, _), (opened, _, missed) = board.switched
    assert missed == "" and opened - grasped == pytest.approx(CARRIED - GRASP, abs=1e-6)
    after = result.record.seconds >= opened
    assert np.abs(result.target_positions
                  - result.record.q)[after & (np.arange(len(after)) < result.moving.stop)].max() < 1e-3


def test_hands_that_still_move_when_they_should_grasp_are_a_named_fault():
    """The right arm moves through the pose of the grasp. The arm's position is correct, but its velocity is not."""
    mechanism, motion = example()
    meeting, swing, still = motion.at(GRASP)[0], np.array([0.0, 0.0, 0.3, 0.0]), np.zeros(4)
    times, places = [0.0, 0.4, 0.6], [motion.positions[0], meeting, meeting + 0.1 * swing]
    passing = from_rows(motion.joints, times, places, [still, swing, still], [still, still, still])
    result, board = played(mechanism, replace(passing, modes=((0.0, "open"), (0.4, "grasp"))), "two_arms")
    assert result.ended != "done" and result.faults == ("MODE",) and result.outputs_safe
    assert board.plant.mode == "open"
    assert all(missed for _, _, missed in board.switched)


def test_a_motion_through_a_singular_pose_ends_in_a_named_fault_before_the_linkage_gets_there():
    """Coupler and rocker become collinear. Beyond there is no pose, and on the way back there are two."""
    mechanism = load_mechanism(MECHANISMS / "four_bar.toml")
    motion = Trajectory.load(MECHANISMS / "four_bar_singular.csv", mechanism)
    result, board = played(mechanism, motion, "four_bar")
    assert result.ended != "done" and result.faults == ("LOOPS_SINGULAR",) and result.outputs_safe
    ground, crank, stretched = 0.30, 0.16, 0.40
    singular = np.arccos((ground**2 + crank**2 - stretched**2) / (2.0 * ground * crank))
    armed = np.flatnonzero(result.record.torque[:, 0])
    assert singular - 0.02 < result.target_positions[armed[-1], 0] < singular
    assert np.abs(result.record.torque).max() <= np.float32(mechanism.streamed[0].limits.effort)


def test_holding_brakes_stop_a_closed_mechanism_too(monkeypatch):
    mechanism = load_mechanism(MECHANISMS / "five_bar.toml")
    elf, plant = build.build_image(mechanism, IMAGES / "five_bar").elf, plant_of(mechanism)
    monkeypatch.setattr(HoldingBrakes, "settled", lambda self, seconds: False)
    with VirtualBoard(elf, mechanism, plant) as board:
        plant.push(0.02, 0.5 * np.ones(plant.n))
        assert np.abs(plant.v).max() > 0.1
        board.run(0.005)
        monkeypatch.setattr(HoldingBrakes, "closed", lambda self, seconds: True)
        board.run(0.005)
        assert np.abs(plant.v).max() < 1e-12
        q = plant.q.copy()
        board.run(0.005)
        np.testing.assert_array_equal(plant.q, q)
