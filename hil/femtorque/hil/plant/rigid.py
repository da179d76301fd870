"""The mechanism that a motor board drives: rigid links, geared DC motors, dry and viscous friction, encoders.

One step of h seconds from (q, v) is (motor and friction: THEORY.md section 7):

    q_m = q + h/2 v
    M(q_m) (v' - v) + h C(q_m, v) v' = h (gravity + motor + spring - D (v + v')/2) + friction impulse
    q' = q_m + h/2 v'

The velocity forces C(v) v' are bilinear and symmetric in the old and the new velocities. Therefore the step is linear
in v', of second order, and reversible in time. For a given voltage and mean velocity of the step, the motor current
follows its exact exponential. Therefore the back-EMF is part of D, and the electrical time constant does not limit h.
Dry friction is an impulse of at most h f per joint (a clamped multiplier). Friction stops a joint if the friction is
large enough. On a moving joint, friction opposes the motion: f = f_c + f_s v_s^2 / (v_s^2 + v^2) + mu |torque of the
links in the previous step|, with f_s and mu of the file. hil/plant/rigid_steps.c computes the step.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from femtorque.codegen.common import Array
from femtorque.codegen.mechanism import Mechanism
from femtorque.hil.plant.drive_rotors import reflected
from femtorque.hil.plant.driven_plants import Stepped
from femtorque.hil.plant.encoders import Encoders
from femtorque.hil.plant.hinges import stiffnesses
from femtorque.hil.plant.motors import Motors
from femtorque.hil.plant.plant_library import Row, Rows, State, library
from femtorque.hil.plant.rigid_tree import RigidTree

MAX_STEP = 5e-4  # s
STOP_HZ = 60.0  # natural frequency of a joint with the arm's inertia on its hard stop, critically damped
STOP_RATE = 2.0 * np.pi * STOP_HZ  # rad/s
_ROWS = ("q", "v", "torque", "pushed", "viscous", "coulomb", "stribeck", "slow", "load", "carried", "stiffness", "rest",
         "lowest", "highest")


class Plant(Stepped):
    """The state of a mechanism. q (n,) rad or m, v (n,) rad/s or m/s, current (n,) A, time s.

    mass_scale and friction_scale make the plant differ from the mechanism file. pose (n,): joint positions when the
    encoders are switched on, by default `start`. stops (n, 2): hard stops, rad or m; infinite for a joint without a
    stop. hand: a function of the plant, called before each step. `hand` returns the torques (n,) that a person exerts
    on the joints.
    """

    q, v = State(), State()
    torque, viscous, coulomb, stiffness, rest = Row(), Row(), Row(), Row(), Row()
    stribeck, slow, load = Row(), Row(), Row()

    def __init__(self, mechanism: Mechanism, mass_scale: float = 1.0, friction_scale: float = 1.0,
                 max_step: float = MAX_STEP, pose: ArrayLike | None = None, stops: ArrayLike | None = None) -> None:
        joints = mechanism.moving
        super().__init__(len(joints), Motors([j.motor for j in joints], reflected(joints)))
        self.mechanism, self.joints = mechanism, joints
        self.tree = RigidTree(mechanism, mass_scale)
        self.rows = Rows(**dict.fromkeys(_ROWS, self.n))
        self.viscous = friction_scale * np.array([j.friction.viscous for j in joints])
        self.coulomb = friction_scale * np.array([j.friction.coulomb for j in joints])
        self.stribeck = friction_scale * np.array([j.friction.stribeck for j in joints])
        self.slow = np.array([j.friction.stribeck_velocity or 1.0 for j in joints])
        self.load = friction_scale * np.array([j.friction.load for j in joints])
        self.stiffness = stiffnesses(mechanism)
        self.rest = np.array([j.rest for j in joints])
        self.q = np.array([j.start for j in joints] if pose is None else pose, float)
        ends = np.full((self.n, 2), (-np.inf, np.inf)) if stops is None else np.asarray(stops, float)
        self.rows["lowest"][:], self.rows["highest"][:] = ends.T
        self.indexes: dict[int, float] = {}  # {joint: position of its index pulse, rad or m}
        self.encoders = Encoders(joints, lambda: self.q)
        self.counts = self.encoders.counts
        ffi, lib = library()
        self._found = ffi.new("double[]", 2 * self.n**2 + self.n)
        self._hand: Callable[[Plant], Array] | None = None
        self._asked = self._callback("int(void)", self._ask_hand)
        arm = ffi.new("rigid_arm *", {
            **self.rows.pointers(*_ROWS), "rotor": self.motors.rows.pointers("inertia")["inertia"],
            "tree": self.tree.pointer, "motors": self.motors.c, "found": self._found, "stop_rate": STOP_RATE})
        self._plug(arm, lib.rigid_steps, **self.rows.pointers("q", "v"))
        self.max_step = max_step

    # -- what the board sees ------------------------------------------------

    def index(self, joint: int) -> bool:
        """Return True during a joint's index pulse, which is one count wide and appears once per turn at
        `indexes[joint]`. Return False if `indexes` does not contain the joint."""
        if joint not in self.indexes:
            return False
        turns = self.encoders.turns(joint, self.q[joint] - self.indexes[joint])
        encoder = self.joints[joint].encoder
        return encoder is not None and abs(turns - round(turns)) <= 0.5 / encoder.counts

    # -- motion -------------------------------------------------------------

    def stop(self) -> None:
        """Stop all joints at once."""
        self.v = np.zeros(self.n)

    @property
    def hand(self) -> Callable[[Plant], Array] | None:
        return self._hand

    @hand.setter
    def hand(self, hand: Callable[[Plant], Array] | None) -> None:
        self._hand, self.rows["pushed"][:] = hand, 0.0
        self.arm.hand = library()[0].NULL if hand is None else self._asked

    def _ask_hand(self) -> int:
        assert self._hand is not None
        self.rows["pushed"][:] = self._hand(self)
        return 1
