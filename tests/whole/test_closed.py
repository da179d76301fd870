"""Compares the tests' reference for closed mechanisms with Pinocchio, difference quotients and power."""

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest

from femtorque.codegen.mechanism import load_mechanism
from femtorque.codegen.motion import Trajectory
from tests.support.closed import Closed
from tests.support.closed_motions import MECHANISMS, PLANS, rows, text

CLOSED = ("four_bar", "five_bar", "five_bar_3", "five_bar_4", "three_rrr", "palletizer", "delta", "six_bar", "stewart")


def moving(name: str, seed: int = 0) -> tuple[Closed, np.ndarray, np.ndarray, np.random.Generator]:
    """Return a closed mechanism, a pose, random rates that satisfy the loop equations, and the generator."""
    mechanism = load_mechanism(MECHANISMS / f"{name}.toml")
    closed, rng = Closed(mechanism), np.random.default_rng(seed)
    motion = Trajectory.load(MECHANISMS / f"{name}.csv", mechanism)
    q = closed.start.copy()
    for t in np.linspace(0.0, 0.45 * motion.duration, 20):
        q[closed.active] = motion.at(t)[0]
        q = closed.assemble(q, closed.active)
    N = closed.freedoms(q)
    return closed, q, N @ rng.uniform(-2.0, 2.0, N.shape[1]), rng


@pytest.mark.parametrize("name", CLOSED)
def test_rates_and_accelerations_of_closures_equal_their_differences(name: str) -> None:
    closed, q, v, rng = moving(name)
    a, h = rng.uniform(-3.0, 3.0, closed.n), 1e-4

    def residual(t: float) -> np.ndarray:
        return closed.residual(q + t * v + 0.5 * t * t * a)

    first = (residual(h) - residual(-h)) / (2 * h)
    second = (residual(h) - 2 * residual(0.0) + residual(-h)) / h**2
    J = closed.jacobian(q)
    np.testing.assert_allclose(J @ v, first, atol=1e-6)
    np.testing.assert_allclose(J @ a + closed.drift(q, v), second, atol=2e-6 * max(1.0, np.abs(second).max()))


@pytest.mark.parametrize("name", CLOSED)
def test_inverse_undoes_forward_and_passive_joints_carry_nothing(name: str) -> None:
    closed, q, v, rng = moving(name)
    tau = np.zeros(closed.n)
    tau[closed.active] = rng.uniform(-1.0, 1.0, len(closed.active))
    a, _ = closed.forward(q, v, tau)
    assert np.abs(closed.jacobian(q) @ a + closed.drift(q, v)).max() < 1e-9 * np.abs(a).max()
    found, _ = closed.inverse(q, v, a)
    assert np.abs(found[closed.passive]).max(initial=0.0) < 1e-10
    assert np.linalg.norm(found) <= np.linalg.norm(tau) * (1.0 + 1e-9)
    again, _ = closed.forward(q, v, found)
    np.testing.assert_allclose(again, a, atol=1e-9 * np.abs(a).max())
    # The power of the torques equals the rate of change of the energy plus the friction losses.
    h = 1e-5
    ahead, behind = (sum(closed.energy(q + s * v + 0.5 * s * s * a, v + s * a)) for s in (h, -h))
    power = (found - closed.rubbing(v)) @ v
    assert power == pytest.approx((ahead - behind) / (2 * h), abs=1e-5 * max(1.0, np.abs(found).max()))


@pytest.mark.parametrize("name", ["five_bar", "five_bar_4", "three_rrr"])
def test_accelerations_equal_pinocchios_constraint_dynamics(name: str) -> None:
    """Pinocchio's ball joint gives three rows, of which one is here a combination of the others."""
    closed, q, v, rng = moving(name)
    mechanism = closed.mechanism
    balls = Closed(replace(mechanism, loops=tuple(replace(loop, type="ball") for loop in mechanism.loops)))
    tau = np.zeros(closed.n)
    tau[closed.active] = rng.uniform(-1.0, 1.0, len(closed.active))
    model = balls.model
    contacts, datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    for a, b in balls._frames:
        frames = model.frames[a], model.frames[b]
        contacts.append(pin.RigidConstraintModel(
            pin.ContactType.CONTACT_3D, model, frames[0].parentJoint, frames[0].placement, frames[1].parentJoint,
            frames[1].placement, pin.ReferenceFrame.LOCAL))
    data = model.createData()
    for contact in contacts:
        datas.append(contact.createData())
    pin.initConstraintDynamics(model, data, contacts, datas)
    settings = pin.ProximalSettings(1e-14, 1e-14, 1e-10, 200)
    expected = pin.constraintDynamics(model, data, q, v, tau - closed.rubbing(v), contacts, datas, settings)
    found, _ = closed.forward(q, v, tau)
    np.testing.assert_allclose(found, expected, atol=1e-8 * np.abs(expected).max())


@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: plan.file)
def test_the_motions_in_the_files_are_the_ones_described(plan) -> None:
    if plan.file in ("two_arm_grasp",):
        header, values, modes = rows(plan)
        given = (MECHANISMS / f"{plan.file}.csv").read_text().splitlines()
        made = text(header, values, modes).splitlines()
        assert given[0] == made[0] and len(given) == len(made)
        for line, other in zip(given[1:], made[1:], strict=True):
            cells, others = line.split(","), other.split(",")
            width = len(header)
            np.testing.assert_allclose([float(x) for x in cells[:width]], [float(x) for x in others[:width]], atol=1e-7)
            assert cells[width:] == others[width:]
    mechanism = load_mechanism(MECHANISMS / f"{plan.mechanism}.toml")
    motion = Trajectory.load(MECHANISMS / f"{plan.file}.csv", mechanism)
    assert motion.starts_at_rest and motion.ends_at_rest
    np.testing.assert_allclose(motion.positions[0], [joint.start for joint in mechanism.streamed], atol=1e-6)
    assert [name for _, name in motion.modes] == [leg.mode for leg in plan.legs if leg.mode]


def test_the_singular_motions_reach_a_pose_whose_closure_leaves_a_passive_joint_free() -> None:
    for name in ("four_bar", "five_bar"):
        mechanism = load_mechanism(MECHANISMS / f"{name}.toml")
        closed = Closed(mechanism)
        for file, singular in ((name, False), (f"{name}_singular", True)):
            motion = Trajectory.load(MECHANISMS / f"{file}.csv", mechanism)
            q, least = closed.start.copy(), np.inf
            try:
                for t in np.arange(0.0, motion.duration, 5e-3 if singular else 3e-2):
                    q[closed.active] = motion.at(t)[0]
                    q = closed.assemble(q, closed.active)
                    least = min(least, np.linalg.svd(closed.jacobian(q)[:, closed.passive])[1].min())
                open_again = False
            except ValueError:
                open_again = True
            assert open_again == singular
            assert least < 0.03 if singular else least > 0.05


