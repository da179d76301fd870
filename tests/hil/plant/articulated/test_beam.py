"""Deformable beams: frequencies, large deflections, stiffening, energy, momentum and member forces."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_bvp
from scipy.linalg import block_diag, eigh

from femtorque.codegen.common import BadInput
from femtorque.codegen.mechanism import Beam, Joint, Link, Section
from femtorque.hil.plant.articulated.plant import Plant
from tests.support import flexible_chain, oracle, timoshenko

L, M, EI = 0.4, 0.24, 0.55
PACE = np.sqrt(EI / (M / L) / L**4)  # rad/s
CLAMPED = np.array([1.87510407, 4.69409113, 7.85475744])  # roots of cos x cosh x = -1
WEIGHTLESS = (0.0, 0.0, 0.0)


def flexible(elements: int, *, stiffness=(EI, EI), gravity=WEIGHTLESS, beam=None, link=None, **joint):
    """Return a uniform flexible link along x on a joint about z."""
    base = oracle.planar_chain(1, gravity=gravity)
    across = M * L**2 / 12.0
    given = {"com": np.array([L / 2, 0.0, 0.0]), "inertia": np.diag([0.0, across, across])} | (link or {})
    body = replace(base.links[0], mass=M, beam=Beam(L, stiffness, elements, **(beam or {})), **given)
    return replace(base, links=(body,), joints=(replace(base.joints[0], **joint),))


def frequencies(plant: Plant) -> np.ndarray:
    """Return the natural frequencies of the joined system at its start, rad/s, without the rigid-body motions."""
    s, equations, beams = plant.structure, plant.cycle.equations, plant.loads.beams
    strains = beams.forms.gradient(beams.forms.factors(equations.x))[:, 4:].reshape(-1, s.split)
    free = equations.free.mobility(strains)
    joined = free - equations.Y @ equations.back(equations.C @ free)
    square = np.linalg.eigvals(strains @ joined @ block_diag(*beams.stiffness)).real
    return np.sqrt(np.sort(square[square > 1e-9 * square.max()]))


def tip(plant: Plant) -> np.ndarray:
    """Return the position of the end of the flexible link, m."""
    element = plant.loads.beams.elements[-1]
    x = plant.cycle.equations.x.reshape(-1, 4, 3)
    return plant.system.solids[element.b.solid].at(element.b.origin) @ x[element.b.solid]


def move(plant: Plant, field) -> None:
    """Set the points' velocities to field(x) (P, 3), and project the velocities onto the mechanisms' rows."""
    cycle = plant.cycle
    cycle.v[: plant.structure.split] = field(cycle.z[: plant.structure.split].reshape(-1, 3)).ravel()
    distances, others = cycle.equations.velocities(cycle.v)
    cycle.v += cycle.equations.change(-distances, -others)[0]
    cycle.restart()


def frequency(times: np.ndarray, signal: np.ndarray, near: float) -> float:
    """Return the frequency of the sine that fits a signal best, rad/s, within 10 % of `near`."""
    trial, left = np.linspace(0.9, 1.1, 401) * near, []
    for w in trial:
        A = np.column_stack([np.sin(w * times), np.cos(w * times)])
        left.append(np.linalg.norm(signal - A @ np.linalg.lstsq(A, signal, rcond=None)[0]))
    return float(trial[int(np.argmin(left))])


def settle(plant: Plant, steps: int) -> None:
    """Bring the beam to rest: stop the beam each time its kinetic energy has passed a maximum (dynamic relaxation)."""
    plant.max_step, energy = plant.stable_step, 0.0
    for _ in range(steps):
        plant.push(plant.stable_step, [])
        last, energy = energy, plant.kinetic()
        if energy < last:
            plant.cycle.v[:] = 0.0
            plant.cycle.restart()
            energy = 0.0


def test_a_cantilever_has_its_natural_frequencies_in_both_planes_at_second_order():
    def worst(elements: int) -> tuple[float, float]:
        plant = Plant(flexible(elements, stiffness=(EI, 4.0 * EI), type="fixed",
                                              beam={"GJ": 100.0 * EI}))
        got = frequencies(plant)
        exact = CLAMPED[:2] ** 2 * PACE
        expected = np.sort(np.concatenate([exact, 2.0 * exact]))
        return tuple(np.abs(got[:4] / expected - 1.0)[[0, 3]])

    coarse, fine = worst(4), worst(8)
    assert fine[0] < 8e-4 and fine[1] < 2e-2
    assert 3.3 < coarse[0] / fine[0] < 4.7 and 3.3 < coarse[1] / fine[1] < 4.7


def test_with_shear_a_cantilever_has_timoshenkos_frequencies_at_second_order():
    exact = timoshenko.frequencies(2, length=L, mass=M, EI=EI, GA_s=100.0)
    errors = [frequencies(Plant(flexible(n, stiffness=(np.inf, EI), type="fixed",
                                                        beam={"GA_s": (np.inf, 100.0)})))[:2] / exact - 1.0
              for n in (4, 8)]
    assert exact[1] < 0.8 * CLAMPED[1] ** 2 * PACE
    assert np.abs(errors[1]).max() < 2e-2
    np.testing.assert_allclose(errors[0] / errors[1], 4.0, rtol=0.2)


def test_the_stability_step_is_just_below_that_of_the_fastest_oscillation():
    plant = Plant(flexible(6, type="fixed"))
    limit = 2.0 / frequencies(plant).max()
    assert 0.6 * limit < plant.stable_step <= 0.8 * limit * (1.0 + 1e-9)
    damped = Plant(flexible(6, type="fixed", beam={"damping": 2e-3}))
    assert damped.stable_step < 0.5 * plant.stable_step


def test_its_weight_bends_the_cantilever_into_the_elastica():
    weight = 6.0 * EI / L**2

    def bend(s, y):  # y: the angle along the rod and its slope. The weight of the part beyond s keeps its direction.
        return np.vstack([y[1], -weight / EI * (1.0 - s / L) * np.cos(y[0])])

    s = np.linspace(0.0, L, 101)
    rod = solve_bvp(bend, lambda a, b: np.array([a[0], b[1]]), s, np.vstack([s / L, np.ones_like(s) / L]), tol=1e-8)
    assert rod.success
    # The weight acts upwards. Therefore the absolute angle increases along the rod.
    fine = np.linspace(0.0, L, 2001)
    angle = rod.sol(fine)[0]
    expected = np.array([np.trapezoid(np.cos(angle), fine), np.trapezoid(np.sin(angle), fine), 0.0])
    assert expected[1] > 0.5 * L

    def error(elements: int) -> float:
        plant = Plant(flexible(elements, type="fixed", gravity=(0.0, weight / M, 0.0)), max_step=1.0)
        settle(plant, 4000)
        return float(np.abs(tip(plant) - expected).max()) / L

    errors = error(4), error(8)
    assert errors[1] < 4e-3
    assert errors[0] / errors[1] > 3.0


def test_a_spinning_beam_is_stiffened_by_its_centrifugal_force():
    """A beam on a heavy spinning hub vibrates as by Ritz: int EI w''^2 + T w'^2 = W^2 int m w^2."""
    spin = 3.0 * PACE
    powers = np.arange(2, 10)
    a, b = powers[:, None], powers[None, :]
    bending = a * (a - 1) * b * (b - 1) / (a + b - 3)
    pull = 9.0 * a * b * 0.5 * (1.0 / (a + b - 1) - 1.0 / (a + b + 1))
    flap = np.sqrt(eigh(bending + pull, 1.0 / (a + b + 1), eigvals_only=True)[0])
    assert flap == pytest.approx(4.797, abs=1e-3)  # without spin it is 3.516

    base = flexible(8)
    hub = Link("hub", 1.0, np.zeros(3), 1e4 * np.eye(3))
    axle = replace(base.joints[0], child="hub")
    clamp = Joint("clamp", "fixed", "hub", base.links[0].name, np.zeros(3), np.zeros(3), np.array([0.0, 0.0, 1.0]))
    plant = Plant(replace(base, links=(hub, base.links[0]), joints=(axle, clamp)), max_step=2e-4)

    def field(x):
        return np.cross([0.0, 0.0, spin], x) + np.outer((x[:, 0] / L) ** 2, [0.0, 0.0, 0.02])

    move(plant,
         lambda x: np.where(np.abs(x).max(axis=1, keepdims=True) > 10.0, np.cross([0.0, 0.0, spin], x), field(x)))
    assert plant.v[0] == pytest.approx(spin, rel=1e-3)
    times, heights = [], []
    while plant.time < 4.2 * 2.0 * np.pi / (flap * PACE):
        plant.push(1e-3, [0.0])
        times.append(plant.time)
        heights.append(tip(plant)[2])
    assert frequency(np.array(times), np.array(heights), flap * PACE) == pytest.approx(flap * PACE, rel=6e-3)


def test_a_driven_flexible_arm_gains_the_work_and_the_angular_momentum_of_its_torque():
    plant = Plant(flexible(4), max_step=2.5e-4)
    torque = 0.2
    for _ in range(400):
        plant.push(1e-3, [torque])
    work = torque * plant.q[0]
    assert plant.q[0] > 1.0
    assert plant.cycle.momentum()[1][2] == pytest.approx(torque * plant.time, rel=1e-9)
    assert plant.kinetic() + plant.potential() == pytest.approx(work, rel=2e-3)
    assert plant.potential() > 1e-5  # the beam was bent


def test_a_link_that_turns_about_its_own_axis_follows_an_exact_chain():
    """The hub is skew, and the slopes reach 0.19. The exact chain of tests/support/flexible_chain.py gives the torque,
    which moves the joint by 1.57 rad as in the chain. The error falls with the elements' length squared."""
    motion, hz, ticks = oracle.septic([0.0], [1.57], 0.4), 1000, 420
    worst = []
    for elements in (4, 8):
        mechanism = flexible_chain.single(elements, stiffness=(2.4, 2.4), axis=(0.6, 0.0, 1.0), damping=1e-3)
        coarse, fine = (flexible_chain.Chain.of(mechanism, n).marched(motion, -0.5 / hz, ticks, 1.0 / hz)[0][1:]
                        for n in (4, 8))
        plant, q = Plant(mechanism), []
        for torque in (4.0 * fine - coarse) / 3.0:
            plant.move(1.0 / hz, np.array([np.nan]), torque)
            q.append(plant.q[0])
        worst.append(np.abs(np.array(q) - motion.at((np.arange(ticks) + 1.0) / hz)[0][:, 0]).max())
    assert worst[0] < 0.007
    assert worst[1] < 0.5 * worst[0]


def test_strain_damping_takes_energy_out_of_vibration_only():
    plant = Plant(flexible(3, beam={"damping": 2e-3}))
    move(plant, lambda x: np.cross([0.0, 0.0, 5.0], x))
    start = plant.kinetic()
    plant.push(0.5, [0.0])
    assert plant.kinetic() == pytest.approx(start, rel=1e-3)
    move(plant, lambda x: np.outer(np.sin(2.0 * np.pi * x[:, 0] / L), [0.0, 1.0, 0.0]))
    momentum = plant.cycle.momentum()[1][2]
    start = plant.kinetic()
    plant.push(1.0, [0.0])
    assert plant.kinetic() + plant.potential() < 0.5 * start
    assert plant.cycle.momentum()[1][2] == pytest.approx(momentum, abs=1e-9)


def test_the_root_moment_of_a_loaded_beam_is_force_times_length():
    radius = 0.004
    section = Section(np.pi * radius**2, radius)
    plant = Plant(flexible(6, type="fixed", gravity=(0.0, -9.81, 0.0), link={"section": section}))
    settle(plant, 2000)
    values, second = plant.members.values, 0.25 * np.pi * radius**4
    # The formula is exact for a straight beam. A beam that gravity has bent has a slightly shorter lever arm.
    assert 0.98 * M * 9.81 * L / 2.0 < values[0, 3] < M * 9.81 * L / 2.0
    assert values[-1, 3] < 0.02 * values[0, 3]
    assert values[0, 4] == pytest.approx(values[0, 3] * radius / second, rel=1e-3)
    report = plant.members.report()[0]
    assert report.bending.value > 1.05 * values[0, 3]  # after a sudden release the moment exceeds the static moment
    assert report.bending.station == 0.0


def test_bodies_on_a_flexible_link_move_with_its_tip():
    """A rigid body is fixed to the tip, and a pendulum is hinged to this body. The total energy is conserved."""
    base = flexible(4, gravity=(0.0, -9.81, 0.0))
    name = base.links[0].name
    block = Link("block", 0.1, np.array([0.02, 0.0, 0.0]), 1e-5 * np.eye(3))
    bob = Link("bob", 0.05, np.array([0.1, 0.0, 0.0]), 1e-5 * np.eye(3))
    z = np.array([0.0, 0.0, 1.0])
    joints = (base.joints[0], Joint("glue", "fixed", name, "block", np.array([L, 0.0, 0.0]), np.zeros(3), z),
              Joint("hook", "revolute", "block", "bob", np.array([0.04, 0.0, 0.0]), np.zeros(3), z, start=-0.5))
    plant = Plant(replace(base, links=(*base.links, block, bob), joints=joints), max_step=1e-4)
    assert plant.n == 2
    assert plant.structure.mass[: plant.structure.split].sum() / 3.0 == pytest.approx(M + 0.15)
    start = plant.kinetic() + plant.potential()
    plant.push(0.3, [0.0, 0.0])
    assert plant.kinetic() > 0.1
    assert plant.kinetic() + plant.potential() == pytest.approx(start, abs=2e-3 * plant.kinetic())


def test_a_beam_whose_mass_is_not_uniform_is_refused_by_name():
    with pytest.raises(BadInput, match="link1.*uniform"):
        Plant(flexible(3, link={"com": np.array([0.3, 0.0, 0.0])}))
    with pytest.raises(BadInput, match="link1.*uniform"):
        Plant(flexible(3, link={"inertia": np.diag([0.0, 0.01, 0.01])}))


def test_a_beam_of_one_plane_bends_and_twists_in_no_other():
    plant = Plant(flexible(4, stiffness=(np.inf, EI), gravity=(0.0, -5.0, -5.0), type="fixed"))
    np.testing.assert_allclose(frequencies(plant)[0], CLAMPED[0] ** 2 * PACE, rtol=3e-3)
    plant.push(0.1, [])
    assert tip(plant)[1] < -1e-3
    assert tip(plant)[2] == pytest.approx(0.0, abs=1e-10)
