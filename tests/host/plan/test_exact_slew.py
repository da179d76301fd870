"""Compares elements and time steps with the exact beam, in a slew of a flexible link by 60 degrees in 0.5 s. For
increasing numbers of elements, the planner's torque converges to the inverse of the exact beam (transcendental
equations). The expected swing after the planned motion comes from the exact clamped beam, not from a simulated
plant."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

from femtorque.hil.scenarios import Slew
from femtorque.host.plan.tip_torques import TipMotion, flexible_arm, tip_motion
from tests.support.exact_slew import Link
from tests.support.flexible import EI, LENGTH, MASS, one_link

WAY, DURATION, DAMPING = np.pi / 3.0, 0.5, 1e-3
SMALL = 1e-3  # factor on the angle: terms of second order become negligible, and the result is divided by this factor
LEAD = 0.25  # s
LINK = Link(LENGTH, MASS, EI, 0.05, DAMPING)
STEP = 2.5e-4  # s
AFTER = np.arange(DURATION + LEAD + 1e-3, 1.5, 1e-3)


def planned(elements: int, step: float = STEP) -> TipMotion:
    arm = flexible_arm(one_link(elements, damping=DAMPING))
    found = tip_motion(arm, Slew((0.0,), (SMALL * WAY,), DURATION), DURATION, step, lead=(LEAD, LEAD))
    return replace(found, qdd=found.qdd[:, 0] / SMALL, torque=found.torque[:, 0] / SMALL,
                   times=found.times - found.path_start)


def left(found: TipMotion) -> float:
    """Return the tip's peak-to-peak swing at rest, mm."""
    return 1e3 * float(np.ptp(LINK.swing(found.times, found.qdd, AFTER)))


def test_the_torque_converges_to_that_of_the_exact_inverse():
    times, _, torque = LINK.slewed(WAY, DURATION)
    exact = CubicSpline(times, torque)
    errors, peaks = [], []
    for elements in (2, 3, 4, 5):
        found = planned(elements)
        errors.append(np.abs(found.torque - exact(found.times)).max())
        peaks.append(np.abs(found.torque).max())
    print(f"exact peak {np.abs(torque).max():.6f} N m; by elements {peaks}, off by {errors}")
    assert np.abs(torque).max() == pytest.approx(0.859521, abs=1e-6)
    assert peaks[-1] == pytest.approx(np.abs(torque).max(), abs=1e-5)
    assert errors[-1] < 1e-5
    assert all(b < 0.45 * a for a, b in zip(errors, errors[1:], strict=False))


def test_the_exact_inverse_leaves_nothing_swinging():
    """The exact inverse and the exact beam agree."""
    times, turn, _ = LINK.slewed(WAY, DURATION)
    during = times < DURATION + LEAD
    assert 1e3 * np.ptp(LINK.swing(times[during], turn[during], AFTER)) < 1e-5
    rigid = np.arange(0.0, DURATION, STEP)
    turn = Slew((0.0,), (WAY,), DURATION).at(rigid)[2][:, 0]
    assert 1e3 * np.ptp(LINK.swing(rigid, turn, AFTER)) == pytest.approx(456.0, abs=0.5)


def test_more_elements_leave_less_swinging():
    """The error is of second order, so two time steps give the limit for a step of zero."""
    found = []
    for elements in (2, 3, 4, 5):
        coarse, fine = (left(planned(elements, step)) for step in (STEP, STEP / 2.0))
        found.append((4.0 * fine - coarse) / 3.0)
    print("left swinging, mm:", found)
    assert found == pytest.approx([0.1181, 0.0249, 0.0080, 0.0033], abs=1e-4)
