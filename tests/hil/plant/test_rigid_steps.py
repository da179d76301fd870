"""The rigid plant's steps in C against those in NumPy: the same to rounding, whoever sticks and whatever floats."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from femtorque.codegen.mechanism.description import Friction, Mechanism, Motor
from femtorque.hil.plant.plant_steps import MOST
from femtorque.hil.plant.rigid import Plant
from femtorque.hil.plant.rigid_steps import RigidSteps
from tests.support.oracle import planar_chain, random_tree


def driven_tree(rng: np.random.Generator, n: int) -> Mechanism:
    """A random tree whose joints rub, spring, and have motors, some of them without inductance, or no motor."""
    tree = random_tree(rng, n)
    joints = []
    for joint in tree.joints:
        motor = Motor(R=rng.uniform(0.5, 2.0), L=rng.choice([0.0, 6e-4]), K=0.05, gear=rng.choice([-20.0, 5.0]),
                      inertia=1e-5)
        friction = Friction(viscous=rng.uniform(0.0, 0.1), coulomb=rng.choice([0.0, 0.05, 2.0]))
        joints.append(replace(joint, motor=motor if rng.random() < 0.8 else None, friction=friction,
                              stiffness=rng.choice([0.0, 3.0])))
    return replace(tree, joints=tuple(joints))


def compare(one: Plant, other: Plant, tolerance: float) -> None:
    for name in ("q", "v", "current"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=0, atol=tolerance)
    assert (one.book.motors, one.book.friction) == pytest.approx((other.book.motors, other.book.friction),
                                                                rel=tolerance, abs=tolerance)
    assert one.time == pytest.approx(other.time, abs=1e-12)


@pytest.mark.parametrize("seed", range(12))
def test_c_steps_as_numpy_does(seed):
    rng = np.random.default_rng(seed)
    mechanism = driven_tree(rng, int(rng.integers(1, 8)))
    ours, reference = Plant(mechanism), Plant(mechanism, compiled=False)
    moved = 0
    for _ in range(40):
        volts = np.where(rng.random(ours.n) < 0.2, np.nan, rng.normal(size=ours.n) * 10.0)
        torque = rng.normal(size=ours.n) * 0.3
        for plant in (ours, reference):
            plant.move(1.3e-3, volts, torque)
        compare(ours, reference, 1e-9)
        moved += int(np.sum(ours.v != 0.0))
    assert moved


def test_joints_stick_in_c_too():
    mechanism = planar_chain(3)
    mechanism = replace(mechanism, joints=tuple(replace(j, friction=Friction(coulomb=0.08)) for j in mechanism.joints))
    ours, reference = Plant(mechanism), Plant(mechanism, compiled=False)
    both = set()
    for _ in range(400):
        for plant in (ours, reference):
            plant.push(1e-3, np.zeros(3))
        compare(ours, reference, 1e-9)
        both |= {(bool(np.any(ours.v == 0.0)), bool(np.any(ours.v != 0.0)))}
    assert (True, True) in both  # one stuck while another moved


def test_hard_stops_are_met_in_c_as_in_numpy():
    mechanism = planar_chain(4)
    stops = np.full((4, 2), (-np.inf, np.inf))
    stops[1], stops[2, 1] = (-0.002, 0.003), 0.001
    ours, reference = (Plant(mechanism, stops=stops, pose=np.zeros(4), compiled=compiled) for compiled in (True, False))
    met = set()
    for k in range(120):
        torque = np.array([0.0, 1.0, 1.0, 0.0]) * (-1.0) ** (k // 30)
        for plant in (ours, reference):
            plant.push(1.3e-3, torque - 0.05 * plant.v)
        compare(ours, reference, 1e-9)
        met |= {(j, side) for j in (1, 2) for side in (0, 1) if (-1) ** side * (ours.q[j] - stops[j, side]) < 0.0}
    assert met == {(1, 0), (1, 1), (2, 1)}


def test_a_winding_that_changes_is_felt_in_c():
    mechanism = replace(planar_chain(2), joints=tuple(
        replace(j, motor=Motor(R=1.2, L=6e-4, K=0.05, gear=2.0, inertia=1e-4)) for j in planar_chain(2).joints))
    ours, reference = Plant(mechanism), Plant(mechanism, compiled=False)
    for plant in (ours, reference):
        plant.drive(0.01, [5.0, -5.0])
        plant.motors.rewind(0, 0.3, 1e-5, 0.5)
        plant.drive(0.01, [5.0, -5.0])
        plant.hold(0.01, np.array([1.0, np.nan]))
        plant.drive(0.01, [np.nan, 2.0])
    compare(ours, reference, 1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_a_hand_is_felt_in_c_as_in_numpy(seed):
    """It is asked before every step, and sees what the step begins from."""
    mechanism = driven_tree(np.random.default_rng(seed), 4)
    ours, reference = Plant(mechanism), Plant(mechanism, compiled=False)
    asked: dict[Plant, list[float]] = {ours: [], reference: []}

    def hand(plant: Plant) -> np.ndarray:
        asked[plant].append(plant.time)
        return np.array([0.5, -0.3, 0.2, 0.1]) * np.cos(30.0 * plant.time) - 0.05 * plant.v - 0.2 * plant.q

    for plant in (ours, reference):
        plant.hand = hand
        plant.drive(20e-3, np.array([3.0, np.nan, -2.0, 0.0]))
        plant.hand = None
        plant.drive(5e-3, np.array([3.0, np.nan, -2.0, 0.0]))
    compare(ours, reference, 1e-9)
    assert len(asked[ours]) == 40 and asked[ours] == pytest.approx(asked[reference])
    free = Plant(mechanism)
    free.drive(25e-3, np.array([3.0, np.nan, -2.0, 0.0]))
    assert np.max(np.abs(free.q - ours.q)) > 1e-5


def test_what_c_leaves_is_stepped_in_numpy(monkeypatch):
    """Where friction does not settle at once; here C is let take no step, then one of each two."""
    mechanism = driven_tree(np.random.default_rng(5), 4)
    reference = Plant(mechanism, compiled=False)
    reference.drive(2e-3, np.full(4, 3.0))
    for most in (0, 1):
        left = []

        def take(self: RigidSteps, h: float, count: int, most: int = most, left: list[int] = left,
                 whole=RigidSteps.take) -> int:
            left.append(count)
            return whole(self, h, min(count, most))

        monkeypatch.setattr(RigidSteps, "take", take)
        ours = Plant(mechanism)
        ours.drive(2e-3, np.full(4, 3.0))
        monkeypatch.undo()
        assert left == ([4, 3, 2, 1] if most == 0 else [4, 2])
        compare(ours, reference, 1e-9)


def test_more_joints_than_c_has_room_for_are_numpys():
    plant = Plant(planar_chain(MOST + 1))
    plant.push(1e-3, np.zeros(plant.n))
    assert np.any(plant.v != 0.0)
