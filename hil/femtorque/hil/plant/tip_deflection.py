"""Deflections of flexible links: the distance of each tip from its position on a rigid link."""

import numpy as np

from femtorque.codegen.common import Array
from femtorque.hil.plant.articulated import plant as articulated
from femtorque.hil.plant.articulated.elements import Frame
from femtorque.hil.plant.flexible import FlexibleArmPlant
from femtorque.hil.plant.selection import Driven, Wired


def tips_of(plant: Driven) -> dict[str, float]:
    """Return {flexible link: distance of its end from the axis at its root, m}: for a planar arm positive to the left,
    with the link's loads; for other arms absolute."""
    whole = plant.plant if isinstance(plant, Wired) else plant
    if isinstance(whole, FlexibleArmPlant):
        link = next(link.name for link in whole.mechanism.links if link.beam)
        return {link: float(whole.flexible.tip_N @ whole.x[whole.n:])}
    if isinstance(whole, articulated.Plant):
        return {link.name: _bent(whole, link.name, link.beam.length) for link in whole.mechanism.links if link.beam}
    return {}


def shapes_of(plant: Driven) -> dict[str, tuple[float, float, float, float]]:
    """Return {flexible link: deflection and slope of its end in y, then in z of its root, m and rad}."""
    whole = plant.plant if isinstance(plant, Wired) else plant
    if isinstance(whole, FlexibleArmPlant):
        link, bent = next(link.name for link in whole.mechanism.links if link.beam), whole.x[whole.n:]
        return {link: (float(whole.flexible.end_N @ bent), float(whole.flexible.slope_N @ bent), 0.0, 0.0)}
    if isinstance(whole, articulated.Plant):
        return {link.name: _shape(whole, link.name) for link in whole.mechanism.links if link.beam}
    return {}


def _shape(plant: articulated.Plant, link: str) -> tuple[float, float, float, float]:
    """Return the shape in the axes of the first element's root."""
    first, last = _ends(plant, link)
    root, end = (_place(plant, frame, frame.origin) for frame in (first, last))
    axes = np.array([_place(plant, first, first.origin + axis) - root for axis in first.axes.T])
    along = axes @ (_place(plant, last, last.origin + last.axes[:, 0]) - end)
    _, y, z = axes @ (end - root)
    return float(y), float(along[1] / along[0]), float(z), float(along[2] / along[0])


def _bent(plant: articulated.Plant, link: str, length: float) -> float:
    first, last = _ends(plant, link)
    rigid = _place(plant, first, first.origin + length * first.axes[:, 0])
    return float(np.linalg.norm(_place(plant, last, last.origin) - rigid))


def _ends(plant: articulated.Plant, link: str) -> tuple[Frame, Frame]:
    """Return the root of a link's first element and the end of its last element."""
    assert plant.loads.beams is not None
    own = [element for element in plant.loads.beams.elements if element.name.startswith(f"{link}[")]
    return own[0].a, own[-1].b


def _place(plant: articulated.Plant, frame: Frame, point: Array) -> Array:
    """Return the present position of a point of a frame's solid."""
    at: Array = plant.system.solids[frame.solid].at(point) @ plant.cycle.equations.x.reshape(-1, 4, 3)[frame.solid]
    return at
