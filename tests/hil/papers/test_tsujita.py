"""Figures of the flexible manipulator. The path is planned with one model and played on another."""

from dataclasses import replace

import numpy as np
import pytest

from femtorque.codegen.mechanism import load_mechanism
from femtorque.codegen.model import Model
from femtorque.hil.papers.isobe import MECHANISMS
from femtorque.hil.plant import FlexiblePlant, run_flexible
from femtorque.hil.scenarios import STEP, pressed, scenario
from femtorque.hil.scenarios.wall_arm import Press
from femtorque.host.plan import flexible_arm, tip_motion
from tests.support import oracle


def test_bending_changes_the_torques():
    """A stiff beam needs other torques. With the file's beam the contact force errs by less than 2.5 %."""
    wall = scenario.load_scenario("wall_contact")
    found, mechanism = pressed(wall, 0.5), wall.mechanism
    assert np.abs(found.error).max() < 0.05
    stiff = tuple(replace(link, beam=replace(link.beam, EI=(np.inf, 5e4))) if link.beam else link
                  for link in mechanism.links)
    rigid = tip_motion(flexible_arm(replace(mechanism, links=stiff)), found.chord, 0.5, STEP, ends="static",
                       press=Press(wall.file.contact))
    assert np.abs(rigid.torque - found.motion.torque).max() > 0.02 * np.abs(rigid.torque).max()


@pytest.mark.parametrize("frame", ["root", "chord"])
def test_plant_without_bending_is_a_rigid_arm(frame):
    """With a stiff beam the plant has the accelerations of Pinocchio's rigid arm, in both frames."""
    mechanism = load_mechanism(MECHANISMS / "flexible_link.toml")
    beam = mechanism.links[0]
    stiff = replace(mechanism, links=(replace(beam, beam=replace(beam.beam, EI=(np.inf, 1e6))),))
    plant = FlexiblePlant(stiff, 2, frame=frame)
    M, force, _, _ = plant.system(np.zeros(2 * (1 + plant.n)))
    tau = np.array([0.3])
    free = np.linalg.solve(M + 1e12 * np.diag([0.0] + [1.0] * plant.n), force + plant.driven(tau))  # no bending
    assert free[0] == pytest.approx(oracle.aba(Model.of(stiff), [0.0], [0.0], tau)[0], rel=1e-6)


def test_plant_keeps_its_energy():
    """The arm falls freely without damping. The sum of kinetic, elastic and potential energy stays constant."""
    mechanism = load_mechanism(MECHANISMS / "wall_arm.toml")
    links = tuple(replace(link, beam=replace(link.beam, damping=0.0)) if link.beam else link
                  for link in mechanism.links)
    plant = FlexiblePlant(replace(mechanism, links=links), 2)
    y0 = np.concatenate([[-0.4, 0.9], np.zeros(plant.n), np.zeros(2 + plant.n)])
    drifts = []
    for dt in (5e-4, 2.5e-4):
        done = run_flexible(plant, y0, 0.2, dt, lambda t, y, f: (np.zeros(2), 0.0))
        energy = np.array([_energy(plant, y) for y in done.y[:: len(done.y) // 20]])
        fallen = np.ptp([_potential(plant, y) for y in done.y[:: len(done.y) // 20]])
        drifts.append(np.ptp(energy) / fallen)
    assert drifts[1] < 1e-4
    assert drifts[1] < drifts[0] / 3.0


def _potential(plant: FlexiblePlant, y: np.ndarray) -> float:
    J, n = plant.J, plant.n
    origins, _, R = plant.places(y[:J])
    U = y[J : J + n]
    drawn = 0.5 * (plant.drawn[:-1] @ U) @ U
    bent = origins[-1] + np.outer(plant.x - drawn, R[:, 0]) + np.outer(plant.N @ U, R[:, 1])
    total = -float(plant.mass @ bent @ plant.model.gravity)
    for j, points in enumerate(plant.rigid):
        total -= float(points.mass @ (origins[j] + points.place @ plant._frames[j].T) @ plant.model.gravity)
    return total


def _energy(plant: FlexiblePlant, y: np.ndarray) -> float:
    J, size = plant.J, plant.J + plant.n
    U, v = y[J:size], y[size:]
    return 0.5 * float(v @ plant.system(y)[0] @ v) + 0.5 * float(U @ plant.K
                                                                 @ U) + plant.stiffened(U)[1] + _potential(plant, y)
