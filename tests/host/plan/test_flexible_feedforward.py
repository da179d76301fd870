"""Compares the emitted march with a boundary-value problem. The two inverse models have no common equation.

The march uses the frame of the clamped root. femtorque.host.plan.tip_torques uses the frame of the chord. The two
models differ by terms of second order in the deflection, so the slew is scaled down by a factor of a hundred. In the
clamped frame the boundary-value problem is nonlinear, but converges in a few rounds. The nonlinear problem tests the
march at the full 60 degrees, where the tip bends by a fifth of the link's length."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

from femtorque.codegen.model import Model, flexible_tree
from femtorque.codegen.toolchain import CompiledStep
from femtorque.hil.scenarios import Slew
from femtorque.host.plan import boundary_value
from femtorque.host.plan.tip_torques import flexible_arm, tip_motion
from tests.support.flexible import LENGTH, MASS, one_link, two_link

SMALL = 0.01
LOAD = 0.05  # at the tip, kg


def slew(scale: float):
    """Return end time, motor motion and torque of a slew by 60 degrees in 0.5 s with 0.05 kg at the tip."""
    motion = Slew((0.0,), (scale * np.pi / 3.0,), 0.5)
    found = tip_motion(flexible_arm(one_link(3, damping=1e-3)), motion, 0.5, 2.5e-4, lead=(0.15, 0.15))
    return found.times[-1], CubicSpline(found.times, found.q), CubicSpline(found.times, found.torque)


def step_at(rate_hz: int) -> Model:
    mechanism = one_link(3, damping=1e-3)
    return Model.of(replace(mechanism, control=replace(mechanism.control, rate_hz=rate_hz, knot_hz=rate_hz // 4)))


def sampled(q: CubicSpline, end: float, rate_hz: int) -> np.ndarray:
    return q(np.clip((np.arange(round(end * rate_hz) + 2) - 0.5) / rate_hz, 0.0, end))


def clamped(damping: float = 1e-3, dt: float = 2.5e-4, lead: float = 0.15) -> tuple[float, CubicSpline, CubicSpline]:
    """Return the values of `slew` for the full angle, in the clamped beam's modes. Deflections are from the root's
    direction, theta:

        M w'' + C w' + (K + theta'^2 (G - M)) w = -c theta'',    theta = chord - w_tip / L,
        tau = (I + w'(M - G) w) theta'' + 2 theta' w'(M - G) w' + c w'',

    G: stiffening by the tension of the turning link, and the loss of inertia as the tip moves inwards. theta' and the
    quadratic terms are from the last round."""
    link = flexible_tree(one_link(3)).pieces[1].tip
    M, K = np.eye(link.modes) + LOAD * np.outer(link.tip, link.tip), np.diag(link.stiffness["y"])
    G, tip = link.drawn.second + LOAD * LENGTH * link.drawn.tip, link.tip
    c, I = link.gamma + LOAD * LENGTH * tip, MASS * LENGTH**2 / 3.0 + LOAD * LENGTH**2
    t = np.arange(round((0.5 + 2.0 * lead) / dt) + 1) * dt
    chord, rate, turn = (x[:, 0] for x in Slew((0.0,), (np.pi / 3.0,), 0.5).at(t - lead))
    theta_rate = rate
    for _ in range(14):
        problem = boundary_value.Problem(M - np.outer(c, tip) / LENGTH, damping * K,
                                         K + theta_rate[:, None, None] ** 2 * (G - M), -np.outer(turn, c), dt)
        w = boundary_value.solved(problem)
        before, theta_rate = theta_rate, rate - w.rate @ tip / LENGTH
    assert np.abs(theta_rate - before).max() < 1e-9
    theta_turn = turn - w.acceleration @ tip / LENGTH
    torque = ((I + np.sum(w.w @ (M - G) * w.w, axis=1)) * theta_turn
              + 2.0 * theta_rate * np.sum(w.w @ (M - G) * w.rate, axis=1) + w.acceleration @ c)
    return t[-1], CubicSpline(t, (chord - w.w @ tip / LENGTH)[:, None]), CubicSpline(t, torque[:, None])


@pytest.mark.parametrize(("scale", "peak"), [(SMALL, 0.8595), (1.0, 0.8623)],
                         ids=["across its chord", "clamped, 60 degrees"])
def test_the_marched_torque_converges_to_that_of_the_boundary_value_problem(scale, peak):
    end, q, torque = clamped() if scale == 1.0 else slew(scale)
    errors = {}
    for rate_hz in (500, 1000):
        t = (np.arange(round(end * rate_hz)) + 0.5) / rate_hz
        marched = CompiledStep(step_at(rate_hz), "double").torque(sampled(q, end, rate_hz))
        errors[rate_hz] = np.abs(marched - torque(t)).max() / scale
    found = np.abs(torque(torque.x)).max() / scale
    print(f"peak {found:.4f} N m; {1e6 * errors[1000]:.0f} uN m at 1 ms, {1e6 * errors[500]:.0f} at 2 ms")
    assert found == pytest.approx(peak, abs=1e-3)
    assert errors[1000] < 2e-4
    assert errors[500] / errors[1000] == pytest.approx(4.0, rel=0.1)


def test_the_arm_with_a_hand_on_a_spring_too():
    """Tsujita's arm has a rigid link, a flexible link, and a hand on a spring of 1 N m/rad."""
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
