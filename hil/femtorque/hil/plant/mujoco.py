"""MuJoCo as the world in which the board moves an arm. The world contains the mechanism from
`femtorque.codegen.mechanism.mjcf_export` in a scene with contacts. MuJoCo gives an independent check of the rigid plant
and the articulated plant. This is the only plant in which an arm can touch objects, for example a table or a peg in the
user's MJCF file. Motors and encoders are the same as in the other plants. MuJoCo models loops, limits, dry friction and
contacts as soft constraints.
"""

from pathlib import Path
from typing import Any

import numpy as np

from femtorque.codegen.common import Array, BadInput, Refused, hint, installing
from femtorque.codegen.mechanism import Mechanism, mjcf
from femtorque.codegen.model import Model, assemble
from femtorque.hil.plant import mujoco_scene
from femtorque.hil.plant.drive_rotors import reflected
from femtorque.hil.plant.driven_plants import Driven
from femtorque.hil.plant.encoders import Encoders
from femtorque.hil.plant.motors import Motors
from femtorque.host.scene import Moment, Thing

MAX_STEP = 5e-4  # largest step, s: a quarter of the time constant of the soft constraints


class MujocoPlant(Driven):
    """The state of a mechanism. q (n,) rad or m and v (n,) rad/s or m/s of all moving joints; time s.

    scene: an MJCF file with the objects around the arm. start (n,): the first pose, by default the file's, with closed
    loops. model, data, mujoco: MuJoCo's objects. Raises BadInput for a scene that MuJoCo or mjcf() refuses; Refused
    without MuJoCo.
    """

    max_step = MAX_STEP

    def __init__(self, mechanism: Mechanism, scene: Path | None = None, start: Array | None = None) -> None:
        mujoco = _mujoco()
        self.mechanism, self.joints, self.n = mechanism, mechanism.moving, len(mechanism.moving)
        prefix = "" if scene is None else f"{mechanism.name}/"  # prefix that avoids the names in a scene
        self.model = _compiled(mujoco, mechanism, scene, prefix)
        self.data, self.mujoco = mujoco.MjData(self.model), mujoco
        self._links = [_link(self.model, geom, prefix) for geom in range(self.model.ngeom)]
        numbers = [self.model.joint(prefix + joint.name).id for joint in self.joints]
        self._q, self._v = self.model.jnt_qposadr[numbers], self.model.jnt_dofadr[numbers]
        self._viscous = self.model.dof_damping[self._v].copy()
        self.motors = Motors([joint.motor for joint in self.joints], reflected(self.joints))
        self.model.dof_armature[self._v] = self.motors.inertia
        pose = assemble(Model.of(mechanism)).start if start is None else start
        self.data.qpos[self._q] = pose
        mujoco.mj_forward(self.model, self.data)
        self.encoders = Encoders(self.joints, lambda: self.q)
        self.counts = self.encoders.counts

    @property
    def q(self) -> Array:
        return np.array(self.data.qpos[self._q])

    @property
    def v(self) -> Array:
        return np.array(self.data.qvel[self._v])

    @property
    def time(self) -> float:
        return float(self.data.time)

    @property
    def touching(self) -> float:
        """Return the sum of the contacts' normal forces, N."""
        force, total = np.zeros(6), 0.0
        for number in range(self.data.ncon):
            self.mujoco.mj_contactForce(self.model, self.data, number, force)
            total += float(force[0])
        return total

    def place(self, body: str) -> Array:
        """Return the position of a body of the scene (3,), m. Raises BadInput if the scene has no body of that name."""
        names = [self.model.body(number).name for number in range(self.model.nbody)]
        if body not in names:
            raise BadInput("scene", "body", body, "no such body", hint(body, names, "bodies"))
        return np.array(self.data.body(body).xpos)

    @property
    def things(self) -> tuple[Thing, ...]:
        """Return the objects around the arm."""
        return mujoco_scene.things(self)

    def moment(self) -> Moment:
        """Return the moving objects around the arm, and the contacts with the arm."""
        return mujoco_scene.moment(self)

    def link_of(self, geom: int) -> str | None:
        """Return the arm link that a geom belongs to, or None for a geom of the scene."""
        return self._links[geom]

    def stop(self) -> None:
        """Stop all joints at once."""
        self.data.qvel[self._v] = 0.0

    def _steps(self, seconds: float, voltage: Array, torque: Array) -> None:
        count = max(1, int(np.ceil(seconds / self.max_step - 1e-9)))
        self.motors.connect(seconds / count, voltage)
        for _ in range(count):
            self._step(seconds / count, torque)

    def _step(self, h: float, torque: Array) -> None:
        before = self.q
        self.model.opt.timestep = h
        self.model.dof_damping[self._v] = self._viscous + self.motors.damping
        self.data.qfrc_applied[self._v] = self.motors.torque() + torque
        self.mujoco.mj_step(self.model, self.data)
        if any(warning.number for warning in self.data.warning):
            raise Refused(f"MuJoCo's world became unstable {self.time:.3f} s after its start")
        self.motors.turn((self.q - before) / h)


def _mujoco() -> Any:
    try:
        import mujoco  # noqa: PLC0415 (an extra)
    except ImportError:
        raise Refused(f"MuJoCo is not installed: {installing('mujoco')}") from None
    mujoco.set_mju_user_warning(lambda text: None)  # otherwise MuJoCo would write a file into the working folder
    return mujoco


def _link(model: Any, geom: int, prefix: str) -> str | None:
    body = str(model.body(model.geom_bodyid[geom]).name)
    return body.removeprefix(prefix).removesuffix(":joint") if body.startswith(prefix) else None


def _compiled(mujoco: Any, mechanism: Mechanism, scene: Path | None, prefix: str) -> Any:
    """Return the MuJoCo model of the mechanism, with the scene if the caller gives one."""
    robot = mujoco.MjSpec.from_string(mjcf(mechanism))
    if scene is None:
        return _checked(robot, mechanism.source or mechanism.name)
    if not scene.is_file():
        raise BadInput(scene, "file", None, "does not exist")
    try:
        world = mujoco.MjSpec.from_file(str(scene))
        world.option.gravity, world.option.integrator = robot.option.gravity, robot.option.integrator
        world.compiler.boundinertia = robot.compiler.boundinertia
        world.attach(robot, frame=world.worldbody.add_frame(), prefix=prefix)
    except ValueError as error:
        raise BadInput(scene, "file", None, f"MuJoCo does not read it: {' '.join(str(error).split())}") from None
    return _checked(world, scene)


def _checked(spec: Any, source: Path | str) -> Any:
    try:
        return spec.compile()
    except ValueError as error:
        raise BadInput(source, "file", None, f"MuJoCo does not take it: {' '.join(str(error).split())}") from None
