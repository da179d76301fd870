"""Tests that plans pass their waypoints within all limits, also of weak motors, and that refusals name the cause."""

import json
import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

from femtorque.codegen.common import BadInput, Refused
from femtorque.codegen.control import Motors
from femtorque.codegen.drive import DRIVES
from femtorque.codegen.mechanism import Drive, Limits, load_mechanism
from femtorque.codegen.model import Model
from femtorque.codegen.motion import Trajectory, check_streamable
from femtorque.codegen.verify import motor_torque
from femtorque.host.plan import effort, planning, waypoints
from femtorque.host.plan.planning import _through, plan
from femtorque.host.plan.tip import Goal, Tip
from tests.codegen.mechanism.test_urdf import robot
from tests.support import oracle
from tests.support.mimic import gripper_in

ROOT = Path(__file__).resolve().parents[3]
ARM = ROOT / "mechanisms" / "three_link.toml"
TIP = 'tip = { link = "hand", xyz = [0.2, 0.0, 0.0] }\n'


@pytest.fixture(scope="module")
def arm():
    return load_mechanism(ARM)


@pytest.fixture(scope="module")
def so101():
    return robot("so101.urdf")


def points(tmp_path, text, name="points.toml"):
    (tmp_path / name).write_text(text)
    return tmp_path / name


def planned(arm, tmp_path, text, **keys):
    return plan(arm, waypoints.load_waypoints(points(tmp_path, text), arm), **keys)


def densely(found, per_second=10_000):
    t = np.linspace(0.0, found.trajectory.duration, int(found.trajectory.duration * per_second) + 1)
    return (t, *found.trajectory.at(t))


THROUGH = TIP + """
[[waypoint]]
joints = { shoulder = 0.3, elbow = -0.5 }
[[waypoint]]
joints = { shoulder = 0.6, elbow = 0.2, wrist = 0.6 }
stop = false
[[waypoint]]
joints = { shoulder = 1.0, elbow = 1.0, wrist = 0.2 }
pause = 0.2
[[waypoint]]
xyz = [0.1, 0.4, 0.0]
[[waypoint]]
xyz = [0.3, 0.2, 0.0]
line = true
"""


def test_a_plan_passes_its_waypoints_within_every_limit(arm, tmp_path):
    hard = replace(arm, joints=tuple(replace(j, limits=replace(j.limits, velocity=2.0, acceleration=12.0, jerk=200.0))
                                     for j in arm.joints))
    found = planned(hard, tmp_path, THROUGH, back=True)
    t, q, qd, qdd = densely(found)
    starts = [j.start for j in arm.moving]
    np.testing.assert_allclose(q[[0, -1]], [starts, starts], atol=1e-9)
    names = [name for _, name in found.arrivals]
    assert names == [*(f"waypoint.{i}" for i in range(1, 6)), "the beginning"]
    for (when, _), wanted in zip(found.arrivals, ([0.3, -0.5, 0.4], [0.6, 0.2, 0.6], [1.0, 1.0, 0.2]), strict=False):
        np.testing.assert_allclose(found.trajectory.at(when)[0], wanted, atol=2e-6)
    rest_at, passed = (found.trajectory.at(found.arrivals[i][0])[1] for i in (0, 1))
    assert np.max(np.abs(rest_at)) < 1e-9 and np.max(np.abs(passed)) > 0.3, "stop = false does not stop"
    third, fourth = found.arrivals[2][0], found.arrivals[2][0] + 0.2
    assert np.max(np.abs(qd[(t > third + 1e-9) & (t < fourth)])) < 1e-9, "the pause"
    assert np.all(np.abs(qd) <= 2.0 * (1 + 1e-6)) and np.all(np.abs(qdd) <= 12.0 * (1 + 1e-6))
    assert np.max(np.abs(qd)) > 1.9, "and it does not dawdle"
    # mean jerk between two knots; within this period the quintics may exceed it
    jerk = np.diff(qdd[::40], axis=0) / (t[40] - t[0])
    assert np.max(np.abs(jerk)) <= 200.0 * 1.01
    tau, there = effort.wanted(arm, t, found.trajectory), [j.limits.effort for j in arm.moving]
    assert np.all(np.abs(tau) <= 0.9 * np.array(there) * (1 + 1e-3))
    check_streamable(found.trajectory, arm)


def in_full(mechanism, leaders):
    """Return the positions (or rates) of all moving joints, computed from the leading joints by the file's ratios."""
    column = {joint.name: leaders[:, k] for k, joint in enumerate(mechanism.streamed)}
    return np.column_stack([j.mimic.ratio * column[j.mimic.joint] if j.mimic else column[j.name]
                            for j in mechanism.moving])


def test_a_leader_is_planned_with_the_torque_of_all_that_follows_it(tmp_path):
    gripper = gripper_in(tmp_path)
    found = planned(gripper, tmp_path, "[[waypoint]]\njoints = { shoulder = 0.5, grip = 0.6 }\n")
    t = np.linspace(0.0, found.trajectory.duration, 40)
    q, qd, qdd = found.trajectory.at(t)
    offsets = [j.mimic.offset if j.mimic else 0.0 for j in gripper.moving]
    every = oracle.rnea(Model.of(gripper), in_full(gripper, q) + offsets, in_full(gripper, qd), in_full(gripper, qdd))
    ratios = in_full(gripper, np.eye(2))  # ratio of every joint to every leading joint
    tau = effort.wanted(gripper, t, found.trajectory)
    tau = tau - motor_torque(gripper, qd, qdd, np.zeros_like(tau))
    np.testing.assert_allclose(tau, every @ ratios.T, atol=1e-12)
    assert np.max(np.abs(every[:, 1] - tau[:, 1])) > 0.03, "what follows is a good part of it"


def test_a_tip_that_a_leader_moves_gets_where_it_is_wanted(tmp_path):
    gripper = gripper_in(tmp_path)
    model = oracle.pinocchio_model(Model.of(gripper))
    data, thumb = model.createData(), model.getJointId("thumb")

    def place(leaders):
        pin.forwardKinematics(model, data, in_full(gripper, np.atleast_2d(leaders))[0] + [0.0, 0.0, 0.0, 0.01])
        return data.oMi[thumb].translation.copy()

    wanted = place([0.4, 0.5])
    found = planned(gripper, tmp_path, f'tip = {{ link = "thumb" }}\n[[waypoint]]\nxyz = {wanted.tolist()}\n')
    np.testing.assert_allclose(place(found.trajectory.at(found.trajectory.duration)[0]), wanted, atol=1e-6)


def test_between_two_rests_it_is_as_quick_as_jerk_allows(tmp_path, arm):
    """With only jerk and acceleration limited, the fastest motion has 7 phases and a known duration."""
    one = replace(arm, joints=tuple(replace(j, limits=replace(j.limits, velocity=100.0, acceleration=10.0, jerk=100.0,
                                                              effort=1e3), motor=None) for j in arm.joints))
    found = planned(one, tmp_path, "[[waypoint]]\njoints = { shoulder = 0.7 }\n")
    d, a, j = 1.5, 10.0, 100.0
    fastest = a / j + np.sqrt((a / j) ** 2 + 4.0 * d / a)  # solves d = a T^2 / 4 - a^2 T / (2 j) for the duration T
    assert fastest <= found.trajectory.duration < fastest + 1.0 / 250 + 1e-3


def limited(arm, **keys):
    """Return the arm with these limits at every joint and with motors of unlimited torque."""
    return replace(arm, joints=tuple(replace(j, limits=replace(j.limits, effort=1e3, **keys), motor=None)
                                     for j in arm.joints))


def test_a_way_on_which_a_joint_just_reaches_its_full_velocity_is_planned(arm):
    """At v = 1 rad/s, a = 2 rad/s^2 and j = 4 rad/s^3 the joint turns v (v / a + a / j) = 1 rad in 2 s."""
    assert planning.straight(arm, [0.3, 0.0, 0.4], [0.3, 1.0, 0.4], 0.1).duration == pytest.approx(2.0, abs=1e-6)


def test_half_the_speed_is_half_the_rate_a_quarter_of_the_acceleration_and_an_eighth_of_the_jerk(tmp_path, arm):
    """All limits are active, so the scaled motion is the same motion in twice the time."""
    hard = limited(arm, velocity=1.0, acceleration=4.0, jerk=40.0)
    text = "[[waypoint]]\njoints = { shoulder = 0.7 }\n"
    for speed in (1.0, 0.5, 0.25):
        found = planned(hard, tmp_path, text, speed=speed).trajectory
        t = np.arange(int(found.duration * 250) + 1) / 250.0
        _, qd, qdd = (x[:, 0] for x in found.at(t))
        most = [np.max(np.abs(x)) for x in (qd, qdd, np.diff(qdd) * 250.0)]
        np.testing.assert_allclose(most, [speed, 4.0 * speed**2, 40.0 * speed**3], rtol=0.02)


def test_joints_pass_waypoints_at_the_harmonic_mean_of_the_rates_on_both_sides():
    """By hand: harmonic means of 1 and 9 rad/s and of -2 and -2 rad/s; zero where a joint reverses or rests."""
    poses = [np.array([0.0, 0.0, 0.0, 0.0]), np.array([2.0, -4.0, 1.0, 0.0]), np.array([11.0, -6.0, 0.5, 1.0])]
    np.testing.assert_allclose(_through(poses, [2.0, 1.0], []), [[1.8, -2.0, 0.0, 0.0]], rtol=1e-15)


def test_through_waypoints_far_and_near_every_joint_goes_on_and_never_beyond(tmp_path, arm):
    """The waypoints are 1, 0.02, 0.6 and 0.01 rad apart. No joint reverses, overshoots or stops at one."""
    hard = limited(arm, velocity=2.0, acceleration=20.0, jerk=400.0)
    ways = np.cumsum([0.0, 1.0, 0.02, 0.6, 0.01]) + hard.moving[0].start
    text = "stop = false\n".join(f"[[waypoint]]\njoints = {{ shoulder = {x:.6f}, elbow = {1.0 + 0.5 * x:.6f} }}\n"
                                  for x in ways[1:])
    found = planned(hard, tmp_path, text)
    t, q, qd, _ = densely(found, 2000)
    when = np.array([at for at, _ in found.arrivals])
    assert np.all(np.diff(q[:, :2], axis=0) > -1e-9)
    for at, wanted in zip(when[:-1], ways[1:], strict=False):
        before, after = q[t <= at, 0], q[t > at, 0]
        assert np.max(before) <= wanted + 3e-6 and np.min(after) >= wanted - 3e-6
        assert found.trajectory.at(at)[1][0] > 0.01, "passed, not stopped at"


def test_accelerations_on_a_line_are_those_of_its_rates(arm, tmp_path):
    """A jump J of the jerk causes an error of J h / 2 in the difference quotient."""
    for acceleration in (2.0, 6.0):
        hard = limited(arm, velocity=3.0, acceleration=acceleration, jerk=20.0 * acceleration)
        found = planned(hard, tmp_path, TIP + """
[[waypoint]]
xyz = [0.1, 0.4, 0.0]
[[waypoint]]
xyz = [0.45, 0.05, 0.0]
line = true
""")
        begin, end = (at for at, _ in found.arrivals)
        rows = (found.trajectory.times > begin + 1e-9) & (found.trajectory.times < end - 1e-9)
        t = found.trajectory.times[rows]
        q, qd, qdd = (x[rows] for x in (found.trajectory.positions, found.trajectory.velocities,
                                        found.trajectory.accelerations))
        steps = np.diff(t)
        assert len(t) > 100 and np.ptp(steps) < 1e-9
        inner, h = slice(2, -2), steps[0]
        np.testing.assert_allclose(np.gradient(q, h, axis=0)[inner], qd[inner], atol=acceleration * 20.0 * h**2)
        np.testing.assert_allclose(np.gradient(qd, h, axis=0)[inner], qdd[inner], atol=acceleration * 20.0 * h)
        assert np.max(np.abs(qdd)) > 0.5 * acceleration


def test_a_motor_that_turns_has_less_torque_to_drive_with_and_no_less_to_brake(arm):
    """Computed by hand: 24 V, K = 0.05 V s, gear 50 and 2 ohm give 2.5 V s at the joint. At rest the torque is 24 x 2.5
    / 2 = 30 N m. At 4 rad/s the back-EMF is 10 V, so the available torque is (24 - 10) 2.5 / 2 = 17.5 N m. From 9.6
    rad/s on, the available torque is 0. The motor could brake with (24 + 10) 2.5 / 2 = 42.5 N m, but the board uses no
    more than the torque at rest. A drive of 54 N m (damiao-8009) without a gear has 40 N m at any velocity, and 54 N m
    without an effort limit."""
    for gear in (50.0, -50.0):
        joints = tuple(replace(j, limits=replace(j.limits, effort=40.0),
                               motor=replace(j.motor, K=0.05, gear=gear, R=2.0)) for j in arm.joints)
        motors = replace(arm, joints=joints, board=replace(arm.board, bus_voltage=24.0))
        cases = [(0.0, 1.0, 30.0), (4.0, 1.0, 17.5), (-4.0, -1.0, 17.5), (-2.0, 1.0, 30.0), (2.0, -1.0, 30.0),
                 (9.6, 1.0, 0.0), (12.0, 1.0, 0.0)]
        for rate, tau, there in cases:
            np.testing.assert_allclose(Motors.of(motors).torque(np.full(3, rate), np.full(3, tau)), there, atol=1e-12)
    drive = Drive(DRIVES["damiao-8009"], "can", 1)
    for most, there in ((40.0, 40.0), (np.inf, 54.0)):
        joints = tuple(replace(j, motor=None, drive=drive, limits=replace(j.limits, effort=most)) for j in arm.joints)
        np.testing.assert_array_equal(Motors.of(replace(arm, joints=joints)).torque(np.full(3, 4.0), np.ones(3)), there)


def test_on_a_line_the_tip_goes_straight(arm, tmp_path):
    found = planned(arm, tmp_path, THROUGH)
    when = np.linspace(found.arrivals[3][0], found.arrivals[4][0], 500)
    q = found.trajectory.at(when)[0]
    chain = np.cumsum(q, axis=1)  # all axes point up
    tip = 0.2 * np.stack([np.cos(chain).sum(axis=1), np.sin(chain).sum(axis=1)], axis=1)
    along, off = (tip - [0.1, 0.4]) @ [1.0, -1.0] / np.sqrt(2), (tip - [0.1, 0.4]) @ [1.0, 1.0] / np.sqrt(2)
    assert np.max(np.abs(off)) < 5e-5 and np.all(np.diff(along) > -1e-7)
    np.testing.assert_allclose(tip[-1], [0.3, 0.2], atol=1e-6)


def test_what_the_motors_cannot_give_is_slower_and_said_so(arm, tmp_path):
    weak = replace(arm,
                   joints=tuple(replace(j, limits=replace(j.limits, effort=0.3 * j.limits.effort)) for j in arm.joints))
    text = "[[waypoint]]\njoints = { shoulder = 0.7, elbow = -0.5 }\n"
    found = planned(weak, tmp_path, text)
    assert [s.to for s in found.slowed] == ["waypoint.1"]
    assert "shoulder would need" in found.words() and "slower than the other limits allow" in found.words()
    free = planned(limited(arm), tmp_path, text)
    assert found.trajectory.duration == pytest.approx(found.slowed[0].factor * free.trajectory.duration, abs=2.0 / 250)
    t = densely(found)[0]
    share = np.max(np.abs(effort.wanted(weak, t, found.trajectory)) / [j.limits.effort for j in weak.moving])
    assert 0.88 < share <= 0.9 * (1 + 1e-3), "slower, but no slower than it takes"


SIX = ("[[waypoint]]\njoints = { waist = 1.2, shoulder = 0.9, elbow = -1.1, roll = 0.7, bend = 0.9, flange = -1.0 }\n"
       "[[waypoint]]\njoints = { waist = -0.6, shoulder = -0.5, elbow = 1.3, roll = -1.5, bend = -0.8, "
       "flange = 1.2 }\n")


def torques_of(arm, motion, per_interval=10):
    """Return times (N,), velocities and torques (N, J) of an arm without loops at this number of points per knot.
    Pinocchio computes the torques of the bodies; rotors and friction are those of the file."""
    t = np.linspace(0.0, motion.duration, per_interval * (len(motion.times) - 1) + 1)
    q, qd, qdd = motion.at(t)
    rubbed = sum(np.array([getattr(j.friction, part) for j in arm.streamed]) * x
                 for part, x in (("viscous", qd), ("coulomb", np.sign(qd))))
    return t, qd, oracle.rnea(Model.of(arm), q, qd, qdd) + qdd * [j.rotor for j in arm.streamed] + rubbed


@pytest.mark.parametrize("jerk, bound", [(np.inf, 1.135 * 1.30 / 1.17), (4000.0, 1.135 * 1.30 / 1.17)])
def test_a_motion_uses_what_the_motors_have_and_no_more(tmp_path, jerk, bound):
    """Without a jerk limit, toppra 0.6.10 finds 1.135 s for the same two paths, velocities, line of torque and speed,
    and 90 % of the effort."""
    arm = load_mechanism(ROOT / "mechanisms" / "six_axis.toml")
    arm = replace(arm, joints=tuple(replace(j, limits=replace(j.limits, jerk=jerk)) for j in arm.joints))
    found = planned(arm, tmp_path, SIX)
    assert found.trajectory.duration <= bound
    t, qd, tau = torques_of(arm, found.trajectory)
    share = np.abs(tau) / Motors.of(arm).torque(qd, tau)
    assert 0.88 <= share.max() <= 0.9 * (1.0 + 1e-3)
    assert share.max() == pytest.approx(max(x["effort"] for x in found.shares.values()), abs=2e-3)
    fastest = np.abs(qd) / [j.limits.velocity for j in arm.streamed]
    assert 0.98 < fastest.max() <= 1.0 + 1e-6
    rows = found.trajectory.accelerations
    assert np.max(np.abs(np.diff(rows, axis=0))) * 250.0 <= jerk * (1.0 + 1e-3)
    assert {(a.joint, a.limit) for a in found.acts} >= {("waist", "effort"), ("elbow", "velocity")}
    for act in found.acts:
        at, j = (act.begin + act.end) / 2.0, [x.name for x in arm.streamed].index(act.joint)
        used = {"velocity": fastest[:, j], "effort": share[:, j] / 0.9}
        assert act.limit == "jerk" or np.interp(at, t, used[act.limit]) > 0.94


def test_few_tries_find_the_fewest_knots_that_keep_the_limits(monkeypatch):
    """Each of the two sections has at most three tries, and one knot less would break a limit."""
    tried, of = [], planning._try

    def try_(*section_speed_knots):
        tried.append(of(*section_speed_knots))
        return tried[-1]

    monkeypatch.setattr(planning, "_try", try_)
    arm = load_mechanism(ROOT / "mechanisms" / "six_axis.toml")
    found = plan(arm, waypoints.waypoints_of(tomllib.loads(SIX)["waypoint"], arm))
    assert len(tried) <= 6
    kept = [one for one in tried if not one.heavy(one.knots, effort.RESERVE)]
    assert sum(one.knots for one in kept) == len(found.trajectory.times) - 1
    assert all(one.least(effort.RESERVE) == one.knots for one in kept)


def test_a_path_through_waypoints_is_also_at_the_limits(arm, tmp_path):
    """At each time of the motion some joint is at a limit, or the acceleration is being built up."""
    text = "stop = false\n".join(f"[[waypoint]]\njoints = {{ shoulder = {x}, elbow = {1.0 - x} }}\n" for x in
                                 (0.2, 0.5, 1.2))
    found = planned(arm, tmp_path, text)
    _, qd, tau = torques_of(arm, found.trajectory)
    assert 0.88 <= np.max(np.abs(tau) / Motors.of(arm).torque(qd, tau)) <= 0.9 * (1.0 + 2e-3)
    slow = densely(planned(arm, tmp_path, text, speed=0.5))[2] / [j.limits.velocity for j in arm.moving]
    assert 0.48 < np.max(np.abs(slow)) <= 0.5 * (1.0 + 1e-6)


def test_a_real_arm_against_pinocchio(so101, tmp_path):
    """The test compares tip poses and torques along the whole plan with Pinocchio. Gravity limits the plan."""
    arm = load_mechanism(so101)
    arm = replace(arm, joints=tuple(replace(j, limits=replace(j.limits, velocity=4.0, effort=1.1)) for j in arm.joints))
    path = points(tmp_path, 'tip = { link = "gripper_frame_link" }\n[[waypoint]]\nxyz = [0.25, 0.1, 0.15]\n'
                            "[[waypoint]]\nxyz = [0.25, -0.1, 0.15]\nline = true\n"
                            "[[waypoint]]\nxyz = [0.2, 0.0, 0.3]\n")
    found = plan(arm, waypoints.load_waypoints(path, arm))
    model = pin.buildModelFromUrdf(str(so101))
    data, frame = model.createData(), model.getFrameId("gripper_frame_link")
    order = [model.joints[model.getJointId(j.name)].idx_q for j in arm.moving]

    def tip(q):
        full = np.zeros(model.nq)
        full[order] = q
        pin.framesForwardKinematics(model, data, full)
        return data.oMf[frame].translation.copy()

    goals = [[0.25, 0.1, 0.15], [0.25, -0.1, 0.15], [0.2, 0.0, 0.3]]
    for (when, _), goal in zip(found.arrivals, goals, strict=True):
        np.testing.assert_allclose(tip(found.trajectory.at(when)[0]), goal, atol=2e-6)
    for when in np.linspace(found.arrivals[0][0], found.arrivals[1][0], 40):
        x, _, z = tip(found.trajectory.at(when)[0])
        assert abs(x - 0.25) < 2e-5 and abs(z - 0.15) < 2e-5
    t = np.linspace(0.0, found.trajectory.duration, 400)
    worst = 0.0
    for q, qd, qdd in zip(*found.trajectory.at(t), strict=True):
        full = [np.zeros(model.nq) for _ in range(3)]
        for target, values in zip(full, (q, qd, qdd), strict=True):
            target[order] = values
        worst = max(worst, np.max(np.abs(pin.rnea(model, data, *full))))
    assert worst <= 0.9 * 1.1 * (1 + 1e-2)


def test_what_cannot_be_held_up_is_refused(so101, tmp_path):
    arm = load_mechanism(so101)
    arm = replace(arm, joints=tuple(replace(j, limits=replace(j.limits, effort=0.2)) for j in arm.joints))
    with pytest.raises(Refused, match=r"on the way to waypoint\.1, shoulder_lift needs .* N m to hold the arm up"):
        planned(arm, tmp_path, "[[waypoint]]\njoints = { shoulder_lift = 1.5, elbow_flex = -1.5 }\n")


def test_the_solution_is_the_pose_it_was_made_from_or_one_as_good(so101):
    arm = load_mechanism(so101)
    tip, rng = Tip(arm, "gripper_frame_link"), np.random.default_rng(1)
    for _ in range(8):
        q = np.array([rng.uniform(0.8 * j.limits.lower, 0.8 * j.limits.upper) for j in arm.moving])
        found = tip.solve(tip.at(q), np.zeros(6))
        away, turn = tip.miss(found, tip.at(q))
        assert away < 1e-6 and turn < 1e-5
        assert all(j.limits.lower <= x <= j.limits.upper for j, x in zip(arm.moving, found, strict=True))


@pytest.mark.parametrize("point, words", [
    ("xyz = [0.7, 0.0, 0.0]",
     r"waypoint\.1: .* out of reach of hand: the nearest it gets is 0\.1 m away, at \[0\.6, 0, 0\]"),
    ("xyz = [0.3, 0.0, 0.1]", r"out of reach of hand: the nearest it gets is 0\.1 m away"),
    ("xyz = [0.4, 0.37, 0.0]\nrpy = [0.0, 0.0, 2.9]", "the point is, but not with this orientation"),
    ("xyz = [-0.4, 0.0, 0.0]\nrpy = [0.0, 0.0, 0.0]", "not with this orientation"),
    ("xyz = [-0.599, 0.0, 0.0]\nline = true", "the straight line to it cannot be followed beyond"),
])
def test_a_tip_that_cannot_get_there_says_why(arm, tmp_path, point, words):
    with pytest.raises(Refused if "line" in point else BadInput, match=words):
        planned(arm, tmp_path, f"{TIP}[[waypoint]]\n{point}\n")


def test_a_goal_beyond_the_arms_length_is_refused_after_a_short_search(arm, monkeypatch):
    tip, begun = Tip(arm, "hand", [0.2, 0.0, 0.0]), []
    monkeypatch.setattr(tip, "_descend", lambda goal, begin, *_: begun.append(begin) or begin)
    for at, most in ((0.599, 26), (0.7, 5)):
        begun.clear()
        with pytest.raises(Refused):
            tip.solve(Goal(np.array([at, 0.0, 0.0])), [0.0, 0.5, 0.4])
        assert len(begun) == most


def test_a_limit_in_the_way_is_named(arm):
    stiff = replace(arm,
                    joints=tuple(replace(j, limits=replace(j.limits, lower=-0.1, upper=0.6)) if j.name != "shoulder"
                                      else j for j in arm.joints))
    with pytest.raises(Refused, match="(elbow|wrist) would have to be at .*, its limits are -0.1 .. 0.6"):
        Tip(stiff, "hand", [0.2, 0.0, 0.0]).solve(Goal(np.array([0.2, 0.2, 0.0])), [0.0, 0.5, 0.4])


@pytest.mark.parametrize("text, words", [
    ("", "waypoint: needs at least one"), ("[[waypoint]]\n", "waypoint.1: must say either joints or xyz"),
    ("[[waypoint]]\njoints = { sholder = 1 }\n",
     "waypoint.1.joints.sholder = 1.0: no such moving joint; did you mean 'shoulder'"),
    ("[[waypoint]]\njoints = { elbow = 9.0 }\n", "is outside the joint's limits -2.6 .. 2.6"),
    ("[[waypoint]]\nxyz = [0.1, 0.2, 0.0]\n", "tip: is needed: the link"),
    ("[[waypoint]]\nxyz = [0.1, 0.2]\n", "waypoint.1.xyz = .*must hold exactly 3 numbers"),
    ("[[waypoint]]\njoints = { elbow = 0.1 }\nspeeed = 0.5\n",
     "waypoint.1.speeed = 0.5: unknown key; did you mean 'speed'"),
    ("[[waypoint]]\njoints = { elbow = 0.1 }\nspeed = 1.5\n", "waypoint.1.speed = 1.5: must be at most 1"),
    ("[[waypoint]]\njoints = { elbow = 0.1 }\nline = true\n", "a straight line is for the tip"),
    ('tip = { link = "hnad" }\n[[waypoint]]\nxyz = [0.1, 0.2, 0.0]\n',
     "tip = 'hnad': no such link; did you mean 'hand'"),
    ("[[waypoint]]\njoints = { elbow = 0.5 }\n", "all are at the start of the motion: nothing moves"),
    ("waypoint = 3", "must be an array"), ("[[waypoint", "is not TOML"),
])
def test_waypoints_that_are_not_right(arm, tmp_path, text, words):
    with pytest.raises(BadInput, match=words):
        planned(arm, tmp_path, text)


def test_waypoints_as_csv(arm, tmp_path):
    path = points(tmp_path,
                  "shoulder,elbow,x,y,z,line,pause\n0.3,-0.5,,,,,0.1\n,,0.1,0.4,0,,\n,,0.3,0.2,0,true,\n", "w.csv")
    found = plan(arm, waypoints.load_waypoints(path, arm, "hand:0.2,0,0"))
    np.testing.assert_allclose(found.trajectory.at(found.arrivals[0][0])[0], [0.3, -0.5, 0.4], atol=1e-7)
    np.testing.assert_allclose(found.tip[-1], [0.3, 0.2, 0.0], atol=2e-6)
    for text, words in (("t,elbow\n0,1\n", "waypoints have no times"), ("elbow\n", "at least one waypoint"),
                        ("Time,elbow\n0,1\n", "are in a column t"),
                        ("x,y\n1,2\n", "z: is missing"), ("elbow\nmuch\n", "must be a number"),
                        ("elbw\n1\n", "did you mean 'elbow'")):
        with pytest.raises(BadInput, match=words):
            waypoints.load_waypoints(points(tmp_path, text, "x.csv"), arm)
    with pytest.raises(BadInput, match="--tip = 'hand:1,2': must be LINK or LINK:x,y,z"):
        waypoints.load_waypoints(path, arm, "hand:1,2")


def test_without_a_limit_of_rate_nothing_is_planned(arm, tmp_path):
    free = replace(arm, joints=tuple(replace(j, limits=Limits()) for j in arm.joints))
    with pytest.raises(BadInput, match="joint.shoulder.limits.velocity: is needed to plan"):
        planned(free, tmp_path, "[[waypoint]]\njoints = { elbow = 1.0 }\n")


def test_the_command_plans_draws_and_plays_on_from_there(here, tmp_path):
    path = points(tmp_path, THROUGH)
    out, figure = tmp_path / "motion.csv", tmp_path / "motion.png"
    shown = here("plan", ARM, path, "-o", out, "--figure", figure, "--json")
    assert shown.returncode == 0, shown.stderr
    told = json.loads(shown.stdout)
    assert told["waypoints"][-1]["waypoint"] == "waypoint.5" and {act["joint"] for act in told["acts"]} <= {
        "shoulder", "elbow", "wrist"}
    assert 0.0 < told["of_limit"]["elbow"]["effort"] < 0.9 and told["of_limit"]["elbow"]["acceleration"] is None
    arm = load_mechanism(ARM)
    first = Trajectory.load(out, arm)
    assert first.duration == pytest.approx(told["duration"]) and figure.stat().st_size > 20_000
    on = points(tmp_path, "[[waypoint]]\njoints = { shoulder = -0.8, elbow = 0.5, wrist = 0.4 }\n", "on.toml")
    npz = tmp_path / "on.npz"
    assert here("plan", ARM, on, "-o", npz, "--after", out).returncode == 0
    np.testing.assert_allclose(Trajectory.load(npz, arm).positions[0], first.positions[-1])
    assert here("plan", ARM, on, "-o", tmp_path / "x.txt", "--after", out).returncode == 2
