"""Tests of the torques of a whole motion, as `femtorque torque` computes them."""

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from femtorque.codegen.common import MECHANISMS, BadInput, Refused
from femtorque.codegen.mechanism import Friction, Mechanism, Motor, load_mechanism
from femtorque.codegen.model import Model
from femtorque.codegen.motion import Trajectory, from_rows
from femtorque.codegen.toolchain import CompiledStep
from femtorque.codegen.verify import figures, motion_torques as torque
from femtorque.hil.cost import chip_step
from tests.support.oracle import peak, pinocchio_of, planar_chain, quintic, random_chain, torque_at


def rows(mechanism: Mechanism, motion, count: int = 101) -> Trajectory:
    t = np.linspace(0.0, motion.duration, count)
    return from_rows([j.name for j in mechanism.moving], t, *motion.at(t))


def c_step(precision: str) -> torque.Step:
    return lambda model, positions: CompiledStep(model, precision).torque(positions)


def eight_link(rate_hz: int = 1000) -> tuple[Mechanism, Trajectory]:
    mechanism = load_mechanism(MECHANISMS / "eight_link.toml")
    control = replace(mechanism.control, rate_hz=rate_hz)
    mechanism = replace(mechanism, control=control)
    return mechanism, Trajectory.load(MECHANISMS / "eight_link.csv", mechanism)


@pytest.mark.parametrize("precision, within", [(None, 1e-5), ("single", 1e-4)])
def test_torques_of_the_eight_link_chain_are_those_of_newton_euler_at_the_middles_of_ticks(precision, within):
    mechanism, trajectory = eight_link()
    result = torque.torque(mechanism, trajectory, precision and c_step(precision))
    assert result.t == pytest.approx((np.arange(1000) + 0.5) * 1e-3)
    expected = torque_at(pinocchio_of(mechanism), trajectory, result.t)
    assert peak(result.tau - expected) <= within * peak(expected)
    assert result.error == pytest.approx(peak(result.tau - expected) / peak(expected), rel=1e-3)
    assert result.summary()["ticks"] == 1000 and list(result.summary()["peak"]) == [j.name for j in mechanism.moving]


def test_the_end_ticks_of_a_quintic_are_as_good_as_the_others():
    rng = np.random.default_rng(1)
    for _ in range(3):
        mechanism = random_chain(rng, 6)
        start = rng.uniform(-1.0, 1.0, 6)
        trajectory = rows(mechanism, quintic(start, start + rng.uniform(-2.0, 2.0, 6)))
        result = torque.torque(mechanism, trajectory, c_step("double"))
        wrong = np.max(np.abs(result.tau - torque_at(Model.of(mechanism), trajectory, result.t)), axis=1)
        assert max(wrong[0], wrong[-1]) <= 1.5 * np.max(wrong[1:-1]) <= 1.5e-5 * peak(result.tau)


def test_motion_that_starts_with_a_rate_is_right_from_its_first_tick():
    mechanism = random_chain(np.random.default_rng(5), 4)
    t = np.linspace(0.0, 0.5, 51)
    velocities = np.array([0.5, -0.3, 0.8, 0.2])
    trajectory = from_rows([j.name for j in mechanism.moving], t, t[:, None] * velocities, np.tile(velocities, (51, 1)),
                           np.zeros((51, 4)))
    for step in (None, c_step("double")):
        result = torque.torque(mechanism, trajectory, step)
        expected = torque_at(Model.of(mechanism), trajectory, result.t)
        assert peak((result.tau - expected)[:3]) <= 1e-5 * peak(expected)


def test_total_adds_the_motors_own_terms():
    mechanism = planar_chain(2)
    motor = Motor(R=1.0, L=1e-3, K=0.05, gear=-20.0, inertia=3e-5)
    joints = (replace(mechanism.joints[0], motor=motor, friction=Friction(viscous=0.1, coulomb=0.2)),
              mechanism.joints[1])
    mechanism = replace(mechanism, joints=joints)
    motion = quintic([0.0, 0.0], [1.0, -1.0])
    trajectory = rows(mechanism, motion)
    bare, total = (torque.torque(mechanism, trajectory, total=t) for t in (False, True))
    added = total.tau - bare.tau
    _, qd, qdd = motion.at(bare.t)
    assert added[:, 0] == pytest.approx(400.0 * 3e-5 * qdd[:, 0] + 0.1 * qd[:, 0] + 0.2, rel=1e-6)
    assert not added[:, 1].any()


def test_friction_torque_has_the_sign_of_the_rate_and_is_nothing_at_rest():
    mechanism = planar_chain(1)
    mechanism = replace(mechanism, joints=(replace(mechanism.joints[0], friction=Friction(0.0, 0.3)),))
    velocities = np.array([[0.5], [-0.5], [0.0]])
    assert torque.motor_torque(mechanism, velocities, *np.zeros((2, 3, 1))).ravel().tolist() == [0.3, -0.3, 0.0]


def test_file_reads_back_exactly(tmp_path):
    mechanism = random_chain(np.random.default_rng(6), 2)
    result = torque.torque(mechanism, rows(mechanism, quintic([0.0, 0.0], [0.5, -0.5], 0.05)))
    result.write(tmp_path / "tau.csv")
    with open(tmp_path / "tau.csv", encoding="utf-8") as file:
        header, *lines = csv.reader(file)
    assert header == ["t", "joint1", "joint2"]
    numbers = np.array(lines, float)
    assert numbers[:, 0] == pytest.approx(result.t, abs=1e-12)
    assert lines[0][0] == "0.0005"
    assert np.array_equal(numbers[:, 1:], result.tau)


def test_motion_shorter_than_a_tick_is_bad_input():
    mechanism = planar_chain(1)
    trajectory = from_rows(["joint1"], [0.0, 1e-4], [[0.0], [0.0]], np.zeros((2, 1)), np.zeros((2, 1)))
    with pytest.raises(BadInput, match="shorter than one control tick"):
        torque.torque(mechanism, trajectory)


@pytest.mark.parametrize("name", ["two_arm_grasp", "pick_and_place", "biped"])
def test_the_c_switches_modes_as_the_reference_does(name):
    """The comparison contains all ticks of a grasp, a pick-up and a walk, including the ticks of mode changes."""
    mechanism = load_mechanism(MECHANISMS / f"{name}.toml")
    trajectory = Trajectory.load(MECHANISMS / f"{name}.csv", mechanism)
    assert len(trajectory.modes) > 1
    expected = torque.torque(mechanism, trajectory)
    for precision, bound in (("double", 1e-5), ("single", 2e-5)):
        step = lambda model, *motion: CompiledStep(model, precision).torque(*motion)  # noqa: B023, E731
        result = torque.torque(mechanism, trajectory, step)
        assert peak(result.tau - expected.tau) <= bound * peak(expected.tau)


def test_chip_gives_the_bits_of_the_c_across_a_switch():
    mechanism = load_mechanism(MECHANISMS / "two_arm_grasp.toml")
    whole = Trajectory.load(MECHANISMS / "two_arm_grasp.csv", mechanism)
    grasp = whole.modes[1][0]
    rows_of = (whole.times >= grasp - 0.0201) & (whole.times <= grasp + 0.0401)
    brief = from_rows(whole.joints, whole.times[rows_of] - (grasp - 0.02),
                      *(x[rows_of] for x in (whole.positions, whole.velocities, whole.accelerations)))
    brief = replace(brief, modes=((0.0, "open"), (0.02, "grasp")))
    host = torque.torque(mechanism, brief, lambda model, *motion: CompiledStep(model).torque(*motion)).tau
    assert np.array_equal(torque.torque(mechanism, brief, chip_step.torque_on_chip).tau, host)
    assert np.abs(host[20] - host[19])[:2].min() > 1.0  # effect of the object's weight


def test_a_mode_that_does_not_fit_the_motion_is_refused_by_the_c():
    mechanism = load_mechanism(MECHANISMS / "two_arm_grasp.toml")
    early = replace(Trajectory.load(MECHANISMS / "two_arm_grasp.csv", mechanism), modes=((0.0, "open"), (0.5, "grasp")))
    with pytest.raises(Refused, match="the mode entered in tick 500 does not fit the motion"):
        torque.torque(mechanism, early, lambda model, *motion: CompiledStep(model).torque(*motion))


def test_figure_of_the_eight_link_chain(tmp_path):
    mechanism, trajectory = eight_link(rate_hz=250)
    result = torque.torque(mechanism, trajectory)
    figures.torque_curves(tmp_path / "eight_link.png", result, "eight-link", "reference")
    assert result.error <= 1e-4
    assert (tmp_path / "eight_link.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


LINK = load_mechanism(Path(__file__).parents[3] / "mechanisms" / "flexible_link.toml")
LINK = replace(LINK, control=replace(LINK.control, rate_hz=250, knot_hz=250))


def turned_up(rate: float, seconds: float, hold: float):
    """Return a motion of the single flexible link from rest to a constant angular velocity, rad/s."""
    t = np.linspace(0.0, seconds + hold, 301)
    x = np.clip(t / seconds, 0.0, 1.0)
    velocities = rate * (x - np.sin(2.0 * np.pi * x) / (2.0 * np.pi))
    changes = np.where(x < 1.0, rate / seconds * (1.0 - np.cos(2.0 * np.pi * x)), 0.0)
    at = rate * seconds * (0.5 * x**2
                           + (np.cos(2.0 * np.pi * x) - 1.0) / (4.0 * np.pi**2)) + rate * np.maximum(t - seconds, 0.0)
    return from_rows(["hub"], t, at[:, None], velocities[:, None], changes[:, None])


def test_a_flexible_link_turns_faster_than_it_swings():
    """The link rotates at 16.5 rad/s, and its first clamped frequency is 15.5 rad/s. Tension keeps it stable."""
    found = torque.torque(LINK, turned_up(16.5, 1.0, 0.2))
    assert np.abs(found.tau).max() < 2.0
    assert found.error < 2e-2


@pytest.mark.parametrize("backend", [None, lambda model, positions: CompiledStep(model).torque(positions)],
                         ids=["reference", "c"])
def test_a_flexible_link_that_bends_too_far_is_refused_by_name(backend):
    with pytest.raises(Refused, match=r"link\.beam\.beam: bent by [0-9.]+ rad at t = .* computed up to 0\.785 rad"):
        torque.torque(LINK, turned_up(10.0, 0.12, 0.2), backend)


def test_a_torque_that_has_come_off_its_equations_is_refused_by_name():
    """Torques are refused with every backend."""

    def wrong(value: float):
        return lambda model, positions: np.full((len(positions) - 2, 1), value)

    for value in (5.8e17, np.nan, -np.inf):
        with pytest.raises(Refused, match=r"joint\.hub: .* at t = 0\.002 s of the motion is beyond any limit"):
            torque.torque(LINK, turned_up(5.0, 1.0, 0.2), wrong(value))
