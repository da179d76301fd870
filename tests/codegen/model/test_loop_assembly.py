"""Comparison of closed loops with Pinocchio (tests/support/closed.py): assembly, kinematics and the reference's torque.
"""

from dataclasses import replace

import numpy as np
import pytest

from femtorque.codegen.common import MECHANISMS, BadInput, Refused
from femtorque.codegen.mechanism import BASE, Anchor, Joint, Link, Loop, Mechanism, load_mechanism
from femtorque.codegen.model.bodies import Model
from femtorque.codegen.model.kinematics import levers, pose
from femtorque.codegen.model.loop_assembly import SINGULAR, Assembly, ClosedMotion, assemble
from femtorque.codegen.model.loop_constraint import bias, cuts, jacobian, residual
from femtorque.codegen.motion import Trajectory, random_motion
from femtorque.codegen.reference import rigid, schemes
from femtorque.codegen.verify import examine
from femtorque.codegen.verify.check import passive_torque
from tests.support.closed import Closed
from tests.support.oracle import random_chain
from tests.support.sampling import asking

CLOSED = ("four_bar", "five_bar", "five_bar_3", "five_bar_4", "three_rrr", "palletizer", "delta", "six_bar", "stewart")
REDUNDANT = {"five_bar_3": 1, "five_bar_4": 2}


def example(name: str) -> tuple[Mechanism, Trajectory]:
    mechanism = load_mechanism(MECHANISMS / f"{name}.toml")
    return mechanism, Trajectory.load(MECHANISMS / f"{name}.csv", mechanism)


# ---- the constraint


@pytest.fixture(scope="module")
def branched() -> Model:
    """Return two random spatial branches with a prismatic joint, and a loop of every type between them."""
    rng = np.random.default_rng(7)
    chain = random_chain(rng, 6)
    joints = list(chain.joints)
    joints[3] = replace(joints[3], parent=joints[0].child)  # the second branch has the joints 3, 4, 5
    joints[4] = replace(joints[4], type="prismatic")

    def anchor(link: str) -> Anchor:
        return Anchor(link, rng.uniform(-0.3, 0.3, 3), rng.uniform(-1.0, 1.0, 3))

    loops = tuple(Loop(kind, kind, anchor(joints[2].child), anchor(joints[5].child))
                  for kind in ("ball", "planar", "revolute", "rigid"))
    return Model.of(replace(chain, joints=tuple(joints), loops=loops))


def test_jacobian_is_the_derivative_of_the_residual(branched: Model) -> None:
    q, h = np.random.default_rng(1).uniform(-1.0, 1.0, branched.n), 1e-6
    for cut in cuts(branched):
        slope = np.array([residual(branched, cut, pose(branched, q + h * e))
                          - residual(branched, cut, pose(branched, q - h * e))
                          for e in np.eye(branched.n)]).T / (2.0 * h)
        J = jacobian(branched, cut, at := pose(branched, q), levers(branched, at))
        np.testing.assert_allclose(J, slope, atol=1e-8)
        assert np.abs(J[:, 0]).max() < 1e-12 < np.abs(J[:, 1:]).max(axis=0).min()  # link 0 carries both sides


def test_bias_is_the_second_derivative_at_steady_rates(branched: Model) -> None:
    rng, h = np.random.default_rng(2), 1e-3
    q, velocities = rng.uniform(-1.0, 1.0, (5, branched.n)), rng.uniform(-1.0, 1.0, (5, branched.n))
    for cut in cuts(branched):
        r = {k: residual(branched, cut, pose(branched, q + k * h * velocities)) for k in (-2, -1, 0, 1, 2)}
        second = (-r[-2] + 16.0 * r[-1] - 30.0 * r[0] + 16.0 * r[1] - r[2]) / (12.0 * h**2)
        np.testing.assert_allclose(bias(branched, cut, q, velocities), second, atol=1e-8)


@pytest.mark.parametrize("name", CLOSED)
def test_mobility_and_roles_of_the_joints(name: str) -> None:
    mechanism, _ = example(name)
    assembly, oracle = assemble(Model.of(mechanism)), Closed(mechanism)
    assert assembly.mobility == oracle.mobility(assembly.start)
    assert list(assembly.passive) == oracle.passive.tolist() and list(assembly.actuated) == oracle.active.tolist()
    assert len(assembly.redundant) == REDUNDANT.get(name, 0)
    assert np.abs(oracle.residual(assembly.start)).max() < 1e-10
    assert {*assembly.independent, *assembly.dependent} == set(range(assembly.model.n))


def test_random_motions_keep_away_from_singular_poses_or_say_that_they_cannot() -> None:
    mechanism, _ = example("four_bar")
    assembly = assemble(Model.of(mechanism))
    for seed in range(3):
        motion = random_motion(mechanism, np.random.default_rng(seed))
        full = assembly.follow(motion.at(np.linspace(0.0, motion.duration, 200))[0])
        assert assembly.margin(full).min() > 0.15 and np.ptp(full, axis=0).max() > 0.05
    crank, *rest = mechanism.joints
    near = replace(mechanism, joints=(replace(crank, start=2.05), *rest))
    with pytest.raises(Refused, match="from a singular pose .1 is far., and random motions keep 0.15 away"):
        random_motion(near, np.random.default_rng(0))


def test_a_ball_in_a_plane_has_one_equation_too_many() -> None:
    mechanism, _ = example("four_bar")
    ball = replace(mechanism, loops=tuple(replace(loop, type="ball") for loop in mechanism.loops))
    hinge = replace(mechanism, loops=tuple(replace(loop, type="revolute") for loop in mechanism.loops))
    for changed, dropped in ((ball, 1), (hinge, 3)):
        assembly = assemble(Model.of(changed))
        assert len(assembly.kept) == 2 and len(assembly.dropped) == dropped
        assert examine(changed).data()["assembly"]["dropped"] == [assembly.row_name(r) for r in assembly.dropped]


def test_check_reports_the_mobility_of_loops() -> None:
    mechanism, _ = example("five_bar_3")
    told = examine(mechanism).data()
    assert told["assembly"]["mobility"] == 2 and len(told["assembly"]["redundant"]) == 1
    assert told["streamed"] == told["assembly"]["actuated"] and told["assembly"]["residual"] < 1e-12
    assert set(told["stiffest_gains"]) == set(told["streamed"])


def test_loops_that_do_not_close_are_refused_with_their_residual() -> None:
    mechanism, _ = example("four_bar")
    loop = mechanism.loops[0]
    far = replace(loop, b=replace(loop.b, xyz=loop.b.xyz + [1.0, 0.0, 0.0]))
    with pytest.raises(BadInput, match=rf"loop\.{loop.name}: does not close .* is left"):
        assemble(Model.of(replace(mechanism, loops=(far,))))


def test_too_few_motors_and_joints_that_nothing_holds_are_refused() -> None:
    mechanism, _ = example("five_bar")

    def actuated(*names: str) -> Model:
        return Model.of(replace(mechanism,
                                joints=tuple(replace(j, actuated=j.name in names) for j in mechanism.joints)))

    first, *_ = (j.name for j in mechanism.joints if j.actuated)
    with pytest.raises(BadInput, match="leave 2 ways to move, and 1 joints are actuated"):
        assemble(actuated(first))
    loose = Joint("loose", "revolute", BASE, "flap", np.zeros(3), np.zeros(3),
                  np.array([0.0, 0.0, 1.0]), actuated=False)
    flap = Link("flap", 0.1, np.array([0.1, 0.0, 0.0]), np.diag([1e-4] * 3))
    with pytest.raises(BadInput, match=r"joint\.loose: can move while every actuated joint stands still"):
        extra = [j for j in mechanism.joints if not j.actuated][0]
        assemble(Model.of(replace(
            mechanism, links=(*mechanism.links, flap),
            joints=(*(replace(j, actuated=True) if j is extra else j for j in mechanism.joints), loose))))


# ---- motion


@pytest.mark.parametrize("name", ["four_bar", "three_rrr", "delta"])
def test_all_joints_follow_as_pinocchio_says(name: str) -> None:
    mechanism, motion = example(name)
    assembly, oracle = assemble(Model.of(mechanism)), Closed(mechanism)
    t = np.linspace(0.0, motion.duration, 21)
    q, qd, qdd = ClosedMotion(assembly, motion).at(t)
    near = assembly.start
    for k, row in enumerate(zip(*motion.at(t), strict=True)):
        near, v, a = oracle.follow(*row, near)
        np.testing.assert_allclose(q[k], near, atol=1e-10)
        np.testing.assert_allclose(qd[k], v, atol=1e-9)
        np.testing.assert_allclose(qdd[k], a, atol=1e-5 * max(1.0, np.abs(a).max()))


@pytest.mark.parametrize("name", ["four_bar", "five_bar"])
def test_a_motion_through_a_singular_pose_is_refused(name: str) -> None:
    mechanism, _ = example(name)
    through = Trajectory.load(MECHANISMS / f"{name}_singular.csv", mechanism)
    with pytest.raises(Refused, match="singular pose"):
        schemes.torque(Model.of(mechanism), through, round(through.duration * 1000))


# ---- torque


def oracle_torque(mechanism: Mechanism, assembly: Assembly, motion: Trajectory, t: np.ndarray) -> np.ndarray:
    """Return Pinocchio's torques (N, n) of all joints at the poses of `assembly`. Another test checks these poses."""
    oracle, effort = Closed(mechanism), np.array([j.limits.effort for j in mechanism.streamed])
    weight = 1.0 / effort**2 if np.all(np.isfinite(effort)) else np.ones(len(effort))
    return np.array([oracle.inverse(*row, weight)[0]
                     for row in zip(*ClosedMotion(assembly, motion).at(t), strict=True)])


@pytest.mark.parametrize("name", CLOSED)
def test_instantaneous_torque_is_pinocchio_s_and_passive_joints_carry_nothing(name: str) -> None:
    mechanism, motion = example(name)
    model = Model.of(mechanism)
    assembly, t = assemble(model), np.linspace(0.0, motion.duration, 21)
    expected = oracle_torque(mechanism, assembly, motion, t)
    whole = rigid.newton_euler(model, *ClosedMotion(assembly, motion).at(t),
                                   assembly.conversion(rigid.matrix_form))
    peak = np.abs(expected).max()
    assert np.abs(whole - expected).max() < 1e-9 * peak
    assert np.abs(whole[:, list(assembly.passive)]).max(initial=0.0) < 1e-9 * peak
    np.testing.assert_allclose(schemes.exact(model, motion, t), expected[:, list(assembly.actuated)], atol=1e-9 * peak)


SECOND = ["four_bar", "five_bar_4", "three_rrr", "palletizer", pytest.param("delta", marks=pytest.mark.bench)]


@pytest.mark.parametrize("name", SECOND)
def test_the_incremental_reference_converges_at_second_order(name: str) -> None:
    mechanism, motion = example(name)
    errors = {}
    for hz in (500, 1000):
        model = Model.of(asking(mechanism, rate_hz=hz, knot_hz=hz))
        t, tau = schemes.torque(model, motion, round(0.5 * motion.duration * hz), rigid.recursion)
        expected = schemes.exact(model, motion, t)  # another test compares this torque with Pinocchio
        errors[hz] = np.abs(tau - expected).max() / np.abs(expected).max()
    assert 3.6 < errors[500] / errors[1000] < 4.4
    # a motion that is twice as fast has 4 times the error
    assert errors[1000] < (4e-5 if name == "three_rrr" else 1e-5)


def test_the_partition_is_warned_of_with_the_passive_torque_it_leaves() -> None:
    mechanism, _ = example("four_bar")
    told = examine(asking(mechanism, allocation="partition"))
    left = passive_torque(told.assemblies[0][1])
    assert any("leaves the cuts without force" in w and all(n in w for n in left) for w in told.warnings)


@pytest.mark.parametrize("way", [-1.0, 1.0])
def test_margin_falls_to_nothing_where_pinocchio_s_jacobian_loses_rank(way: float) -> None:
    mechanism, _ = example("five_bar")
    assembly, oracle = assemble(Model.of(mechanism)), Closed(mechanism)
    q, margins, ranks = assembly.start.copy(), [], []
    for _ in range(2000):  # move slowly towards the singular pose, with the base joints apart or together
        margins.append(float(assembly.margin(q)))
        ranks.append(np.linalg.svd(oracle.jacobian(q)[:, oracle.passive], compute_uv=False)[-1])
        if margins[-1] < 0.05:
            break
        step = assembly.velocity_matrix(q) @ [way, -way]
        q = assembly.close(q + min(8e-3, 4e-2 * margins[-1]**2) * step)
    assert margins[-1] < 0.05 and margins[0] > 0.5
    assert ranks[-1] / ranks[0] == pytest.approx(margins[-1] / margins[0], rel=0.8) and SINGULAR < 0.05
