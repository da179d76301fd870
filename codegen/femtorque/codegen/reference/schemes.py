"""The reference torque of a motion in the mechanism's scheme, for open and closed, rigid and flexible mechanisms,
through all modes."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from femtorque.codegen.common import Array
from femtorque.codegen.model import (
    Assembly, ClosedMotion, Conversion, Later, Model, Motion, assemble, has_modes, shares, stretches)
from femtorque.codegen.reference import flexible
from femtorque.codegen.reference.rigid import incremental_torque, matrix_form, newton_euler, recursion


def torque(model: Model, motion: Motion, ticks: int, convert: Conversion = matrix_form) -> tuple[Array, Array]:
    """Return t and the feed-forward torque tau of the first `ticks` ticks of a motion, in the mechanism's scheme. t
    (ticks,): the middles (k + 1/2) dt of the ticks, s. tau (ticks, J): torques of the streamed joints, N m or N. If the
    mechanism has modes, the motion (a Trajectory) says when they change. Raise Refused if closed loops reach a singular
    pose."""
    if has_modes(model.mechanism):
        tau = _through_modes(model, motion, ticks, lambda part, own: torque(part, own[0], own[1], convert)[1])
        return (np.arange(ticks, dtype=float) + 0.5) * model.dt, tau
    if model.mechanism.flexible:
        return flexible.torque(model, motion, ticks)
    if model.mechanism.constrained:
        assembly = assemble(model, _near(model, motion))
        t, tau = _torque(model, ClosedMotion(assembly, motion), ticks, closed_form(assembly, convert))
        return t, tau[:, list(assembly.actuated)]
    return _torque(model, motion, ticks, convert)


def exact(model: Model, motion: Motion, t: ArrayLike) -> Array:
    """Return torques (N, J) of the streamed joints by Newton-Euler at times t (N,) s, without increments.

    With flexible links or modes, t must be the middles of the first N ticks. For flexible links the integration has
    finer ticks."""
    if has_modes(model.mechanism):
        return _through_modes(model, motion, len(np.asarray(t)), lambda part, own: exact(
            part, own[0], (np.arange(own[1]) + 0.5) * part.dt))
    if model.mechanism.flexible:
        return flexible.exact(model, motion, len(np.asarray(t)))
    return of_streamed(model, *motion.at(t), near=_near(model, motion))


def _near(model: Model, motion: Motion) -> dict[str, float] | None:
    """Return the pose at which the search for a mode's closed loops starts: where a motion enters the mode."""
    if not isinstance(motion, Later):
        return None
    q = np.asarray(motion.at(np.array([0.0]))[0], float)[0]
    return {joint.name: float(x) for joint, x in zip(model.mechanism.streamed, q, strict=True)}


def _through_modes(model: Model, motion: Motion, ticks: int,
                   part_torque: Callable[[Model, tuple[Motion, int]], Array]) -> Array:
    """Return torques (ticks, J) of the streamed joints through the modes of a motion.

    Passive joints get 0. At a change of mode, the constraint forces rise and fall gradually
    (`femtorque.codegen.model.modes.shares`). If all joints are actuated, any weighted mean of the torques with and
    without constraint forces is exact."""
    mechanism = model.mechanism
    switches = getattr(motion, "modes", ())
    tau, given = np.zeros((ticks, len(mechanism.streamed))), shares(mechanism, switches, ticks)
    for part in stretches(mechanism, switches, ticks):
        rows, own = slice(part.first, part.first + part.ticks), (Later(motion, part.first * model.dt, part.places),
                                                                 part.ticks)
        found = part_torque(part.model, own)
        share = given[rows, None]
        if np.any(share < 1.0):
            control = replace(part.model.mechanism.control, allocation="partition")
            apart = part_torque(Model.of(replace(part.model.mechanism, control=control)), own)
            found = apart + share * (found - apart)
        tau[rows, list(part.places)] = found
    return tau


def of_streamed(model: Model, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike,
                near: dict[str, float] | None = None) -> Array:
    """Return torques of rigid links from positions, velocities and accelerations (N, J) along a motion."""
    if not model.mechanism.constrained:
        return newton_euler(model, q, qd, qdd)
    assembly = assemble(model, near)
    full = assembly.whole(q, qd, qdd)
    return newton_euler(model, *full, closed_form(assembly, recursion))[:, list(assembly.actuated)]


def closed_form(assembly: Assembly, convert: Conversion) -> Conversion:
    """Return the conversion for closed loops. For the allocation "partition", return the conversion for open loops."""
    return convert if assembly.model.mechanism.control.allocation == "partition" else assembly.conversion(convert)


def _torque(model: Model, motion: Motion, ticks: int, convert: Conversion) -> tuple[Array, Array]:
    """Return t and torques of all joints, with the interface of `torque`."""
    dt = model.dt
    middles = (np.arange(ticks, dtype=float) + 0.5) * dt
    q, qd, _ = motion.at(np.arange(ticks + 1) * dt)
    return middles, incremental_torque(model, q, qd, convert)
