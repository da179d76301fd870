"""Comparison of the emitted step of fast flexible links with a geometrically exact chain of rigid segments connected by
springs.

The chain (tests/support/flexible_chain.py) is computed with two numbers of segments and extrapolated to infinitely many
segments. The chain's error falls with the square of the segments' length. The links rotate so fast that tension and
weight along the links have an effect."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import eigvalsh

from femtorque.codegen.mechanism import Payload, load_mechanism
from femtorque.codegen.model import Model, flexible_tree
from femtorque.codegen.model.flexible_link import beam_shortening
from femtorque.codegen.toolchain import CompiledStep
from femtorque.hil.papers.isobe import MECHANISMS
from tests.support import flexible_chain, oracle
from tests.support.flexible_chain import EI, Chain, L, M

LINK = load_mechanism(MECHANISMS / "flexible_link.toml")
SKEW = (0.3, 0.5, 0.8)
CHANCE = [(0, "point", 1.0), (0, "long", 1.3), (0, "beside", 1.1), (1, "point", 1.3), (1, "long", 1.9),
          # EI, chosen so that slopes are about 0.2
          (1, "beside", 1.2), (2, "point", 1.4), (2, "long", 1.8), (2, "beside", 1.5)]
AXES = ((0.1, -0.3, 1.0), (0.2, 1.0, 0.4))


class SpinUp:
    """Motion from rest to a rate, rad/s, in `seconds` (Kane, Ryan and Banerjee, 1987)."""

    def __init__(self, rate: float, seconds: float) -> None:
        self.rate, self.seconds = rate, seconds

    def at(self, t):
        x, beyond = np.clip(t / self.seconds, 0.0, 1.0), np.maximum(t - self.seconds, 0.0)
        turn = 2.0 * np.pi * x
        q = self.rate * (self.seconds * (0.5 * x**2 + (np.cos(turn) - 1.0) / (4.0 * np.pi**2)) + beyond)
        change = self.rate / self.seconds * (1.0 - np.cos(turn)) * (x < 1.0)
        return tuple(np.array([v]) for v in (q, self.rate * (x - np.sin(turn) / (2.0 * np.pi)), change))


def chained(mechanism, motion, seconds: float, segments: tuple[int, int] = (12, 24), finer: int = 1):
    """Return torques (ticks, n) of chains with two numbers of segments, and extrapolated to infinitely many."""
    hz = mechanism.control.rate_hz
    ticks = round(seconds * hz)
    found = [Chain.of(mechanism, n).marched(motion, -0.5 / hz, finer * (ticks + 1),
                                            1.0 / (finer * hz))[0][finer::finer][:ticks]
             for n in segments]
    square = (segments[1] / segments[0]) ** 2
    return *found, (square * found[1] - found[0]) / (square - 1.0)


def slope_and_error(mechanism, motion, seconds: float) -> tuple[float, float]:
    """Return the chain's steepest slope at the tip, and the emitted torque's largest error over the peak."""
    hz = mechanism.control.rate_hz
    chain = Chain.of(mechanism, 8)
    slope = chain.slopes(chain.marched(motion, -0.5 / hz, round(seconds * hz), 1.0 / hz)[1]).max()
    _, _, exact = chained(mechanism, motion, seconds, (4, 8))
    error = np.abs(emitted(mechanism, motion, seconds) - exact).max() / np.abs(exact).max()
    print(f"slope {slope:.3f}, error {error:.2g} of peak, {error / slope**2:.2f} of the slope squared")
    return slope, error


def emitted(mechanism, motion, seconds: float):
    """Return the torques of the C in double precision at the same ticks."""
    hz = mechanism.control.rate_hz
    t = (np.arange(round(seconds * hz) + 2) - 0.5) / hz
    return CompiledStep(Model.of(mechanism), "double").torque(np.array([motion.at(now)[0] for now in t]))


def test_the_chain_is_a_beam_but_for_the_square_of_its_segments():
    motion = SpinUp(14.0, 0.4)
    coarse, fine, exact = chained(LINK, motion, 0.4, (12, 24))
    finest = Chain.of(LINK, 48).marched(motion, -0.5e-3, 401, 1e-3)[0][1:][:400]
    # (16 - 1) / (4 - 1)
    assert np.abs(coarse - finest).max() / np.abs(fine - finest).max() == pytest.approx(5.0, rel=0.05)
    assert np.abs(exact - finest).max() < 0.4 * np.abs(fine - finest).max()


@pytest.mark.parametrize(("rate", "seconds", "allowed"), [(14.0, 0.8, 0.01), (23.3, 1.5, 0.002)],
                         ids=["0.9 of the first frequency", "1.5 of the first frequency"])
def test_spinning_up_stiffens_the_link(rate, seconds, allowed):
    """Without the tension the torque would grow to 1e15 N m in the second case."""
    motion = SpinUp(rate, seconds)
    _, _, exact = chained(LINK, motion, seconds + 0.4)
    found = emitted(LINK, motion, seconds + 0.4)
    error = np.abs(found - exact).max() / np.abs(exact).max()
    print(f"error {error:.2g} of peak")
    assert error < allowed


@pytest.mark.parametrize(("mechanism", "allowed"), [
    (flexible_chain.beam_second(2, rate_hz=2000, stiffness=2.0, damping=1e-3), 0.04),
    (flexible_chain.beam_second(2, rate_hz=2000, stiffness=(16.0, 24.0), axes=AXES, damping=1e-3), 0.02),
    (flexible_chain.two_link(3, rate_hz=2000, stiffness=(16.0, 24.0), axis=SKEW, gravity=(1.0, -5.0, -3.0),
                             damping=1e-3), 0.02),
    (flexible_chain.double(2, rate_hz=2000, stiffness=80.0, damping=1e-3), 0.02),
    (flexible_chain.double(2, rate_hz=2000, stiffness=(80.0, 100.0), axis=SKEW, damping=1e-3), 0.02),
], ids=["planar", "spatial", "spatial, a link at the tip", "both bend", "both bend in two planes"])
def test_arms_at_full_rates(mechanism, allowed):
    """The joints reach 8 rad/s. The error is divided by the torque due to flexibility."""
    motion = oracle.septic([0.2, 0.1], [1.6, -1.4], 0.4)
    _, _, exact = chained(mechanism, motion, 0.45, (8, 16))
    t = (np.arange(len(exact)) + 0.5) / 2000.0
    part = np.abs(oracle.torque_at(Model.of(mechanism), motion, t) - exact).max()
    error = np.abs(emitted(mechanism, motion, 0.45) - exact).max()
    print(f"flexibility {part:.3g} of {np.abs(exact).max():.3g} N m, error {error / part:.2g} of it")
    assert error < allowed * part


@pytest.mark.parametrize(("mechanism", "start", "end"), [
    (flexible_chain.single(3, stiffness=(2.4, 2.4), axis=(0.6, 0.0, 1.0), damping=1e-3), [0.0], [1.57]),
    (replace(flexible_chain.beam_second(3, stiffness=(7.5, 6.0), axes=((0.0, 0.0, 1.0), (0.0, 1.0, 0.0)), damping=1e-3,
                                  gravity=(0.0, 0.0, -9.81)),
             payloads=(Payload("hand", "arm", 0.1, np.array([L + 0.02, 0.06, -0.04]), np.diag([2e-4, 2e-4, 3e-4])),)),
     [0.0, -0.4], [1.4, 0.6]),
], ids=["one skew joint", "yaw and pitch, a body beside the tip"])
def test_a_link_that_turns_about_its_own_axis_is_right_to_three_tenths_of_its_slope_squared(mechanism, start, end):
    slope, error = slope_and_error(mechanism, oracle.septic(start, end, 0.4), 0.5)
    assert 0.15 < slope < 0.26
    assert error < 0.3 * slope**2


@pytest.mark.bench
@pytest.mark.parametrize(("seed", "payload", "EI"), CHANCE)
def test_axes_and_payloads_by_chance_are_right_to_three_tenths_of_the_slope_squared(seed, payload, EI):
    rng = np.random.default_rng(100 + seed)
    motion = oracle.septic(rng.uniform(-1.0, 1.0, 2), rng.uniform(-1.6, 1.6, 2), rng.uniform(0.3, 0.6))
    slope, error = slope_and_error(flexible_chain.by_chance(seed, payload, EI), motion, 0.7)
    assert 0.15 < slope < 0.26
    assert error < 0.3 * slope**2


def test_an_upright_link_swings_in_its_own_weight():
    """The link carries a sixth of its buckling load.

    Without the weight along the link the torque would err by a quarter of the peak."""
    mechanism = flexible_chain.single(3, gravity=(-9.81, 0.0, 0.0), damping=1e-3)
    motion = oracle.septic([0.02], [0.25], 0.6)
    _, _, exact = chained(mechanism, motion, 0.8)
    assert np.abs(emitted(mechanism, motion, 0.8) - exact).max() < 0.01 * np.abs(exact).max()


def test_buckling_loads_and_the_stiffening_of_a_turning_beam():
    """The compared values are Euler's buckling load at the tip, the critical weight of a column (7.837 EI / L^2), and
    the stiffening by rotation. For a vibration out of the plane of rotation, the stiffening is 1.193 times the square
    of the angular velocity."""
    link = flexible_tree(flexible_chain.single(3, 0.0)).pieces[1].tip
    K = np.diag(link.stiffness["y"])[:2, :2]
    G = link.drawn
    assert 1.0 / eigvalsh(G.tip[:2, :2], K)[-1] == pytest.approx(np.pi**2 / 4.0 * EI / L**2, rel=0.02)
    assert 1.0 / eigvalsh(G.first[:2, :2], K)[-1] * M == pytest.approx(7.837 * EI / L**2, rel=0.01)
    turning = eigvalsh(K + G.second[:2, :2])[0] - K[0, 0]
    assert turning == pytest.approx(1.193, rel=5e-3)


def test_coefficients_of_a_deflection_round_the_axis_are_those_of_a_beam_bent_at_its_tip():
    link = flexible_tree(flexible_chain.single(1, 0.0)).pieces[1].tip
    f = np.polynomial.Polynomial([0.0, 0.0, 1.5, -0.5])
    g, back = (f.deriv() ** 2).integ(), (f.deriv() ** 3).integ() / 6.0
    own = [(part.integ()(1.0)) for part in (2.0 / 3.0 * f * g, g * g / 3.0, back)]
    tip = [2.0 / 3.0 * g(1.0), g(1.0) ** 2 / 3.0, back(1.0)]
    mass = 0.3
    expected = np.array([mass * a + M * b for a, b in zip(tip, own, strict=True)]) / [L, L**2, L**2]
    np.testing.assert_allclose(link.curved(mass), expected, rtol=1e-12)


@pytest.mark.parametrize("elements", [1, 3])
def test_shortening_is_the_integral_of_the_slopes_squared(elements):
    """The elements represent y = x^3 exactly. The shortening is u(x) = 9 x^5 / 10."""
    rho, nodes, x = M / L, np.zeros(2 * elements + 2), np.linspace(0.0, L, elements + 1)
    nodes[0::2], nodes[1::2] = x**3, 3.0 * x**2
    G = beam_shortening(L, M, elements)
    for found, exact in ((G.tip, 0.9 * L**5), (G.first, 0.9 * rho * L**6 / 6.0), (G.second, 0.9 * rho * L**7 / 7.0)):
        assert 0.5 * nodes @ found @ nodes == pytest.approx(exact, rel=1e-12)


def test_shortening_with_shear_counts_the_slope_of_the_axis():
    """A force F = 1 at the tip gives y' = (L x - x^2 / 2) / EI + 1 / GA_s."""
    GA_s, elements = 40.0, 2
    x = np.linspace(0.0, L, elements + 1)
    turned = (L * x - 0.5 * x**2) / EI
    nodes = np.zeros(2 * elements + 2)
    nodes[0::2], nodes[1::2] = (0.5 * L * x**2 - x**3 / 6.0) / EI + x / GA_s, turned
    s, weight = np.polynomial.legendre.leggauss(8)
    s, weight = 0.5 * L * (1.0 + s), 0.5 * L * weight
    exact = weight @ ((L * s - 0.5 * s**2) / EI + 1.0 / GA_s) ** 2
    assert nodes @ beam_shortening(L, M, elements, EI / GA_s).tip @ nodes == pytest.approx(exact, rel=1e-12)
