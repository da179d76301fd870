"""Steps of the articulated plant at their limits. The other tests of this folder compare the motion with Pinocchio,
the rigid plant and closed formulas."""

from dataclasses import replace

import numpy as np
import pytest

from femtorque.codegen.common import MECHANISMS, Refused
from femtorque.codegen.mechanism import Anchor, Mechanism, Motor, load_mechanism
from femtorque.hil.plant.articulated import tree
from femtorque.hil.plant.articulated.plant import Plant
from femtorque.hil.plant.plant_library import MOST
from tests.hil.plant.articulated.test_loops import four_bar
from tests.support import oracle

H = 4.5e-4  # time step, s


@pytest.mark.parametrize("inertia", [0.0, 1e-4])
def test_angles_and_rotors_count_whole_turns(inertia):
    wheel = oracle.planar_chain(1, gravity=(0.0, 0.0, 0.0))
    wheel = replace(wheel, joints=(replace(wheel.joints[0], motor=Motor(1.0, 0.0, 0.05, 5.0, inertia)),))
    plant = Plant(wheel, start=[7.0], velocities=[-100.0])
    for _ in range(200):
        plant.push(H, np.zeros(1))
    assert plant.q[0] == pytest.approx(7.0 - 100.0 * 200 * H, rel=2e-3)


def test_brakes_and_stops_leave_a_state_to_go_on_from():
    plant = Plant(load_mechanism(MECHANISMS / "palletizer.toml"))
    volts = np.full(plant.n, 6.0)
    plant.drive(5e-3, volts)
    q = plant.q
    plant.hold(2e-3, volts)
    np.testing.assert_array_equal(plant.q, q)
    plant.stop()
    assert not plant.v.any()
    plant.drive(5e-3, volts)
    assert np.abs(plant.v).max() > 1e-3 and plant.cycle.closure() < 2.0 * plant.cycle.tolerance


def test_velocities_that_somebody_changes_are_seen():
    plant = Plant(load_mechanism(MECHANISMS / "palletizer.toml"))
    plant.drive(5e-3, np.full(plant.n, 6.0))
    assert np.abs(plant.v).max() > 1e-3
    np.testing.assert_allclose(plant.v, plant.cycle.equations.G @ plant.cycle.v, rtol=0, atol=1e-12)
    before = plant.v
    plant.cycle.v *= 2.0
    plant.cycle.restart()
    np.testing.assert_allclose(plant.v, 2.0 * before, rtol=0, atol=1e-12)


def test_a_step_that_is_too_long_is_refused():
    plant = Plant(load_mechanism(MECHANISMS / "palletizer.toml"), velocities=np.full(5, 300.0), max_step=0.05)
    z = plant.cycle.z.copy()
    with pytest.raises(Refused, match="the step is too long"), np.errstate(all="ignore"):
        plant.push(0.05, np.zeros(plant.n))
    np.testing.assert_array_equal(plant.cycle.z, z)


def parallelogram(crank: float) -> Mechanism:
    """Return cranks of 0.2 m, 0.3 m apart, and their coupler: singular when collinear."""
    mechanism, far = four_bar(), np.array([0.3, 0.0, 0.0])
    long = {"crank": 0.2, "coupler": 0.3, "rocker": 0.2}
    links = tuple(replace(link, com=np.array([long[link.name] / 2, 0.0, 0.0])) for link in mechanism.links)
    places = ((crank, np.zeros(3)), (-crank, np.array([0.2, 0.0, 0.0])), (crank, far))
    joints = tuple(replace(joint, start=start, xyz=xyz)
                   for joint, (start, xyz) in zip(mechanism.joints, places, strict=True))
    loop = replace(mechanism.loops[0], a=Anchor("coupler", far, np.zeros(3)),
                   b=Anchor("rocker", np.array([0.2, 0.0, 0.0]), np.zeros(3)))
    return replace(mechanism, links=links, joints=joints, loops=(loop,))


def test_a_singular_pose_is_refused_by_the_name_of_its_row():
    plant = Plant(parallelogram(0.4))
    plant.push(H, np.zeros(3))
    plant.cycle.z = tree.assemble(parallelogram(0.0)).places.ravel()
    with pytest.raises(Refused, match="singular pose: pin"):
        plant.push(H, np.zeros(3))


def test_more_joints_than_there_is_room_for_are_refused():
    with pytest.raises(Refused, match=f"a plant has room for {MOST}"):
        Plant(oracle.planar_chain(MOST + 1))
