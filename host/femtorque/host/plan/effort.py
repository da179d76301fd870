"""Compares the joint torques that a motion needs with the joint torques that the motors can give. Plans and the checks
before a motion use this comparison."""

from dataclasses import dataclass

import numpy as np

from femtorque.codegen.common import Array
from femtorque.codegen.control import Motors
from femtorque.codegen.mechanism import Mechanism
from femtorque.codegen.motion import Trajectory
from femtorque.codegen.verify import motor_torque
from femtorque.host.plan.plan_coordinates import Space, stretches

RESERVE = 0.1  # fraction of the effort that is reserved for the feedback


SAMPLES = 4  # per knot period


def wanted(mechanism: Mechanism, t: Array, trajectory: Trajectory) -> Array:
    """Return joint torques (N, J), N m or N, at increasing times t (N,) s: inverse dynamics with the loops' forces,
    rotors and friction (THEORY.md, Eq. 19). Raises Refused at a singular pose."""
    tau = np.zeros((len(t), len(mechanism.streamed)))
    for space, part, moves in stretches(mechanism, trajectory, t):
        tau[part] = of_space(space, *moves)
    return tau


def of_space(space: Space, q: Array, qd: Array, qdd: Array) -> Array:
    """Return the efforts (N, J) of a motion (N, n) of all joints in one mode."""
    return with_motors(space, space.streamed(qd), space.streamed(qdd), space.torque(q, qd, qdd))


def with_motors(space: Space, qd: Array, qdd: Array, tau: Array) -> Array:
    """Return joint torques (N, J) with those of rotors and friction, all of the streamed joints."""
    return tau + motor_torque(space.whole, qd, qdd, tau) * space.driven


@dataclass(frozen=True)
class Load:
    """The time at which a joint needs the largest fraction of its available effort."""

    joint: str
    t: float  # s
    torque: float  # N m or N
    available: float  # N m or N
    unit: str

    @property
    def share(self) -> float:
        """Required torque over available torque; more than 1 cannot be reached."""
        return abs(self.torque) / self.available if self.available > 0.0 else np.inf

    def __str__(self) -> str:
        return (f"{self.joint} needs {abs(self.torque):.3g} {self.unit} at t = {self.t:.3f} s, "
                f"{self.available:.3g} {self.unit} is there")


def heaviest(mechanism: Mechanism, trajectory: Trajectory) -> Load | None:
    """Return the time and joint with the largest fraction of the effort. None for a mechanism without effort limits or
    with flexible links."""
    if mechanism.flexible:
        return None
    period = 1.0 / (SAMPLES * mechanism.control.knot_hz)
    t = np.arange(int(np.ceil(trajectory.duration / period)) + 1, dtype=float) * period
    tau, (_, qd, _) = wanted(mechanism, t, trajectory), trajectory.at(t)
    there = Motors.of(mechanism).torque(qd, tau)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(np.isfinite(there), np.abs(tau) / there, 0.0)
    i, j = np.unravel_index(int(np.argmax(np.nan_to_num(share, posinf=1e300))), share.shape)
    if not share[i, j] > 0.0:
        return None
    joint = mechanism.streamed[j]
    return Load(joint.name, float(t[i]), float(tau[i, j]), float(there[i, j]),
                "N" if joint.type == "prismatic" else "N m")
