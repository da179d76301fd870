"""Gravity load on the motors of a mechanism at rest, and the joints that fall when the motors lose power.

A joint counts as loaded if its gravity torque exceeds its Coulomb friction, and LEAST of its effort, anywhere in its
range. Motors without power are assumed to have no holding torque, because mechanism files have no cogging and no
self-locking gears."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

import numpy as np

from femtorque.codegen.common import Array, norm, remembered
from femtorque.codegen.control.gains import sample_poses
from femtorque.codegen.control.motors import Motor
from femtorque.codegen.mechanism import Mechanism, Safety
from femtorque.codegen.model import Model, assemble, has_modes, in_mode
from femtorque.codegen.reference import newton_euler
from femtorque.codegen.wire import messages

LOOP_POSES = 8  # number of poses for closed loops, because their torques are computed pose by pose
LEAST = 1e-3  # fraction of the effort: bearings and gears hold a smaller torque, even if the file has no friction
ROUNDING = 1e-9  # fraction of the whole weight at a lever of 1 m: rounding error of torques that cancel


@dataclass(frozen=True)
class Load:
    """The largest gravity torque on a joint at rest, N m or N."""

    torque: float
    pose: Mapping[str, float]  # positions of all joints, rad or m
    mode: str = ""  # name of the mode, if the file has modes


def weights(mechanism: Mechanism) -> Mapping[str, float]:
    """Return the largest gravity torque at rest on each actuated joint, over all ranges and modes. Raise Refused if a
    closed loop cannot be closed."""
    return {name: load.torque for name, load in heaviest(mechanism).items()}


@remembered
def heaviest(mechanism: Mechanism) -> Mapping[str, Load]:
    """Return the largest gravity load of each joint over the sampled poses, with the pose of this load."""
    if not np.any(mechanism.gravity):
        return {j.name: Load(0.0, {}) for j in mechanism.moving if j.actuated}
    worst: dict[str, Load] = {}
    for mode, one in each_mode(mechanism):
        for name, load in _heaviest(one).items():
            if name not in worst or load.torque > worst[name].torque:
                worst[name] = replace(load, mode=mode)
    return worst


def _heaviest(mechanism: Mechanism) -> dict[str, Load]:
    """Return the largest gravity load of each actuated joint in one mode."""
    model = Model.of(mechanism)
    poses, torques = weight_at_poses(model)
    least = ROUNDING * float(norm(mechanism.gravity)) * sum(link.mass for link in mechanism.links)
    at, most = np.argmax(np.abs(torques), axis=0), np.max(np.abs(torques), axis=0)
    names = [body.joint.name for body in model.bodies]
    return {body.joint.name: Load(float(most[i]) if most[i] > least else 0.0,
                                  dict(zip(names, poses[at[i]].tolist(), strict=True)))
            for i, body in enumerate(model.bodies) if body.joint.actuated}


def each_mode(mechanism: Mechanism) -> list[tuple[str, Mechanism]]:
    """Return (name, mechanism in this mode) for every mode; ('', mechanism) if there is only one mode."""
    return ([(mode.name, in_mode(mechanism, mode.name)) for mode in mechanism.modes] if has_modes(mechanism) else
            [("", in_mode(mechanism))])


def weight_at_poses(model: Model) -> tuple[Array, Array]:
    """Return sampled poses (P, n) and the gravity torques (P, n) at these poses."""
    poses = sample_poses(model)[:LOOP_POSES if assemble(model).dependent else None]
    return poses, torques_at_rest(model, poses, np.zeros_like(poses))


def torques_at_rest(model: Model, q: Array, qdd: Array) -> Array:
    """Return the joint torques (P, n) for accelerations qdd (P, n) at poses q (P, n) and zero velocity."""
    tau, assembly = newton_euler(model, q, np.zeros_like(q), qdd), assemble(model)
    if not assembly.dependent:
        return tau
    return np.array([assembly.allocate(at, t) for at, t in zip(q, tau, strict=True)])


def overweight(mechanism: Mechanism, efforts: Mapping[str, float]) -> dict[str, Load]:
    """Return the joints whose gravity torque exceeds their effort, N m or N, anywhere in their ranges."""
    return {name: load for name, load in heaviest(mechanism).items() if load.torque > efforts.get(name, np.inf)}


def loaded(mechanism: Mechanism) -> dict[str, float]:
    """Return the actuated joints that fall without power, with their gravity torques."""
    return {name: torque for name, torque in weights(mechanism).items() if torque > _holding(mechanism, name)}


def _holding(mechanism: Mechanism, name: str) -> float:
    """Return the torque that holds a joint without power, N m or N."""
    joint = next(j for j in mechanism.moving if j.name == name)
    effort = Motor.of(mechanism, joint).effort
    return max(joint.friction.coulomb, LEAST * effort if np.isfinite(effort) else 0.0)


def resolved(mechanism: Mechanism) -> Safety:
    """Return [safety] with the host reaction that replaces `auto`.

    After the loss of the host or a bad knot, sensors, drivers and control law still work. The reaction is therefore
    park if there is a park pose. Without a park pose the reaction is hold if a joint would fall, and coast if no joint
    would fall."""
    safety = mechanism.safety
    if safety.host != "auto":
        return safety
    return replace(safety, host=_host(safety, loaded(mechanism)))


def _host(safety: Safety, found: dict[str, float]) -> str:
    """Return the reaction that `auto` stands for. found: joints that fall when the motors lose power."""
    return "park" if safety.park else "hold" if found else "coast"


def falls(mechanism: Mechanism, weak: Collection[str] = ()) -> list[str]:
    """Return text lines that name the joints that fall after the loss of the host, and the joints that fall without
    power. weak: joints whose effort is less than the largest gravity torque."""
    found = loaded(mechanism) if any(j.motor or j.drive for j in mechanism.moving) else {}
    if not found:
        return []
    safety = mechanism.safety
    safety = safety if safety.host != "auto" else replace(safety, host=_host(safety, found))
    joints = {j.name: j for j in mechanism.moving}
    falling = ", ".join(f"{name} (up to {torque:.3g} {'N' if joints[name].type == 'prismatic' else 'N m'}, "
                        f"friction holds {joints[name].friction.coulomb:.3g})" for name, torque in found.items())
    strong, sinking = [name for name in found if name not in weak], [name for name in found if name in weak]
    how = f'when the cable is pulled: safety.host = "{safety.host}"'
    if safety.host == "hold":
        said = [f"{_names(strong)} {_one('stays', 'stay', strong)} up"] if strong else []
        said += [f"{_names(sinking)} {_one('sinks', 'sink', sinking)} where gravity asks for more than "
                 f"{_one('its', 'their', sinking)} effort"] if sinking else []
        cable = f"{', and '.join(said)} {how}"
    elif safety.host == "park":
        cable = f"the arm lies down {how}"
    else:
        cable = f"{_names(list(found))} {_one('falls', 'fall', found)} {how}"
    letting_go = [f"faults of class {name} ({reaction})" for name in messages.FAULT_CLASSES
                  if name != "host" and (reaction := getattr(safety, name)) != "hold"]
    return [f"gravity loads {falling}", cable,
            f"{_names(list(found))} {_one('falls', 'fall', found)} when the motors are let go: e-stop, DISARM, a "
            "supply that is cut, " + ", ".join(letting_go)]


def _names(names: list[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def _one(singular: str, plural: str, names: Collection[str]) -> str:
    return singular if len(names) == 1 else plural
