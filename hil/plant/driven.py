"""What every plant does with time: the board's voltages, or torques, are held over it and it passes in steps."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import ArrayLike, NDArray

from femtorque.hil.plant.motors import Motors

Array = NDArray[np.float64]


class Driven(ABC):
    """Joints behind motors. n: how many; max_step: s that a step takes at most."""

    n: int
    motors: Motors
    max_step: float

    @property
    def current(self) -> Array:
        """Of the motors (n,), A."""
        return self.motors.current

    def drive(self, seconds: float, voltage: ArrayLike) -> None:
        """Let time pass with `voltage` (n,) V at the motors' terminals; NaN where the driver lets them float."""
        self._steps(seconds, np.asarray(voltage, float), np.zeros(self.n))

    def hold(self, seconds: float, voltage: ArrayLike) -> None:
        """Let time pass with `voltage` (n,) V at the motors' terminals and brakes on the joints: only currents
        change."""
        self.motors.hold(seconds, np.asarray(voltage, float))

    @abstractmethod
    def stop(self) -> None:
        """No joint moves any more from now on, whatever that costs."""

    def push(self, seconds: float, torque: ArrayLike) -> None:
        """Let time pass with ideal joint torques (n,) N m (N for prismatic joints), the motors floating."""
        self._steps(seconds, np.full(self.n, np.nan), np.asarray(torque, float))

    def move(self, seconds: float, voltage: ArrayLike, torque: ArrayLike) -> None:
        """Let time pass with both: motors here, drives that give torques there."""
        self._steps(seconds, np.asarray(voltage, float), np.asarray(torque, float))

    def _steps(self, seconds: float, voltage: Array, torque: Array) -> None:
        count = max(1, int(np.ceil(seconds / self.max_step - 1e-9)))
        h = seconds / count
        self.motors.connect(h, voltage)
        for _ in range(count):
            self._step(h, torque)

    @abstractmethod
    def _step(self, h: float, torque: Array) -> None:
        """One step of h s under torques (n,) beside the motors'."""
