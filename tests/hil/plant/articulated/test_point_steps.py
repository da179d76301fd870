"""The articulated plant's steps in C against those in NumPy.

Both bring positions onto the rows to CLOSURE of the extent, by rounds that end there, so positions agree to that, and
velocities to what it is over a step. Without that projection they agree to rounding.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from femtorque.codegen.common.errors import Refused
from femtorque.codegen.mechanism.description import Anchor, Friction, Mechanism, Motor, Payload
from femtorque.codegen.mechanism.reader import load_mechanism
from femtorque.hil.plant.articulated import tree
from femtorque.hil.plant.articulated.cycle import CLOSURE
from femtorque.hil.plant.articulated.laws import Spring, Stop, backlash
from femtorque.hil.plant.articulated.plant import Penalty, Plant
from femtorque.hil.plant.articulated.point_steps import PointSteps
from femtorque.hil.plant.choose import FINER, refined
from femtorque.hil.plant.plant_steps import MOST
from tests.hil.plant.articulated.test_loops import four_bar
from tests.hil.plant.test_rigid_steps import driven_tree
from tests.support import oracle
from tests.support.mimic import gripper_in

MECHANISMS = Path(__file__).parents[4] / "mechanisms"
H = 5e-4  # s, a step
POSITION, VELOCITY = 5.0 * CLOSURE, 5.0 * CLOSURE / H  # of rounds that end elsewhere within CLOSURE


def both(mechanism: Mechanism, **options) -> tuple[Plant, Plant]:
    ours, reference = Plant(mechanism, **options), Plant(mechanism, compiled=False, **options)
    assert ours._compiled is not None and reference._compiled is None
    return ours, reference


def near(one: np.ndarray, other: np.ndarray, within: float, peak: float = 1.0) -> None:
    np.testing.assert_allclose(one, other, rtol=0, atol=within * max(peak, float(np.abs(other).max(initial=0.0))))


def compare(ours: Plant, reference: Plant, thin: float = 1.0) -> None:
    """thin: how much worse the rows of the thinnest solid are conditioned than those of a thick one."""
    near(ours.q, reference.q, thin * POSITION)
    near(ours.v, reference.v, thin * VELOCITY)
    near(ours.current, reference.current, thin * VELOCITY)
    # what the drives do: joints of a loop can share what holds them in many ways
    near(*(reference.cycle.along.responses @ plant.drives.total for plant in (ours, reference)), thin * VELOCITY)
    books = [[plant.book.motors, plant.book.friction] for plant in (ours, reference)]
    near(np.array(books[0]), np.array(books[1]), thin * VELOCITY)
    assert ours.time == pytest.approx(reference.time, abs=1e-12)
    assert ours.cycle.closure() < max(2.0 * CLOSURE, 2.0 * reference.cycle.closure())


def not_asked(*_: object) -> None:
    raise AssertionError("C has left a step to NumPy")


def shaken(ours: Plant, reference: Plant, seed: int, count: int = 25, strength: float = 5.0, thin: float = 1.0) -> None:
    """Random voltages, some of which float, and torques; all float in the last quarter, as of a disarmed bridge.
    C takes every step."""
    rng = np.random.default_rng(seed)
    still = ours.q.copy()
    ours._in_python = not_asked  # type: ignore[method-assign]
    for k in range(count):
        floats = rng.random(ours.n) < (0.2 if 4 * k < 3 * count else 2.0)
        volts = np.where(floats, np.nan, strength * rng.normal(size=ours.n))
        torque = 0.05 * strength * rng.normal(size=ours.n) * (rng.random() < 0.5)
        for plant in (ours, reference):
            plant.move(1.3e-3, volts, torque)
        compare(ours, reference, thin)
    assert np.abs(ours.q - still).max() > 1e3 * POSITION


@pytest.mark.parametrize("seed", range(8))
def test_c_steps_trees_as_numpy_does(seed):
    rng = np.random.default_rng(seed)
    mechanism = driven_tree(rng, int(rng.integers(1, 7)))
    shaken(*both(mechanism), seed)


def test_without_projection_c_is_numpy_to_rounding():
    mechanism = driven_tree(np.random.default_rng(3), 4)
    ours, reference = both(mechanism, projection=False, friction=False)
    for k in range(20):
        volts = 5.0 * np.sin(0.3 * k + np.arange(4))
        for plant in (ours, reference):
            plant.drive(1e-3, volts)
        near(ours.q, reference.q, 1e-12)
        for name in ("z", "v", "gamma", "applied", "multipliers"):
            near(getattr(ours.cycle, name), getattr(reference.cycle, name), 1e-12, peak=0.0)
        near(ours.current, reference.current, 1e-12, peak=0.0)


# loops, a delta with slides' and universal joints' rows, what mimics, and thin rods
@pytest.mark.parametrize(("name", "thin"), [("palletizer", 1.0), ("delta", 1.0), ("four_bar", 1e2), ("five_bar", 1e2),
                                            ("three_rrr", 1e3)])
def test_c_steps_closed_mechanisms_as_numpy_does(name, thin):
    shaken(*both(load_mechanism(MECHANISMS / f"{name}.toml")), 7, count=12, thin=thin)


def test_c_bends_beams_as_numpy_does():
    mechanism = refined(load_mechanism(MECHANISMS / "flexible_link.toml"), FINER)
    ours, reference = both(mechanism, velocities=[1.0])
    for _ in range(10):
        for plant in (ours, reference):
            plant.push(1e-3, [0.3])
        near(ours.q, reference.q, 1e-9)
        near(ours.v, reference.v, 1e-7)
    bent = [plant.loads.beams for plant in (ours, reference)]
    strains = [beams.forms.values(plant.cycle.equations.x) for beams, plant in zip(bent, (ours, reference), strict=True)
               if beams]
    assert np.abs(strains[1]).max() > 1e-4
    near(strains[0], strains[1], 1e-9)


@pytest.mark.parametrize("inertia", [0.0, 1e-4])
def test_angles_and_rotors_count_whole_turns_in_c_too(inertia):
    wheel = oracle.planar_chain(1, gravity=(0.0, 0.0, 0.0))
    wheel = replace(wheel, joints=(replace(wheel.joints[0], motor=Motor(1.0, 0.0, 0.05, 5.0, inertia)),))
    ours, reference = both(wheel, start=[7.0], velocities=[-100.0])
    ours._in_python = not_asked  # type: ignore[method-assign]
    for _ in range(20):
        for plant in (ours, reference):
            plant.push(5e-3, [0.0])
        compare(ours, reference)
    assert ours.q[0] < 0.0


def test_c_lets_followers_follow_as_numpy_does(tmp_path):
    shaken(*both(gripper_in(tmp_path)), 9)


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_damped_stops_push_and_never_pull_in_c_too(side):
    wheel = oracle.planar_chain(1, gravity=(0.0, 0.0, 0.0))
    limits = replace(wheel.joints[0].limits, lower=-0.01, upper=0.01)
    wheel = replace(wheel, joints=(replace(wheel.joints[0], limits=limits),))
    ours, reference = both(wheel, stops=Penalty(200.0, 2.0), velocities=[4.0 * side])
    ours._in_python = not_asked  # type: ignore[method-assign]
    pushed = []
    for _ in range(60):
        for plant in (ours, reference):
            plant.push(5e-4, [0.0])
        compare(ours, reference)
        pushed.append(float(side * reference.loads.torques[0]))
        near(ours.loads.torques, reference.loads.torques, 1e3 * POSITION)
    assert min(pushed) < -0.1 and max(pushed) == 0.0
    assert side * ours.v[0] < 0.0  # thrown back


def test_springs_stops_and_play_are_cs_too():
    mechanism = driven_tree(np.random.default_rng(11), 4)
    joints = list(mechanism.joints)
    joints[0] = replace(joints[0], limits=replace(joints[0].limits, lower=-0.01, upper=0.01))
    names = [joint.name for joint in mechanism.moving]
    laws = [(backlash(0.02, 300.0, 1.0), {names[1]: 1.0, names[2]: -1.0}), (Spring(4.0, 0.1, 0.05), names[3]),
            (Stop(-0.02, np.inf, 500.0, 2.0), names[2])]
    ours, reference = both(replace(mechanism, joints=tuple(joints)), stops=Penalty(800.0, 1.0), laws=laws)
    for plant in (ours, reference):
        plant.loads.external[:12] = np.linspace(-1.0, 1.0, 12)
    shaken(ours, reference, 5)
    assert np.abs(reference.loads.torques).max() > 0.1
    near(ours.loads.torques, reference.loads.torques, 1e3 * POSITION)


def test_locks_and_payloads_are_cs_too():
    rng = np.random.default_rng(12)
    mechanism = driven_tree(rng, 6)
    load = Payload("load", "link4", 0.7, rng.normal(size=3) * 0.1, oracle.random_inertia(rng, 0.7, 0.2))
    shaken(*both(replace(mechanism, payloads=(load,), lock={mechanism.joints[2].name: 0.8})), 2)


def test_joints_that_stick_in_numpy_stick_in_c():
    mechanism = load_mechanism(MECHANISMS / "palletizer.toml")
    joints = tuple(replace(joint, friction=Friction(coulomb=30.0, viscous=0.1)) for joint in mechanism.joints)
    ours, reference = both(replace(mechanism, joints=joints))
    for k in range(20):
        volts = np.full(ours.n, 8.0 if k < 10 else np.nan)
        for plant in (ours, reference):
            plant.drive(1e-3, volts)
        compare(ours, reference)
    assert (np.abs(ours.v) < 1e-9).tolist() == [True, False, True, False, True]


def test_brakes_and_stops_leave_c_where_numpy_is():
    ours, reference = both(load_mechanism(MECHANISMS / "palletizer.toml"))
    volts = np.full(ours.n, 6.0)
    for plant in (ours, reference):
        plant.drive(5e-3, volts)
        plant.hold(2e-3, volts)
        plant.stop()
        plant.drive(5e-3, volts)
    compare(ours, reference)
    assert np.abs(ours.v).max() > 1e-3


def test_c_goes_on_in_another_mode():
    mechanism = load_mechanism(MECHANISMS / "pick_and_place.toml")
    ours, reference = both(mechanism)
    rows = []
    for mode in mechanism.modes[1::-1]:
        for plant in (ours, reference):
            plant.switch(mode.name)
        rows.append(ours.structure.mass.tolist())
        shaken(ours, reference, 4, count=6, strength=0.01, thin=1e2)
        for plant in (ours, reference):
            plant.stop()
    assert rows[0] != rows[1]


def test_velocities_that_somebody_changes_are_seen():
    plant = Plant(load_mechanism(MECHANISMS / "palletizer.toml"))
    plant.drive(5e-3, np.full(plant.n, 6.0))
    assert np.abs(plant.v).max() > 1e-3
    near(plant.v, plant.cycle.velocities, 1e-14, peak=0.0)
    plant.cycle.v *= 2.0
    near(plant.v, plant.cycle.velocities, 1e-14, peak=0.0)


def test_what_c_leaves_is_stepped_in_numpy(monkeypatch):
    """Here C is let take no step, then one of each two."""
    mechanism = driven_tree(np.random.default_rng(5), 4)
    reference = Plant(mechanism, compiled=False)
    reference.drive(2e-3, np.full(4, 3.0))
    for most in (0, 1):
        left = []

        def take(self: PointSteps, h: float, count: int, most: int = most, left: list[int] = left,
                 whole=PointSteps.take) -> int:
            left.append(count)
            return whole(self, h, min(count, most))

        monkeypatch.setattr(PointSteps, "take", take)
        ours = Plant(mechanism)
        ours.drive(2e-3, np.full(4, 3.0))
        monkeypatch.undo()
        assert left == ([4, 3, 2, 1] if most == 0 else [4, 2])
        compare(ours, reference)


def test_c_leaves_a_step_that_is_too_long_to_numpy_which_refuses_it():
    plant = Plant(load_mechanism(MECHANISMS / "palletizer.toml"), velocities=np.full(5, 300.0), max_step=0.05)
    z = plant.cycle.z.copy()
    with pytest.raises(Refused, match="the step is too long"), np.errstate(all="ignore"):
        plant.push(0.05, np.zeros(plant.n))
    np.testing.assert_array_equal(plant.cycle.z, z)


def parallelogram(crank: float) -> Mechanism:
    """Two cranks of 0.2 m, 0.3 m apart, and what joins them: singular where they lie in one line."""
    mechanism, far = four_bar("planar"), np.array([0.3, 0.0, 0.0])
    long = {"crank": 0.2, "coupler": 0.3, "rocker": 0.2}
    links = tuple(replace(link, com=np.array([long[link.name] / 2, 0.0, 0.0])) for link in mechanism.links)
    places = ((crank, np.zeros(3)), (-crank, np.array([0.2, 0.0, 0.0])), (crank, far))
    joints = tuple(replace(joint, start=start, xyz=xyz)
                   for joint, (start, xyz) in zip(mechanism.joints, places, strict=True))
    loop = replace(mechanism.loops[0], a=Anchor("coupler", far, np.zeros(3)),
                   b=Anchor("rocker", np.array([0.2, 0.0, 0.0]), np.zeros(3)))
    return replace(mechanism, links=links, joints=joints, loops=(loop,))


def test_c_leaves_a_singular_pose_to_numpy_which_names_the_row():
    plant = Plant(parallelogram(0.4))
    plant.push(H, np.zeros(3))
    cycle, flat = plant.cycle, tree.assemble(parallelogram(0.0)).places.ravel()
    cycle.resume(flat, cycle.v, cycle.gamma, cycle.q, cycle.applied, cycle.multipliers)
    with pytest.raises(Refused, match="singular pose: pin"):
        plant.push(H, np.zeros(3))


class OwnLaw(Spring):
    """A law that the C has never heard of."""


def test_what_the_c_does_not_know_is_numpys():
    arm = oracle.planar_chain(2)
    names = [joint.name for joint in arm.moving]
    assert Plant(arm, laws=[(Spring(1.0), names[0])])._compiled is not None
    assert Plant(arm, laws=[(OwnLaw(1.0), names[0])])._compiled is None
    assert Plant(oracle.planar_chain(MOST + 1))._compiled is None
    stressed = load_mechanism(MECHANISMS / "three_axis.toml")
    assert Plant(stressed)._compiled is None and len(Plant(stressed).members.owner)
