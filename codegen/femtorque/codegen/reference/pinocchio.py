"""Inverse dynamics by Pinocchio, an independent check. The Pinocchio model is built only from links and joints.
Pinocchio itself merges links that are fixed to each other, so it reveals errors in codegen/model/bodies.py. Pinocchio
is optional, and only this module imports it."""

from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from femtorque.codegen.common import Array
from femtorque.codegen.mechanism import BASE, Joint, Mechanism
from femtorque.codegen.model import Model, PassiveFriction, joint_springs


def version() -> str | None:
    """Return the version of the installed Pinocchio (PyPI package `pin`); None if it is not installed."""
    if find_spec("pinocchio") is None:
        return None
    import pinocchio  # noqa: PLC0415 (not everyone has it)

    return str(pinocchio.__version__)


def pinocchio_of(mechanism: Mechanism) -> Any:
    """Return the pinocchio.Model of a mechanism's links, payloads and joints, with the joints of `mechanism.moving`."""
    import pinocchio as pin  # noqa: PLC0415 (not everyone has it)

    result = pin.Model()
    result.gravity.linear = np.asarray(mechanism.gravity, float)
    place = {BASE: (0, pin.SE3.Identity())}  # link: the moving joint that carries it, and its frame in this joint
    moving = {joint.name for joint in mechanism.moving}
    for joint in mechanism.joints:
        carrier, frame = place[joint.parent]
        frame = frame * pin.SE3(pin.rpy.rpyToMatrix(*joint.rpy), np.asarray(joint.xyz, float))
        if joint.name in moving:
            place[joint.child] = (result.addJoint(carrier, joint_model(joint), frame, joint.name), pin.SE3.Identity())
        else:
            place[joint.child] = (carrier, frame * _displacement(joint, mechanism.lock.get(joint.name, 0.0)))
    solids = [(link.name, link.mass, link.com, link.inertia) for link in mechanism.links]
    solids += [(p.link, p.mass, p.com, p.inertia) for p in mechanism.payloads]
    for link, mass, com, inertia in solids:
        carrier, frame = place[link]
        result.appendBodyToJoint(carrier, solid(mass, com, inertia), frame)
    return result


def solid(mass: float, com: ArrayLike, inertia: ArrayLike) -> Any:
    """Return the pinocchio.Inertia of a body. Identified inertias may be physically impossible, and are accepted."""
    import pinocchio as pin  # noqa: PLC0415 (not everyone has it)

    body = pin.Inertia(mass, np.asarray(com, float), np.zeros((3, 3)))
    body.inertia = np.asarray(inertia, float)  # the constructor refuses inertias that are not positive
    return body


def joint_model(joint: Joint) -> Any:
    """Return the pinocchio.JointModel of one degree of freedom without limits. q: angle or displacement."""
    import pinocchio as pin  # noqa: PLC0415 (not everyone has it)

    axis = np.asarray(joint.axis, float)
    if joint.type == "prismatic":
        return pin.JointModelPrismaticUnaligned(axis)
    return pin.JointModelRevoluteUnaligned(axis)


def _displacement(joint: Joint, position: float) -> Any:
    import pinocchio as pin  # noqa: PLC0415 (not everyone has it)

    axis = np.asarray(joint.axis, float)
    if joint.type == "prismatic":
        return pin.SE3(np.eye(3), axis * position)
    return pin.SE3(pin.AngleAxis(position, axis).toRotationMatrix(), np.zeros(3))


def torque(mechanism: Mechanism, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> Array:
    """Return Pinocchio's `rnea` (N, n), N m or N, plus the torques of springs and passive friction, which the Pinocchio
    model does not include. q, qd, qdd (N, n): positions, velocities, accelerations."""
    import pinocchio as pin  # noqa: PLC0415 (not everyone has it)

    oracle = pinocchio_of(mechanism)
    data = oracle.createData()
    q = np.asarray(q, float)
    rows = zip(q, np.asarray(qd, float), np.asarray(qdd, float), strict=True)
    tau = np.array([pin.rnea(oracle, data, *row).copy() for row in rows])
    model = Model.of(mechanism)
    springs = joint_springs(model)
    return tau + springs.stiffness * (q - springs.rest) + PassiveFriction.of(model).torque(qd)
