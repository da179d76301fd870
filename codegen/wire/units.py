"""Positions as integers: a full-range binary fraction of a turn, so that wrapping is exact (THEORY.md section 9).

On the wire and in the single-precision build a position is an int32 in units of 2^-32 turn (revolute, continuous) or
2^-28 m (prismatic, +-8 m). The double-precision build carries int64 positions with 32 more binary digits.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from codegen.mechanism.description import Joint

TURN_UNIT = 2.0 * np.pi / 2.0**32  # rad
METRE_UNIT = 2.0**-28  # m


def position_unit(joint: Joint) -> float:
    """rad (revolute) or m (prismatic) of one step of a wire position."""
    return METRE_UNIT if joint.type == "prismatic" else TURN_UNIT


def to_wire(positions: ArrayLike, joints: Sequence[Joint]) -> NDArray[np.int32]:
    """Positions (..., J) in rad or m to int32 wire positions, rounded to nearest, wrapping at whole turns."""
    units = np.array([position_unit(j) for j in joints])
    steps = np.rint(np.asarray(positions, float) / units)
    return np.mod(steps, 2.0**32).astype(np.uint64).astype(np.uint32).view(np.int32)


def from_wire(steps: ArrayLike, joints: Sequence[Joint]) -> NDArray[np.float64]:
    """Wire positions (..., J) to rad or m, within half a turn of zero."""
    units = np.array([position_unit(j) for j in joints])
    return np.asarray(steps, np.int32).astype(float) * units
