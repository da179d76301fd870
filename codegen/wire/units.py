"""Positions as integers: binary fractions of a turn, so that sums of them are exact (THEORY.md section 6).

On the wire a position is an int64 in units of 2^-32 turn (revolute, continuous) or 2^-28 m (prismatic): the upper half
counts whole turns. The control tick computes with the low half only, an int32 within half a turn; the double-precision
build carries an int64 with 32 more binary digits of it instead.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from femtorque.codegen.mechanism.description import Joint

TURN_UNIT = 2.0 * np.pi / 2.0**32  # rad
METRE_UNIT = 2.0**-28  # m
COUNTED = 2**48  # wire steps: a board's count of turns begins anew after so many, or a multiple of it


def position_unit(joint: Joint) -> float:
    """rad (revolute) or m (prismatic) of one step of a wire position."""
    return METRE_UNIT if joint.type == "prismatic" else TURN_UNIT


def to_wire(positions: ArrayLike, joints: Sequence[Joint]) -> NDArray[np.int64]:
    """Positions (..., J) in rad or m to wire positions, rounded to nearest."""
    units = np.array([position_unit(j) for j in joints])
    return np.rint(np.asarray(positions, float) / units).astype(np.int64)


def from_wire(steps: ArrayLike, joints: Sequence[Joint]) -> NDArray[np.float64]:
    """Wire positions (..., J) to rad or m."""
    units = np.array([position_unit(j) for j in joints])
    return np.asarray(steps, np.int64).astype(float) * units


def beyond(a: ArrayLike, b: ArrayLike) -> NDArray[np.int64]:
    """(..., J) how far wire positions a are beyond b, also if a board's count of turns has begun anew in between."""
    steps = np.asarray(a, np.int64) - np.asarray(b, np.int64)
    return (steps + COUNTED // 2) % COUNTED - COUNTED // 2
