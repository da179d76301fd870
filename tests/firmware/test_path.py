"""The streamed path (wire integers, ring, quintic, inverse dynamics) against Newton-Euler without rounding."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from femtorque.codegen.model import Model, mass_matrix
from femtorque.codegen.motion import Knots, from_rows, knots
from femtorque.codegen.toolchain import CompiledPath, CompiledStep
from femtorque.codegen.wire import Codec, Knot
from tests.support import oracle


@cache
def arm(kind, n, rate_hz=1000, knot_hz=250, seed=5):
    if kind == "planar":
        mechanism = oracle.planar_chain(n, rate_hz=rate_hz)
    else:
        mechanism = oracle.random_chain(np.random.default_rng(seed), n, rate_hz=rate_hz)
    return replace(mechanism, control=replace(mechanism.control, knot_hz=knot_hz))


def sampled(mechanism, motion):
    """Return knots in rad, rad/s, rad/s^2 at the knot rate: K = duration * knot_hz + 1."""
    t = np.arange(round(motion.duration * mechanism.control.knot_hz) + 1) / mechanism.control.knot_hz
    return motion(t), motion.rate(t), motion.acceleration(t)


def on_the_wire(mechanism, motion):
    """Return the segments after every knot was packed into its frame and unpacked."""
    q, v, a = sampled(mechanism, motion)
    trajectory = from_rows([j.name for j in mechanism.moving], np.arange(len(q)) / mechanism.control.knot_hz, q, v, a)
    sent = knots(trajectory, mechanism)
    codec = Codec(len(mechanism.moving))
    back = []
    for i in range(len(sent)):
        frame = codec.encode(Knot(0, sent.position[i], sent.rate[i], sent.acceleration[i]), 7)
        back.append(codec.decode(frame[:-1]).message)
    return Knots(np.array([k.position for k in back], np.int64), np.array([k.rate for k in back], np.float32),
                 np.array([k.acceleration for k in back], np.float32))


def exact(mechanism, motion):
    """Return Newton-Euler torques at the middles of all ticks."""
    dt = 1.0 / mechanism.control.rate_hz
    return oracle.torque_at(Model.of(mechanism), motion, (np.arange(round(motion.duration / dt)) + 0.5) * dt)


@pytest.mark.parametrize("kind, n, seed", [
    ("planar", 3, 1), ("spatial", 4, 3), ("spatial", 6, 4), ("spatial", 7, 6),
])
def test_that_the_streamed_torque_is_newton_eulers_within_1e_4_of_its_peak(kind, n, seed):
    mechanism = arm(kind, n, seed=seed)
    motion = oracle.septic(*np.random.default_rng(seed).uniform(-1.5, 1.5, (2, n)))
    tau = CompiledPath(mechanism).torque(on_the_wire(mechanism, motion))
    expected = exact(mechanism, motion)
    assert np.max(np.abs(tau - expected)) < 1e-4 * oracle.peak(expected)


def test_that_a_long_chain_is_limited_by_the_step_of_the_wire_alone():
    """Rounding to 2^-32 turn at 250 Hz causes an acceleration error of 5.77 half steps / h^2 in each of the eight
    joints, and the base carries all their torques. Single precision may add half of this error."""
    mechanism = arm("planar", 8)
    motion = oracle.septic(*np.random.default_rng(2).uniform(-1.5, 1.5, (2, 8)))
    model, knots_sent = Model.of(mechanism), on_the_wire(mechanism, motion)
    expected = exact(mechanism, motion)
    acceleration = 5.77 * (np.pi / 2**32) * mechanism.control.knot_hz**2
    inertia = np.max(np.sum(np.abs([mass_matrix(model, q) for q in motion(np.linspace(0.0, 1.0, 30))]), axis=2))
    floor = inertia * acceleration
    single = np.max(np.abs(CompiledPath(mechanism).torque(knots_sent) - expected))
    double = np.max(np.abs(CompiledPath(mechanism, "double").torque(knots_sent) - expected))
    exact_knots = CompiledPath(mechanism, "double").torque_at(*sampled(mechanism, motion))
    assert 0.1 * floor < double < floor
    assert single < 1.5 * floor
    assert np.max(np.abs(exact_knots - expected)) < 0.05 * floor


@pytest.mark.parametrize("kind, n", [("planar", 3), ("spatial", 6)])
def test_that_in_double_the_path_adds_nothing_to_the_step(kind, n):
    """With double knots only the discretisation error is left, which the step on exact positions has too."""
    mechanism = arm(kind, n)
    model, dt = Model.of(mechanism), 1e-3
    motion = oracle.septic(*np.random.default_rng(8).uniform(-1.5, 1.5, (2, n)))
    tau = CompiledPath(mechanism, "double").torque_at(*sampled(mechanism, motion))
    t = (np.arange(-1, len(tau) + 1) + 0.5) * dt
    step = CompiledStep(model, "double").torque(motion(t))
    # a path of quintics differs from a septic only by interpolation: 3e-9 of its size at 250 Hz
    assert np.max(np.abs(tau - step)) < 2e-6 * oracle.peak(step)
    one_quintic = oracle.quintic(*np.random.default_rng(9).uniform(-1.5, 1.5, (2, n)))
    tau = CompiledPath(mechanism, "double").torque_at(*sampled(mechanism, one_quintic))
    inner = (np.arange(-1, len(tau) + 1) + 0.5) * dt
    q = one_quintic(inner)
    # outside its duration the reference is at rest, but the board extrapolates its first and last piece
    q[0], q[-1] = _beyond(one_quintic, inner[0]), _beyond(one_quintic, inner[-1])
    step = CompiledStep(model, "double").torque(q)
    assert np.max(np.abs(tau - step)) < 1e-9 * oracle.peak(step)


def _beyond(motion, t):
    """Return the polynomial of a quintic rest-to-rest motion, also outside of [0, duration]."""
    start, end = motion(0.0), motion(motion.duration)
    s = t / motion.duration
    return start + (end - start) * (10 * s**3 - 15 * s**4 + 6 * s**5)


def test_that_a_motion_that_starts_with_a_rate_has_no_transient():
    mechanism = arm("spatial", 4)
    rng = np.random.default_rng(3)
    motion = oracle.sines(rng.uniform(0.3, 0.8, 4), rng.uniform(2.0, 5.0, 4), rng.uniform(0.0, 6.0, 4))
    tau = CompiledPath(mechanism, "double").torque_at(*sampled(mechanism, motion))
    expected = exact(mechanism, motion)
    error = np.abs(tau - expected)
    assert np.max(error) < 2e-5 * oracle.peak(expected)
    assert np.max(error[:3]) < 2.0 * np.max(error[3:]) + 1e-9


@pytest.mark.parametrize("knot_hz", [1000, 200])
def test_that_any_whole_number_of_ticks_a_knot_works(knot_hz):
    mechanism = arm("spatial", 4, knot_hz=knot_hz)
    motion = oracle.septic(*np.random.default_rng(knot_hz).uniform(-1.0, 1.0, (2, 4)))
    expected = exact(mechanism, motion)
    single = CompiledPath(mechanism).torque(on_the_wire(mechanism, motion))
    double = CompiledPath(mechanism, "double").torque_at(*sampled(mechanism, motion))
    assert np.max(np.abs(double - expected)) < 2e-5 * oracle.peak(expected)
    # one wire step divided by the squared time between knots, times the inertia: 5.77 * 2^-32 turn / h^2
    wire = 5.77 * 2 * np.pi / 2**33 * knot_hz**2 * 4.0
    assert np.max(np.abs(single - double)) < 1e-4 * oracle.peak(expected) + wire


def test_that_float32_knots_would_destroy_the_torque():
    """The reason for integer positions: with positions in float32 the same path fails by a factor of ten."""
    mechanism = arm("planar", 3)
    motion = oracle.septic([1.0, -0.5, 2.0], [2.5, 0.7, 1.1])
    q, v, a = sampled(mechanism, motion)
    expected = exact(mechanism, motion)
    tau = CompiledPath(mechanism).torque_at(q.astype(np.float32).astype(float), v, a)
    assert np.max(np.abs(tau - expected)) > 1e-3 * oracle.peak(expected)


def test_that_continuous_joints_may_wrap_in_mid_motion():
    mechanism = arm("planar", 3)
    there = oracle.septic([3.0, -3.0, 3.1], [4.5, -4.2, 2.0])
    tau = CompiledPath(mechanism).torque(on_the_wire(mechanism, there))
    expected = exact(mechanism, there)
    step = on_the_wire(mechanism, there).position.astype(np.int32).astype(float)  # result of the step
    assert np.max(np.abs(np.diff(step, axis=0))) > 0.99 * 2**32
    assert np.max(np.abs(tau - expected)) < 1e-4 * oracle.peak(expected)
