"""The emitted march against the torque of the boundary-value problem: two inverse models that share no equation.

The march has the flexible link clamped to its joint, the boundary-value problem has it across its chord; so they agree
to second order in the deflection. The slew is scaled down a hundred times to leave the discretisation alone, and up
again to state its error at the full 60 degrees.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

from codegen.compiled import CompiledStep
from codegen.model import Model
from hil import chip_step
from host.tip_motion import flexible_arm, tip_motion
from tests.flexible import Slew, one_link, two_link

SMALL = 0.01


def slew(scale: float):
    """The motion of the motor for 60 degrees in 0.5 s, tip 0.05 kg, and its torque by boundary values."""
    motion = Slew((0.0,), (scale * np.pi / 3.0,), 0.5)
    found = tip_motion(flexible_arm(one_link(3, damping=1e-3)), motion, 0.5, 2.5e-4, lead=(0.15, 0.15))
    return found.times[-1], CubicSpline(found.times, found.q), CubicSpline(found.times, found.torque)


def step_at(rate_hz: int) -> Model:
    mechanism = one_link(3, damping=1e-3)
    return Model.of(replace(mechanism, control=replace(mechanism.control, rate_hz=rate_hz, knot_hz=rate_hz // 4)))


def sampled(q: CubicSpline, end: float, rate_hz: int) -> np.ndarray:
    return q(np.clip((np.arange(round(end * rate_hz) + 2) - 0.5) / rate_hz, 0.0, end))


def test_the_marched_torque_converges_to_that_of_the_boundary_value_problem():
    end, q, torque = slew(SMALL)
    errors = {}
    for rate_hz in (500, 1000):
        t = (np.arange(round(end * rate_hz)) + 0.5) / rate_hz
        marched = CompiledStep(step_at(rate_hz), "double").torque(sampled(q, end, rate_hz))
        errors[rate_hz] = np.abs(marched - torque(t)).max() / SMALL
    peak = np.abs(torque(torque.x)).max() / SMALL
    print(f"peak {peak:.4f} N m; {1e6 * errors[1000]:.0f} uN m at 1 ms, {1e6 * errors[500]:.0f} at 2 ms")
    assert peak == pytest.approx(0.8595, abs=1e-3)
    assert errors[1000] < 2e-4
    assert errors[500] / errors[1000] == pytest.approx(4.0, rel=0.1)


def test_single_precision_adds_little_and_the_chip_has_the_same_bits():
    """At 1 ms two half increments rounded to single precision are 1.2e-5 of peak by themselves."""
    end, q, _ = slew(1.0)
    positions, model = sampled(q, end, 1000), step_at(1000)
    double, single = (CompiledStep(model, precision).torque(positions) for precision in ("double", "single"))
    error = np.abs(single - double).max() / np.abs(double).max()
    print(f"single precision: {error:.2g} of peak")
    assert error < 4e-5
    assert np.array_equal(chip_step.run(model, positions).tau.view(np.uint32), single.view(np.uint32))


def test_the_arm_with_a_hand_on_a_spring_too():
    """Rigid link, flexible link, hand on 1 N m/rad (Tsujita's arm): the march knows joints and springs, not the chord."""
    mechanism, small, errors = two_link(3, spring=1.0, gravity=(0.0, 0.0, 0.0)), 0.003, []
    motion = Slew((-1.3, 1.2), (-1.3 + 0.6 * small, 1.2 - 0.5 * small), 0.5)
    found = tip_motion(flexible_arm(mechanism), motion, 0.5, 2.5e-4, lead=(0.2, 0.2))
    q, torque, end = CubicSpline(found.times, found.q), CubicSpline(found.times, found.torque), found.times[-1]
    for rate_hz in (500, 1000):
        model = Model.of(replace(mechanism, control=replace(mechanism.control, rate_hz=rate_hz, knot_hz=rate_hz // 4)))
        t = (np.arange(round(end * rate_hz)) + 0.5) / rate_hz
        marched = CompiledStep(model, "double").torque(sampled(q, end, rate_hz))
        errors.append(np.abs(marched - torque(t)).max(axis=0) / np.abs(found.torque).max(axis=0))
    assert np.all(errors[1] < [5e-5, 5e-4])
    assert errors[0][0] / errors[1][0] == pytest.approx(4.0, rel=0.15)
