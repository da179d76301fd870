"""The plant of a planar arm with a flexible last link: motors, friction, encoders.

femtorque.hil.plant.flexible_arm has the equations of motion. The link is clamped at its root, has a separate number of
elements, and has all mass in points. A step uses Newmark's average acceleration. Elasticity and dampers are implicit,
and velocity terms are iterated, so the frequencies of the link do not limit the step. Motors and the friction law are
the same as in femtorque.hil.plant.rigid. hil/plant/flexible_steps.c computes the step.
"""

from typing import Any

import numpy as np

from femtorque.codegen.common import Array, Refused
from femtorque.codegen.mechanism import Mechanism
from femtorque.hil.plant.drive_rotors import reflected
from femtorque.hil.plant.driven_plants import Stepped
from femtorque.hil.plant.encoders import Encoders
from femtorque.hil.plant.flexible_arm import FlexiblePlant, Wall
from femtorque.hil.plant.motors import Motors
from femtorque.hil.plant.plain_friction import plain
from femtorque.hil.plant.plant_library import MOST, Row, Rows, State, library

MAX_STEP = 5e-4  # s
_JOINTS = ("torque", "viscous", "coulomb")


class FlexibleArmPlant(Stepped):
    """The state of a mechanism, with the interface of femtorque.hil.plant.rigid.Plant. elements: number of elements of
    the flexible link in the plant. wall: a wall on which the link's end may press. x, velocities, accelerations (n +
    elastic,): first the streamed joints, then the link. The link has an end part that is mounted on a spring. Raises
    Refused if the arm has more coordinates than the plant supports."""

    x, velocities, accelerations = State(), State(), State()
    torque, viscous, coulomb = Row(), Row(), Row()

    def __init__(self, mechanism: Mechanism, elements: int, max_step: float = MAX_STEP,
                 wall: Wall | None = None) -> None:
        self.mechanism, self.joints = mechanism, mechanism.streamed
        self.flexible = FlexiblePlant(mechanism, elements, wall=wall)
        super().__init__(self.flexible.J, Motors([joint.motor for joint in self.joints], reflected(self.joints)))
        size = self.n + self.flexible.n
        if size > MOST:
            raise Refused(f"{mechanism.name}: {elements} elements of a flexible link give the plant {size} "
                          f"coordinates; it has room for {MOST}")
        self.rows = Rows(x=size, velocities=size, accelerations=size, pushed=size, **dict.fromkeys(_JOINTS, self.n))
        plain(self.joints, "links that bend")
        self.viscous = np.array([joint.friction.viscous for joint in self.joints])
        self.coulomb = np.array([joint.friction.coulomb for joint in self.joints])
        self.rows["x"][: self.n] = [joint.start for joint in self.joints]
        self.rows["x"][self.n :] = self._sag()
        self.encoders = Encoders(self.joints, lambda: self.q)
        self.counts = self.encoders.counts
        ffi, lib = library()
        x, v, a = self.rows.pointers("x", "velocities", "accelerations").values()
        self._model = self._laid_out(self.flexible)
        arm = ffi.new("flexible_arm *", {
            "model": self._model, "x": x, "v": v, "a": a, "motors": self.motors.c,
            "rotor": self.motors.rows.pointers("inertia")["inertia"], **self.rows.pointers("pushed", *_JOINTS)})
        if wall is not None:
            arm.wall = self._callback("int(const double *, const double *)", self._ask_wall)
        self._plug(arm, lib.flexible_steps, x, v)
        self.max_step = max_step

    def _sag(self) -> Array:
        """Return the elastic coordinates (n,) in static equilibrium at the start."""
        y = np.concatenate([self.x, 0.0 * self.x])
        return np.linalg.solve(self.flexible.K, self.flexible.system(y)[1][self.n :])

    def _laid_out(self, plant: FlexiblePlant) -> Any:
        """Return the C model: a planar arm, a link of constant length, deflections measured from the root."""
        ffi, _ = library()

        def doubles(values: Array) -> Any:
            self._kept.append(ffi.from_buffer("double[]", np.ascontiguousarray(values, float)))
            return self._kept[-1]

        rigid = [(j, float(mass), place[:2].tolist()) for j, points in enumerate(plant.rigid)
                 for mass, place in zip(points.mass, points.place, strict=True)]
        self._kept.append(ffi.new("flexible_rigid[]", rigid))
        offsets = np.array([body.p0[:2] for body in plant.model.bodies[:plant.J]])
        return ffi.new("flexible_model *", {
            "rigid": self._kept[-1], "J": plant.J, "n": plant.n, "rigids": len(rigid), "points": len(plant.mass),
            "stations": len(plant.rigid_EI), "offset": doubles(offsets), "gravity": doubles(plant.model.gravity[:2]),
            "mass": doubles(plant.mass), "along": doubles(plant.x), "across": doubles(plant.N),
            "drawn": doubles(plant.drawn[:-1]), "stiffness": doubles(plant.K), "loss": doubles(plant.C),
            "bend": doubles(plant.bend), "lean": doubles(plant.lean), "EI": doubles(plant.rigid_EI)})

    @property
    def q(self) -> Array:
        """Return the exact joint positions (n,), rad."""
        return self.x[: self.n]

    @property
    def v(self) -> Array:
        return self.velocities[: self.n]

    def _ask_wall(self, *at: Any) -> int:
        """Write the wall's forces at a state (positions and velocities) to memory that C reads."""
        size = len(self.rows["x"])
        state = [np.frombuffer(library()[0].buffer(row, 8 * size)) for row in at]
        self.rows["pushed"][:] = self.flexible.pushed(np.concatenate(state))
        return 1

    def contact(self) -> Array:
        """Return the force of the wall on the link's end (3,), N."""
        return self.flexible.contact(np.concatenate([self.x, self.velocities]))

    def stop(self) -> None:
        """Stop all joints at once. The link still swings."""
        self.rows["velocities"][: self.n] = 0.0

    def tip(self) -> Array:
        """Return the position of the flexible link's end (3,), m."""
        return self.flexible.tip(np.concatenate([self.x, self.velocities]))
