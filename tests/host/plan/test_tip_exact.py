"""Tests a corrected plan on Pinocchio's chain, which is independent of the planner's chain."""

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

from femtorque.codegen.mechanism import Beam
from femtorque.codegen.model import Model
from femtorque.hil.scenarios import Slew
from femtorque.host.plan.chord_beam import End
from femtorque.host.plan.exact_link import Chain, swung
from femtorque.host.plan.tip_exact import corrected
from femtorque.host.plan.tip_torques import flexible_arm, tip_motion
from tests.support import flexible_chain, oracle
from tests.support.flexible import EI, LENGTH, MASS, one_link, two_link

DT = 2.5e-4
AFTER = 0.6  # s
SLEW = Slew((0.0,), (np.pi / 3.0,), 0.5)


class Splined:
    def __init__(self, t, q) -> None:
        self.end, self.q = t[-1], CubicSpline(t, q)

    def at(self, t):
        t = np.clip(t, 0.0, self.end)
        return self.q(t), self.q(t, 1) * (t < self.end), self.q(t, 2) * (t < self.end)


def tried(mechanism, motion, segments: int) -> tuple[np.ndarray, np.ndarray]:
    """Return torques (T, n) of Pinocchio's chain, and the tip (T', 2) from the hub after the motion."""
    chain, end = flexible_chain.Chain.of(mechanism, segments), motion.times[-1]
    ticks = round((end + AFTER) / DT)
    tau, bent = chain.marched(Splined(motion.times, motion.q), 0.0, ticks, DT)
    turned = np.cumsum(np.hstack([np.zeros((ticks + 1, 1)), bent]), axis=1)
    ways = np.full(segments + 1, LENGTH / segments)
    ways[[0, -1]] *= 0.5
    after = np.arange(ticks + 1) * DT > end
    return tau, np.stack([np.cos(turned) @ ways, np.sin(turned) @ ways], axis=1)[after]


@pytest.mark.bench
def test_a_slew_of_60_degrees_leaves_the_exact_link_at_rest():
    """A linear plan leaves 3.6 to 4.3 mm for any number of elements."""
    mechanism = one_link(3, damping=1e-3)
    arm = flexible_arm(mechanism)
    linear = tip_motion(arm, SLEW, 0.5, DT, lead=(0.25, 0.25))
    found = corrected(arm, SLEW, 0.5, DT, (0.25, 0.25))
    swings = {}
    for name, motion in (("linear", linear), ("exact", found.motion)):
        coarse, fine = (tried(mechanism, motion, n)[1] for n in (24, 48))
        swings[name] = float(np.hypot(*np.ptp((4.0 * fine - coarse) / 3.0, axis=0)))
    peak = np.abs(found.motion.torque).max()
    print(f"{1e3 * swings['linear']:.2f} mm, corrected {1e3 * swings['exact']:.3f} mm ({1e3 * found.linear:.2f} and "
          f"{1e3 * found.left:.3f} as planned); peak {peak:.4f} N m; off its path by {1e3 * found.off:.2f} mm")
    assert 3e-3 < swings["linear"] < 5e-3
    assert swings["exact"] < swings["linear"] / 20.0
    assert found.linear == pytest.approx(swings["linear"], rel=0.05)
    assert peak == pytest.approx(0.856, abs=1e-3)
    torque = tried(mechanism, found.motion, 48)[0][: len(found.motion.times)]
    assert np.abs(torque - found.motion.torque).max() < 2e-3 * peak


def test_an_arm_that_ends_in_a_hand_on_a_spring():
    mechanism = two_link(2, spring=20.0, gravity=(0.0, -1.0, 0.0), stiffness=2.0)
    motion = Slew((0.2, 0.8), (0.6, 0.2), 0.5)
    found = corrected(flexible_arm(mechanism), motion, 0.5, DT, (0.2, 0.2))
    assert found.left < found.linear / 5.0
    chain = flexible_chain.Chain.of(mechanism, 32)
    tau, _ = chain.marched(Splined(found.motion.times, found.motion.q), 0.0, len(found.motion.times) - 1, DT)
    np.testing.assert_allclose(tau, found.motion.torque, atol=3e-3 * np.abs(tau).max())


def test_anchored_joints_begin_where_the_linear_plan_has_them():
    mechanism = two_link(2, gravity=(0.0, -9.81, 0.0), stiffness=1.0)
    arm, motion = flexible_arm(mechanism), Slew((0.2, 0.8), (0.3, 0.7), 0.5)
    linear = tip_motion(arm, motion, 0.5, DT, lead=(0.2, 0.2))
    free, anchored = (corrected(arm, motion, 0.5, DT, (0.2, 0.2), anchored=a) for a in (False, True))
    assert np.abs(anchored.motion.q[0] - linear.q[0]).max() < 1e-5
    assert np.abs(free.motion.q[0] - linear.q[0]).max() > 1e-4


def test_a_stiff_link_is_a_rigid_one():
    mechanism = one_link(2, stiffness=5e4)
    t = np.arange(801) * DT
    q, qd, qdd = (x[:, 0] for x in Slew((0.1,), (0.6,), 0.2).at(t))
    beam, end = Beam(LENGTH, (np.inf, 5e4), 2, 0.0), End(mass=0.05)
    done = swung(Chain.of(MASS, beam, end, 4), (q, qd, qdd), np.tile([0.0, 9.81], (len(t), 1)), DT)
    rigid = oracle.rnea(Model.of(mechanism), q[:, None], qd[:, None], qdd[:, None])[:, 0]
    weight = 9.81 * np.cos(q) * (0.5 * MASS + 0.05) * LENGTH
    assert np.abs(done.moment - rigid - weight).max() < 1e-3 * np.abs(done.moment).max()


def test_static_sag_is_that_of_a_cantilever_where_it_is_small():
    beam, t = Beam(LENGTH, (np.inf, 20.0 * EI), 2, 1e-3), np.zeros(3)
    done = swung(Chain.of(MASS, beam, End(mass=0.05), 24), (t, t, t), np.tile([0.0, 9.81], (3, 1)), DT)
    sag = 9.81 * (MASS * LENGTH**3 / 8.0 + 0.05 * LENGTH**3 / 3.0) / (20.0 * EI)
    assert -done.tip[0, 1] == pytest.approx(sag, rel=2e-3)
    assert np.ptp(done.tip[:, 1]) < 1e-9
