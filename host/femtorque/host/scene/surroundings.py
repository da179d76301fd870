"""Surroundings and contacts of a simulated arm, base frame, m and N. A pose is x, y, z and a quaternion x, y, z, w."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from femtorque.codegen.common import Array
from femtorque.host.scene.meshes import Solid

Place = tuple[float, ...]


@dataclass(frozen=True)
class Thing:
    """Surface of a body in the body's frame."""

    name: str
    solid: Solid
    place: Place  # the frame's initial pose
    moves: bool = False  # True if the arm can push the body

    def data(self) -> dict[str, Any]:
        return {"name": self.name, "place": list(self.place), "moves": self.moves, **self.solid.data()}


@dataclass(frozen=True)
class Contact:
    """All contact points of one link and one thing: force (3,) on the link, at the centre of pressure."""

    link: str
    thing: str
    point: Array
    force: Array

    def data(self) -> list[Any]:
        return [self.link, self.thing, *np.round([*self.point, *self.force], 4).tolist()]


@dataclass(frozen=True)
class Moment:
    """Surroundings at one time: poses of movable things by name, and contacts of the arm."""

    places: dict[str, Place] = field(default_factory=dict)
    contacts: tuple[Contact, ...] = ()

    def data(self) -> dict[str, Any]:
        return {"places": {name: np.round(place, 5).tolist() for name, place in self.places.items()},
                "contacts": [contact.data() for contact in self.contacts]}


@dataclass(frozen=True)
class Surroundings:
    things: Sequence[Thing]
    at: Callable[[int], Moment | None]  # returns the moving things at a control tick, or None if unknown
