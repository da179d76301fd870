"""Tests plans of closed mechanisms and modes. Pinocchio checks the limits, and the virtual board plays the plans."""

from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
import pinocchio as pin
import pytest

from femtorque.codegen.common import BadInput, Refused
from femtorque.codegen.mechanism import Mechanism, load_mechanism
from femtorque.codegen.motion import Trajectory, check_streamable
from femtorque.hil.play import virtual_board
from femtorque.host.plan import effort, waypoints
from femtorque.host.plan.closed_tip import ClosedTip
from femtorque.host.plan.plan_coordinates import Space
from femtorque.host.plan.planning import Plan, plan, straight
from femtorque.host.plan.tip import Goal
from femtorque.host.stream import examine
from tests.support.closed import Closed
from tests.support.suite import ROOT

Array = np.ndarray


@dataclass(frozen=True)
class Case:
    """One test case. a, b: two positions of the point, m."""

    tip: str  # name of a link
    offset: tuple[float, float, float]  # a point in the link's frame
    a: tuple[float, float, float]
    b: tuple[float, float, float]
    joints: tuple[dict[str, float], ...]  # poses of the driven joints

    @property
    def text(self) -> str:
        """Return a file of waypoints: the poses, a position of the tip, and a straight line to another position."""
        poses = "".join(f"[[waypoint]]\njoints = {{ {', '.join(f'{k} = {x}' for k, x in pose.items())} }}\n"
                        f"stop = {'true' if i else 'false'}\n" for i, pose in enumerate(self.joints))
        return (f'tip = {{ link = "{self.tip}", xyz = {list(self.offset)} }}\n{poses}'
                f"[[waypoint]]\nxyz = {list(self.a)}\n[[waypoint]]\nxyz = {list(self.b)}\nline = true\n")


CASES = {
    "five_bar": Case("left_rod", (0.26, 0.0, 0.0), (0.05, 0.33, 0.0), (-0.06, 0.36, 0.0),
                     ({"left": 2.1, "right": 0.85}, {"left": 1.9, "right": 0.7})),
    "delta": Case("platform", (0.0, 0.0, 0.0), (0.07, 0.02, -0.3), (0.01, -0.02, -0.25),
                  ({"motor1": 0.2, "motor2": 0.45, "motor3": 0.4}, {"motor1": 0.1, "motor2": 0.6, "motor3": 0.4})),
    "palletizer": Case("forearm", (0.4, 0.0, 0.0), (0.55, 0.05, 0.58), (0.5, -0.05, 0.5),
                       ({"yaw": -0.1, "shoulder": -1.3}, {"yaw": -0.3, "shoulder": -1.4, "crank": 0.0})),
    "three_rrr": Case("platform", (0.07, 0.0, 0.0), (0.02, 0.03, 0.0), (-0.03, -0.01, 0.0),
                      ({"motor1": 1.0, "motor2": 1.04}, {"motor1": 0.9, "motor2": 1.0, "motor3": 1.2})),
}
NAMES = list(CASES)


def mechanism_of(name: str) -> Mechanism:
    return load_mechanism(ROOT / "mechanisms" / f"{name}.toml")


def planned(mechanism: Mechanism, folder: Path, text: str, **keys) -> Plan:
    (folder / "points.toml").write_text(text)
    return plan(mechanism, waypoints.load_waypoints(folder / "points.toml", mechanism), **keys)


@cache
def found_of(name: str) -> Plan:
    return planned(mechanism_of(name), Path(mkdtemp()), CASES[name].text, back=True)


def tips(oracle: Closed, q: Array, link: str, offset: tuple[float, ...]) -> Array:
    """Return the positions (N, 3) of a point of a link, computed by Pinocchio."""
    joint, place = oracle._links[link]
    points = []
    for row in q:
        pin.forwardKinematics(oracle.model, oracle.data, row)
        points.append((oracle.data.oMi[joint] * place).act(np.asarray(offset, float)))
    return np.array(points)


def followed(oracle: Closed, found: Plan, t: Array) -> tuple[Array, Array, Array]:
    """Return all joints' motion (N, n) from the driven joints' motion, step by step by Pinocchio."""
    near, rows = oracle.start, []
    for driven in zip(*found.trajectory.at(t), strict=True):
        rows.append(oracle.follow(*driven, near))
        near = rows[-1][0]
    q, v, a = np.moveaxis(np.array(rows), 1, 0)
    return q, v, a


def rubbed(mechanism: Mechanism, rates: Array) -> Array:
    """Return friction torques (..., J) at velocities (..., J)."""
    joints = mechanism.streamed
    return rates * [j.friction.viscous for j in joints] + np.sign(rates) * [j.friction.coulomb for j in joints]


@pytest.mark.parametrize("name", NAMES)
def test_a_closed_mechanism_passes_its_waypoints_of_joints_and_of_the_tip(name):
    mechanism, case, found = mechanism_of(name), CASES[name], found_of(name)
    trajectory, oracle = found.trajectory, Closed(mechanism)
    assert list(trajectory.joints) == [joint.name for joint in mechanism.streamed]
    assert all(slowed.factor > 1.0 for slowed in found.slowed)
    when = dict((where, t) for t, where in found.arrivals)
    for i, pose in enumerate(case.joints, 1):
        q, qd, _ = trajectory.at(when[f"waypoint.{i}"])
        assert all(q[trajectory.joints.index(k)] == pytest.approx(x, abs=2e-6) for k, x in pose.items())
        assert np.max(np.abs(qd)) < 1e-9 if i > 1 else np.max(np.abs(qd)) > 0.05, "stop = false does not stop"
    t = np.unique([*np.linspace(0.0, trajectory.duration, 80), when["waypoint.3"], when["waypoint.4"]])
    way = tips(oracle, followed(oracle, found, t)[0], case.tip, case.offset)
    for where, place in (("waypoint.3", case.a), ("waypoint.4", case.b)):
        np.testing.assert_allclose(way[np.searchsorted(t, when[where])], place, atol=3e-6)
    straight = way[(t >= when["waypoint.3"]) & (t <= when["waypoint.4"])]
    along = (np.array(case.b) - case.a) / np.linalg.norm(np.array(case.b) - case.a)
    off = (straight - case.a) - np.outer((straight - case.a) @ along, along)
    assert len(off) > 8 and np.max(np.abs(off)) < 3e-5
    np.testing.assert_allclose(trajectory.positions[[0, -1]], [[j.start for j in mechanism.streamed]] * 2, atol=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_every_limit_is_kept_at_every_sample_by_another_s_account(name, tmp_path):
    """Velocities, accelerations, branch and torques are checked, with rotors and friction. The limits are tight."""
    mechanism = mechanism_of(name)
    gear = 0.3 if name in ("palletizer", "delta") else 0.5
    hard = replace(mechanism, joints=tuple(
        replace(j, limits=replace(j.limits, velocity=gear * j.limits.velocity, acceleration=25.0)) if j.actuated else j
        for j in mechanism.joints))
    text = CASES[name].text.split("[[waypoint]]\nxyz")[0].split("\n", 1)[1]
    found = planned(hard, tmp_path, text)
    t = np.arange(0.0, found.trajectory.duration, 0.5 / hard.control.rate_hz)
    q, qd, qdd = found.trajectory.at(t)
    fastest = np.array([j.limits.velocity for j in hard.streamed])
    assert np.all(np.abs(qd) <= fastest * (1.0 + 1e-6)) and np.all(np.abs(qdd) <= 25.0 * (1.0 + 1e-6))
    assert np.max(np.abs(qd) / fastest) > 0.9 or np.max(np.abs(qdd)) > 20.0, "and it does not dawdle"
    check_streamable(found.trajectory, hard)
    oracle, few = Closed(hard), t[::20]
    full, rates, changes = followed(oracle, found, few)
    assert np.max(np.abs(np.diff(full, axis=0))) < 0.5, "one branch"
    K = np.array([abs(j.motor.K * j.motor.gear) for j in hard.streamed])
    for x, v, a in zip(full, rates, changes, strict=True):
        own = v[oracle.active]
        tau = oracle.inverse(x, v, a, rotors=True)[0][oracle.active] + rubbed(hard, own)
        there = (hard.board.bus_voltage - K * own * np.sign(tau)) * K / [j.motor.R for j in hard.streamed]
        there = np.minimum(there, [j.limits.effort for j in hard.streamed])
        assert np.all(np.abs(tau) <= 0.9 * there * (1.0 + 1e-3))


@pytest.mark.parametrize("name", NAMES)
def test_a_plan_of_a_closed_mechanism_plays_on_the_virtual_board_without_fault(name):
    mechanism, found = mechanism_of(name), found_of(name)
    assert examine(found.trajectory, mechanism).heaviest.share <= 0.9 * (1.0 + 1e-3)
    with virtual_board(mechanism) as board:
        board.home()
        outcome = board.stream(found.trajectory)
    assert outcome.ended == "done", outcome
    assert np.max(outcome.tracking_max) < 0.02


def test_what_the_motors_cannot_give_is_slower_with_the_forces_at_the_cuts(tmp_path):
    mechanism = mechanism_of("five_bar")
    weak = replace(mechanism, joints=tuple(replace(j, limits=replace(j.limits, effort=0.3 * j.limits.effort))
                                           if j.actuated else j for j in mechanism.joints))
    text = "[[waypoint]]\njoints = { left = 1.5, right = 0.4 }\n"
    strong, slow = planned(mechanism, tmp_path, text), planned(weak, tmp_path, text)
    assert [s.to for s in slow.slowed] == ["waypoint.1"]
    assert "would need" in slow.words() and slow.trajectory.duration > 1.1 * strong.trajectory.duration
    oracle, most = Closed(weak), 0.0
    for x, v, a in zip(*followed(oracle, slow, np.linspace(0.0, slow.trajectory.duration, 400)), strict=True):
        tau = oracle.inverse(x, v, a, rotors=True)[0][oracle.active] + rubbed(weak, v[oracle.active])
        most = max(most, float(np.max(np.abs(tau) / [j.limits.effort for j in weak.streamed])))
    assert 0.8 < most <= 0.9 * (1.0 + 2e-3)
    with pytest.raises(BadInput, match="needs .* N m, .* N m is there"):
        examine(strong.trajectory, weak)


@pytest.mark.parametrize("name, goal, words", [
    ("four_bar", "crank = 2.3",
     r"waypoint\.1: four-bar: the motion leads through a singular pose, near crank = 2\.05\d*: there "
     r"knee, rocker could move while the driven joints stand still \(condition number \d\d+ where it was left\)"),
    ("five_bar", "left = 2.9, right = 0.2",
     r"waypoint\.1: .* singular pose, near left = .*, right = .*: there left_elbow, "
     r"right_elbow could move .* \(condition number"),
])
def test_a_singular_pose_on_the_way_is_named_with_its_joints_and_condition_number(name, goal, words, tmp_path):
    with pytest.raises(Refused, match=words):
        planned(mechanism_of(name), tmp_path, f"[[waypoint]]\njoints = {{ {goal} }}\n")


def test_a_tip_out_of_reach_is_named_with_what_it_comes_to(tmp_path):
    case = CASES["five_bar"]
    with pytest.raises(BadInput,
                       match=r"waypoint\.1: .* is out of reach of left_rod: the nearest it gets is .* m away, .*; at "
                                      r"left = .*, right = .* the condition number of the tip is \d+, that of the "
                                      r"loops \d+"):
        planned(mechanism_of("five_bar"), tmp_path, f'tip = {{ link = "{case.tip}", xyz = [0.26, 0.0, 0.0] }}\n'
                "[[waypoint]]\nxyz = [0.0, 0.7, 0.0]\n")


def test_the_tip_is_reached_on_the_branch_of_the_start():
    """Four poses of the five-bar have the same tip. The elbows stay on the side of the start pose."""
    mechanism, case = mechanism_of("five_bar"), CASES["five_bar"]
    space = Space.of(mechanism)
    tip, elbows = ClosedTip(space, case.tip, case.offset, ""), [space.names.index("left_elbow"),
                                                                space.names.index("right_elbow")]
    signs = np.sign(space.start[elbows])
    for place in ((0.05, 0.33, 0.0), (-0.12, 0.3, 0.0), (0.1, 0.28, 0.0), (0.0, 0.25, 0.0)):
        pose = tip.solve(Goal(np.array(place)), space.start)
        np.testing.assert_allclose(tip.at(pose).xyz, place, atol=1e-6)
        assert np.array_equal(np.sign(pose[elbows]), signs)
        np.testing.assert_allclose(Closed(mechanism).residual(pose), 0.0, atol=1e-9)


def test_a_limit_of_a_joint_that_the_loops_move_is_kept(tmp_path):
    mechanism = mechanism_of("palletizer")
    start = Space.of(mechanism).near(Space.of(mechanism).start)["elbow"]
    stiff = replace(mechanism, joints=tuple(replace(j, limits=replace(j.limits, lower=start - 0.2, upper=start + 0.2))
                                            if j.name == "elbow" else j for j in mechanism.joints))
    with pytest.raises(Refused, match=r"on the way to waypoint\.1, the loops move elbow to .*, its limits are"):
        planned(stiff, tmp_path, "[[waypoint]]\njoints = { shoulder = -0.7 }\n")


@pytest.mark.parametrize("name, joints, words", [
    ("five_bar", "left_elbow = 0.3",
     "waypoint.1.joints.left_elbow = 0.3: the loops move this joint; say where the driven ones go: left, right"),
    ("five_bar_3", "left = 2.4, right = 1.1, right_elbow = 0.3", "right_elbow = 0.3: the loops move this joint"),
    ("five_bar_3", "left = 2.4, right = 1.1, left_elbow = 0.3",
     "left_elbow = 0.3 does not close the loops: with left, right there it goes to .*; leave it out"),
])
def test_joints_that_follow_need_not_and_must_not_be_told_otherwise(name, joints, words, tmp_path):
    with pytest.raises((BadInput, Refused), match=words):
        planned(mechanism_of(name), tmp_path, f"[[waypoint]]\njoints = {{ {joints} }}\n")


GRASP = """
[[waypoint]]
joints = { left_shoulder = 1.675845, left_elbow = -2.175845, right_shoulder = 1.465748, right_elbow = 2.175845 }
pause = 0.1
[[waypoint]]
mode = "grasp"
joints = { left_shoulder = 1.3, left_elbow = -1.8 }
pause = 0.1
[[waypoint]]
mode = "open"
joints = { left_shoulder = 1.9, left_elbow = -2.1, right_shoulder = 1.24159265359, right_elbow = 2.1 }
"""


def test_a_plan_through_modes_closes_their_loops_and_plays_without_fault(tmp_path):
    """Two arms grasp, carry and release an object. Poses of six digits leave a small error in the grasp's loop."""
    mechanism = mechanism_of("two_arm_grasp")
    found = planned(mechanism, tmp_path, GRASP)
    when = dict((where, t) for t, where in found.arrivals)
    assert [name for _, name in found.trajectory.modes] == ["open", "grasp", "open"]
    assert found.trajectory.modes[1][0] == pytest.approx(when["waypoint.1"] + 0.1, abs=1e-9)
    held = Closed(replace(mechanism, modes=mechanism.modes[1:]))
    t = np.linspace(found.trajectory.modes[1][0], found.trajectory.modes[2][0], 60)
    assert max(np.max(np.abs(held.residual(q))) for q in found.trajectory.at(t)[0]) < 1e-6
    assert np.max(np.abs(np.diff(found.trajectory.at(np.linspace(0.0, found.trajectory.duration, 5000))[0],
                                 axis=0))) < 0.02
    found.trajectory.save(tmp_path / "motion.csv")
    again = Trajectory.load(tmp_path / "motion.csv", mechanism)
    assert [name for _, name in again.modes] == ["open", "grasp", "open"]
    np.testing.assert_allclose([x for x, _ in again.modes], [x for x, _ in found.trajectory.modes], atol=1e-9)
    with pytest.raises(BadInput, match="NPZ has no place for modes; write .csv"):
        found.trajectory.save(tmp_path / "motion.npz")
    with virtual_board(mechanism) as board:
        board.home()
        outcome = board.stream(again)
    assert outcome.ended == "done", outcome


def test_a_load_that_is_picked_up_is_in_the_efforts(tmp_path):
    mechanism = mechanism_of("pick_and_place")
    text = '[[waypoint]]\njoints = {{ shoulder = 0.3, elbow = -0.6 }}\nmode = "{}"\n'
    empty, loaded = (planned(mechanism, tmp_path, text.format(mode)) for mode in ("empty", "loaded"))
    assert loaded.trajectory.modes == ((0.0, "loaded"),)
    assert loaded.trajectory.duration > 1.05 * empty.trajectory.duration, "the effort is the same, the load is not"
    t = np.linspace(0.0, loaded.trajectory.duration, 50)
    model = Closed(replace(mechanism, modes=mechanism.modes[1:]))
    wanted = [model.open_torque(*row, rotors=True) for row in zip(*loaded.trajectory.at(t), strict=True)]
    np.testing.assert_allclose(effort.wanted(mechanism, t, loaded.trajectory),
                               np.array(wanted) + rubbed(mechanism, loaded.trajectory.at(t)[1]), atol=1e-9)


@pytest.mark.parametrize("text, words", [
    ('[[waypoint]]\njoints = { left_shoulder = 1.7 }\n[[waypoint]]\nmode = "grasp"\njoints = { left_elbow = -1.8 }\n',
     r"waypoint\.1: (the loops of mode 'grasp' are open there, farthest at .*; the nearest pose that closes them is "
     r"left_shoulder = |mode 'grasp' cannot be entered there)"),
    ('[[waypoint]]\nmode = "grasp"\njoints = { left_elbow = -1.8 }\nstop = false\n[[waypoint]]\nmode = "open"\n'
     "joints = { left_elbow = -1.9 }\n",
     "waypoint.2.mode = 'open': is entered at rest; stop at the waypoint before it"),
    ('[[waypoint]]\nmode = "graps"\njoints = { left_elbow = -1.8 }\n',
     "waypoint.1.mode = 'graps': no such mode; did you mean 'grasp'"),
])
def test_a_mode_that_does_not_fit_is_refused_with_what_would(text, words, tmp_path):
    with pytest.raises((BadInput, Refused), match=words):
        planned(mechanism_of("two_arm_grasp"), tmp_path, text)


@pytest.mark.parametrize("name", ["five_bar", "five_bar_4", "two_arm_grasp"])
def test_a_closed_mechanism_approaches_the_start_of_a_motion_from_where_it_stands(name):
    """Because of rounding, encoder positions of redundant joints do not satisfy the loop equations exactly."""
    mechanism = mechanism_of(name)
    space = Space.of(mechanism)
    stands = space.streamed(space.follow(space.start, space.coordinates(space.start) + 0.1)[0])
    start = np.array([joint.start for joint in mechanism.streamed])
    way = straight(mechanism, stands + 2e-4 * (-1.0) ** np.arange(len(start)), start, 0.2)
    np.testing.assert_allclose(way.positions[-1], start, atol=1e-6)
    np.testing.assert_allclose(way.positions[0], stands, atol=2e-3)
