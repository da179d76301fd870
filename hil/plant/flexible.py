"""A planar arm that ends in a flexible link, as the motor board drives it: motors, friction, encoders.

The equations of motion are those of femtorque.hil.plant.flexible_arm: the link from its clamped root, by elements of
their own
number, all mass in points. A step is Newmark's average acceleration, elasticity and dampers implicit, the speed terms
iterated, so that no frequency of the link limits it; motors and the friction law are those of
femtorque.hil.plant.rigid.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from femtorque.codegen.mechanism.description import Mechanism
from femtorque.hil.plant.drive_rotors import reflected
from femtorque.hil.plant.driven import Driven
from femtorque.hil.plant.dry_friction import clamped
from femtorque.hil.plant.encoders import Encoders
from femtorque.hil.plant.flexible_arm import FlexiblePlant
from femtorque.hil.plant.flexible_steps import STATE, FlexibleSteps
from femtorque.hil.plant.lent import own
from femtorque.hil.plant.motors import Motors
from femtorque.hil.plant.rigid import EnergyBook

Array = NDArray[np.float64]

MAX_STEP = 5e-4  # s
ROUNDS = 3  # of the speed terms, a step: with fewer, energy drifts where a rotor is light


class FlexibleArmPlant(Driven):
    """A mechanism in motion, as femtorque.hil.plant.rigid.Plant. elements: of the flexible link, a number of the
    plant's own. compiled: whether steps are taken in C; what is here is what that is held against."""

    def __init__(self, mechanism: Mechanism, elements: int, max_step: float = MAX_STEP, compiled: bool = True) -> None:
        self.mechanism, self.joints, self.max_step = mechanism, mechanism.moving, max_step
        self.arm = FlexiblePlant(mechanism, elements)
        self.n = self.arm.J
        self.motors = Motors([joint.motor for joint in self.joints], reflected(self.joints))
        self.viscous = np.array([joint.friction.viscous for joint in self.joints])
        self.coulomb = np.array([joint.friction.coulomb for joint in self.joints])
        self.book = EnergyBook()
        size = self.n + self.arm.n
        self.x, self.velocities, self._a = np.zeros(size), np.zeros(size), np.zeros(size)
        self.x[: self.n] = [joint.start for joint in self.joints]
        self.x[self.n :] = self._sag()
        self.rotors = np.zeros((size, size))
        self.rotors[range(self.n), range(self.n)] = self.motors.inertia
        self.elastic, self.damped = np.zeros((size, size)), np.zeros((size, size))
        self.elastic[self.n :, self.n :], self.damped[self.n :, self.n :] = self.arm.K, self.arm.C
        self.encoders = Encoders(self.joints, self.q)
        self.time = 0.0
        self._compiled = FlexibleSteps.of(self.arm) if compiled else None

    def _sag(self) -> Array:
        """Elastic coordinates (n,) at rest at the start."""
        y = np.concatenate([self.x, 0.0 * self.x])
        return np.linalg.solve(self.arm.K, self.arm.system(y)[1][self.n :])

    @property
    def q(self) -> Array:
        """True joint positions (n,), rad."""
        return self.x[: self.n]

    @property
    def v(self) -> Array:
        return self.velocities[: self.n]

    def counts(self) -> NDArray[np.int64]:
        """Encoder counts since power-up (n,), signed; 0 for joints without an encoder."""
        return self.encoders.counts(self.q)

    def stop(self) -> None:
        """No joint moves any more from now on, whatever that costs; the link goes on swinging."""
        self.velocities[: self.n] = 0.0

    def tip(self) -> Array:
        """Where the end of the flexible link is, (3,), m."""
        return self.arm.tip(np.concatenate([self.x, self.velocities]))

    def _steps(self, seconds: float, voltage: Array, torque: Array) -> None:
        count = max(1, int(np.ceil(seconds / self.max_step - 1e-9)))
        done = self._in_c(seconds / count, count, voltage, torque)
        if done < count:
            super()._steps((count - done) * seconds / count, voltage, torque)

    def _in_c(self, h: float, count: int, voltage: Array, torque: Array) -> int:
        """Take steps of h seconds in C; how many it has taken."""
        steps, motors, book = self._compiled, self.motors, self.book
        if steps is None or not own(self, "_step", FlexibleArmPlant):
            return 0
        steps.fill(self.x, self.velocities, self._a, motors.current, voltage, torque, motors.R, motors.L,
                   motors.constant, motors.inertia, self.viscous, self.coulomb)
        steps.arm.worked, steps.arm.lost = book.motors, book.friction
        done = steps.take(h, count)
        self.x, self.velocities, self._a, motors.current = map(steps.part, (*STATE, "current"))
        book.motors, book.friction = steps.arm.worked, steps.arm.lost
        self.time += done * h
        return done

    def _step(self, h: float, torque: Array) -> None:
        n, active = self.n, self.motors.torque() + torque
        damping = self.viscous + self.motors.damping
        dampers = self.damped.copy()
        dampers[range(n), range(n)] += damping
        soft = 0.25 * h * h * self.elastic + 0.5 * h * dampers
        x, velocities, a, before = self.x, self.velocities, self._a, self._a
        for _ in range(ROUNDS):
            new_x = x + h * velocities + 0.25 * h * h * (before + a)
            new_velocities = velocities + 0.5 * h * (before + a)
            mass, force, _, _ = self.arm.system(np.concatenate([new_x, new_velocities]))
            force[:n] += active - damping * new_velocities[:n]
            system = mass + self.rotors + soft
            a = np.linalg.solve(system, force + soft @ a)
        self.x = x + h * velocities + 0.25 * h * h * (before + a)
        self.velocities, self._a = velocities + 0.5 * h * (before + a), a
        dry = np.zeros(n)
        if self.coulomb.any():
            response = h * np.linalg.inv(system)[:, :n]
            dry = clamped(response[:n], self.velocities[:n], self.coulomb)
            self.velocities = self.velocities + response @ dry
            stuck = np.abs(dry) < self.coulomb
            self.velocities[:n] = np.where(stuck, 0.0, self.velocities[:n])
        mean = (self.x[:n] - x[:n]) / h
        self.motors.turn(mean)
        self.book.motors += h * float((active - self.motors.damping * mean) @ mean)
        self.book.friction += h * float((self.viscous * mean - dry) @ mean)
        self.time += h
