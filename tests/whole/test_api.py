"""Tests the Python API and its notebook, which are run as by a reader."""

import re
import runpy
import subprocess
import sys

import numpy as np
import pytest

from femtorque import Mechanism, Refused, Trajectory, plan_motion, virtual_board
from femtorque.codegen.common import BadInput
from femtorque.codegen.reference import pinocchio
from femtorque.host.record import read_log
from tests.support.suite import ROOT

ARM = ROOT / "mechanisms" / "three_link.toml"


def test_torques_of_a_motion():
    arm = Mechanism.load(ARM)
    path = ROOT / "mechanisms" / "three_link.csv"
    by_path, by_motion = arm.torque(path), arm.torque(Trajectory.load(path, arm))
    np.testing.assert_array_equal(by_path.tau, by_motion.tau)
    assert by_path.tau.shape == (3000, 3) and by_path.error < 1e-5
    assert np.max(np.abs(arm.torque(path, total=True).tau)) > np.max(np.abs(by_path.tau))


def test_the_notebook_runs_and_says_how_it_went(capsys):
    names = runpy.run_path(str(ROOT / "examples" / "three_link.py"))
    said = capsys.readouterr().out
    assert names["outcome"].ended == "done" and np.max(names["outcome"].tracking_max) < 2e-3
    assert "before moving: " in said and "every limit kept" in said and "Tracking was worst at" in said
    assert (names["out"] / "run.html").read_text(encoding="utf-8").count("<canvas") > 10
    assert names["board"].session.configuration.name == "three-link"


def test_lqr_along_a_motion_rejects_a_push_better_than_pd_and_has_its_gain_margin(tmp_path):
    example = runpy.run_path(str(ROOT / "examples" / "lqr.py"))
    pd, lqr = (np.sqrt(np.mean(error**2, axis=0)) for _, error in example["main"](tmp_path / "lqr.png").values())
    assert np.all(lqr < 0.8 * pd) and (tmp_path / "lqr.png").stat().st_size > 10_000
    arm = Mechanism.load(ARM)
    motion = Trajectory.load(ROOT / "mechanisms" / "three_link.csv", arm)
    _, error = example["play"](arm, motion, tmp_path / "doubled", 2.0 * example["lqr_gains"](arm, motion))
    assert np.max(np.abs(error)) < 0.01 and np.max(np.abs(error[-100:])) < 1e-3


def test_the_names_are_few_and_have_a_version():
    import femtorque

    assert femtorque.__version__.count(".") == 2 and set(femtorque.__all__) == {
        "BadInput", "Board", "Mechanism", "Refused", "Trajectory", "plan_motion", "report", "virtual_board"}
    assert all(len(getattr(femtorque, name).__doc__) > 40 for name in femtorque.__all__)
    with pytest.raises(AttributeError, match="no attribute 'API'"):
        _ = femtorque.API


def test_importing_the_package_imports_nothing_that_is_slow():
    code = "import femtorque, sys; sys.exit(' '.join({'numpy', 'typer', 'host', 'hil'} & set(sys.modules)) or 0)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True).stderr == ""


def test_every_public_member_stands_on_the_page_with_words():
    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    sections = re.split(r"^##+ ", page, flags=re.MULTILINE)[1:]
    assert len(sections) > 20
    for section in sections:
        head, _, words = section.partition("\n")
        assert len(words.strip()) > 15, head
    assert "`.stream(" in page and "`.torque(" in page


def test_torques_of_any_state_and_of_gravity():
    arm = Mechanism.load(ROOT / "mechanisms" / "six_axis.toml")
    rng = np.random.default_rng(0)
    q, v, a = rng.uniform(-3.0, 3.0, (3, 4, 5, 6))
    tau = arm.inverse_dynamics(q, v, a)
    assert tau.shape == (4, 5, 6)
    np.testing.assert_allclose(tau.reshape(-1, 6),
                               pinocchio.torque(arm, *(x.reshape(-1, 6) for x in (q, v, a))), atol=1e-10)
    np.testing.assert_allclose(arm.gravity_torque(q), arm.inverse_dynamics(q, np.zeros(6), np.zeros(6)))
    motors = np.array([j.motor.gear**2 * j.motor.inertia for j in arm.moving]) * a
    motors += [j.friction.viscous for j in arm.moving] * v + [j.friction.coulomb for j in arm.moving] * np.sign(v)
    np.testing.assert_allclose(arm.inverse_dynamics(q, v, a, total=True) - tau, motors, atol=1e-12)


def test_torques_in_a_mode():
    arms = Mechanism.load(ROOT / "mechanisms" / "pick_and_place.toml")
    q = [j.start for j in arms.streamed]
    empty, loaded = arms.gravity_torque(q), arms.gravity_torque(q, mode="loaded")
    assert np.array_equal(empty, arms.gravity_torque(q, mode="empty")) and np.max(np.abs(loaded - empty)) > 0.5
    with pytest.raises(BadInput, match="mode = 'laoded': no such mode; did you mean 'loaded'"):
        arms.gravity_torque(q, mode="laoded")


def test_rad_become_whole_turns_and_come_back():
    arm = Mechanism.load(ARM)
    q = np.array([[0.0, 1.0, -3.0], [2.0 * np.pi + 0.1, -7.0, 100.0]])
    whole = arm.to_turns(q)
    assert whole.dtype == np.int64 and whole[0, 0] == 0
    np.testing.assert_allclose(arm.from_turns(whole), q, atol=2e-9)
    np.testing.assert_allclose(arm.from_turns(whole.astype(np.int32)), np.angle(np.exp(1j * q)), atol=2e-9)


def test_a_motion_of_arrays_is_that_of_the_same_file():
    arm = Mechanism.load(ARM)
    path = ROOT / "mechanisms" / "three_link.csv"
    read = Trajectory.load(path, arm)
    made = Trajectory.of(arm, read.times, read.positions, read.velocities, read.accelerations)
    np.testing.assert_array_equal(arm.torque(made).tau, arm.torque(path).tau)
    spline = Trajectory.of(arm, [0.0, 0.5, 1.0], [[0.2, 0.4, 0.4], [0.3, 0.4, 0.4], [0.4, 0.5, 0.4]])
    assert spline.starts_at_rest and spline.ends_at_rest and spline.at(0.5)[0][0] == pytest.approx(0.3)


@pytest.mark.parametrize("given, words", [
    (([0.0, 1.0], [[0, 0, 0]]), r"positions = .shape \(1, 3\).: must be \(2, 3\), a row for every time"),
    (([0.0], [[0, 0, 0]]), r"times = .shape \(1,\).: must be \(R,\), at least two"),
    (([0.5, 1.0], np.zeros((2, 3))), "time must start at 0"), (([0.0, 0.0], np.zeros((2, 3))), "is there twice"),
    (([0.0, 1.0], np.full((2, 3), np.nan)), "positions: must be finite"),
    (([0.0, 1.0], np.zeros((2, 3)), None, np.zeros((2, 3))), "velocities: is missing: accelerations need"),
    (([0.0, 1.0], [[0, 0, 0], [0, 0, 9.0]]), "outside limits.upper"),
    (([0.0, 1e-3], [[0, 0, 0], [0, 0, 6.3]]), "jumps by 6.3 rad in 0.001 s"),
])
def test_arrays_that_are_no_motion_are_refused_by_name(given, words):
    with pytest.raises(BadInput, match=words):
        Trajectory.of(Mechanism.load(ARM), *given)


def test_limits_of_live_targets_come_from_the_file_and_from_every_pose():
    arm = Mechanism.load(ARM)
    limits = arm.follow_limits()
    assert limits.shape == (3, 3) and np.all(limits > 0.0)
    assert np.all(limits[:, 0] <= [joint.limits.velocity for joint in arm.streamed])
    rng = np.random.default_rng(1)
    q = rng.uniform([j.limits.lower for j in arm.streamed], [j.limits.upper for j in arm.streamed], (200, 3))
    v, a = (limits[:, k] * rng.choice([-1.0, 1.0], (200, 3)) for k in (0, 1))
    asked = np.abs(arm.inverse_dynamics(q, v, a, total=True)).max(axis=0)
    assert np.all(asked <= 1.05 * np.array([j.limits.effort for j in arm.streamed]))  # poses are sampled
    with pytest.raises(Refused, match="flexible links"):
        Mechanism.load(ROOT / "mechanisms" / "flexible_arm.toml").follow_limits()


def test_objects_print_as_one_line():
    arm = Mechanism.load(ARM)
    plan = plan_motion(arm, [{"joints": {"shoulder": 0.4}}])
    shown = [repr(x) for x in (arm, arm.joints[0], arm.links[0], plan, plan.trajectory, arm.torque(plan.trajectory))]
    assert all(line.startswith("<") and len(line) < 120 for line in shown), shown
    assert repr(plan) == "<Plan: 0.348 s, 1 waypoint, every limit kept>"
    assert shown[0] == "<Mechanism 'three-link': 3 links, 3 streamed joints, f405rg-4>"
    assert shown[1] == "<Joint 'shoulder': revolute, base > upper>" and shown[2].startswith("<Link 'upper': 0.3575 kg")


def test_a_log_of_a_virtual_board_holds_the_true_motion(tmp_path):
    arm = Mechanism.load(ARM)
    start = np.array([joint.start for joint in arm.streamed])
    with virtual_board(arm) as board:
        with pytest.raises(Refused, match="virtual board: the joints have no zero yet"):
            board.stream(ROOT / "mechanisms" / "three_link.csv")
        board.home()
        outcome = board.stream(Trajectory.of(arm, [0.0, 0.3], [start, start + 0.05]), log=tmp_path / "run.mcap")
        assert repr(board) == "<Board 'three-link' at virtual board: HOLD>"
    assert repr(outcome).startswith("<Outcome: done, 0.3 s")
    true = read_log(tmp_path / "run.mcap").true
    np.testing.assert_allclose(true[-1], start + 0.05, atol=2e-3)
