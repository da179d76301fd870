"""What the motor board drives: rigid links, geared DC motors, dry and viscous friction, encoders.

One step of h seconds from (q, v) (THEORY.md section 7 for motor and friction):

    q_m = q + h/2 v
    M(q_m) (v' - v) + h C(q_m, v) v' = h (gravity + motor + spring - D (v + v')/2) + friction impulse
    q' = q_m + h/2 v'

The velocity forces C(v) v' are bilinear and symmetric in old and new velocities, so the step is linear in v', second
order and reverses in time. The motor current follows its exponential exactly for the voltage and the mean velocity of
the step, which makes the back-EMF part of D; no electrical time constant limits h. Coulomb friction is an impulse of at
most h f_c per joint that brings the joint to rest when it can (clamped multiplier) and opposes the motion when it
cannot.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from femtorque.codegen.mechanism.description import Mechanism
from femtorque.hil.plant.drive_rotors import reflected
from femtorque.hil.plant.driven import Driven
from femtorque.hil.plant.dry_friction import clamped
from femtorque.hil.plant.encoders import Encoders
from femtorque.hil.plant.hinges import stiffnesses
from femtorque.hil.plant.lent import Lendable, Own, own
from femtorque.hil.plant.motors import Motors
from femtorque.hil.plant.plant_steps import MOST
from femtorque.hil.plant.rigid_steps import RigidSteps
from femtorque.hil.plant.rigid_tree import RigidTree

Array = NDArray[np.float64]

MAX_STEP = 5e-4  # s
STOP_HZ = 60.0  # a joint of the arm's own inertia swings so fast on its hard stop, critically damped
STOP_RATE = 2.0 * np.pi * STOP_HZ  # rad/s


@dataclass
class EnergyBook:
    """Where energy went since the start, J."""

    motors: float = 0.0  # mechanical work of the motors on the joints
    friction: float = 0.0  # lost in viscous and Coulomb friction
    switches: float = 0.0  # brought in by changes of mode: weight that is picked up, less what impacts cost


class Plant(Driven, Lendable):
    """A mechanism in motion. q (n,) rad or m, v (n,) rad/s or m/s, current (n,) A, time s.

    mass_scale and friction_scale change it on purpose against what the controller believes; `friction=False` has
    none. `q` itself is the measurement of an encoder without quantisation. pose (n,): where the joints stand when the
    encoders are switched on, by default at `start`. stops (n, 2): hard ones, rad or m; infinite where there is none.
    hand: torque (n,) that somebody exerts on the joints, a function of the plant, asked before each step. compiled:
    whether steps are taken in C; what is here is what that is held against.

    While it is lent, who asks for the state has it recalled first.
    """

    q, v, time = Own[Array](), Own[Array](), Own[float]()
    book, motors = Own[EnergyBook](), Own[Motors]()

    def __init__(self, mechanism: Mechanism, mass_scale: float = 1.0, friction_scale: float = 1.0,
                 friction: bool = True, max_step: float = MAX_STEP, pose: ArrayLike | None = None,
                 stops: ArrayLike | None = None, compiled: bool = True) -> None:
        self._q: Array
        self._v: Array
        self._time: float
        self._book: EnergyBook
        self._motors: Motors
        joints = mechanism.moving
        self.mechanism, self.joints, self.max_step = mechanism, joints, max_step
        self.tree = RigidTree(mechanism, mass_scale)
        self.n = len(joints)
        scale = friction_scale if friction else 0.0
        self.viscous = scale * np.array([j.friction.viscous for j in joints])
        self.coulomb = scale * np.array([j.friction.coulomb for j in joints])
        self.stiffness = stiffnesses(mechanism)
        self.rest = np.array([j.rest for j in joints])
        self.motors = Motors([j.motor for j in joints], reflected(joints))
        self._rotors = np.diag(self.motors.inertia)
        self.book = EnergyBook()
        self.q = np.array([j.start for j in joints] if pose is None else pose, float)
        self.stops = None if stops is None else np.asarray(stops, float)
        self._ends = np.full((2, self.n), ((-np.inf,), (np.inf,))) if self.stops is None else self.stops.T.copy()
        self.hand: Callable[[Plant], Array] | None = None
        self.indexes: dict[int, float] = {}  # joint: rad or m at which its index is
        self.v = np.zeros(self.n)
        self.encoders = Encoders(joints, self.q)
        self.time = 0.0
        self._compiled = RigidSteps(self.tree, STOP_RATE) if compiled and self.n <= MOST else None

    # -- what the board sees ------------------------------------------------

    def counts(self) -> NDArray[np.int64]:
        """Encoder counts since power-up (n,), signed; 0 for joints without an encoder."""
        return self.encoders.counts(self.q)

    def index(self, joint: int) -> bool:
        """Whether a joint's index pulse is there: one count wide, once per turn about `indexes[joint]`; False if not
        given."""
        if joint not in self.indexes:
            return False
        turns = self.encoders.turns(joint, self.q[joint] - self.indexes[joint])
        encoder = self.joints[joint].encoder
        return encoder is not None and abs(turns - round(turns)) <= 0.5 / encoder.counts

    # -- motion -------------------------------------------------------------

    def stop(self) -> None:
        """No joint moves any more from now on, whatever that costs."""
        self.v = np.zeros(self.n)

    def _steps(self, seconds: float, voltage: Array, torque: Array) -> None:
        count = max(1, int(np.ceil(seconds / self.max_step - 1e-9)))
        self._take_steps(seconds / count, count, voltage, torque)

    def _in_c(self, h: float, count: int, voltage: Array, torque: Array) -> int:
        self.recall()
        steps = self._compiled
        if steps is None:
            return 0
        if self.hand is not None:  # asked before every step
            torque, count = torque + self.hand(self), 1
        self._fill(steps, voltage, torque)
        done = steps.take(h, count)
        self._have_back()
        self.time += done * h
        return done

    def _fill(self, steps: RigidSteps, voltage: Array, torque: Array) -> None:
        motors, book = self._motors, self._book
        steps.fill(self._q, self._v, motors.current, voltage, torque, *self._parameters())
        steps.arm.worked, steps.arm.lost = book.motors, book.friction

    def _parameters(self) -> tuple[Array, ...]:
        motors = self._motors
        return (motors.R, motors.L, motors.constant, motors.inertia, self.viscous, self.coulomb, self.stiffness,
                self.rest, *self._ends)

    def _have_back(self) -> None:
        assert self._compiled is not None
        arm, book = self._compiled.arm, self._book
        self._q, self._v, self._motors.current = self._compiled.taken
        book.motors, book.friction = arm.worked, arm.lost

    # -- lent ---------------------------------------------------------------

    @property
    def lendable(self) -> bool:
        return own(self, "drive", Driven) and self._compiled is not None and self.hand is None

    @property
    def handle(self) -> int:
        assert self._compiled is not None
        return self._compiled.address

    @property
    def glance(self) -> tuple[Array, Array]:
        if self._borrower is None or self._compiled is None:
            return self._q.copy(), self._v.copy()
        q, v, _ = self._compiled.taken
        return q, v

    def tell_parameters(self) -> None:
        assert self._compiled is not None
        self._compiled.tell_parameters(*self._parameters())

    def _give(self) -> None:
        assert self._compiled is not None
        self._fill(self._compiled, np.full(self.n, np.nan), np.zeros(self.n))
        self._compiled.handle.time, self._compiled.handle.max_step = self._time, self.max_step

    def taken(self) -> None:
        super().taken()
        assert self._compiled is not None
        self._time = self._compiled.handle.time

    def _in_python(self, h: float, voltage: Array, torque: Array) -> None:
        self.motors.connect(h, voltage)
        self._step(h, torque)

    def _step(self, h: float, torque: Array) -> None:
        v = self.v
        middle = self.q + 0.5 * h * v
        at = self.tree.at(middle, v)
        mass = at.mass + self._rotors
        damping = self.viscous + self.motors.damping
        active = self.motors.torque() + torque
        if self.hand is not None:
            active = active + self.hand(self)
        force = at.gravity + active - self.stiffness * (middle - self.rest)
        if self.stops is not None:
            push, damping = self._contact(middle, mass, damping)
            force += push
        system = mass + h * at.coriolis
        system.flat[::self.n + 1] += 0.5 * h * damping
        inverse = np.linalg.inv(system)
        new = inverse @ (mass @ v + h * force - 0.5 * h * damping * v)
        dry = np.zeros(self.n)
        if self.coulomb.any():
            dry = clamped(h * inverse, new, self.coulomb)
            new = np.where(np.abs(dry) < self.coulomb, 0.0, new + h * inverse @ dry)
        mean = 0.5 * (v + new)
        self.motors.turn(mean)
        self.book.motors += h * float((active - self.motors.damping * mean) @ mean)
        self.book.friction += h * float((self.viscous * mean - dry) @ mean)
        self.q, self.v = middle + 0.5 * h * new, new
        self.time += h

    def _contact(self, q: Array, mass: Array, damping: Array) -> tuple[Array, Array]:
        """Forces (n,) of the hard stops, and the dampings with theirs."""
        assert self.stops is not None
        beyond = np.minimum(q - self.stops[:, 0], 0.0) + np.maximum(q - self.stops[:, 1], 0.0)
        own = np.diag(mass)
        return -own * STOP_RATE**2 * beyond, damping + np.where(beyond != 0.0, 2.0 * own * STOP_RATE, 0.0)

    # -- bookkeeping --------------------------------------------------------

    def kinetic(self) -> float:
        """Kinetic energy with the rotors', J."""
        mass = self.tree.at(self.q, self.v).mass + self._rotors
        return 0.5 * float(self.v @ mass @ self.v)

    def potential(self) -> float:
        """Potential energy of gravity and springs, J."""
        spring = 0.5 * float(self.stiffness @ (self.q - self.rest) ** 2)
        return self.tree.at(self.q, self.v).potential + spring
