"""Geared DC motors ("Direct current motor"), exact in the electrical time constant.

    V = R I + L dI/dt + K N dtheta/dt,   torque at the joint N K I,   reflected inertia N^2 Jm

(the paper's dtheta/dt = N Omega contradicts its T = N Tm: Omega = N dtheta/dt). For the voltage and the mean velocity
of a step the current follows its exponential; its mean over the step,

    mean I = lag I(0) + (1 - lag) (V - K N velocity) / R,   lag = (1 - exp(-R t/L)) L / (R t),

is a torque that does not depend on the velocity, and a damping (N K)^2 / R (1 - lag) that does: the back-EMF, which a
plant treats as it does viscous friction. No electrical time constant limits the step, L = 0 is allowed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from femtorque.codegen.mechanism.description import Motor

Array = NDArray[np.float64]


class Motors:
    """One motor a coordinate, or none. current: (n,) A. damping: (n,) of the back-EMF, at the joint. others: (n,)
    inertia of what else turns with the joints, kg m^2."""

    def __init__(self, motors: Sequence[Motor | None], others: Sequence[float] = ()) -> None:
        self.R = np.array([m.R if m else 1.0 for m in motors])
        self.L = np.array([m.L if m else 0.0 for m in motors])
        self.constant = np.array([m.gear * m.K if m else 0.0 for m in motors])  # N K, signed
        self.inertia = np.array([m.gear**2 * m.inertia if m else 0.0 for m in motors])
        self.inertia += np.array(others or [0.0] * len(motors))
        self.current = np.zeros(len(motors))
        self._step = 0.0
        self.connect(1.0, np.full(len(motors), np.nan))

    def connect(self, t: float, voltage: Array) -> None:
        """From now on steps of t seconds, with voltage (n,) V at the terminals; NaN floats (no current)."""
        floating = np.isnan(voltage)
        self._live = np.where(floating, 0.0, self.constant)
        self._steady = np.where(floating, 0.0, voltage) / self.R
        if t != self._step:
            ratio = np.divide(self.R * t, self.L, out=np.full_like(self.R, np.inf), where=self.L > 0.0)
            self._step, self._decay = t, np.exp(-ratio)
            self._lag = np.divide(1.0 - self._decay, ratio)
        self.current = np.where(self._live != 0.0, self.current, 0.0)
        self.damping = self._live**2 / self.R * (1.0 - self._lag)

    def rewind(self, j: int, ohm: float, henry: float, turns: float = 1.0) -> None:
        """Give a motor another winding: shorted, cut, or with that share of its turns left. From the next step on."""
        self.R[j], self.L[j], self.constant[j] = ohm, henry, turns * self.constant[j]
        self._step = 0.0

    def hold(self, t: float, voltage: Array) -> None:
        """Let t seconds pass with joints that do not move: only currents change."""
        self.connect(t, voltage)
        self.turn(np.zeros_like(self.current))

    def torque(self) -> Array:
        """Mean torque (n,) of the coming step, at the joint, but for the damping."""
        return self._live * (self._lag * self.current + (1.0 - self._lag) * self._steady)

    def turn(self, velocity: Array) -> None:
        """The step is over; velocity: (n,) its mean velocities of the joints."""
        steady = self._steady - self._live * velocity / self.R
        self.current = np.where(self._live != 0.0, steady + (self.current - steady) * self._decay, 0.0)
