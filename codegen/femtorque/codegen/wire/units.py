"""Positions as integers: binary fractions of a turn, whose sums are exact (THEORY.md section 6).

In the serial protocol a position is an int64 in units of 2^-32 turn (revolute, continuous) or 2^-28 m (prismatic). The
upper 32 bits count whole turns. The control tick computes with the lower 32 bits, an int32 within half a turn. The
double-precision build instead has an int64 with 32 additional binary digits."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from femtorque.codegen.common import BadInput
from femtorque.codegen.mechanism import Joint

TURN_UNIT = 2.0 * np.pi / 2.0**32  # rad
METRE_UNIT = 2.0**-28  # m
COUNTED = 2**48  # number of wire steps after which a board's position counter wraps; a counter may wrap at a multiple
FLOAT, DOUBLE = float(np.finfo(np.float32).max), float(np.finfo(float).max)  # largest numbers


def position_unit(joint: Joint) -> float:
    """Return one step of a wire position, rad (revolute) or m (prismatic)."""
    return METRE_UNIT if joint.type == "prismatic" else TURN_UNIT


def farthest(joints: Sequence[Joint]) -> NDArray[np.float64]:
    """Return the range (J,) that every board can count, rad or m on each side of zero."""
    return np.array([COUNTED // 2 * position_unit(j) for j in joints])


def numbers(given: object, where: str, key: str) -> NDArray[np.float64]:
    """Return the given numbers as an array. Raise BadInput for any other value."""
    try:
        return np.asarray(given, float)
    except (TypeError, ValueError, OverflowError) as error:
        raise BadInput(where, key, None, f"are no numbers that fit ({error})") from None


def per_joint(given: object, joints: Sequence[Joint], where: str, key: str, most: ArrayLike = DOUBLE,
              alone: bool = False) -> NDArray[np.float64]:
    """Return finite numbers (..., J) of magnitude up to `most` (J,). alone: accept only the shape (J,).

    Raise BadInput that names joint and number."""
    found = numbers(given, where, key)
    if found.shape[-1:] != (len(joints),) or (alone and found.ndim > 1):
        raise BadInput(where, key, f"shape {found.shape}", f"must be ({len(joints)},), one number per joint",
                       ", ".join(joint.name for joint in joints))
    fits = np.abs(found) <= most
    if not np.all(fits):
        at = tuple(np.argwhere(~fits)[0])
        bound = f"at most {np.broadcast_to(most, found.shape)[at]:.6g} in size" if np.isfinite(found[at]) else "finite"
        raise BadInput(where, key, float(found[at]), f"of {joints[at[-1]].name} must be {bound}")
    return found


def to_wire(positions: object, joints: Sequence[Joint], where: str = "position", key: str = "q") -> NDArray[np.int64]:
    """Return positions (..., J), rad or m, as wire positions, rounded to the nearest step. Raise BadInput that names
    joint and position if a position is not finite or outside the board's range."""
    units = np.array([position_unit(j) for j in joints])
    return np.rint(per_joint(positions, joints, where, key, farthest(joints)) / units).astype(np.int64)


def to_float(values: object, joints: Sequence[Joint], where: str, key: str) -> NDArray[np.float32]:
    """Return values (..., J) as float32 fields. Raise BadInput that names joint and value if a value does not fit."""
    return per_joint(values, joints, where, key, FLOAT).astype(np.float32)


def from_wire(steps: ArrayLike, joints: Sequence[Joint]) -> NDArray[np.float64]:
    """Return wire positions (..., J) in rad or m."""
    units = np.array([position_unit(j) for j in joints])
    return np.asarray(steps, np.int64).astype(float) * units


def beyond(a: ArrayLike, b: ArrayLike) -> NDArray[np.int64]:
    """Return the differences (..., J) of wire positions a - b. The differences are correct even if the board's counter
    has wrapped between the two positions."""
    steps = np.asarray(a, np.int64) - np.asarray(b, np.int64)
    return (steps + COUNTED // 2) % COUNTED - COUNTED // 2
