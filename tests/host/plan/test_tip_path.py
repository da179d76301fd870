"""Compares joint velocities and accelerations from the tip's path with difference quotients, and tests refusals."""

from dataclasses import replace

import numpy as np
import pytest

from femtorque.codegen.common import Refused
from femtorque.hil.scenarios import SMOOTH
from femtorque.host.plan.tip_path import chord_motion
from femtorque.host.plan.tip_torques import flexible_arm, tip
from tests.support.flexible import one_link, two_link

DT = 1e-3


class Line:
    """A straight motion from `a` to `b` (3,) in one second."""

    def __init__(self, a, b) -> None:
        self.a, self.way = np.array(a), np.subtract(b, a)

    def at(self, t):
        x = np.asarray(t, float)[..., None]
        return self.a + SMOOTH(x) * self.way, SMOOTH.deriv()(x) * self.way, SMOOTH.deriv(2)(x) * self.way


def turned(mechanism):
    """Return an arm with a rotated shoulder and a reversed elbow axis."""
    shoulder, elbow, *rest = mechanism.joints
    return replace(mechanism, joints=(replace(shoulder, rpy=np.array([0.3, -0.8, 0.5]), xyz=np.array([0.1, 0.2, 0.3])),
                                      replace(elbow, axis=-elbow.axis), *rest))


@pytest.mark.parametrize("mechanism", [two_link(spring=1.0), turned(two_link())])
@pytest.mark.parametrize("elbow", [0.8, -0.8])
def test_tip_is_on_its_path_and_rates_and_accelerations_are_those_of_the_positions(mechanism, elbow):
    arm = flexible_arm(mechanism)
    a, b = tip(arm, np.array([[0.2, elbow]]))[0], tip(arm, np.array([[0.7, 1.9 * elbow]]))[0]
    path = Line(a, b)
    found = chord_motion(arm, path, 1.0, DT, np.array([0.2, elbow]))
    assert np.abs(tip(arm, found.positions) - path.at(found.times)[0]).max() < 1e-9
    assert np.sign(found.positions[:, 1]) == pytest.approx(np.sign(elbow))
    numeric = np.gradient(found.positions, DT, axis=0, edge_order=2)
    assert np.abs(numeric - found.velocities)[2:-2].max() < 1e-4 * np.abs(found.velocities).max()
    numeric = np.gradient(found.velocities, DT, axis=0, edge_order=2)
    assert np.abs(numeric - found.accelerations)[2:-2].max() < 1e-4 * np.abs(found.accelerations).max()


def test_one_joint_follows_an_arc():
    arm = flexible_arm(one_link())

    class Arc:
        def at(self, t):
            angle, rate, turn = (f(np.asarray(t, float)) for f in (SMOOTH, SMOOTH.deriv(), SMOOTH.deriv(2)))
            e, n = (0.4 * np.stack(v, -1) for v in ((np.cos(angle), np.sin(angle), 0 * angle),
                                                   (-np.sin(angle), np.cos(angle), 0 * angle)))
            return e, rate[..., None] * n, turn[..., None] * n - rate[..., None] ** 2 * e

    found = chord_motion(arm, Arc(), 1.0, DT, np.zeros(1))
    assert found.positions[:, 0] == pytest.approx(SMOOTH(found.times), abs=1e-8)
    assert found.accelerations[:, 0] == pytest.approx(SMOOTH.deriv(2)(found.times), abs=1e-6)


@pytest.mark.parametrize(("path", "words"), [
    (Line((0.7, 0.7, 0.0), (0.2, 0.7, 0.0)), r"t = 0.000 s it is 0.990 m from shoulder, .* from 0.100 to 0.900 m"),
    (Line((0.5, 0.5, 0.0), (0.0, 0.05, 0.0)), r"it is 0.050 m from shoulder"),
    (Line((0.5, 0.5, 0.0), (0.5, 0.5, 0.1)), "leaves the plane of the arm by 0.1 m"),
    (Line((0.5, 0.4, 0.0), (0.9, 0.0, 0.0)), "stretched or folded"),
])
def test_paths_that_cannot_be_followed_are_refused(path, words):
    with pytest.raises(Refused, match=words):
        chord_motion(flexible_arm(two_link()), path, 1.0, DT, np.array([0.2, 1.0]))
