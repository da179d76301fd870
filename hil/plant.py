"""What the motor board drives: rigid links, geared DC motors, dry and viscous friction, encoders.

One step of h seconds from (q, v) (THEORY.md section 7 for motor and friction):

    q_m = q + h/2 v
    M(q_m) (v' - v) + h C(q_m, v) v' = h (gravity + motor + spring - D (v + v')/2) + friction impulse
    q' = q_m + h/2 v'

The velocity forces C(v) v' are bilinear and symmetric in old and new rates, so the step is linear in v', second order
and reverses in time. The motor current follows its exponential exactly for the voltage and the mean rate of the step,
which makes the back-EMF part of D; no electrical time constant limits h. Coulomb friction is an impulse of at most
h f_c a joint that brings the joint to rest when it can (clamped multiplier) and opposes the motion when it cannot.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from codegen.mechanism import Mechanism
from hil.rigid_tree import RigidTree

Array = NDArray[np.float64]

MAX_STEP = 5e-4  # s
_SWEEPS = 500  # of the friction solver


@dataclass
class EnergyBook:
    """Where energy went since the start, J."""

    motors: float = 0.0  # mechanical work of the motors on the joints
    friction: float = 0.0  # lost in viscous and Coulomb friction


class Plant:
    """A mechanism in motion. q (n,) rad or m, v (n,) rad/s or m/s, current (n,) A, time s.

    mass_scale and friction_scale change it on purpose against what the controller believes; `friction=False` has
    none. `q` itself is the measurement of an encoder without quantisation.
    """

    def __init__(self, mechanism: Mechanism, mass_scale: float = 1.0, friction_scale: float = 1.0,
                 friction: bool = True, max_step: float = MAX_STEP) -> None:
        joints = mechanism.moving
        self.mechanism, self.joints, self.max_step = mechanism, joints, max_step
        self.tree = RigidTree(mechanism, mass_scale)
        self.n = len(joints)
        scale = friction_scale if friction else 0.0
        self.viscous = scale * np.array([j.friction.viscous for j in joints])
        self.coulomb = scale * np.array([j.friction.coulomb for j in joints])
        self.stiffness = np.array([j.stiffness for j in joints])
        self.rest = np.array([j.rest for j in joints])
        motors = [j.motor for j in joints]
        self.driven = np.array([m is not None for m in motors], bool)
        self.R = np.array([m.R if m else 1.0 for m in motors])
        self.L = np.array([m.L if m else 0.0 for m in motors])
        self.K = np.array([m.gear * m.K if m else 0.0 for m in motors])  # joint torque a current, signed
        self.rotor = np.array([m.gear**2 * m.inertia if m else 0.0 for m in motors])
        self._counts_per_unit = np.array([_counts_per_unit(j) for j in joints])
        self.book = EnergyBook()
        self.q = np.array([j.start for j in joints], float)
        self.v, self.current = np.zeros(self.n), np.zeros(self.n)
        self._origin = self.q.copy()  # where the encoders counted from at power-up
        self.time = 0.0

    # -- what the board sees ------------------------------------------------

    def counts(self) -> NDArray[np.int64]:
        """Encoder counts since power-up (n,), signed; 0 for joints without an encoder."""
        return np.floor((self.q - self._origin) * self._counts_per_unit + 0.5).astype(np.int64)

    # -- motion -------------------------------------------------------------

    def drive(self, seconds: float, voltage: ArrayLike) -> None:
        """Let time pass with `voltage` (n,) V at the motors' terminals; NaN where the driver lets them float."""
        self._steps(seconds, np.asarray(voltage, float), np.zeros(self.n))

    def push(self, seconds: float, torque: ArrayLike) -> None:
        """Let time pass with ideal joint torques (n,) N m (N for prismatic joints), the motors floating."""
        self._steps(seconds, np.full(self.n, np.nan), np.asarray(torque, float))

    def _steps(self, seconds: float, voltage: Array, torque: Array) -> None:
        count = max(1, int(np.ceil(seconds / self.max_step - 1e-9)))
        h = seconds / count
        connected = self.driven & ~np.isnan(voltage)
        volts = np.where(connected, voltage, 0.0)
        with np.errstate(divide="ignore", over="ignore"):
            ratio = np.where(self.L > 0.0, self.R * h / self.L, np.inf)
        decay = np.exp(-ratio)
        lag = np.where(np.isinf(ratio), 0.0, (1.0 - decay) / np.where(np.isinf(ratio), 1.0, ratio))
        constant = np.where(connected, self.K, 0.0)
        self.current = np.where(connected, self.current, 0.0)
        for _ in range(count):
            self._step(h, volts, torque, constant, decay, lag)

    def _step(self, h: float, volts: Array, torque: Array, K: Array, decay: Array, lag: Array) -> None:
        v, current = self.v, self.current
        middle = self.q + 0.5 * h * v
        at = self.tree.at(middle, v)
        mass = at.mass + np.diag(self.rotor)
        back_emf = K * K / self.R * (1.0 - lag)
        damping = self.viscous + back_emf
        active = K * (lag * current + (1.0 - lag) * volts / self.R) + torque
        force = at.gravity + active - self.stiffness * (middle - self.rest)
        system = mass + h * at.coriolis
        system.flat[::self.n + 1] += 0.5 * h * damping
        inverse = np.linalg.inv(system)
        new = inverse @ (mass @ v + h * force - 0.5 * h * damping * v)
        impulse = np.zeros(self.n)
        if self.coulomb.any():
            new, impulse = _rub(new, inverse, h * self.coulomb, v)
        mean = 0.5 * (v + new)
        steady = (volts - K * mean) / self.R
        self.current = np.where(K != 0.0, steady + (current - steady) * decay, 0.0)
        self.book.motors += h * float((active - back_emf * mean) @ mean)
        self.book.friction += float(h * (self.viscous * mean) @ mean - impulse @ mean)
        self.q, self.v = middle + 0.5 * h * new, new
        self.time += h

    # -- bookkeeping --------------------------------------------------------

    def kinetic(self) -> float:
        """Kinetic energy with the rotors', J."""
        mass = self.tree.at(self.q, self.v).mass + np.diag(self.rotor)
        return 0.5 * float(self.v @ mass @ self.v)

    def potential(self) -> float:
        """Potential energy of gravity and springs, J."""
        spring = 0.5 * float(self.stiffness @ (self.q - self.rest) ** 2)
        return self.tree.at(self.q, self.v).potential + spring


def _counts_per_unit(joint: object) -> float:
    """Signed encoder counts a radian (metre) of the joint."""
    encoder, motor = joint.encoder, joint.motor
    if encoder is None:
        return 0.0
    turns = motor.gear if encoder.at == "motor" else 1.0
    return encoder.sign * encoder.counts * turns / (2.0 * np.pi)


def _rub(free: Array, inverse: Array, bound: Array, before: Array) -> tuple[Array, Array]:
    """Rates and friction impulses: |impulse| <= bound, zero rate inside the bound, opposing the rate on it.

    free (n,): rates without friction; inverse (n, n): rates a unit impulse.
    """
    impulse = -bound * np.sign(before)
    rates = free + inverse @ impulse
    if np.all(impulse * rates < 0.0) and np.all(before != 0.0):
        return rates, impulse  # every joint slides on as it did
    for _ in range(_SWEEPS):
        last = impulse.copy()
        for j in range(len(free)):
            rate = free[j] + inverse[j] @ impulse - inverse[j, j] * impulse[j]
            impulse[j] = min(bound[j], max(-bound[j], -rate / inverse[j, j]))
        if np.abs(impulse - last).max() <= 1e-12 * bound.max():
            break
    rates = free + inverse @ impulse
    return np.where(np.abs(impulse) < bound, 0.0, rates), impulse
