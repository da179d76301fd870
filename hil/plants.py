"""Which plant a mechanism has, and what a board sees of it: the streamed joints alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from codegen.mechanism import Mechanism
from hil import plant as minimal
from hil.plexus import plant as articulated

Array = NDArray[np.float64]
Plant = minimal.Plant | articulated.Plant


def plant_of(mechanism: Mechanism) -> Plant:
    """The plant in joint coordinates, or, where loops or modes change what these are, the articulated one."""
    changing = mechanism.loops or mechanism.modes or any(link.beam is not None for link in mechanism.links)
    return articulated.Plant(mechanism) if changing else minimal.Plant(mechanism)


class Wired:
    """A plant behind the motors and encoders of the streamed joints. q, v (J,), counts and voltages are theirs alone.

    What moves beside them, passive joints of loops, is in `plant`.
    """

    def __init__(self, plant: Plant) -> None:
        self.plant = plant
        names = [joint.name for joint in plant.mechanism.moving]
        self.places = np.array([names.index(joint.name) for joint in plant.mechanism.streamed], int)

    @property
    def q(self) -> Array:
        return self.plant.q[self.places]

    @property
    def v(self) -> Array:
        return self.plant.v[self.places]

    def counts(self) -> NDArray[np.int64]:
        return self.plant.counts()[self.places]

    def drive(self, seconds: float, voltage: ArrayLike) -> None:
        """As the plant's, voltage (J,); what has no motor floats."""
        terminals = np.full(self.plant.n, np.nan)
        terminals[self.places] = voltage
        self.plant.drive(seconds, terminals)

    def push(self, seconds: float, torque: ArrayLike) -> None:
        """As the plant's, torque (J,)."""
        torques = np.zeros(self.plant.n)
        torques[self.places] = torque
        self.plant.push(seconds, torques)


def wired(plant: Plant) -> Plant | Wired:
    """What a board is wired to: the plant itself where every joint is streamed."""
    mechanism = getattr(plant, "mechanism", None)
    whole = mechanism is None or len(mechanism.streamed) == len(mechanism.moving)
    return plant if whole else Wired(plant)
