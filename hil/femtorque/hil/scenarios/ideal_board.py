"""An ideal board: exact angles and velocities, torque without delay, no friction. Control law and feed-forward cause
the remaining error. A tick's torque is the motion's (femtorque.codegen.verify.motion_torques, with rotors) plus Ku (q_d
- q) + Kv (qd_d - qd) at the beginning of the tick."""

from dataclasses import replace

import numpy as np

from femtorque.codegen.common import Array
from femtorque.codegen.mechanism import Friction, Mechanism
from femtorque.codegen.motion import Trajectory
from femtorque.codegen.verify import torque
from femtorque.hil.plant import wired
from femtorque.hil.plant.articulated.plant import Plant

FEEDFORWARDS = ("PD", "PD + partition", "PD + lambda")
STEP = 1e-3  # time step of the plant, s


def without_friction(mechanism: Mechanism) -> Mechanism:
    """Return the mechanism with frictionless joints."""
    return replace(mechanism, joints=tuple(replace(joint, friction=Friction()) for joint in mechanism.joints))


def track(mechanism: Mechanism, motion: Trajectory, feedforward: str, max_step: float = STEP) -> Array:
    """Play a motion on the articulated plant. Return the rms error (J,), rad or m, of target minus true position at the
    beginning of every tick. feedforward: one of FEEDFORWARDS."""
    smooth = without_friction(mechanism)
    joints, dt = mechanism.streamed, 1.0 / mechanism.control.rate_hz
    ticks = round(motion.duration / dt)
    if feedforward == "PD":
        forward = np.zeros((ticks, len(joints)))
    else:
        allocation = "partition" if feedforward == "PD + partition" else "closed"
        forward = torque(replace(smooth, control=replace(smooth.control, allocation=allocation)), motion,
                         total=True).tau
    ku, kv = (np.array([getattr(joint.gains, key) for joint in joints]) for key in ("ku", "kv"))
    plant = wired(Plant(smooth, max_step=max_step))
    target, velocity, _ = motion.at(np.arange(ticks) * dt)
    error = np.empty_like(target)
    for k in range(ticks):
        error[k] = target[k] - plant.q
        plant.push(dt, forward[k] + ku * error[k] + kv * (velocity[k] - plant.v))
    return np.sqrt(np.mean(error**2, axis=0))
