"""Steps of the flexible arm: Newmark's scheme, written out with the equations of femtorque.hil.plant.flexible_arm."""

from dataclasses import replace

import numpy as np
import pytest

from femtorque.codegen.common import MECHANISMS, Refused
from femtorque.codegen.mechanism import Friction, Mechanism, load_mechanism
from femtorque.hil.plant.articulated import plant as articulated
from femtorque.hil.plant.flexible import FlexibleArmPlant
from femtorque.hil.plant.flexible_arm import Wall
from femtorque.hil.plant.plant_library import MOST
from femtorque.hil.plant.selection import plant_of
from tests.hil.plant.test_dry_friction import clamped

ARM = load_mechanism(MECHANISMS / "flexible_arm.toml")


def longer() -> Mechanism:
    """Return an arm with an additional rigid link before the first link, and with gravity in the plane."""
    shoulder, elbow = ARM.joints
    link = replace(ARM.link("upper"), name="first")
    first = replace(shoulder, name="base", child="first", start=0.3)
    second = replace(shoulder, parent="first", xyz=np.array([0.25, 0.05, 0.1]))
    return replace(ARM, joints=(first, second, elbow), links=(link, *ARM.links), gravity=np.array([2.0, -9.0, 1.0]))


def sheared() -> Mechanism:
    """Return an arm whose flexible link has shear."""
    links = (replace(x, beam=replace(x.beam, GA_s=(900.0, 900.0))) if x.beam else x for x in ARM.links)
    return replace(ARM, links=tuple(links))


def sticking() -> Mechanism:
    joints = (replace(joint, friction=Friction(coulomb=0.6, viscous=0.02)) for joint in ARM.joints)
    return replace(ARM, joints=tuple(joints))


def step(plant: FlexibleArmPlant, h: float, volts: np.ndarray, torque: np.ndarray) -> dict[str, np.ndarray | float]:
    """Return the state after a step: average acceleration, implicit elasticity and damping, three iterations."""
    n, arm, motors = plant.n, plant.flexible, [joint.motor for joint in plant.joints]
    R, L, constant, rotor = np.array([(m.R, m.L, m.gear * m.K, m.gear**2 * m.inertia) if m else (1.0, 0.0, 0.0, 0.0)
                                      for m in motors]).T
    floats = np.isnan(volts)
    live, steady = np.where(floats, 0.0, constant), np.where(floats, 0.0, volts) / R
    ratio = np.divide(R * h, L, out=np.full(n, np.inf), where=L > 0.0)
    decay = np.exp(-ratio)
    lag, current = (1.0 - decay) / ratio, np.where(live != 0.0, plant.current, 0.0)
    active, back = live * (lag * current + (1.0 - lag) * steady) + torque, live**2 / R * (1.0 - lag)
    viscous, coulomb = np.array([(j.friction.viscous, j.friction.coulomb) for j in plant.joints]).T
    x, v, before = plant.x, plant.velocities, plant.accelerations
    size = len(x)
    soft, rotors, damping = np.zeros((size, size)), np.zeros((size, size)), viscous + back
    soft[n:, n:] = 0.25 * h * h * arm.K + 0.5 * h * arm.C
    soft[range(n), range(n)] += 0.5 * h * damping
    rotors[range(n), range(n)] = rotor
    a = before
    for _ in range(3):
        new_x, new_v = x + h * v + 0.25 * h * h * (before + a), v + 0.5 * h * (before + a)
        mass, force, _, _ = arm.system(np.concatenate([new_x, new_v]))
        force[:n] += active - damping * new_v[:n]
        system = mass + rotors + soft
        a = np.linalg.solve(system, force + soft @ a)
    new_x, new_v, dry = x + h * v + 0.25 * h * h * (before + a), v + 0.5 * h * (before + a), np.zeros(n)
    if coulomb.any():
        response = h * np.linalg.inv(system)[:, :n]
        dry = clamped(response[:n], new_v[:n], coulomb)
        new_v = new_v + response @ dry
        new_v[:n] = np.where(np.abs(dry) < coulomb, 0.0, new_v[:n])
    mean = (new_x - x)[:n] / h
    end = steady - live * mean / R
    return {"x": new_x, "velocities": new_v, "accelerations": a,
            "current": np.where(live != 0.0, end + (current - end) * decay, 0.0)}


@pytest.mark.parametrize("mechanism", [ARM, longer(), sheared(), sticking(),
                                       load_mechanism(MECHANISMS / "flexible_link.toml")],
                         ids=["arm", "longer", "sheared", "sticking", "link"])
def test_each_step_is_newmarks(mechanism):
    """Voltages and torques are random, and some terminals float. In the last quarter all terminals float."""
    plant = FlexibleArmPlant(mechanism, 4)
    rng, start, rested = np.random.default_rng(3), plant.x, 0
    for k in range(120):
        volts = np.where(rng.random(plant.n) < (0.2 if k < 90 else 2.0), np.nan, 4.0 * rng.normal(size=plant.n))
        torque = 0.3 * rng.normal(size=plant.n) * (rng.random() < 0.5)
        expected = step(plant, 4.5e-4, volts, torque)
        plant.move(4.5e-4, volts, torque)
        for name in ("x", "velocities", "accelerations", "current"):
            theirs = expected[name]
            np.testing.assert_allclose(getattr(plant, name), theirs, rtol=0,
                                       atol=1e-11 * max(1.0, np.abs(theirs).max()))
        assert plant.time == pytest.approx(4.5e-4 * (k + 1), abs=1e-12)
        rested += int(np.sum(plant.v == 0.0))
    assert np.abs(plant.x - start)[plant.n:].max() > 1e-4
    assert (rested > 10) == (mechanism.joints[0].friction.coulomb == 0.6)


def test_each_step_on_a_wall_is_newmarks_with_the_walls_force():
    """An arm with a gripper on a spring falls onto a floor, rebounds and falls again."""
    mechanism = load_mechanism(MECHANISMS / "wall_arm.toml")
    floor = FlexibleArmPlant(mechanism, 3).tip()[1] - 2e-3
    plant = FlexibleArmPlant(mechanism, 3, wall=Wall(np.array([0.0, 1.0, 0.0]), floor, 1e4, 2.0))
    forces, floating = [], np.full(2, np.nan)
    for _ in range(600):
        expected = step(plant, 2e-4, floating, np.zeros(2))
        plant.drive(2e-4, floating)
        for name in ("x", "velocities", "accelerations"):
            theirs = expected[name]
            np.testing.assert_allclose(getattr(plant, name), theirs, rtol=0,
                                       atol=1e-11 * max(1.0, np.abs(theirs).max()))
        depth = floor - plant.tip()[1]
        forces.append(plant.contact()[1])
        assert (forces[-1] > 0.0) <= (depth > 0.0)
    touching = np.array(forces) > 0.0
    assert touching.any() and not touching[0] and np.count_nonzero(np.diff(touching)) > 2, "it falls, and rebounds"


def test_the_error_of_a_wall_reaches_the_caller_that_moves_the_plant():
    plant = FlexibleArmPlant(ARM, 4, wall=Wall(np.array([0.0, 1.0, 0.0]), -1.0, 1e4))
    plant.flexible.wall = Wall(np.zeros(2), -1.0, 1e4)  # places have three numbers
    with pytest.raises(ValueError, match="matmul"):
        plant.drive(1e-3, [0.0, 0.0])


def test_a_watcher_sees_each_step():
    seen = []
    plant = FlexibleArmPlant(ARM, 4)
    plant.watch(lambda: seen.append(plant.time))
    plant.drive(2e-3, [3.0, -2.0])
    assert seen == pytest.approx([5e-4, 1e-3, 1.5e-3, 2e-3])


def test_more_elements_than_there_is_room_for_are_points_or_refused():
    beam = ARM.link("fore").beam
    for elements, kind in ((7, FlexibleArmPlant), (8, articulated.Plant)):
        links = (replace(x, beam=replace(beam, elements=elements)) if x.beam else x for x in ARM.links)
        assert isinstance(plant_of(replace(ARM, links=tuple(links))), kind)
    assert FlexibleArmPlant(ARM, MOST // 2 - 1).flexible.n == MOST - 2
    with pytest.raises(Refused, match=f"the plant {MOST + 2} coordinates; it has room for {MOST}"):
        FlexibleArmPlant(ARM, MOST // 2)
