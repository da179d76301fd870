"""Conversion of joint positions: rad and m in femtorque; degrees, mm and 0 to 100 in LeRobot."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from femtorque import BadInput, Mechanism
from femtorque.codegen.common import Array

MM = 1000.0
POSITION = ".pos"
ROUNDED = 0.06  # a limit with one decimal may be this far beyond the exact limit, deg, mm or per cent


@dataclass(frozen=True)
class Border:
    """Conversion (J,): LeRobot's value is scale times the joint's position plus shift. lower, upper: limits of the
    joints, rad or m."""

    names: tuple[str, ...]
    scale: Array
    shift: Array
    lower: Array
    upper: Array

    @staticmethod
    def of(mechanism: Mechanism, gripper: str) -> Border:
        """gripper: the joint with a range of 0 to 100. The mechanism file must give the joint's range."""
        joints = mechanism.streamed
        scale = np.array([MM if joint.type == "prismatic" else math.degrees(1.0) for joint in joints])
        lower, upper = (np.array([getattr(j.limits, end) for j in joints]) for end in ("lower", "upper"))
        shift = np.zeros(len(joints))
        for k, joint in enumerate(joints):
            if gripper in (joint.name, joint.called) and math.isfinite(upper[k] - lower[k]):
                scale[k] = 100.0 / (upper[k] - lower[k])
                shift[k] = -scale[k] * lower[k]
        return Border(tuple(joint.called for joint in joints), scale, shift, lower, upper)

    def keys(self, ending: str = POSITION) -> dict[str, type]:
        return {name + ending: float for name in self.names}

    def shown(self, q: Array) -> dict[str, float]:
        """Return positions (J,) in LeRobot's units."""
        return {name + POSITION: float(x) for name, x in zip(self.names, self.scale * q + self.shift, strict=True)}

    def taken(self, action: Mapping[str, Any], where: str = "action") -> Array:
        """Return an action's positions (J,) within the joints' ranges; NaN for a joint without a value. Raises BadInput
        for an unknown joint and for a value that is not finite. Keys without .pos are ignored."""
        found = np.full(len(self.names), np.nan)
        for key, value in action.items():
            if not key.endswith(POSITION):
                continue
            name = key.removesuffix(POSITION)
            if name not in self.names:
                raise BadInput(where, key, None, "no such joint", ", ".join(self.names))
            k, number = self.names.index(name), _number(key, value)
            found[k] = (number - self.shift[k]) / self.scale[k]
        return np.clip(found, self.lower, self.upper)

    def pose(self, where: str, places: Mapping[str, float]) -> Array:
        """Return a pose (J,); NaN for a joint without a value. Raises BadInput, also for a place beyond its range."""
        pose = self.taken({name + POSITION: place for name, place in places.items()}, where)
        for name, nearest in self.shown(pose).items():
            place = places.get(name.removesuffix(POSITION), nearest)
            if abs(place - nearest) > ROUNDED:
                raise BadInput(where, name, place, f"is out of range: the nearest is {nearest:.1f}")
        return pose


def _number(key: str, value: Any) -> float:
    """Return a finite number. Raises BadInput."""
    try:
        number = float(value)
    # float() raises RuntimeError for a tensor of several numbers
    except (TypeError, ValueError, OverflowError, RuntimeError) as error:
        raise BadInput("action", key, None, f"must be a number ({error})") from None
    if not math.isfinite(number):
        raise BadInput("action", key, number, "must be finite")
    return number
