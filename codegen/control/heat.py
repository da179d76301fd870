"""How long motors and drivers may carry what: I^2 t, by a first-order model of each (ft_heat.c).

The heat h follows the square of the current, in continuous ones, with the thermal time constant T: T h' = (I/I_c)^2 -
h. At the continuous current it comes to 1; a peak I_p may last for T ln(1 / (1 - (I_c/I_p)^2)) from cold. The current
is that which the torque asks for, tau / (K N).
"""

from __future__ import annotations

import math
import struct
import zlib
from dataclasses import dataclass

import numpy as np

from codegen.board.description import Board
from codegen.mechanism.description import Joint, Mechanism


@dataclass(frozen=True)
class Heat:
    """One row of ft_heat. joint: its number. per_torque: continuous currents a N m. share: dt / T. what: in words."""

    joint: int
    per_torque: float
    share: float
    what: str

    @staticmethod
    def literal(value: float) -> str:
        """As C has it in single precision."""
        return f"{float(np.float32(value))!r}f"


@dataclass(frozen=True)
class Rating:
    """What one part of a drive can carry for good: A at the motor, and its thermal time constant, s."""

    part: str
    continuous: float
    thermal_s: float


def ratings(joint: Joint, board: Board | None) -> list[Rating]:
    """Those that files tell of a joint's motor and of its driver."""
    motor, outputs = joint.motor, board.outputs if board else None
    found = []
    if motor and motor.continuous is not None and motor.thermal_s is not None:
        found.append(Rating("motor", motor.continuous, motor.thermal_s))
    if motor and joint.actuated and outputs and outputs.continuous_a is not None and outputs.thermal_s is not None:
        found.append(Rating("driver", outputs.continuous_a, outputs.thermal_s))
    return found


def torque_constant(joint: Joint) -> float:
    """N m (N of a prismatic joint) an ampere, at the joint."""
    assert joint.motor is not None
    return joint.motor.K * abs(joint.motor.gear)


def heats(mechanism: Mechanism, board: Board | None) -> list[Heat]:
    """The rows of ft_heat; one of nothing where there are none."""
    dt = 1.0 / mechanism.control.rate_hz
    rows = [Heat(i, 1.0 / (torque_constant(joint) * r.continuous), dt / r.thermal_s, f"{joint.name}: {r.part}")
            for i, joint in enumerate(mechanism.streamed) for r in ratings(joint, board)]
    return rows or [Heat(0, 0.0, 0.0, "nothing")]


def crc(rows: list[Heat]) -> int:
    """CRC-32 of ft_heat as it lies in the chip's memory."""
    return zlib.crc32(b"".join(struct.pack("<Iff", row.joint, row.per_torque, row.share) for row in rows))


def continuous(joint: Joint, board: Board | None) -> float:
    """N m or N that the weakest part of a drive carries for good; infinite where no file tells."""
    return min((torque_constant(joint) * r.continuous for r in ratings(joint, board)), default=math.inf)


def lasts(joint: Joint, board: Board | None, torque: float) -> float:
    """s from cold for which a joint may be given a torque; infinite for what is continuous."""
    most = math.inf
    for r in ratings(joint, board):
        over = (torque / (torque_constant(joint) * r.continuous)) ** 2
        most = min(most, -r.thermal_s * math.log1p(-1.0 / over) if over > 1.0 else math.inf)
    return most
