"""Changes of topology: velocities after a switch, motions afterwards, and refused switches."""

from dataclasses import replace

import numpy as np
import pytest

from femtorque.codegen.common import Refused
from femtorque.codegen.mechanism import Anchor, Loop, Mechanism, load_mechanism
from femtorque.codegen.motion import Trajectory
from femtorque.hil.plant.articulated.plant import Plant
from tests.hil.plant.articulated.test_plant import accelerations
from tests.support import oracle
from tests.support.closed import Closed
from tests.support.closed_motions import MECHANISMS


def example(name: str) -> tuple[Mechanism, Trajectory]:
    mechanism = load_mechanism(MECHANISMS / f"{name}.toml")
    return mechanism, Trajectory.load(MECHANISMS / f"{name}.csv", mechanism)


def at_switch(name: str, number: int = 1, **options) -> tuple[Plant, Mechanism, str]:
    """Return a plant at rest in the pose of the example's switch `number`, in the mode before this switch."""
    mechanism, motion = example(name)
    time, mode = motion.modes[number]
    before = mechanism.mode(motion.modes[number - 1][1])
    whole = replace(mechanism, modes=(before, *(m for m in mechanism.modes if m != before)))
    return Plant(whole, start=motion.at(time)[0], **options), mechanism, mode


def test_an_object_that_is_picked_up_weighs_at_once():
    plant, mechanism, mode = at_switch("pick_and_place")
    q, tau = plant.q, np.array([1.0, -0.5, 0.2])
    for name in (plant.mode, mode):
        plant.switch(name)
        expected = oracle.aba(oracle.pinocchio_of(bare(mechanism.in_mode(name))), q, 0.0 * q, tau)
        np.testing.assert_allclose(bare_accelerations(plant, tau), expected, atol=2e-5 * np.abs(expected).max())
        np.testing.assert_allclose(plant.q, q, atol=1e-12)


def bare(mechanism: Mechanism) -> Mechanism:
    """Return a mechanism without motors, because Pinocchio does not model the rotors."""
    return replace(mechanism, joints=tuple(replace(j, motor=None, encoder=None) for j in mechanism.joints))


def bare_accelerations(plant: Plant, tau: np.ndarray) -> np.ndarray:
    other = Plant(bare(plant.mechanism.in_mode(plant.mode)), start=plant.q, velocities=plant.v)
    return accelerations(other, tau)


@pytest.mark.parametrize("velocities", [(0.05, -0.02, 0.03), (0.0, 0.1, -0.1)])
def test_an_object_picked_up_in_motion_takes_its_share_of_the_momentum(velocities):
    """The object rested before. Impulses act only at joints, so M+ v+ = M- v- without the object."""
    plant, mechanism, mode = at_switch("pick_and_place", velocities=velocities)
    q, before = plant.q, plant.v
    plant.switch(mode)
    empty, loaded = (Closed(mechanism.in_mode(name)) for name in ("empty", mode))
    # The switch does not change the momentum that is conjugate to the joints. This momentum includes bodies and rotors,
    # and the object contributes none.
    expected = np.linalg.solve(loaded.mass(q, rotors=True), empty.mass(q, rotors=True) @ before)
    np.testing.assert_allclose(plant.v, expected, atol=2e-5 * np.abs(before).max())
    assert np.abs(plant.v - before).max() > 0.03 * np.abs(before).max()
    released = plant.v
    plant.switch("empty")
    np.testing.assert_allclose(plant.v, released, atol=1e-12)  # a released object keeps its momentum


def test_a_hand_too_fast_for_its_object_is_refused_and_nothing_changes():
    plant, _, mode = at_switch("pick_and_place", velocities=(0.3, 0.0, 0.0))
    z, v = plant.cycle.z.copy(), plant.cycle.v.copy()
    with pytest.raises(Refused, match="mode loaded: what hand picks up moves at 0.1"):
        plant.switch(mode)
    assert plant.mode == "empty" and np.array_equal(plant.cycle.z, z) and np.array_equal(plant.cycle.v, v)


def test_a_loop_that_closes_takes_up_the_remaining_rates():
    """M (v+ - v-) = J' impulse and J v+ = 0, with Pinocchio's mass matrix and frames."""
    mechanism, motion = example("two_arm_grasp")
    grasp = Closed(mechanism.in_mode("grasp"))
    # The object is away from the grippers, so only the closed loop acts.
    alone = replace(mechanism, modes=tuple(replace(m, payloads=mechanism.modes[0].payloads) for m in mechanism.modes))
    velocities = np.array([0.05, 0.02, -0.05, 0.03])
    plant = Plant(alone, start=motion.at(0.7)[0], velocities=velocities)
    q, before = plant.q, plant.v
    plant.switch("grasp")
    closed = Closed(alone.in_mode("grasp"))
    M, J = closed.mass(q, rotors=True), grasp.jacobian(q)
    impulse = -np.linalg.solve(J @ np.linalg.solve(M, J.T), J @ before)
    expected = before + np.linalg.solve(M, J.T @ impulse)
    assert np.abs(J @ before).max() > 0.01 and np.abs(expected - before).max() > 0.01
    np.testing.assert_allclose(plant.v, expected, atol=1e-5 * np.abs(before).max())
    np.testing.assert_allclose(J @ plant.v, 0.0, atol=1e-10)
    assert plant.cycle.closure() < 1e-11


@pytest.mark.parametrize(("change", "message"), [
    (dict(velocities=[0.0, 0.0, -0.4, 0.0]), "mode grasp: hold: across [12] moves at 0.[0-9]* m/s, more than 0.05"),
    (dict(shift=0.05), "mode grasp: hold: across [12] is open by 0.0[0-9]* m, more than 0.002"),
])
def test_hands_that_do_not_meet_their_object_are_refused(change, message):
    mechanism, motion = example("two_arm_grasp")
    start = motion.at(0.7)[0] + [change.pop("shift", 0.0), 0.0, 0.0, 0.0]
    plant = Plant(mechanism, start=start, **change)
    with pytest.raises(Refused, match=message):
        plant.switch("grasp")
    assert plant.mode == "open"
    plant.push(1e-3, np.zeros(4))


def test_arms_that_grasped_move_as_one_mechanism_and_as_two_again_after_release():
    plant, mechanism, mode = at_switch("two_arm_grasp")
    tau = np.array([1.0, -0.3, -0.8, 0.4])
    for name in (mode, "open"):
        plant.switch(name)
        closed = Closed(bare(mechanism.in_mode(name)))
        expected = closed.forward(plant.q, plant.v, tau)[0]
        np.testing.assert_allclose(bare_accelerations(plant, tau), expected, atol=1e-4 * np.abs(expected).max())


def standing_on_the_right(mechanism: Mechanism) -> Mechanism:
    """Return the biped as a chain from its right foot, written by hand, with opposite directions."""
    foot, leg = mechanism.link("left_foot"), mechanism.link("left_leg")
    load = mechanism.payloads[0]
    links = (replace(leg, name="right_leg"), leg, foot)
    places = ((0.0, 0.05, 0.0), (0.40, 0.0, 0.0), (0.40, 0.0, 0.0))
    joints = tuple(
        replace(mechanism.joints[1], name=name, parent=parent, child=child, xyz=np.array(xyz), motor=None, encoder=None)
        for name, parent, child, xyz in zip(("ankle", "hip", "other"), ("base", "right_leg", "left_leg"),
                                            ("right_leg", "left_leg", "left_foot"), places, strict=True))
    return replace(mechanism, links=links, joints=joints, modes=(), payloads=(replace(load, com=np.zeros(3)),))


def test_a_biped_that_changes_foot_moves_as_the_chain_from_the_other_foot():
    plant, mechanism, mode = at_switch("biped")
    plant = Plant(bare(mechanism), start=plant.q)
    plant.switch(mode)
    chain = oracle.pinocchio_of(standing_on_the_right(mechanism))
    rng = np.random.default_rng(4)
    tau, velocities = rng.uniform(-5.0, 5.0, 3), np.array([0.4, -0.3, 0.2])
    plant.set_velocities(velocities)
    np.testing.assert_allclose(plant.v, velocities, atol=1e-9)
    ankle, hip, other = plant.q[2], plant.q[1], plant.q[0]
    q = np.array([np.pi - ankle, -hip, -np.pi - other])
    expected = -oracle.aba(chain, q, -velocities[::-1], -tau[::-1])[::-1]
    np.testing.assert_allclose(accelerations(plant, tau), expected, atol=2e-5 * np.abs(expected).max())
    foot = plant.system.solids[4]
    before = foot.at(np.zeros(3)) @ plant.system.points(plant.cycle.z)[16:20]
    plant.push(0.05, tau)
    np.testing.assert_allclose(foot.at(np.zeros(3)) @ plant.system.points(plant.cycle.z)[16:20], before, atol=1e-10)


def test_a_foot_that_still_moves_is_refused_as_the_next_to_stand_on():
    plant, _, mode = at_switch("biped", velocities=(0.2, 0.0, 0.0))
    with pytest.raises(Refused, match="mode right: ground: .* moves at"):
        plant.switch(mode)


def test_a_base_without_mass_can_be_let_go():
    mechanism, _ = example("biped")
    links = tuple(replace(x, mass=0.0, inertia=np.zeros((3, 3))) if x.name == "left_foot" else x
                  for x in mechanism.links)
    plant = Plant(replace(mechanism, links=links))
    assert any("without mass" in note for note in plant.notes)
    plant.switch("right")
    plant.push(1e-3, np.zeros(3))
    assert np.all(np.isfinite(plant.q))


def test_axes_given_to_a_few_digits_close_a_loop_whose_other_rows_contradict_them():
    mechanism, _ = example("palletizer")
    loop = mechanism.loops[0]
    rounded = Anchor(loop.a.link, loop.a.xyz, np.array([-1.5708, 0.0, 0.0]))
    plant = Plant(replace(mechanism, loops=(Loop(loop.name, loop.type, rounded, loop.b),)))
    assert len(plant.system.dropped) == 3
    np.testing.assert_allclose(plant.q[[0, 1, 3]], [j.start for j in mechanism.streamed], atol=1e-9)


@pytest.mark.parametrize("name", ["four_bar", "five_bar_4", "three_rrr", "palletizer", "delta"])
def test_actuated_joints_start_where_the_file_says_and_the_loops_move_the_others(name):
    mechanism, _ = example(name)
    plant, closed = Plant(mechanism), Closed(mechanism)
    np.testing.assert_allclose(plant.q[closed.active], [j.start for j in mechanism.streamed], atol=1e-9)
    np.testing.assert_allclose(plant.q, closed.assemble(closed.start, closed.active), atol=1e-9)
    assert plant.cycle.closure() < 1e-11
