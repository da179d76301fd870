"""Load of gravity on the motors of an arm at rest, and the joints that fall when the motors let go.

A joint is loaded where, somewhere in its range, its weight is more than its Coulomb friction holds. Motors without
power are not assumed to hold anything: cogging and gears that do not turn back are not in a mechanism file.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

import numpy as np

from femtorque.codegen.common import norm, remembered
from femtorque.codegen.control.gains import sample_poses
from femtorque.codegen.mechanism import Mechanism, Safety
from femtorque.codegen.model import Model, assemble, has_modes, in_mode
from femtorque.codegen.reference import newton_euler
from femtorque.codegen.wire import messages

LOOP_POSES = 8  # of closed loops, whose torques are found one by one
ROUNDING = 1e-9  # of the weight of all that moves, at an arm of 1 m: what a sum of torques that cancel leaves


@dataclass(frozen=True)
class Load:
    """The largest torque (N m, or N of a prismatic joint) that gravity asks of a joint at rest, and where: the places
    of all joints, rad or m. mode: of a mechanism that has some."""

    torque: float
    pose: Mapping[str, float]
    mode: str = ""


def weights(mechanism: Mechanism) -> Mapping[str, float]:
    """The largest torque at rest that gravity asks of each actuated joint over the ranges of all joints, in the worst
    of its modes. Raises Refused where closed loops do not close."""
    return {name: load.torque for name, load in heaviest(mechanism).items()}


@remembered
def heaviest(mechanism: Mechanism) -> Mapping[str, Load]:
    """Largest loads over the sampled poses, each with its pose."""
    if not np.any(mechanism.gravity):
        return {j.name: Load(0.0, {}) for j in mechanism.moving if j.actuated}
    modes = [mode.name for mode in mechanism.modes] if has_modes(mechanism) else [""]
    worst: dict[str, Load] = {}
    for mode in modes:
        for name, load in _heaviest(in_mode(mechanism, mode) if mode else in_mode(mechanism)).items():
            if name not in worst or load.torque > worst[name].torque:
                worst[name] = replace(load, mode=mode)
    return worst


def _heaviest(mechanism: Mechanism) -> dict[str, Load]:
    """Largest loads in one mode."""
    model = Model.of(mechanism)
    assembly = assemble(model)
    poses = sample_poses(model)[:LOOP_POSES if assembly.dependent else None]
    still = np.zeros_like(poses)
    torques = newton_euler(model, poses, still, still)
    if assembly.dependent:
        torques = np.array([assembly.allocate(q, tau) for q, tau in zip(poses, torques, strict=True)])
    least = ROUNDING * float(norm(mechanism.gravity)) * sum(link.mass for link in mechanism.links)
    at, most = np.argmax(np.abs(torques), axis=0), np.max(np.abs(torques), axis=0)
    names = [body.joint.name for body in model.bodies]
    return {body.joint.name: Load(float(most[i]) if most[i] > least else 0.0,
                                  dict(zip(names, poses[at[i]].tolist(), strict=True)))
            for i, body in enumerate(model.bodies) if body.joint.actuated}


def overweight(mechanism: Mechanism, efforts: Mapping[str, float]) -> dict[str, Load]:
    """The joints of which gravity asks more than their efforts, N m or N, somewhere in the ranges."""
    return {name: load for name, load in heaviest(mechanism).items() if load.torque > efforts.get(name, np.inf)}


def loaded(mechanism: Mechanism) -> dict[str, float]:
    """The actuated joints that fall when nothing holds them, with the torque that gravity asks of them."""
    joints = {j.name: j for j in mechanism.moving}
    return {name: torque for name, torque in weights(mechanism).items()
            if torque > joints[name].friction.coulomb}


def resolved(mechanism: Mechanism) -> Safety:
    """[safety] with `auto` made what it stands for: a lost host or a bad knot leaves sensors, drivers and law as good
    as they were, so an arm that knows where to lies down, one that would fall is held; any other one coasts."""
    safety = mechanism.safety
    if safety.host != "auto":
        return safety
    return replace(safety, host=_host(safety, loaded(mechanism)))


def _host(safety: Safety, found: dict[str, float]) -> str:
    """Reaction that `auto` means where these joints would fall."""
    return "park" if safety.park else "hold" if found else "coast"


def falls(mechanism: Mechanism, weak: Collection[str] = ()) -> list[str]:
    """In words, what falls when: a line for a host that is gone, one for all else that lets the motors go. weak: joints
    of which gravity may ask more than they give: they are held only where it does not."""
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
    letting_go = [f"{what} ({reaction})" for what, reaction in _letting_go(safety)]
    return [f"gravity loads {falling}", cable,
            f"{_names(list(found))} {_one('falls', 'fall', found)} when the motors are let go: e-stop, DISARM, a "
            "supply that is cut, " + ", ".join(letting_go)]


def _names(names: list[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def _one(singular: str, plural: str, names: Collection[str]) -> str:
    return singular if len(names) == 1 else plural


def _letting_go(safety: Safety) -> list[tuple[str, str]]:
    """(faults of a class, reaction) of every other class in which the arm is not held."""
    return [("faults of class " + name, getattr(safety, name)) for name in messages.FAULT_CLASSES
            if name != "host" and getattr(safety, name) != "hold"]
