"""Torques that a mechanism's motors can produce at its joints, at rest and in motion. The planner, the check
before streaming, FOLLOW and the board use these limits.

    |tau| <= min(effort, stall - fall qd sgn(tau))

effort is the minimum of limits.effort, the stall torque, the current loop's range and the drive's torque. The second
term is a line in qd: the steady state of the motor's voltage equation, with stall = K N V / R and fall = (K N)^2 / R. V
is the fraction of the supply voltage that the bridge, current loop or servo can apply. A drive whose motor data are
unknown does not have this line."""

from __future__ import annotations

import math
from dataclasses import astuple, dataclass

import numpy as np

from femtorque.codegen.board import channels, load_board
from femtorque.codegen.common import Array, remembered, square
from femtorque.codegen.mechanism import Joint, Mechanism


@dataclass(frozen=True)
class Motor:
    """The motor of one joint."""

    effort: float = math.inf  # largest effort, N m or N; infinite without a limit
    stall: float = math.inf  # effort at rest, N m or N; infinite without a limit
    fall: float = 0.0  # slope of the torque-velocity line, N m s/rad; 0 without this line
    no_load: float = math.inf  # no-load speed, rad/s or m/s; infinite if unknown
    velocity: float = math.inf  # largest velocity that the file and the motor allow, rad/s or m/s

    @staticmethod
    def of(mechanism: Mechanism, joint: Joint) -> Motor:
        """Return the motor or drive of one joint, with its supply."""
        limits, drive, effort, stall, fall, no_load = joint.limits, joint.drive, math.inf, math.inf, 0.0, math.inf
        if joint.motor is not None and mechanism.board is not None:
            if joint.motor.drive == "current":
                channels.served(mechanism, load_board(mechanism.board.use, mechanism.source or mechanism.name))
            constant = abs(joint.motor.K * joint.motor.gear)  # torque constant at the joint, N m/A
            volts = joint.supply(mechanism.board.bus_voltage) * channels.usable_share(mechanism, joint)
            stall, fall, no_load = constant * volts / joint.motor.R, square(constant) / joint.motor.R, volts / constant
            effort = constant * (current_range(mechanism, joint) or math.inf)
        fastest = no_load
        if drive is not None:
            effort, fastest = min(effort, drive.at_joint.torque), drive.at_joint.velocity
            no_load = min(no_load, fastest) if drive.servo is not None else no_load
        return Motor(min(limits.effort, effort, stall), stall, fall, no_load, min(limits.velocity, fastest))


def current_range(mechanism: Mechanism, joint: Joint) -> float:
    """Return the current at a duty of 1, A, for a joint with a current loop, else 0.

    The current loop reads a duty as a fraction of this range."""
    if mechanism.board is None or joint.motor is None or joint.motor.drive != "current":
        return 0.0
    board = load_board(mechanism.board.use, mechanism.source or mechanism.name)
    return channels.current_range(board, joint) if board.channels else 0.0


@dataclass(frozen=True)
class Motors:
    """The motors of all streamed joints: the fields of Motor as arrays (J,)."""

    effort: Array
    stall: Array
    fall: Array
    no_load: Array
    velocity: Array

    @staticmethod
    @remembered
    def of(mechanism: Mechanism) -> Motors:
        """Return the motors and drives of all streamed joints."""
        rows = [astuple(Motor.of(mechanism, joint)) for joint in mechanism.streamed]
        return Motors(*np.array(rows, float).reshape(-1, 5).T)

    def torque(self, qd: Array, tau: Array) -> Array:
        """Return the largest torque (..., J), N m or N, at velocities qd (..., J) in the direction of tau."""
        return np.clip(self.stall - self.fall * qd * np.sign(tau), 0.0, self.effort)

    def lost(self, speeds: Array) -> Array:
        """Return the effort (..., J) that is lost at these speeds."""
        with np.errstate(invalid="ignore"):
            return np.where(self.fall > 0.0, self.effort - self.torque(speeds, self.effort), 0.0)
