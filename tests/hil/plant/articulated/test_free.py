"""Free and spinning solids, pendula, momentum, compared with analytic mechanics."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.special import ellipj, ellipk

from femtorque.hil.plant.articulated import solids
from femtorque.hil.plant.articulated.cycle import Cycle
from femtorque.hil.plant.articulated.elements import Element, Frame
from femtorque.hil.plant.articulated.loads import Loads
from femtorque.hil.plant.articulated.solids import GROUND
from femtorque.hil.plant.articulated.system import Structure, build

Z = np.array([0.0, 0.0, 1.0])
HORIZONTAL = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])  # axis 3 along y


def cycle_of(bodies, elements=(), *, coordinates=(), gravity=(0.0, 0.0, -9.81), spin=None, places=None) -> Cycle:
    """A system of solids at their own frames, spinning about the origin with `spin` (3,)."""
    places = np.array([body.points for body in bodies]) if places is None else places
    system, z = build([GROUND, *bodies], elements, places, coordinates=coordinates, gravity=gravity)
    structure = Structure(system)
    v = np.zeros_like(z) if spin is None else np.cross(spin, z.reshape(-1, 3)).ravel()
    return Cycle(structure, z, v, Loads(structure))


def attitude(cycle: Cycle, body: int, solid) -> np.ndarray:
    """Rotation (3, 3) of a body, from its points."""
    points = cycle.z[12 * body: 12 * body + 12].reshape(4, 3)
    return np.array([solid.along(axis) @ points for axis in np.eye(3)]).T


def test_a_free_solid_turns_as_euler_and_poinsot_say():
    J, spin = np.diag([0.010, 0.016, 0.022]), np.array([0.3, 6.0, 0.3])  # about the middle axis: it tumbles
    body = solids.reduce("free", 1.0, np.zeros(3), J)
    cycle = cycle_of([body], gravity=(0.0, 0.0, 0.0), spin=spin)
    L, T = J @ spin, 0.5 * spin @ J @ spin

    def euler(_, y):
        R, w = y[:9].reshape(3, 3), y[9:]
        turn = np.array([[0.0, -w[2], w[1]], [w[2], 0.0, -w[0]], [-w[1], w[0], 0.0]])
        return np.concatenate([(R @ turn).ravel(), np.linalg.solve(J, np.cross(J @ w, w))])

    exact = solve_ivp(euler, (0.0, 3.0), np.concatenate([np.eye(3).ravel(), spin]), rtol=1e-11, atol=1e-12)
    assert np.abs(exact.y[10]).max() > 5.0 and exact.y[10].min() < -5.0  # it tumbles over
    for _ in range(6000):
        cycle.step(5e-4)
    np.testing.assert_allclose(cycle.momentum()[0], 0.0, atol=1e-11)
    np.testing.assert_allclose(cycle.momentum()[1], L, atol=1e-12)
    assert cycle.kinetic_energy() == pytest.approx(T, rel=1e-6)
    np.testing.assert_allclose(attitude(cycle, 0, body), exact.y[:9, -1].reshape(3, 3), atol=2e-4)


@pytest.mark.parametrize("amplitude", [0.1, 1.5, 3.0])
def test_a_pendulum_of_any_amplitude_has_the_period_of_the_elliptic_integral(amplitude):
    m, d = 0.8, 0.25
    J = np.diag([0.004, 0.006, 0.005])
    body = solids.reduce("bob", m, np.array([0.0, 0.0, -d]), J)
    hinge = Element("pivot", "hinge", Frame(0, np.zeros(3), HORIZONTAL), Frame(1, np.zeros(3), HORIZONTAL))
    c, s = np.cos(amplitude), np.sin(amplitude)
    turned = body.points @ np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]]).T
    cycle = cycle_of([body], [hinge], coordinates=["pivot"], places=turned[None])
    assert cycle.q[0] == pytest.approx(amplitude, abs=1e-12)
    w0, k = np.sqrt(m * 9.81 * d / (J[1, 1] + m * d * d)), np.sin(0.5 * amplitude)
    period = 4.0 * ellipk(k * k) / w0
    steps = 4000
    for step in range(1, steps + 1):
        cycle.step(period / steps)
        if step % 500 == 0:  # sin(theta/2) = k cd(w0 t, k)
            _, cn, dn, _ = ellipj(w0 * cycle.time, k * k)
            assert cycle.q[0] == pytest.approx(2.0 * np.arcsin(k * cn / dn), abs=2e-5 * (1 + 4 * (amplitude > 2)))
    assert cycle.q[0] == pytest.approx(amplitude, abs=2e-5)


def test_a_heavy_top_precesses_steadily_at_the_rate_of_theory():
    m, d, theta, spin = 1.0, 0.1, 0.5, 150.0
    J1, J3 = 0.004, 0.003  # about the centre of gravity, across and along the axis
    body = solids.reduce("top", m, d * Z, np.diag([J1, J1, J3]))
    about = J1 + m * d * d
    # steady precession: about cos(theta) W^2 - J3 w3 W + m g d = 0, the slow root
    a, b, c = about * np.cos(theta), -J3 * spin, m * 9.81 * d
    W = (-b - np.sqrt(b * b - 4.0 * a * c)) / (2.0 * a)
    R = np.array([[np.cos(theta), 0.0, np.sin(theta)], [0.0, 1.0, 0.0], [-np.sin(theta), 0.0, np.cos(theta)]])
    axis = R @ Z
    pivot = Element("point", "ball", Frame(0, np.zeros(3), np.eye(3)), Frame(1, np.zeros(3), np.eye(3)))
    omega = W * Z + (spin - W * np.cos(theta)) * axis
    cycle = cycle_of([body], [pivot], spin=omega, places=(body.points @ R.T)[None])
    lean, end = [], 0.5 * np.pi / W
    steps = int(np.ceil(end / 1e-4))
    for _ in range(steps):
        cycle.step(end / steps)
        lean.append(np.arccos(attitude(cycle, 0, body)[2, 2]))
    assert np.abs(np.array(lean) - theta).max() < 1e-3  # no nutation
    quarter = attitude(cycle, 0, body) @ Z
    np.testing.assert_allclose(quarter, [0.0, np.sin(theta), np.cos(theta)], atol=1e-3)
    assert cycle.momentum()[1][2] == pytest.approx(J3 * spin * np.cos(theta) + about * np.sin(theta) ** 2 * W, rel=1e-9)


def test_free_linked_solids_conserve_momentum_and_fall_freely():
    rng = np.random.default_rng(4)
    bodies = [solids.reduce(f"b{k}", 1.0 + k, 0.2 * rng.normal(size=3), np.diag([0.02, 0.025, 0.03])) for k in range(3)]
    types = ["universal", "slide"]
    elements = [Element(kind, kind, Frame(k + 1, np.zeros(3), np.eye(3)), Frame(k + 2, np.zeros(3), np.eye(3)))
                for k, kind in enumerate(types)]
    cycle = cycle_of(bodies, elements, spin=np.array([1.0, 2.0, 3.0]), gravity=(0.0, 0.0, 0.0))
    cycle.v += 0.3 * rng.normal(size=len(cycle.v))
    cycle = Cycle(cycle.structure, cycle.z, cycle.v, Loads(cycle.structure))  # projects velocities onto the rows
    P, L = cycle.momentum()
    T = cycle.kinetic_energy()
    for _ in range(2000):
        cycle.step(1e-3)
    np.testing.assert_allclose(cycle.momentum()[0], P, atol=1e-11)
    np.testing.assert_allclose(cycle.momentum()[1], L, atol=1e-11)
    assert cycle.kinetic_energy() == pytest.approx(T, rel=1e-3)
    assert cycle.closure() < 3e-12
