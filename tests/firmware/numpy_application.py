"""The control application in plain NumPy, float64: motion, observer, control law, motor. The tests compare the C with
it. Units are physical, on the joint side, after THEORY.md sections 4 and 7, without merged terms or rounding. There are
J joints, and a tick is dt."""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from femtorque.codegen.common import Array
from femtorque.codegen.control import observer_gains
from femtorque.codegen.mechanism import Mechanism

# ---- motion -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Path:
    """Quintics through knots: position in rad or m, rate and acceleration, each (K, J)."""

    position: Array
    rate: Array
    acceleration: Array
    hz: float  # knots per second of path time

    @property
    def duration(self) -> float:
        """s of path time"""
        return (len(self.position) - 1) / self.hz

    def __call__(self, t: ArrayLike, order: int = 0) -> Array:
        """Return the derivative of this order by path time, (..., J), at path times t (...), s. The first and last
        piece are extrapolated beyond the ends."""
        t = np.asarray(t, float)
        i = np.clip(np.floor(t * self.hz).astype(int), 0, len(self.position) - 2)
        x = (t - i / self.hz)[..., None]
        return sum((w * x**k for k, w in _derivative(self._pieces[:, i], order)), np.zeros(()))

    @cached_property
    def _pieces(self) -> Array:
        """Return the coefficients (6, K-1, J) in path time since the piece's first knot, lowest power first."""
        h = 1.0 / self.hz
        c0, c1, c2 = self.position[:-1], self.rate[:-1], self.acceleration[:-1] / 2.0
        # the residuals at the piece's end determine the other three coefficients
        left = np.stack([
            self.position[1:] - (c0 + h * (c1 + h * c2)),
            self.rate[1:] - (c1 + 2.0 * h * c2),
            self.acceleration[1:] - 2.0 * c2,
        ])
        powers = np.array([[w * h**k for k, w in _derivative(np.ones(6), d)[3 - d:]] for d in range(3)])
        return np.concatenate([[c0, c1, c2], np.einsum("ij,j...->i...", np.linalg.inv(powers), left)])


def _derivative(coefficients: Array, order: int) -> list[tuple[int, Array]]:
    """Return (power, coefficient) of the derivative of sum c_k x^k, coefficients (6, ...)."""
    return [(k - order, float(np.prod(range(k - order + 1, k + 1))) * coefficients[k]) for k in range(order, 6)]


@dataclass(frozen=True)
class Samples:
    """Numbers of tick k at pace 1. u (N, J): half the displacement from the tick's middle s_k to s_k+1. q_next (N, J):
    position at s_k+1. q, rate (N, J): target at the tick's end t_k+1; the rate is the mean over a tick around it."""

    u: Array  # (N, J): half the displacement from the tick's middle s_k to s_k+1
    q_next: Array  # (N, J): position at s_k+1
    q: Array
    rate: Array


def play(path: Path, dt: float) -> Samples:
    """Return the samples of a motion from its first knot to its last knot at pace 1."""
    k = np.arange(round(path.duration / dt))
    here, there = path((k + 0.5) * dt), path((k + 1.5) * dt)
    return Samples((there - here) / 2.0, there, path((k + 1.0) * dt), (there - here) / dt)


# ---- observer ---------------------------------------------------------------------------------------


@dataclass
class Observer:
    """Tracking observer of positions measured once per tick (codegen/control/observer.py). position, rate: (J,). With
    the change of the target's velocity, the observer follows a motion without lag."""

    bandwidth_hz: float
    dt: float
    position: Array
    rate: Array

    def tick(self, measured: ArrayLike, rate_step: ArrayLike = 0.0) -> Array:
        """Return the rate (J,) after one more measured position (J,). step (J,): change of the target's rate since the
        last position."""
        gain, rate_gain = observer_gains(self.bandwidth_hz, self.dt)
        step = np.asarray(rate_step, float)
        predicted = self.position + (self.rate + step / 2.0) * self.dt
        error = np.asarray(measured, float) - predicted
        self.rate = self.rate + step + rate_gain * error / self.dt
        self.position = predicted + gain * error
        return self.rate


# ---- law --------------------------------------------------------------------------------------------


@dataclass
class Law:
    """Eqs 19 and 20 (corrected) for one mechanism. The state comes from the last tick, each (J,)."""

    mechanism: Mechanism
    coulomb_rate: Array  # rate of the target, rad/s or m/s, below which Coulomb friction decreases linearly to zero
    u: Array = field(init=False)
    motion: Array = field(init=False)
    integral: Array = field(init=False)
    clipped: Array = field(init=False)

    def start(self, tau: ArrayLike) -> None:
        """Start at rest under the torque tau (J,)."""
        self.motion = np.asarray(tau, float)
        self.u, self.integral, self.clipped = np.zeros((3, len(self.motion)))

    def tick(self, u: Array, tau: Array, error: Array, rate_error: Array, bus: float) -> tuple[Array, Array]:
        """Return torque (J,) and duty (J,) from half increment, tau_ID, position error and rate error, each (J,), and
        bus voltage, V."""
        dt = 1.0 / self.mechanism.control.rate_hz
        joints = self.mechanism.streamed
        torque, duty = np.zeros((2, len(joints)))
        for j, joint in enumerate(joints):
            m, gains = joint.motor, joint.gains
            assert m is not None
            K, limit = m.K * m.gear, min(joint.limits.effort, abs(m.K * m.gear) * self._nominal / m.R)
            rate, acceleration = (self.u[j] + u[j]) / dt, 2.0 * (u[j] - self.u[j]) / dt**2
            sign, rub = np.clip(rate / self.coulomb_rate[j], -1.0, 1.0), joint.friction
            dry = rub.coulomb + rub.load * abs(tau[j])
            if rub.stribeck:
                dry += rub.stribeck * rub.stribeck_velocity**2 / (rub.stribeck_velocity**2 + rate**2)
            motion = (m.inertia * m.gear**2 * acceleration + joint.friction.viscous * rate
                      + dry * sign + tau[j])
            if gains.ki * error[j] * self.clipped[j] <= 0.0:
                self.integral[j] = np.clip(self.integral[j] + gains.ki * error[j] * dt, -limit, limit)
            asked = motion + gains.ku * error[j] + gains.kv * rate_error[j] + self.integral[j]
            torque[j] = np.clip(asked, -limit, limit)
            volts = m.R * torque[j] / K + m.L * (motion - self.motion[j]) / (K * dt) + K * rate
            duty[j] = m.sign * np.clip(volts, -bus, bus) / bus
            self.clipped[j] = volts * np.sign(K) if abs(volts) > bus else asked - torque[j]
            self.u[j], self.motion[j] = u[j], motion
        return torque, duty

    @property
    def _nominal(self) -> float:
        return self.mechanism.board.bus_voltage if self.mechanism.board else np.inf
