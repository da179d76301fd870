"""Positions as integers: binary fractions of a turn, so that sums of them are exact (THEORY.md section 6).

On the wire a position is an int64 in units of 2^-32 turn (revolute, continuous) or 2^-28 m (prismatic): the upper half
counts whole turns. The control tick computes with the low half only, an int32 within half a turn; the double-precision
build carries an int64 with 32 more binary digits of it instead.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from femtorque.codegen.common import BadInput
from femtorque.codegen.mechanism import Joint

TURN_UNIT = 2.0 * np.pi / 2.0**32  # rad
METRE_UNIT = 2.0**-28  # m
COUNTED = 2**48  # wire steps: a board's count of turns begins anew after so many, or a multiple of it
FLOAT, DOUBLE = float(np.finfo(np.float32).max), float(np.finfo(float).max)  # the largest numbers of both


def position_unit(joint: Joint) -> float:
    """rad (revolute) or m (prismatic) of one step of a wire position."""
    return METRE_UNIT if joint.type == "prismatic" else TURN_UNIT


def farthest(joints: Sequence[Joint]) -> NDArray[np.float64]:
    """(J,) rad or m: every board counts so far, either way."""
    return np.array([COUNTED // 2 * position_unit(j) for j in joints])


def numbers(given: object, where: str, key: str) -> NDArray[np.float64]:
    """An array of the numbers that somebody gave. Raises BadInput if it holds anything else."""
    try:
        return np.asarray(given, float)
    except (TypeError, ValueError, OverflowError) as error:
        raise BadInput(where, key, None, f"are no numbers that fit ({error})") from None


def per_joint(given: object, joints: Sequence[Joint], where: str, key: str, most: ArrayLike = DOUBLE,
              alone: bool = False) -> NDArray[np.float64]:
    """(..., J) finite numbers, or (J,) alone, none larger than `most` (J,). Raises BadInput with the joint and its
    number."""
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
    """Positions (..., J) in rad or m to wire positions, rounded to nearest. Raises BadInput with the joint and its
    position if that is not finite, or farther than a board counts."""
    units = np.array([position_unit(j) for j in joints])
    return np.rint(per_joint(positions, joints, where, key, farthest(joints)) / units).astype(np.int64)


def to_float(values: object, joints: Sequence[Joint], where: str, key: str) -> NDArray[np.float32]:
    """Values (..., J) as fields f32 carry them. Raises BadInput with the joint and its value if that does not fit."""
    return per_joint(values, joints, where, key, FLOAT).astype(np.float32)


def from_wire(steps: ArrayLike, joints: Sequence[Joint]) -> NDArray[np.float64]:
    """Wire positions (..., J) to rad or m."""
    units = np.array([position_unit(j) for j in joints])
    return np.asarray(steps, np.int64).astype(float) * units


def beyond(a: ArrayLike, b: ArrayLike) -> NDArray[np.int64]:
    """(..., J) how far wire positions a are beyond b, also if a board's count of turns has begun anew in between."""
    steps = np.asarray(a, np.int64) - np.asarray(b, np.int64)
    return (steps + COUNTED // 2) % COUNTED - COUNTED // 2
