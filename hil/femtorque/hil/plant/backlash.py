"""Plant of servos whose gears have backlash. The motor turns its side of the gear, and the output follows when the
teeth are in contact.

For each joint that a servo turns, the plant has two joints about the same axis. The first joint is the side of the gear
with the rotor, the gear's friction and the back-EMF. The second is the output. The output moves freely within the
backlash. At its limits it meets stops with the stiffness of femtorque.hil.plant.rigid. The servo's encoder measures the
output.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from femtorque.codegen.common import Array
from femtorque.codegen.drive import family_of
from femtorque.codegen.mechanism import Drive, Friction, Joint, Limits, Link, Mechanism
from femtorque.hil.plant import rigid
from femtorque.hil.plant.driven_plants import Driven, spread

GEAR = "'s gear"  # suffix of the name of the link between the two joints


def has_backlash(joint: Joint) -> bool:
    """Return True if a servo turns the joint."""
    return joint.drive is not None and joint.drive.servo is not None


def backlash_of(drive: Drive) -> float:
    """Return the backlash of a servo at its output: the total angle between its two limits, rad."""
    wire = family_of(drive.type).wire
    assert wire is not None
    return wire.play


class BacklashPlant(Driven):
    """A rigid tree whose servos have backlash. q, v (n,): positions and velocities of the outputs. current (n,):
    currents of the servos' motors, A. backlash: backlash of each servo's output, rad; None for the value of the servo's
    family. hand: a function of the plant that returns the torques (n,) of a person on the outputs."""

    def __init__(self, mechanism: Mechanism, backlash: float | None = None) -> None:
        self.mechanism, self.joints = mechanism, mechanism.moving
        self.n = len(self.joints)
        split = _split(mechanism)
        names = [joint.name for joint in split.moving]
        self._gears = np.array([names.index(_gear(j) if has_backlash(j) else j.name) for j in self.joints])
        self._outputs = np.array([names.index(j.name) for j in self.joints])
        self._leans = self._outputs != self._gears
        stops = np.full((len(names), 2), (-math.inf, math.inf))
        half = np.array([0.5 * (backlash_of(j.drive) if backlash is None else backlash) / j.drive.gear
                         for j in self.joints if j.drive and has_backlash(j)])
        stops[self._outputs[self._leans]] = np.stack([-half, half], axis=-1)
        self.inner = rigid.Plant(split, stops=stops)
        self.max_step, self.motors = self.inner.max_step, self.inner.motors
        self._hand: Callable[[BacklashPlant], Array] | None = None

    def _both(self, of_inner: Array) -> Array:
        """Return the values (n,) of the outputs from the values of both sides of the gears."""
        return of_inner[self._gears] + np.where(self._leans, of_inner[self._outputs], 0.0)

    @property
    def q(self) -> Array:
        return self._both(self.inner.q)

    @property
    def v(self) -> Array:
        return self._both(self.inner.v)

    @property
    def sides(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the joint numbers (n,) of motors and outputs in the inner plant; equal without backlash."""
        return self._gears, self._outputs

    @property
    def lean(self) -> Array:
        """Return the position of each output (n,) within its backlash, rad from the middle."""
        return np.where(self._leans, self.inner.q[self._outputs], 0.0)

    @property
    def current(self) -> Array:
        return self.inner.current[self._gears]

    @property
    def time(self) -> float:
        return self.inner.time

    def counts(self) -> NDArray[np.int64]:
        """Return the counts of the encoders of joints without backlash."""
        return self.inner.counts()[self._gears]

    @property
    def hand(self) -> Callable[[BacklashPlant], Array] | None:
        return self._hand

    @hand.setter
    def hand(self, hand: Callable[[BacklashPlant], Array] | None) -> None:
        """Set the hand. The hand's torque acts on both joints of an output, and so on the previous link."""
        self._hand = hand

        def on_both(inner: rigid.Plant) -> Array:
            assert hand is not None
            torque, given = np.zeros(inner.n), hand(self)
            torque[self._gears] = given
            torque[self._outputs] = given
            return torque

        self.inner.hand = on_both if hand is not None else None

    def _on_gears(self, of_motors: ArrayLike, rest: float) -> Array:
        return spread(of_motors, self._gears, self.inner.n, rest)

    def _steps(self, seconds: float, voltage: Array, torque: Array) -> None:
        self.inner.move(seconds, self._on_gears(voltage, math.nan), self._on_gears(torque, 0.0))

    def hold(self, seconds: float, voltage: ArrayLike) -> None:
        """Advance the time while brakes hold the outputs: only the currents change."""
        self.inner.hold(seconds, self._on_gears(voltage, math.nan))

    def stop(self) -> None:
        """Stop all joints instantly. Stop also the motion of each output within its backlash."""
        self.inner.stop()


def _gear(joint: Joint) -> str:
    return joint.name + GEAR


def _split(mechanism: Mechanism) -> Mechanism:
    """Return the mechanism in which each joint with backlash is replaced by two joints. The first joint gets all
    properties except the limits, and the second joint gets only the pose."""
    joints: list[Joint] = []
    links = list(mechanism.links)
    for joint in mechanism.joints:
        if not has_backlash(joint):
            joints.append(joint)
            continue
        name = _gear(joint)
        links.append(Link(name, 0.0, np.zeros(3), np.zeros((3, 3))))
        joints.append(replace(joint, name=name, child=name))
        joints.append(replace(joint, parent=name, xyz=np.zeros(3), rpy=np.zeros(3), start=0.0, motor=None, drive=None,
                              limits=Limits(), friction=Friction(0.0, 0.0), stiffness=0.0, actuated=False))
    return replace(mechanism, joints=tuple(joints), links=tuple(links))
