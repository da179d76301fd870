"""Scenarios with geared arms in their short form: tracking, and motors and gains that the simulation selects."""

from dataclasses import replace

import numpy as np
import pytest

from femtorque.codegen.board import reader as board
from femtorque.codegen.common import Refused
from femtorque.codegen.control import SampledLoop
from femtorque.codegen.mechanism import Motor, load_mechanism
from femtorque.codegen.model import Model
from femtorque.hil.scenarios import design, scenario
from tests.support import oracle

TRIALS = 10


@pytest.fixture(scope="module")
def robot() -> scenario.Scenario:
    return scenario.load_scenario("industrial_robot")


@pytest.fixture(scope="module")
def choice(robot) -> design.Choice:
    return design.optimise(robot.mechanism, robot.file.design, robot.trajectory(short=True), TRIALS)


# ---- solids defined by shapes


def test_the_mechanism_file_of_the_robot_has_the_numbers_of_its_solids(robot):
    written = load_mechanism(scenario.place(scenario.FOLDER / "x", robot.file.mechanism))
    assert {solid.shape for solid in robot.file.solid} == {"box", "cylinder", "tube", "sphere", "mesh"}
    for link, form in zip(written.links, robot.mechanism.links, strict=True):
        assert link.mass == pytest.approx(form.mass, rel=1e-6)
        np.testing.assert_allclose(link.com, form.com, atol=1e-7)
        np.testing.assert_allclose(link.inertia, form.inertia, atol=1e-6 * np.abs(form.inertia).max())


# ---- motors


def test_motors_of_one_family_are_geometrically_similar():
    motor = Motor(R=0.35, L=3e-4, K=0.09, gear=-100.0, inertia=1.2e-4)
    length = 1.3
    big = design.scaled(motor, length**3, 60.0)
    assert big.K == motor.K and big.gear == -60.0
    assert (big.K**2 / big.R) / (motor.K**2 / motor.R) == pytest.approx(length**5)  # motor constant squared
    assert big.inertia / motor.inertia == pytest.approx(length**5)
    # the number of turns scales as length^-2 for the same K; L scales as turns^2 length
    assert big.L / motor.L == pytest.approx(length**-4 * length)


def test_the_demand_on_the_motors_is_that_of_pinocchio_and_ohm(robot):
    d, motion = robot.file.design, robot.trajectory(short=True)
    rng = np.random.default_rng(5)
    sizes, gears = rng.uniform(0.3, 2.0, 4), rng.uniform(50.0, 150.0, 4)
    demand = design.Demand(robot.mechanism, d, motion)
    load = demand.load(sizes, gears)
    other = design.with_motors(robot.mechanism, d, sizes, gears)
    assert other.payloads[0].mass == pytest.approx(1.2 * sizes[1]) and other.payloads[3].mass == 3.0
    model = oracle.pinocchio_of(other)
    rotors = gears**2 * 1.2e-4 * sizes ** (5.0 / 3.0)
    t = (np.arange(len(load.torque)) + 0.5) * 1e-3
    q, qd, qdd = motion.at(t)
    viscous = np.array([j.friction.viscous for j in other.moving])
    coulomb = np.array([j.friction.coulomb for j in other.moving])
    torque = oracle.rnea(model, q, qd, qdd) + viscous * qd + coulomb * np.sign(qd) + rotors * qdd
    np.testing.assert_allclose(load.torque * gears, torque, atol=1e-9)
    current = torque / gears / 0.09
    voltage = 0.35 * sizes ** (-5.0 / 3.0) * current + 0.09 * gears * qd
    np.testing.assert_allclose(load.energy, np.maximum(voltage * current, 0.0).sum(axis=0) * 1e-3, rtol=1e-9)


def test_no_motors_near_the_chosen_ones_keep_the_limits_with_less_energy(robot, choice):
    d = robot.file.design
    demand = design.Demand(robot.mechanism, d, robot.trajectory(short=True))
    best = demand.load(choice.sizes, choice.gears).energy.sum()
    rng, kept = np.random.default_rng(0), 0
    for _ in range(300):
        sizes = np.clip(choice.sizes * np.exp(rng.normal(0.0, 0.05, 4)), *d.size)
        gears = np.clip(choice.gears * np.exp(rng.normal(0.0, 0.05, 4)), *d.gear)
        if all(s.min() >= 0.01 for s in demand.slack(sizes, gears).values()):
            kept += 1
            assert demand.load(sizes, gears).energy.sum() > best * (1.0 - 1e-3)
    assert kept > 20


def test_motors_that_are_too_weak_are_refused_with_the_limit(robot):
    weak = robot.file.design.model_copy(update={"continuous": 0.02})
    with pytest.raises(Refused, match="no motors keep the limits.*rms torque"):
        design.choose_motors(robot.mechanism, weak, robot.trajectory(short=True))


# ---- gains


def test_the_chosen_gains_have_the_margin_and_little_more(robot, choice):
    loop = SampledLoop.of(Model.of(choice.chosen), board.load_board("f405rg-4").lead)
    ku = np.array([j.gains.ku for j in choice.chosen.moving])
    kv = np.array([j.gains.kv for j in choice.chosen.moving])
    assert np.max(loop.radii(2.0 * ku, 2.0 * kv)) < 1.0
    assert np.max(loop.radii(8.0 * ku, 8.0 * kv)) > 1.0


def test_a_search_for_gains_that_may_not_leave_its_margin_stays_within(robot):
    """The gains at the start have exactly this margin, so the optimisation may not select stiffer gains."""
    d = robot.file.design.model_copy(update={"margin": 12.0})
    chosen, _ = design.choose_gains(robot.mechanism, d, robot.trajectory(short=True), 8)
    loop = SampledLoop.of(Model.of(chosen), board.load_board("f405rg-4").lead)
    gains = np.array([[j.gains.ku, j.gains.kv] for j in chosen.moving]).T
    assert np.max(loop.radii(*(12.0 * gains))) < 1.0


def test_a_servo_run_tracks_better_with_stiffer_gains_and_worse_with_less_voltage(robot):
    motion = robot.trajectory(short=True)
    soft, energy = design.servo_run(robot.mechanism, motion)
    stiffer = replace(robot.mechanism, joints=tuple(
        replace(j, gains=replace(j.gains, ku=4.0 * j.gains.ku, kv=2.0 * j.gains.kv)) for j in robot.mechanism.joints))
    assert np.all(design.servo_run(stiffer, motion)[0] < soft)
    low = replace(robot.mechanism, board=replace(robot.mechanism.board, bus_voltage=8.0))
    assert design.servo_run(low, motion)[0].max() > 2.0 * soft.max()
    assert 1.0 < energy < 100.0
