"""PD servo of a coordinate ("Motor torque"). The output is a torque, or the voltage of a DC motor.

    C = Ko - Kp (theta - theta_c) - Kd (dtheta/dt - dtheta_c/dt),   |C| <= limit

The integral term of the paper is omitted, because no experiment here needs it.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from femtorque.codegen.common import Array


@dataclass
class Servo:
    """kp, kd, ko, limit: (n,) or a scalar; kp per rad, kd per rad/s, in N m or V."""

    kp: ArrayLike
    kd: ArrayLike = 0.0
    ko: ArrayLike = 0.0
    limit: ArrayLike = np.inf

    def command(self, angle: ArrayLike, velocity: ArrayLike, target: ArrayLike,
                target_velocity: ArrayLike = 0.0) -> Array:
        """Return the output (n,) of the servos for angles, velocities, and the setpoints of angles and velocities, (n,)
        each."""
        error, slip = np.subtract(angle, target), np.subtract(velocity, target_velocity)
        wanted = np.asarray(self.ko) - np.multiply(self.kp, error) - np.multiply(self.kd, slip)
        return np.clip(wanted, -np.asarray(self.limit), self.limit)
