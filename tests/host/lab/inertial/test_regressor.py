"""Compares the regressor with Pinocchio's regressor, and with the torques of mechanisms whose numbers were changed."""

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest

from femtorque.codegen.common import MECHANISMS, BadInput
from femtorque.codegen.mechanism import load_mechanism
from femtorque.codegen.model import Model
from femtorque.host.lab.inertial.excitation import base_columns, excite, ranges
from femtorque.host.lab.inertial.regressor import Unknowns, moved, phi_of, solid_of
from femtorque.host.plan import Space
from tests.support.oracle import pinocchio_model, random_inertia, random_rotation, random_tree

# order of a body's moments of inertia in Pinocchio: ixx, ixy, iyy, ixz, iyz, izz
PINOCCHIO = [0, 1, 2, 3, 4, 6, 9, 5, 7, 8]


def moves_of(space, rng, count=9, reach=0.1):
    free = len(space.assembly.independent)
    way = np.sin(np.linspace(0.0, 1.0, count))[:, None] * rng.normal(size=free)
    x = space.coordinates(space.start) + reach * way
    return space.motion(space.start, x, *rng.normal(size=(2, count, free)))


@pytest.mark.parametrize("seed", range(4))
def test_the_regressor_of_a_tree_is_pinocchios(seed):
    rng = np.random.default_rng(seed)
    mechanism = random_tree(rng, 6)
    unknowns = Unknowns.of(mechanism)
    q, v, a = rng.normal(size=(3, 20, 6))
    own = unknowns.matrix((q, v, a))[:, :, :60]
    model = pinocchio_model(Model.of(mechanism))
    data = model.createData()
    rows = [pin.computeJointTorqueRegressor(model, data, *row).copy() for row in zip(q, v, a, strict=True)]
    theirs = np.array(rows).reshape(20, 6, 6, 10)[..., PINOCCHIO].reshape(20, 6, 60)
    assert np.max(np.abs(own - theirs)) < 1e-12 * np.max(np.abs(theirs))


@pytest.mark.parametrize("name", ["six_axis", "four_bar", "delta", "palletizer", "five_bar"])
def test_torques_of_heavier_bodies_are_those_of_the_regressor(name):
    """The mechanisms have closed loops, springs and passive friction. Only the masses change."""
    rng = np.random.default_rng(3)
    unknowns = Unknowns.of(load_mechanism(MECHANISMS / f"{name}.toml"))
    moves = moves_of(unknowns.space, rng)
    heavier = unknowns.prior.copy()
    heavier[:10 * len(unknowns.solids)] *= rng.uniform(0.9, 1.1, len(unknowns.solids)).repeat(10)
    changed = Space.of(unknowns.mechanism(heavier))
    difference = changed.torque(*moves) - unknowns.space.torque(*moves)
    own = unknowns.matrix(moves) @ (heavier - unknowns.prior)
    assert np.max(np.abs(difference)) > 1e-3
    assert np.max(np.abs(own - difference)) < 1e-11 * max(1.0, np.max(np.abs(difference)))


def test_a_body_is_the_same_from_another_frame():
    rng = np.random.default_rng(5)
    link = load_mechanism(MECHANISMS / "six_axis.toml").links[1]
    link = replace(link, inertia=random_inertia(rng, link.mass, 0.3))
    R, p = random_rotation(rng), rng.normal(size=3)
    mass, com, inertia = solid_of(moved(R, p) @ phi_of(link))
    assert mass == pytest.approx(link.mass)
    assert np.allclose(com, R @ link.com + p) and np.allclose(inertia, R @ link.inertia @ R.T)


def test_base_parameters_give_all_torques_and_are_as_many_as_can_be():
    """The number of base parameters is the rank of the regressor at other states."""
    mechanism = load_mechanism(MECHANISMS / "six_axis.toml")
    unknowns = Unknowns.of(mechanism)
    columns, base = base_columns(unknowns, ranges(unknowns.space.joints, {}))
    Y = unknowns.matrix(moves_of(unknowns.space, np.random.default_rng(2), 40, 1.0))
    assert np.max(np.abs(Y[:, :, columns] @ base - Y)) < 1e-9 * np.max(np.abs(Y))
    assert len(columns) == np.linalg.matrix_rank(
        unknowns.matrix(moves_of(unknowns.space, np.random.default_rng(7), 400, 3.0)).reshape(-1, Y.shape[2]))


def test_an_excitation_keeps_ranges_and_efforts_and_is_the_same_every_time():
    mechanism = load_mechanism(MECHANISMS / "so101_sts.toml")
    unknowns = Unknowns.of(mechanism)
    within = ranges(unknowns.space.joints, {"elbow_flex": (-0.3, 0.8)})
    columns, _ = base_columns(unknowns, within)
    motion, again = excite(unknowns, within, columns), excite(unknowns, within, columns)
    q = motion.trajectory.at(np.linspace(0.0, motion.trajectory.duration, 2000))[0]
    assert np.all(q > within[:, 0] - 1e-3) and np.all(q < within[:, 1] + 1e-3)
    assert q[:, 2].max() < 0.8 and q[:, 2].min() > -0.3
    assert motion.trajectory.starts_at_rest and motion.trajectory.ends_at_rest
    assert max(share["velocity"] for share in motion.shares.values()) < 0.51
    assert max(share["effort"] for share in motion.shares.values()) <= 0.6
    assert np.array_equal(motion.trajectory.positions, again.trajectory.positions)


def test_what_cannot_be_a_range_is_refused():
    joints = Unknowns.of(load_mechanism(MECHANISMS / "so101_sts.toml")).space.joints
    with pytest.raises(BadInput, match="no such joint moves by itself.*elbow_flex"):
        ranges(joints, {"elbow_flx": (0.0, 1.0)})
    with pytest.raises(BadInput, match="must be within -1.69 .. 1.69"):
        ranges(joints, {"elbow_flex": (0.0, 2.0)})


@pytest.mark.parametrize("name", ["flexible_arm", "biped"])
def test_arms_that_bend_or_change_their_mode_are_refused(name):
    with pytest.raises(BadInput, match="rigid links, in one mode"):
        Unknowns.of(load_mechanism(MECHANISMS / f"{name}.toml"))
