"""Thermal limits of motors and drivers (I^2 t). Each motor and driver has a first-order thermal model (ft_heat.c).

The heat h is a low-pass filter of the squared current I, with the thermal time constant T: T h' = (I/I_c)^2 - h. h is
therefore 1 at the continuous current I_c. From cold, a peak I_p may last T ln(1 / (1 - (I_c/I_p)^2)). The current is
tau / (K N)."""

import math
from dataclasses import dataclass

from femtorque.codegen.board import Board
from femtorque.codegen.common import square
from femtorque.codegen.control.table import FLOAT, UINT32, member
from femtorque.codegen.mechanism import Joint, Mechanism


@dataclass(frozen=True)
class Heat:
    """One row of ft_heat."""

    joint: int = member(UINT32, "its number")
    per_torque: float = member(FLOAT, "continuous currents per N m")
    share: float = member(FLOAT, "change per tick, of the distance to the square of the current")
    what: str = ""  # in words


@dataclass(frozen=True)
class Rating:
    """Continuous current of a motor or driver, A in the motor winding, and its thermal time constant, s."""

    part: str
    continuous: float
    thermal_s: float


def ratings(joint: Joint, board: Board | None) -> list[Rating]:
    """Return the thermal ratings that the files give for a joint's motor and driver."""
    motor, outputs = joint.motor, board.outputs if board else None
    found = []
    if motor and motor.continuous is not None and motor.thermal_s is not None:
        found.append(Rating("motor", motor.continuous, motor.thermal_s))
    if motor and joint.actuated and outputs and outputs.continuous_a is not None and outputs.thermal_s is not None:
        found.append(Rating("driver", outputs.continuous_a, outputs.thermal_s))
    return found


def torque_constant(joint: Joint) -> float:
    """Return the torque per ampere at the joint, N m/A (N/A of a prismatic joint)."""
    assert joint.motor is not None
    return joint.motor.K * abs(joint.motor.gear)


def heats(mechanism: Mechanism, board: Board | None) -> list[Heat]:
    """Return the rows of ft_heat; one row of zeros if no motor or driver has a rating."""
    dt = 1.0 / mechanism.control.rate_hz
    rows = [Heat(i, 1.0 / (torque_constant(joint) * r.continuous), dt / r.thermal_s, f"{joint.name}: {r.part}")
            for i, joint in enumerate(mechanism.streamed) for r in ratings(joint, board)]
    return rows or [Heat(0, 0.0, 0.0, "nothing")]


def continuous_torque(joint: Joint, board: Board | None) -> float:
    """Return the continuous torque of motor or driver, N m or N, the lower one; infinite without a rating."""
    return min((torque_constant(joint) * r.continuous for r in ratings(joint, board)), default=math.inf)


def heat_lasts(joint: Joint, board: Board | None, torque: float) -> float:
    """Return the time for which a cold joint may produce this torque, s; infinite within the continuous rating."""
    most = math.inf
    for r in ratings(joint, board):
        over = square(torque / (torque_constant(joint) * r.continuous))
        most = min(most, -r.thermal_s * math.log1p(-1.0 / over) if over > 1.0 else math.inf)
    return most
