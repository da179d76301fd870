"""Each step of the articulated plant satisfies the equations of femtorque.hil.plant.articulated.cycle. NumPy evaluates
these equations at both ends of the step."""

from dataclasses import replace

import numpy as np
import pytest

from femtorque.codegen.common import MECHANISMS, Refused
from femtorque.codegen.mechanism import Anchor, Friction, Mechanism, Motor, Payload, load_mechanism
from femtorque.hil.plant.articulated import tree
from femtorque.hil.plant.articulated.cycle import CLOSURE
from femtorque.hil.plant.articulated.equations import Along, Equations
from femtorque.hil.plant.articulated.plant import Plant
from femtorque.hil.plant.plant_library import MOST
from femtorque.hil.plant.selection import FINER, refined
from tests.hil.plant.articulated.test_loops import four_bar
from tests.hil.plant.test_dry_friction import clamped
from tests.hil.plant.test_rigid_steps import driven_tree
from tests.support import oracle
from tests.support.mimic import gripper_in

H = 4.5e-4  # time step, s


def near(one: np.ndarray, other: np.ndarray, within: float, peak: float = 0.0) -> None:
    np.testing.assert_allclose(one, other, rtol=0, atol=within * max(peak, float(np.abs(other).max(initial=0.0))))


def motors_of(plant: Plant, h: float, volts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the torques (n,) of the motors over a step, and the damping of each motor."""
    motors = [joint.motor for joint in plant.joints]
    R, L, constant = np.array([(m.R, m.L, m.gear * m.K) if m else (1.0, 0.0, 0.0) for m in motors]).T
    live = np.where(np.isnan(volts), 0.0, constant)
    ratio = np.divide(R * h, L, out=np.full(plant.n, np.inf), where=L > 0.0)
    lag, current = (1.0 - np.exp(-ratio)) / ratio, np.where(live != 0.0, plant.current, 0.0)
    steady = np.where(np.isnan(volts), 0.0, volts) / R
    return live * (lag * current + (1.0 - lag) * steady), live**2 / R * (1.0 - lag)


def step(plant: Plant, volts: np.ndarray, torque: np.ndarray, thin: float = 1.0, h: float = H) -> None:
    """Step the plant and check. thin: condition of the thinnest solid's rows relative to a thick one's."""
    cycle, s = plant.cycle, plant.structure
    within = thin * 5e-12
    z, v, gamma, q = cycle.z.copy(), cycle.v.copy(), cycle.gamma.copy(), cycle.q
    start = Equations(s, z)
    driven, back = motors_of(plant, h, volts)
    active, viscous, coulomb = torque + driven, cycle.viscous + back, cycle.coulomb
    plant.move(h, volts, torque)
    # The first half of the step is explicit. A combination of the rows at the begin of the step then moves the points
    # back onto the rows.
    along = Along.of(start)
    half, first = v + 0.5 * h * gamma, active - viscous * (along.rows @ v)
    if coulomb.any():
        compliance = 0.5 * h * along.compliance
        moving = along.rows @ half + compliance @ first
        if np.any(np.abs(moving) < 2.0 * np.abs(compliance) @ coulomb):
            moving = moving + 0.5 * h * start.turning(v)
        first = first + clamped(compliance, moving, coulomb)
    half = half + 0.5 * h * (along.responses @ first)
    moved = z + h * half
    speed = max(1.0, np.abs(v).max())
    off = cycle.z - moved
    assert cycle.closure() < max(2.0, thin) * cycle.tolerance
    distances, others = start.velocities(off)
    near(off, start.change(distances, others)[0], within, peak=1.0)
    half = half + off / h
    # In the second half of the step, accelerations make the velocities satisfy the rows.
    end = Equations(s, cycle.z)
    near(np.sin(cycle.q - end.q), 0.0 * q, within, peak=1.0)
    assert np.all(np.abs(cycle.q - q) < np.pi)
    distances, others = end.velocities(half)
    expected, multipliers = end.solve(cycle.applied, -2.0 / h * distances, -2.0 / h * others)
    near(h * cycle.gamma, h * expected, within / h, peak=speed)
    if thin == 1.0:
        near(cycle.multipliers, multipliers, within / h, peak=1.0)
    along = Along.of(end)
    new = half + 0.5 * h * cycle.gamma
    velocity = along.rows @ new + 0.5 * h * (along.compliance @ active)
    compliance = 0.5 * h * along.compliance
    damped = np.eye(plant.n) + compliance * viscous
    compliance, velocity = np.linalg.solve(damped, compliance), np.linalg.solve(damped, velocity)
    dry = clamped(compliance, velocity, coulomb) if coulomb.any() else 0.0 * velocity
    total = active + dry - viscous * (velocity + compliance @ dry)
    # The holding torques of joints in a loop are not unique. Infinitely many drive torques solve the equations; the
    # result is one of them.
    near(along.responses @ cycle.total, along.responses @ total, within / h, peak=speed / h)
    near(cycle.v, new + 0.5 * h * (along.responses @ cycle.total), within / h, peak=speed)
    near(plant.v, end.G @ cycle.v, within / h, peak=speed)


def shaken(plant: Plant, seed: int, count: int = 60, strength: float = 5.0, thin: float = 1.0) -> None:
    """Return random voltages and torques. Some terminals float, and in the last quarter all."""
    rng = np.random.default_rng(seed)
    still = plant.q
    for k in range(count):
        floats = rng.random(plant.n) < (0.2 if 4 * k < 3 * count else 2.0)
        volts = np.where(floats, np.nan, strength * rng.normal(size=plant.n))
        step(plant, volts, 0.05 * strength * rng.normal(size=plant.n) * (rng.random() < 0.5), thin,
             min(H, plant.max_step))
    assert np.abs(plant.q - still).max() > 1e3 * CLOSURE


@pytest.mark.parametrize("seed", range(8))
def test_each_step_of_a_tree_is_the_cycles(seed):
    rng = np.random.default_rng(seed)
    shaken(Plant(driven_tree(rng, int(rng.integers(1, 7)))), seed)


# The arms include loops, a delta with rows of slides and universal joints, mimic joints, and thin rods.
@pytest.mark.parametrize(("name", "thin"), [("palletizer", 1.0), ("delta", 1.0), ("four_bar", 1e2), ("five_bar", 1e2),
                                            ("three_rrr", 1e3)])
def test_each_step_of_a_closed_mechanism_is_the_cycles(name, thin):
    shaken(Plant(load_mechanism(MECHANISMS / f"{name}.toml")), 7, count=30, thin=thin)


def test_forces_of_beams_are_the_gradient_of_their_energy():
    """The loads that C computes, including dampers, equal the gradient of Beams."""
    plant = Plant(refined(load_mechanism(MECHANISMS / "flexible_link.toml"), FINER), velocities=[1.0])
    beams, s = plant.loads.beams, plant.structure
    assert beams is not None
    for _ in range(20):
        step(plant, np.array([np.nan]), np.array([0.3]), 1e3, plant.max_step)
    plant.cycle.restart()
    equations = plant.cycle.equations
    expected = s.weight.copy()
    expected[: s.split] += beams.forces(equations.x, s.system.velocities(plant.cycle.v))[4:].ravel()
    assert np.abs(beams.forms.values(equations.x)).max() > 1e-4
    near(plant.cycle.applied, expected, 1e-10)  # strains are small differences of large position values


@pytest.mark.parametrize("inertia", [0.0, 1e-4])
def test_angles_and_rotors_count_whole_turns(inertia):
    wheel = oracle.planar_chain(1, gravity=(0.0, 0.0, 0.0))
    wheel = replace(wheel, joints=(replace(wheel.joints[0], motor=Motor(1.0, 0.0, 0.05, 5.0, inertia)),))
    plant = Plant(wheel, start=[7.0], velocities=[-100.0])
    for _ in range(200):
        step(plant, np.array([np.nan]), np.zeros(1))
    assert plant.q[0] == pytest.approx(7.0 - 100.0 * 200 * H, rel=2e-3)


def test_followers_follow_in_each_step(tmp_path):
    shaken(Plant(gripper_in(tmp_path)), 9)


def test_locks_and_payloads_are_in_each_step():
    rng = np.random.default_rng(12)
    mechanism = driven_tree(rng, 6)
    load = Payload("load", "link4", 0.7, rng.normal(size=3) * 0.1, oracle.random_inertia(rng, 0.7, 0.2))
    shaken(Plant(replace(mechanism, payloads=(load,), lock={mechanism.joints[2].name: 0.8})), 2)


def test_joints_of_loops_that_stick_stay():
    mechanism = load_mechanism(MECHANISMS / "palletizer.toml")
    joints = tuple(replace(joint, friction=Friction(coulomb=30.0, viscous=0.1)) for joint in mechanism.joints)
    plant = Plant(replace(mechanism, joints=joints))
    for k in range(40):
        step(plant, np.full(plant.n, 8.0 if k < 20 else np.nan), np.zeros(plant.n))
    assert (np.abs(plant.v) < 1e-9).tolist() == [True, False, True, False, True]


def test_brakes_and_stops_leave_a_state_to_go_on_from():
    plant = Plant(load_mechanism(MECHANISMS / "palletizer.toml"))
    volts = np.full(plant.n, 6.0)
    plant.drive(5e-3, volts)
    q = plant.q
    plant.hold(2e-3, volts)
    np.testing.assert_array_equal(plant.q, q)
    plant.stop()
    assert not plant.v.any()
    shaken(plant, 3, count=10)


def test_steps_in_another_mode_use_the_system_of_this_mode():
    mechanism = load_mechanism(MECHANISMS / "pick_and_place.toml")
    plant = Plant(mechanism)
    handle, rows = plant.handle, []
    for mode in mechanism.modes[1::-1]:
        plant.switch(mode.name)
        assert plant.handle is handle  # a board that holds the plant can still move the plant
        rows.append(plant.structure.mass.tolist())
        shaken(plant, 4, count=12, strength=0.01, thin=1e2)
        plant.stop()
    assert rows[0] != rows[1]


def test_velocities_that_somebody_changes_are_seen():
    plant = Plant(load_mechanism(MECHANISMS / "palletizer.toml"))
    plant.drive(5e-3, np.full(plant.n, 6.0))
    assert np.abs(plant.v).max() > 1e-3
    near(plant.v, plant.cycle.equations.G @ plant.cycle.v, 1e-13)
    before = plant.v
    plant.cycle.v *= 2.0
    plant.cycle.restart()
    near(plant.v, 2.0 * before, 1e-13)


def test_a_step_that_is_too_long_is_refused():
    plant = Plant(load_mechanism(MECHANISMS / "palletizer.toml"), velocities=np.full(5, 300.0), max_step=0.05)
    z = plant.cycle.z.copy()
    with pytest.raises(Refused, match="the step is too long"), np.errstate(all="ignore"):
        plant.push(0.05, np.zeros(plant.n))
    np.testing.assert_array_equal(plant.cycle.z, z)


def parallelogram(crank: float) -> Mechanism:
    """Return cranks of 0.2 m, 0.3 m apart, and their coupler: singular when collinear."""
    mechanism, far = four_bar(), np.array([0.3, 0.0, 0.0])
    long = {"crank": 0.2, "coupler": 0.3, "rocker": 0.2}
    links = tuple(replace(link, com=np.array([long[link.name] / 2, 0.0, 0.0])) for link in mechanism.links)
    places = ((crank, np.zeros(3)), (-crank, np.array([0.2, 0.0, 0.0])), (crank, far))
    joints = tuple(replace(joint, start=start, xyz=xyz)
                   for joint, (start, xyz) in zip(mechanism.joints, places, strict=True))
    loop = replace(mechanism.loops[0], a=Anchor("coupler", far, np.zeros(3)),
                   b=Anchor("rocker", np.array([0.2, 0.0, 0.0]), np.zeros(3)))
    return replace(mechanism, links=links, joints=joints, loops=(loop,))


def test_a_singular_pose_is_refused_by_the_name_of_its_row():
    plant = Plant(parallelogram(0.4))
    plant.push(H, np.zeros(3))
    plant.cycle.z = tree.assemble(parallelogram(0.0)).places.ravel()
    with pytest.raises(Refused, match="singular pose: pin"):
        plant.push(H, np.zeros(3))


def test_more_joints_than_there_is_room_for_are_refused():
    with pytest.raises(Refused, match=f"a plant has room for {MOST}"):
        Plant(oracle.planar_chain(MOST + 1))
