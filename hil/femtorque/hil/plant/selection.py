"""Selects the plant of a mechanism, and gives the board its view of the plant: the streamed joints. Rigid trees are
integrated in joint coordinates. The gears of joints that servos turn have backlash. For a planar arm with a flexible
last link, the equations of the plant are of third order in the deflection, if the plant supports this number of
elements. In this plant the length of the beam is constant. Mechanisms with loops, modes or other flexible links are
simulated as articulated points, with large rotations and with tension. MuJoCo can be selected for rigid arms among
objects that they can touch.
"""

from dataclasses import replace
from pathlib import Path
from typing import Protocol, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from femtorque.codegen.common import Array, BadInput, Refused
from femtorque.codegen.mechanism import BASE, Mechanism
from femtorque.hil.plant import backlash, driven_plants, mujoco, rigid as minimal
from femtorque.hil.plant.articulated import plant as articulated
from femtorque.hil.plant.driven_plants import Stepped, spread
from femtorque.hil.plant.flexible import FlexibleArmPlant
from femtorque.hil.plant.plant_library import MOST

Plant = minimal.Plant | backlash.BacklashPlant | articulated.Plant | FlexibleArmPlant | mujoco.MujocoPlant
KINDS = ("auto", "mujoco")
FINER = 2  # number of plant elements per element of the inverse model


class Driven(Protocol):
    """The plant that the motors and encoders of a board are connected to. Each array has one entry per joint."""

    @property
    def q(self) -> Array: ...

    @property
    def v(self) -> Array: ...

    @property
    def current(self) -> Array:
        """Return the currents of the motors, A."""

    def counts(self) -> NDArray[np.int64]:
        """Return the counts of the encoders since power-up."""

    def drive(self, seconds: float, voltage: Array) -> None:
        """Advance the time with these voltages at the motors. NaN: the terminals float."""

    def move(self, seconds: float, voltage: Array, torque: Array) -> None:
        """Advance the time with these voltages and with torques of drives."""

    def hold(self, seconds: float, voltage: Array) -> None:
        """Advance the time while brakes hold the joints: only the currents change."""

    def stop(self) -> None:
        """Stop all joints at once."""


def plant_of(mechanism: Mechanism, kind: str = "auto", scene: Path | None = None) -> Plant:
    """Return the plant at its start pose, with twice as many elements of a flexible link as the inverse model. kind:
    "auto", or "mujoco" with a scene. Raises BadInput for an unknown kind. Raises the exceptions of
    femtorque.hil.plant.mujoco."""
    if kind not in KINDS:
        raise BadInput("command line", "--plant", kind, "no such plant", "plants: " + ", ".join(KINDS))
    if scene is not None and kind != "mujoco":
        raise BadInput("command line", "--scene", scene, "goes with --plant mujoco")
    if kind == "mujoco":
        return mujoco.MujocoPlant(mechanism, scene)
    beams = [link.beam for link in mechanism.links if link.beam]
    if beams and is_arm(mechanism) and len(mechanism.moving) + 2 * FINER * beams[0].elements <= MOST:
        return FlexibleArmPlant(mechanism, FINER * beams[0].elements)
    changing = mechanism.constrained or mechanism.modes or beams
    if changing:
        return articulated.Plant(refined(mechanism, FINER))
    slack = any(map(backlash.has_backlash, mechanism.moving))
    return backlash.BacklashPlant(mechanism) if slack else minimal.Plant(mechanism)


def is_arm(mechanism: Mechanism) -> bool:
    """Return True for a planar chain whose last link, and no other, bends in its plane."""
    if mechanism.constrained or mechanism.modes or not mechanism.moving:
        return False
    *rigid, last = mechanism.moving
    flexible = [link.name for link in mechanism.links if link.beam]
    chain = zip([BASE, *(joint.child for joint in rigid)], mechanism.moving, strict=True)
    plain = all(joint.parent == parent and joint.type != "prismatic" and joint.stiffness == joint.c_mot == 0.0
                and np.array_equal(joint.axis, [0.0, 0.0, 1.0]) and not np.any(joint.rpy) for parent, joint in chain)
    beam = mechanism.link(last.child).beam
    return plain and beam is not None and flexible == [last.child] and not np.isfinite(beam.EI[0])


def refined(mechanism: Mechanism, times: int) -> Mechanism:
    """Return the mechanism with `times` as many elements in each flexible link."""
    links = tuple(link if link.beam is None else
                  replace(link, beam=replace(link.beam, elements=times * link.beam.elements))
                  for link in mechanism.links)
    return replace(mechanism, links=links)


def follow(plant: Driven, mechanism: Mechanism, mode: int) -> tuple[str, str]:
    """Switch the plant to a mode of the board: grippers close or feet change. Return the name of this mode, and the
    reason why the plant did not switch, or ""."""
    name, whole = mechanism.modes[mode].name, plant.plant if isinstance(plant, Wired) else plant
    assert isinstance(whole, articulated.Plant)  # the plant for mechanisms with modes
    try:
        whole.switch(name)
    except Refused as refusal:
        return name, str(refusal)
    return name, ""


def stepped_of(plant: Driven) -> Stepped | None:
    """Return the plant in C, or None if the plant is in Python."""
    whole = plant.plant if isinstance(plant, Wired) else plant
    inner = whole.inner if isinstance(whole, backlash.BacklashPlant) else whole
    return inner if isinstance(inner, Stepped) else None


def world_of(plant: Driven) -> mujoco.MujocoPlant | None:
    """Return the MuJoCo plant, whose arm has objects around it, or None for other plants."""
    whole = plant.plant if isinstance(plant, Wired) else plant
    return whole if isinstance(whole, mujoco.MujocoPlant) and whole.things else None


class Wired(driven_plants.Driven):
    """A plant with all joints, also passive ones, seen through the motors and encoders of its streamed joints. q, v
    (J,), counts and voltages belong to the streamed joints."""

    def __init__(self, plant: Plant) -> None:
        self.plant = plant
        names = [joint.name for joint in plant.mechanism.moving]
        self.places = np.array([names.index(joint.name) for joint in plant.mechanism.streamed], int)
        self.n = len(self.places)

    @property
    def q(self) -> Array:
        return self.plant.q[self.places]

    @property
    def v(self) -> Array:
        return self.plant.v[self.places]

    @property
    def current(self) -> Array:
        return self.plant.current[self.places]

    def counts(self) -> NDArray[np.int64]:
        return self.plant.counts()[self.places]

    def hold(self, seconds: float, voltage: ArrayLike) -> None:
        """Advance the time with brakes on the joints and voltage (J,). Joints without a motor move freely."""
        self.plant.hold(seconds, spread(voltage, self.places, self.plant.n, np.nan))

    def stop(self) -> None:
        """Stop all joints instantly, including joints that are not streamed."""
        self.plant.stop()

    def _steps(self, seconds: float, voltage: Array, torque: Array) -> None:
        n = self.plant.n
        self.plant.move(seconds, spread(voltage, self.places, n, np.nan), spread(torque, self.places, n, 0.0))


@overload
def wired(plant: Plant) -> Plant | Wired: ...


@overload
def wired(plant: Driven) -> Driven: ...


def wired(plant: Driven) -> Driven:
    """Return the plant that is connected to a board. If all joints are streamed, return the given plant."""
    if not isinstance(plant, Plant) or len(plant.mechanism.streamed) == plant.n:
        return plant
    return Wired(plant)
