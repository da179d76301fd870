"""Geared DC motors ("Direct current motor"), integrated exactly with their electrical time constant.

    V = R I + L dI/dt + K N dtheta/dt, torque at the joint N K I, reflected inertia N^2 Jm

The paper's dtheta/dt = N Omega contradicts its T = N Tm. The correct relation is Omega = N dtheta/dt. For a given
voltage and mean velocity of a step, the current follows its exact exponential. The mean current over the step equals

    mean I = lag I(0) + (1 - lag) (V - K N velocity) / R,   lag = (1 - exp(-R t/L)) L / (R t).

This current gives a torque that is independent of the velocity, and a damping (N K)^2 / R (1 - lag). The damping comes
from the back-EMF, and a plant treats it as viscous friction. The electrical time constant does not limit the step, and
L = 0 is allowed. hil/plant/motors.c computes the sums.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from femtorque.codegen.common import Array, Refused
from femtorque.codegen.mechanism import Motor
from femtorque.hil.plant.plant_library import MOST, Row, Rows, library


class Motors:
    """Each coordinate has at most one motor. current (n,): currents, A. R, L, constant (n,): numbers of the motors;
    constant is N K, signed. inertia (n,): inertia of the rotors at the joint, kg m^2, including `others` (n,), which
    turn with the joints."""

    current, volts, R, L, constant, inertia = Row(), Row(), Row(), Row(), Row(), Row()

    def __init__(self, motors: Sequence[Motor | None], others: Sequence[float] = ()) -> None:
        n = len(motors)
        if n > MOST:
            raise Refused(f"{n} joints: a plant has room for {MOST}")
        self.rows = Rows(**dict.fromkeys(("current", "volts", "R", "L", "constant", "inertia"), n))
        self.R = np.array([m.R if m else 1.0 for m in motors])
        self.L = np.array([m.L if m else 0.0 for m in motors])
        self.constant = np.array([m.gear * m.K if m else 0.0 for m in motors])
        self.inertia = np.array([m.gear**2 * m.inertia if m else 0.0 for m in motors])
        self.inertia += np.array(others or [0.0] * n)
        self.volts = np.full(n, np.nan)  # voltages (n,) at the terminals; NaN if they float
        self._ffi, self._lib = library()
        at = self.rows.pointers("current", "volts", "R", "L", "constant")
        self._motors = self._ffi.new("motors *", {"n": n, "current": at["current"], "volts": at["volts"],
                                                  "ohm": at["R"], "henry": at["L"], "constant": at["constant"]})
        self._at = self._ffi.new("motors_at *")

    @property
    def c(self) -> Any:
        """The C's."""
        return self._motors[0]

    def connect(self, t: float, voltage: Array) -> None:
        """Prepare steps of t seconds with voltage (n,) V at the terminals; NaN: the terminals float (no current)."""
        self.volts = voltage
        self._lib.motors_connect(self._motors, t, self._at)

    def rewind(self, j: int, ohm: float, henry: float, turns: float = 1.0) -> None:
        """From the next step on, change the winding of a motor: shorted, open, or with a fraction of its turns."""
        self.R[j], self.L[j], self.constant[j] = ohm, henry, turns * self.constant[j]

    def hold(self, t: float, voltage: Array) -> None:
        """Advance the time by t seconds while the joints do not move: only the currents change."""
        self.connect(t, voltage)
        self.turn(np.zeros(len(self.current)))

    @property
    def damping(self) -> Array:
        """Return the damping (n,) that the back-EMF causes in the coming step, at the joint."""
        return np.array(list(self._at.damping[0:len(self.current)]))

    def torque(self) -> Array:
        """Return the mean torque (n,) at the joint in the coming step, without the damping."""
        return np.array([self._lib.motors_torque(self._motors, self._at, i) for i in range(len(self.current))])

    def turn(self, velocity: Array) -> None:
        """Finish a step. velocity: mean velocities of the joints in the step (n,)."""
        for i, v in enumerate(velocity):
            self._lib.motors_turn(self._motors, self._at, i, v)
