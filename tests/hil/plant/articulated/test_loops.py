"""Closed loops: the energy of a four-bar linkage that swings, refused loops, and accelerations of spatial loops."""

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
from scipy.spatial.transform import Rotation

from femtorque.codegen.common import MECHANISMS, Refused
from femtorque.codegen.mechanism import Anchor, Friction, Loop, Mechanism, load_mechanism
from femtorque.hil.plant.articulated.plant import Plant
from tests.support import oracle


def four_bar(thickness: float = 1e-5) -> Mechanism:
    """Return the example without friction and motor. thickness: each rod's inertia about its axis, kg m^2."""
    mechanism = load_mechanism(MECHANISMS / "four_bar.toml")
    links = (replace(link, inertia=link.inertia + np.diag([thickness, 0.0, 0.0])) for link in mechanism.links)
    joints = (replace(joint, friction=Friction(), motor=None, encoder=None) for joint in mechanism.joints)
    return replace(mechanism, links=tuple(links), joints=tuple(joints))


def test_a_four_bar_that_swings_stays_closed_and_keeps_its_energy():
    plant = Plant(four_bar(), max_step=2.5e-4)
    start, energy, angles = plant.potential(), [], []
    for _ in range(100):
        plant.push(0.01, np.zeros(3))
        energy.append(plant.kinetic() + plant.potential() - start)
        angles.append(plant.q[0])
    assert np.ptp(angles) > 3.0 and plant.cycle.closure() < 3e-12
    assert np.abs(energy).max() < 2e-4  # of 2 J


@pytest.mark.parametrize(("thickness", "starts", "coupler", "rocker", "words"), [
    (1e-5, None, 0.2, 0.9, "do not close: pin"), (0.0, None, 0.2, 0.9, "do not close"),
    (1e-5, (0.0, 0.0, 0.0), 0.3, 0.16, "singular pose: pin")])
def test_loops_that_cannot_close_or_lie_in_a_singular_pose_are_refused(thickness, starts, coupler, rocker, words):
    """In the last row the links of a parallelogram are collinear."""
    mechanism = four_bar(thickness)
    starts = starts or [joint.start for joint in mechanism.joints]
    ends = (Anchor(name, np.array([x, 0.0, 0.0]), np.zeros(3))
            for name, x in (("coupler", coupler), ("rocker", rocker)))
    joints = tuple(replace(joint, start=start) for joint, start in zip(mechanism.joints, starts, strict=True))
    with pytest.raises(Refused, match=words):
        Plant(replace(mechanism, joints=joints, loops=(Loop("pin", "planar", *ends),)))


@pytest.mark.parametrize(("kind", "rows"), [("ball", 3), ("rigid", 6)])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_accelerations_of_spatial_loops_equal_constrained_forward_dynamics(kind, rows, seed):
    """Two arms of four joints with random geometry, joined at their ends, accelerate as Pinocchio says."""
    rng = np.random.default_rng(seed)
    left, right = oracle.random_chain(rng, 4), oracle.random_chain(rng, 4)

    def renamed(mechanism, side: str):
        name = {"base": "base"} | {link.name: f"{side}{link.name}" for link in mechanism.links}
        return ([replace(link, name=name[link.name]) for link in mechanism.links],
                [replace(j, name=f"{side}{j.name}", parent=name[j.parent], child=name[j.child])
                 for j in mechanism.joints])

    links, joints = (a + b for a, b in zip(renamed(left, "l"), renamed(right, "r"), strict=True))
    open_chain = replace(left, links=tuple(links), joints=tuple(joints))
    # The loop connects the two ends in a random pose, so it is closed in this pose.
    q = rng.uniform(-1.0, 1.0, 8)
    model = oracle.pinocchio_of(open_chain)
    data = model.createData()
    pin.forwardKinematics(model, data, q)
    ends = [data.oMi[model.getJointId(name)] for name in ("ljoint4", "rjoint4")]
    meeting = pin.SE3(oracle.random_rotation(rng), 0.5 * (ends[0].translation + ends[1].translation))
    anchors = [end.inverse() * meeting for end in ends]
    loop = Loop("tie", kind, *(Anchor(name, anchor.translation, Rotation.from_matrix(anchor.rotation).as_euler("xyz"))
                               for name, anchor in zip(("llink4", "rlink4"), anchors, strict=True)))
    plant = Plant(replace(open_chain, loops=(loop,)), start=q, velocities=rng.uniform(-1.0, 1.0, 8))
    assert plant.system.dropped == ()
    np.testing.assert_allclose(plant.q, q, atol=1e-10)

    tau = rng.uniform(-3.0, 3.0, 8)
    # M a + b = tau + J' lambda and J a = -(relative acceleration of the ends at a = 0). Pinocchio computes all terms.
    frames = [model.addFrame(pin.Frame(side, model.getJointId(name), 0, anchor, pin.FrameType.OP_FRAME))
              for side, name, anchor in zip("ab", ("ljoint4", "rjoint4"), anchors, strict=True)]
    data, world = model.createData(), pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
    M = pin.crba(model, data, plant.q)
    M = np.triu(M) + np.triu(M, 1).T
    b = pin.nonLinearEffects(model, data, plant.q, plant.v)
    J = [pin.computeFrameJacobian(model, data, plant.q, frame, world)[:rows] for frame in frames]
    pin.forwardKinematics(model, data, plant.q, plant.v, np.zeros(8))
    drift = [pin.getFrameClassicalAcceleration(model, data, frame, world).vector[:rows] for frame in frames]
    J, drift = J[0] - J[1], drift[0] - drift[1]
    np.testing.assert_allclose(J @ plant.v, 0.0, atol=1e-9)
    system = np.block([[M, -J.T], [J, np.zeros((rows, rows))]])
    expected = np.linalg.solve(system, np.concatenate([tau - b, -drift]))[:8]
    cycle = plant.cycle
    got = cycle.equations.G @ (cycle.gamma + cycle.along.responses @ tau) + cycle.equations.turning(cycle.v)
    np.testing.assert_allclose(got, expected, atol=1e-6 * np.abs(expected).max())
