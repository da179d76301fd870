"""Compares positions, Jacobians and mass matrices of the Python API with Pinocchio and with difference quotients."""

import numpy as np
import pinocchio as pin
import pytest

from femtorque import Mechanism, Refused, Trajectory, plan_motion
from femtorque.codegen.common import BadInput
from femtorque.codegen.reference.pinocchio import pinocchio_of
from femtorque.host.plan import waypoints
from tests.support.closed import Closed
from tests.support.rig import ROOT

POINT = np.array([0.1, -0.02, 0.03])


def arm(name: str) -> Mechanism:
    return Mechanism.load(ROOT / "mechanisms" / f"{name}.toml")


def test_places_jacobians_and_masses_of_an_open_arm_are_pinocchio_s() -> None:
    mechanism = arm("six_axis")
    theirs = pinocchio_of(mechanism)
    data, rng = theirs.createData(), np.random.default_rng(0)
    link = mechanism.moving[-1].child
    frame = theirs.addFrame(pin.Frame("tip", theirs.njoints - 1, 0, pin.SE3(np.eye(3), POINT), pin.FrameType.OP_FRAME))
    data = theirs.createData()
    q = rng.uniform(-3.0, 3.0, (2, 3, 6))
    p, R = mechanism.forward_kinematics(q, link, POINT)
    J, M = mechanism.jacobian(q, link, POINT), mechanism.mass_matrix(q, rotors=False)
    assert (p.shape, R.shape, J.shape, M.shape) == ((2, 3, 3), (2, 3, 3, 3), (2, 3, 6, 6), (2, 3, 6, 6))
    for at in np.ndindex(2, 3):
        expected = pin.computeFrameJacobian(theirs, data, q[at], frame, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED)
        place = data.oMf[frame]
        np.testing.assert_allclose(p[at], place.translation, atol=1e-12)
        np.testing.assert_allclose(R[at], place.rotation, atol=1e-12)
        np.testing.assert_allclose(J[at], expected, atol=1e-12)
        H = np.triu(pin.crba(theirs, data, q[at]))
        np.testing.assert_allclose(M[at], H + np.triu(H, 1).T, atol=1e-12)
    added = mechanism.mass_matrix(q) - M
    np.testing.assert_allclose(added[1, 2], np.diag([joint.rotor for joint in mechanism.streamed]), atol=1e-12)


@pytest.mark.parametrize("name", ["five_bar", "delta", "stewart"])
def test_a_point_of_a_closed_mechanism_moves_as_its_jacobian_says(name: str) -> None:
    mechanism = arm(name)
    link = mechanism.loops[-1].b.link
    motion = Trajectory.load(ROOT / "mechanisms" / f"{name}.csv", mechanism)
    q, v, _ = motion.at(0.3 * motion.duration)
    h = 1e-5
    steps = q + h * np.array([-1.0, 1.0])[:, None] * v
    (before, after), _ = mechanism.forward_kinematics(steps, link, POINT)
    np.testing.assert_allclose((mechanism.jacobian(q, link, POINT) @ v)[:3], (after - before) / (2.0 * h), atol=2e-6)


@pytest.mark.parametrize("name", ["five_bar", "three_rrr"])
def test_a_closed_mechanism_has_the_energy_that_its_mass_matrix_says(name: str) -> None:
    mechanism, oracle = arm(name), Closed(arm(name))
    motion = Trajectory.load(ROOT / "mechanisms" / f"{name}.csv", mechanism)
    q, v, a = motion.at(0.3 * motion.duration)
    full, rates, _ = oracle.follow(q, v, a, oracle.start)
    energy = 0.5 * v @ mechanism.mass_matrix(q, rotors=False) @ v
    assert energy == pytest.approx(oracle.energy(full, rates)[0], rel=1e-9)


def test_what_is_not_determined_or_not_there_is_refused_by_name() -> None:
    with pytest.raises(Refused, match="3 joints are driven and 2 can move by themselves"):
        arm("five_bar_3").mass_matrix([joint.start for joint in arm("five_bar_3").streamed])
    with pytest.raises(Refused, match="flexible links depend on how they swing"):
        arm("flexible_arm").forward_kinematics([0.0, 0.0], "fore")
    with pytest.raises(BadInput, match="no such link; did you mean 'hand'"):
        arm("three_link").jacobian([0.0, 0.0, 0.0], "hnad")
    with pytest.raises(BadInput, match="must end in 3"):
        arm("three_link").mass_matrix([0.0, 0.0])


def test_waypoints_as_data_are_those_of_the_same_file(tmp_path) -> None:
    mechanism, path = arm("three_link"), tmp_path / "way.toml"
    path.write_text('[[waypoint]]\njoints = { shoulder = 0.5 }\n[[waypoint]]\nxyz = [0.3, 0.2, 0.0]\nline = true\n',
                    encoding="utf-8")
    data = [{"joints": {"shoulder": np.float64(0.5)}}, {"xyz": np.array([0.3, 0.2, 0.0]), "line": True}]
    of_file, of_data = (plan_motion(mechanism, points, tip="hand:0.2,0,0") for points in (path, data))
    np.testing.assert_array_equal(of_file.trajectory.positions, of_data.trajectory.positions)


@pytest.mark.parametrize("points, rule", [
    ([], "at least one"), ([{"joint": {"elbow": 1.0}}], "waypoint.1.joint"), ([[0.1, 0.2, 0.3]], "must be a mapping"),
    ([{"joints": {"elbow": np.nan}}], "waypoint.1.joints"), ([{"joints": {"elbwo": 0.1}}], "did you mean 'elbow'"),
])
def test_waypoints_that_cannot_be_right_are_refused_in_one_line(points, rule) -> None:
    with pytest.raises(BadInput, match=rule) as refused:
        waypoints.waypoints_of(points, arm("three_link"))
    assert "\n" not in str(refused.value)
