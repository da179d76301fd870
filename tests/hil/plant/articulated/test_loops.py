"""Closed loops: a four-bar against minimal coordinates, dependent rows, every type of closure."""

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq
from scipy.spatial.transform import Rotation

from femtorque.codegen.common import Refused
from femtorque.codegen.mechanism import Anchor, Loop
from femtorque.hil.plant.articulated.plant import Plant
from tests.support import oracle

GRAVITY = 9.81
GROUND_BAR, CRANK, COUPLER, ROCKER = 0.30, 0.12, 0.28, 0.22
MASS = {"crank": 0.3, "coupler": 0.5, "rocker": 0.4}


def four_bar(kind: str = "revolute"):
    """Crank and coupler in a chain, the rocker on a hinge of its own, closed between their ends; all about z."""
    base = oracle.planar_chain(3)
    lengths = dict(zip(MASS, (CRANK, COUPLER, ROCKER), strict=True))
    links = tuple(
        replace(base.links[0], name=name, mass=m, com=np.array([lengths[name] / 2.0, 0.0, 0.0]),
                inertia=np.diag([1e-5, 0.0, 0.0]) + m * lengths[name] ** 2 / 12.0 * np.diag([0.0, 1.0, 1.0]))
        for name, m in MASS.items()
    )
    q = pose(1.0)
    hang = (("base", "crank", 0.0), ("crank", "coupler", CRANK), ("base", "rocker", GROUND_BAR))
    joints = tuple(
        replace(base.joints[0], name=f"j_{child}", parent=parent, child=child, xyz=np.array([x, 0.0, 0.0]), start=start)
        for (parent, child, x), start in zip(hang, q, strict=True)
    )
    zero = np.zeros(3)
    loop = Loop("pin", kind, Anchor("coupler", np.array([COUPLER, 0.0, 0.0]), zero),
                Anchor("rocker", np.array([ROCKER, 0.0, 0.0]), zero))
    return replace(base, links=links, joints=joints, loops=(loop,))


def pose(crank: float) -> np.ndarray:
    """Crank, coupler (relative to the crank) and rocker angles of the open assembly, by geometry."""
    end = CRANK * np.array([np.cos(crank), np.sin(crank)])

    def gap(rocker: float) -> float:
        tip = np.array([GROUND_BAR + ROCKER * np.cos(rocker), ROCKER * np.sin(rocker)])
        return float(np.linalg.norm(tip - end)) - COUPLER

    rocker = brentq(gap, 0.2, 2.6)
    tip = np.array([GROUND_BAR + ROCKER * np.cos(rocker), ROCKER * np.sin(rocker)]) - end
    return np.array([crank, np.arctan2(tip[1], tip[0]) - crank, rocker])


def minimal(crank: float, rate: float, duration: float) -> float:
    """Crank angle after `duration`: Lagrange's equation of one coordinate, T = I(q) q'^2 / 2, by SciPy."""
    def places(q: float) -> np.ndarray:  # x, y, angle of each bar's middle
        a, b, c = pose(q)
        return np.array([
            [CRANK / 2 * np.cos(a), CRANK / 2 * np.sin(a), a],
            [CRANK * np.cos(a) + COUPLER / 2 * np.cos(a + b), CRANK * np.sin(a) + COUPLER / 2 * np.sin(a + b), a + b],
            [GROUND_BAR + ROCKER / 2 * np.cos(c), ROCKER / 2 * np.sin(c), c],
        ])

    masses = np.array(list(MASS.values()))
    moments = masses * np.array([CRANK, COUPLER, ROCKER]) ** 2 / 12.0
    d = 1e-4

    def inertia(q: float) -> float:
        slope = (places(q - 2 * d) - 8 * places(q - d) + 8 * places(q + d) - places(q + 2 * d)) / (12 * d)
        return float(masses @ (slope[:, :2] ** 2).sum(axis=1) + moments @ slope[:, 2] ** 2)

    def height(q: float) -> float:
        return float(masses @ places(q)[:, 1]) * GRAVITY

    def motion(_, y):
        bend = (inertia(y[0] + d) - inertia(y[0] - d)) / (2 * d)
        fall = (height(y[0] + d) - height(y[0] - d)) / (2 * d)
        return [y[1], (-0.5 * bend * y[1] ** 2 - fall) / inertia(y[0])]

    return float(solve_ivp(motion, (0.0, duration), [crank, rate], rtol=1e-9, atol=1e-10).y[0, -1])


@pytest.mark.parametrize(("kind", "dropped"), [("ball", 1), ("planar", 0), ("revolute", 3)])
def test_a_four_bar_moves_as_its_one_coordinate_does_whatever_closes_it(kind, dropped):
    plant = Plant(four_bar(kind), max_step=2.5e-4)
    assert len(plant.system.dropped) == dropped and all(name.startswith("pin: ") for name in plant.system.dropped)
    assert sum("dependent row dropped: pin" in note for note in plant.notes) == dropped
    assert len(plant.system.rows) + 6 * 3 == 12 * 3 - 1  # one freedom left
    plant.push(0.6, np.zeros(3))
    end = minimal(1.0, 0.0, 0.6)
    assert abs(end - 1.0) > 0.5
    assert plant.q[0] == pytest.approx(end, abs=2e-6)
    assert plant.cycle.closure() < 3e-12


def test_a_driven_four_bar_turns_over_and_keeps_its_energy():
    some = Plant(four_bar(), velocities=[1.0, 0.0, 0.0]).v  # the nearest that the loop allows
    plant = Plant(four_bar(), velocities=15.0 * some / some[0])
    assert plant.v[0] == pytest.approx(15.0, rel=1e-9)
    start = plant.kinetic() + plant.potential()
    plant.push(1.0, np.zeros(3))
    assert plant.q[0] - 1.0 > 2.0 * np.pi
    assert plant.kinetic() + plant.potential() == pytest.approx(start, rel=1e-3)


def test_a_loop_that_cannot_close_is_refused_by_name():
    mechanism = four_bar()
    far = replace(mechanism.loops[0], b=Anchor("rocker", np.array([0.9, 0.0, 0.0]), np.zeros(3)))
    with pytest.raises(Refused, match="do not close.*pin"):
        Plant(replace(mechanism, loops=(far,)))


def test_a_rigid_loop_between_two_arms_makes_them_one():
    """Two equal pendula side by side in a rigid tie cannot move: their hinges are not in line."""
    base = oracle.planar_chain(2)
    joints = (base.joints[0], replace(base.joints[1], parent="base", xyz=np.array([0.3, 0.0, 0.0])))
    tie = Loop("tie", "rigid", Anchor("link1", np.array([0.2, 0.0, 0.0]), np.zeros(3)),
               Anchor("link2", np.array([-0.1, 0.0, 0.0]), np.zeros(3)))
    plant = Plant(replace(base, joints=joints, loops=(tie,)))
    start = plant.q.copy()
    plant.push(0.1, [1.0, 0.0])
    np.testing.assert_allclose(plant.q, start, atol=1e-9)


def test_a_parallelogram_stretched_out_at_the_start_keeps_the_rows_it_needs_elsewhere():
    """At the flat pose more rows are dependent than elsewhere; the plant judges beside it which rows it needs."""
    mechanism = four_bar("planar")
    equal = {"crank": 0.2, "coupler": 0.3, "rocker": 0.2}
    links = tuple(replace(link, com=np.array([equal[link.name] / 2, 0.0, 0.0])) for link in mechanism.links)
    joints = (replace(mechanism.joints[0], start=0.0),
              replace(mechanism.joints[1], start=0.0, xyz=np.array([0.2, 0.0, 0.0])),
              replace(mechanism.joints[2], start=0.0, xyz=np.array([0.3, 0.0, 0.0])))
    loop = replace(mechanism.loops[0], a=Anchor("coupler", np.array([0.3, 0.0, 0.0]), np.zeros(3)),
                   b=Anchor("rocker", np.array([0.2, 0.0, 0.0]), np.zeros(3)))
    with pytest.raises(Refused, match="singular pose: pin"):
        Plant(replace(mechanism, links=links, joints=joints, loops=(loop,)))


@pytest.mark.parametrize(("kind", "rows"), [("ball", 3), ("rigid", 6)])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_accelerations_of_spatial_loops_are_those_of_constrained_forward_dynamics(kind, rows, seed):
    """Two arms of four joints each with any geometry, tied at their ends, compared with Pinocchio's contact
    dynamics."""
    rng = np.random.default_rng(seed)
    left, right = oracle.random_chain(rng, 4), oracle.random_chain(rng, 4)

    def renamed(mechanism, side: str):
        name = {"base": "base"} | {link.name: f"{side}{link.name}" for link in mechanism.links}
        return ([replace(link, name=name[link.name]) for link in mechanism.links],
                [replace(j, name=f"{side}{j.name}", parent=name[j.parent], child=name[j.child])
                 for j in mechanism.joints])

    links, joints = (a + b for a, b in zip(renamed(left, "l"), renamed(right, "r"), strict=True))
    open_chain = replace(left, links=tuple(links), joints=tuple(joints))
    # the closure lies at the ends in a random pose, in which it is therefore closed
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
    # M a + b = tau + J' lambda and J a = -(relative acceleration of the ends at a = 0), with all terms of Pinocchio
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
