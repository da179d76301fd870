"""PID servo of a coordinate ("Motor torque"), as a torque or as the voltage of a DC motor.

    C = Ko - Kp (theta - theta_c) - Kd (dtheta/dt - dtheta_c/dt) - Ki (I - I_c),   |C| <= limit

with I the integral of the angle. The paper limits the voltage but not the integral, which then winds up; here the
integral stands still while the output is at its limit and the error would drive it further (conditional integration).
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


@dataclass
class Servo:
    """kp, kd, ki, ko, limit: (n,) or a number; per rad, rad/s, rad s, in N m or V. integral: (n,) of the error, rad
    s."""

    kp: ArrayLike
    kd: ArrayLike = 0.0
    ki: ArrayLike = 0.0
    ko: ArrayLike = 0.0
    limit: ArrayLike = np.inf
    anti_windup: bool = True
    integral: Array = field(default_factory=lambda: np.zeros(1))

    def command(self, seconds: float, angle: ArrayLike, velocity: ArrayLike, target: ArrayLike,
                target_velocity: ArrayLike = 0.0) -> Array:
        """The output (n,) to hold for the next `seconds`."""
        error, slip = np.subtract(angle, target), np.subtract(velocity, target_velocity)
        integral = self.integral + seconds * error
        steady = np.asarray(self.ko, float) - np.multiply(self.kp, error) - np.multiply(self.kd, slip)
        wanted = steady - np.multiply(self.ki, integral)
        limited = np.clip(wanted, -np.asarray(self.limit, float), self.limit)
        # the integral may act against a saturated output, never with it
        winding = (wanted != limited) & (-np.multiply(self.ki, error) * wanted > 0.0) & self.anti_windup
        self.integral = np.where(winding, self.integral, integral)
        return np.clip(steady - np.multiply(self.ki, self.integral), -np.asarray(self.limit, float), self.limit)
