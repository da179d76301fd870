"""The flexible manipulator at a wall ("The inverse kinematics and dynamics of a flexible manipulator"): the tip moves
along the wall and presses on it. As in the paper, only the torques of the boundary-value motion drive the arm. With
force feedback, a motor in the third joint adds `gain` times the lever times the missing force, from the force sensor's
low-passed signal, a step late."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import fsolve

from femtorque.codegen.common import Array
from femtorque.codegen.motion import Trajectory
from femtorque.hil.plant import ArmRun, FlexiblePlant, Wall, run_flexible
from femtorque.hil.scenarios.scenario import Check, Contact, Scenario
from femtorque.hil.scenarios.slew import SMOOTH
from femtorque.host.plan import FlexibleArm, TipMotion, chord_motion, flexible_arm, tip_motion

STEP = 5e-4  # time step of control and simulation, s


@dataclass(frozen=True)
class Slide:
    """The tip along the wall."""

    wall: Contact
    duration: float

    def at(self, t: ArrayLike) -> tuple[Array, Array, Array]:
        x = np.clip(np.asarray(t, float) / self.duration, 0.0, 1.0)
        none, start, way = np.zeros_like(x), self.wall.from_, self.wall.to - self.wall.from_
        return (np.stack([start + way * SMOOTH(x), np.full_like(x, self.wall.floor), none], -1),
                np.stack([way * SMOOTH.deriv()(x) / self.duration, none, none], -1),
                np.stack([way * SMOOTH.deriv(2)(x) / self.duration**2, none, none], -1))


@dataclass(frozen=True)
class Press:
    """A constant force on the wall."""

    wall: Contact

    def at(self, t: ArrayLike) -> tuple[Array, Array, Array]:
        none = np.zeros_like(np.asarray(t, float))
        return np.stack([none, none - self.wall.press, none],
                        -1), np.zeros((*none.shape, 3)), np.zeros((*none.shape, 3))


@dataclass(frozen=True)
class Pressed:
    """One motion at the wall: the plan, and the result of the planned torques on the plant."""

    wall: Contact
    arm: FlexibleArm
    chord: Trajectory
    motion: TipMotion
    done: ArmRun

    @property
    def error(self) -> Array:
        """Return the error of the pressing force, N."""
        return self.done.force[:, 1] - self.wall.press

    @property
    def rms(self) -> float:
        return float(np.sqrt(np.mean(self.error**2)))


def pressed(scenario: Scenario, seconds: float, feedback: bool = False) -> Pressed:
    """Play one motion along the wall."""
    mechanism, contact = scenario.mechanism, scenario.file.contact
    assert contact is not None
    arm = flexible_arm(mechanism)
    start = np.array([body.joint.start for body in arm.rigid.bodies])
    chord = chord_motion(arm, Slide(contact, seconds), seconds, STEP, start)
    motion = tip_motion(arm, chord, seconds, STEP, ends="static", press=Press(contact))
    level = contact.floor + contact.press / contact.stiffness
    wall = Wall(np.array([0.0, 1.0, 0.0]), level, contact.stiffness, contact.damping)
    plant = FlexiblePlant(mechanism, contact.elements, wall=wall, frame="chord")
    sensed, lever = contact.press, mechanism.link("hand").com[0] * 2.0

    def drive(t: float, y: Array, force: Array) -> tuple[Array, float]:
        nonlocal sensed
        torque = motion.torque[min(int(t / STEP + 0.5), len(motion.torque) - 1)]
        if not feedback:
            return torque, 0.0
        sensed += STEP * 2.0 * np.pi * contact.sensor_hz * (force[1] - sensed)
        downward = -plant.places(y[: plant.J])[2][1, 1]
        return torque, contact.gain * lever * downward * (contact.press - sensed)

    return Pressed(contact, arm, chord, motion, run_flexible(plant, _resting(plant, chord, motion), seconds, STEP,
                                                             drive))


def _resting(plant: FlexiblePlant, chord: Trajectory, motion: TipMotion) -> Array:
    """Return the state in which the plant is at rest against the wall under the first torques."""

    def left(at: Array) -> Array:
        return plant.system(np.concatenate([at, np.zeros(len(at))]))[1] + plant.driven(motion.torque[0])

    at = fsolve(left, np.concatenate([chord.positions[0], np.zeros(plant.n)]), xtol=1e-12)
    return np.concatenate([at, np.zeros(len(at))])


def checks(scenario: Scenario, short: bool = False) -> list[Check]:
    """Return the requirements on all runs, each with its verdict."""
    assert scenario.file.contact is not None
    found, rms = [], {}
    for case in scenario.file.contact.run:
        if case.brief or not short:
            rms[case.name] = value = pressed(scenario, case.seconds, case.feedback).rms
            allowed = case.at_most * (rms[case.compared_with] if case.compared_with else 1.0)
            found.append(Check(f"{case.name}: error of the force", f"{value:.2g} N rms", f"at most {allowed:.2g} N",
                               value <= allowed))
    return found
