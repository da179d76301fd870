"""The choice of a mechanism's plant, and the board's view of the plant: the streamed joints. Rigid trees move in joint
coordinates. Joints that servos turn have the backlash of their gears. A planar arm that ends in a flexible link has a
plant of third order in the deflection, if the plant has room for its elements. In this plant the beam keeps its length.
Loops, modes and all other flexible links move as articulated points, with large rotations and with tension. MuJoCo, on
request, moves rigid arms among things that they can touch.
"""

from dataclasses import replace
from pathlib import Path
from typing import Protocol, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from femtorque.codegen.common import BadInput, Refused
from femtorque.codegen.mechanism import BASE, Mechanism
from femtorque.hil.plant import backlash, driven_plants, mujoco, rigid as minimal
from femtorque.hil.plant.articulated import plant as articulated
from femtorque.hil.plant.driven_plants import Stepped, spread
from femtorque.hil.plant.flexible import FlexibleArmPlant
from femtorque.hil.plant.plant_library import MOST

Array = NDArray[np.float64]
Plant = minimal.Plant | backlash.BacklashPlant | articulated.Plant | FlexibleArmPlant | mujoco.MujocoPlant
KINDS = ("auto", "mujoco")
FINER = 2  # number of plant elements for each element of the inverse model


class Driven(Protocol):
    """The plant behind a board's motors and encoders. Each array has one entry per joint."""

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
        """Let time pass with these voltages at the motors. NaN: the terminals float."""

    def move(self, seconds: float, voltage: Array, torque: Array) -> None:
        """Let time pass with these voltages and with torques of drives."""

    def hold(self, seconds: float, voltage: Array) -> None:
        """Let time pass with brakes on the joints: only currents change."""

    def stop(self) -> None:
        """Stop all joints at once."""


def plant_of(mechanism: Mechanism, kind: str = "auto", scene: Path | None = None) -> Plant:
    """Return the plant at its start. kind: "auto", or "mujoco" with a scene. Flexible links have twice the elements of
    the inverse model.

    Raises BadInput for an unknown kind, and the errors of femtorque.hil.plant.mujoco.
    """
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
    """Return the mechanism with `times` the elements in every flexible link."""
    links = tuple(link if link.beam is None else
                  replace(link, beam=replace(link.beam, elements=times * link.beam.elements))
                  for link in mechanism.links)
    return replace(mechanism, links=links)


def follow(plant: Driven, mechanism: Mechanism, mode: int) -> tuple[str, str]:
    """Let the plant follow a board into a mode, so that hands close or feet change. Return the mode's name and the
    reason why the plant stays in its mode, or ""."""
    name, whole = mechanism.modes[mode].name, plant.plant if isinstance(plant, Wired) else plant
    assert isinstance(whole, articulated.Plant)  # plant of every mechanism with modes
    try:
        whole.switch(name)
    except Refused as refusal:
        return name, str(refusal)
    return name, ""


def stepped_of(plant: Driven) -> Stepped | None:
    """Return the plant that C moves, or None if Python moves it."""
    whole = plant.plant if isinstance(plant, Wired) else plant
    inner = whole.inner if isinstance(whole, backlash.BacklashPlant) else whole
    return inner if isinstance(inner, Stepped) else None


def world_of(plant: Driven) -> mujoco.MujocoPlant | None:
    """Return the MuJoCo plant, whose arm stands among things, or None for other plants."""
    whole = plant.plant if isinstance(plant, Wired) else plant
    return whole if isinstance(whole, mujoco.MujocoPlant) and whole.things else None


class Wired(driven_plants.Driven):
    """A plant behind the motors and encoders of the streamed joints. q, v (J,), counts and voltages belong to the
    streamed joints.

    `plant` has all joints, passive joints of loops too.
    """

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
        """Let time pass with brakes on the joints and voltage (J,). Joints without a motor float."""
        self.plant.hold(seconds, spread(voltage, self.places, self.plant.n, np.nan))

    def stop(self) -> None:
        """Stop all joints at once, streamed or not."""
        self.plant.stop()

    def _steps(self, seconds: float, voltage: Array, torque: Array) -> None:
        n = self.plant.n
        self.plant.move(seconds, spread(voltage, self.places, n, np.nan), spread(torque, self.places, n, 0.0))


@overload
def wired(plant: Plant) -> Plant | Wired: ...


@overload
def wired(plant: Driven) -> Driven: ...


def wired(plant: Driven) -> Driven:
    """Return the plant that is wired to a board. If every joint is streamed, return the given plant."""
    if not isinstance(plant, Plant) or len(plant.mechanism.streamed) == plant.n:
        return plant
    return Wired(plant)
