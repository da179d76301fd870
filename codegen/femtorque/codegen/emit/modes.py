"""Emission of the step of mechanisms with several modes: one step per mode, and ft_step, which calls the step of the
present mode. Every mode is rendered as if it were the only one, but with the mode's number in all names (ft_m1_step,
ft_m1_loop). Each mode has its own constants, sizes and order of joints."""

from dataclasses import dataclass

from femtorque.codegen.common import template
from femtorque.codegen.emit import closed, step
from femtorque.codegen.mechanism import Mechanism
from femtorque.codegen.model import Model, assemble, in_mode, ramp
from femtorque.codegen.step import step_of, unit_of

POSITION = 2e-3  # maximum gap of a closed loop when a mode begins, rad or m
VELOCITY = 0.05  # maximum velocity at which a loop may open, rad/s or m/s


@dataclass(frozen=True)
class Follower:
    """A dependent joint that another mode streams: index in the tree, index among the streamed joints, unit."""

    i: int
    place: int
    unit: str


@dataclass(frozen=True)
class Mode:
    """A mode for ft_modes.h.j2 and ft_modes.c.j2."""

    name: str
    rule: str
    m: str  # prefix of the mode's names, in small letters and in capitals
    M: str
    number: int
    label: str
    unit: str
    places: list[int]
    closed: bool
    tree: list[str]
    carries: list[tuple[int, int]]
    follows: list[Follower]
    idle: list[int]
    ramp: int  # ticks
    per_tick: str


@dataclass(frozen=True)
class Context:
    """Context of ft_modes.h.j2 and ft_modes.c.j2."""

    name: str
    modes: list[Mode]
    closed: list[Mode]
    unramped: bool
    ramp: int
    position: float
    velocity: float
    units: list[str]
    carried: list[str]


SHARED = ("ft_model.h", "ft_trig.h")


def render(mechanism: Mechanism) -> dict[str, str]:
    """Return {file name: text} of the step for all modes."""
    files: dict[str, str] = {}
    modes: list[Mode] = []
    carried = [joint for joint in mechanism.moving if joint not in mechanism.streamed]
    for number, mode in enumerate(mechanism.modes):
        model = Model.of(in_mode(mechanism, mode.name))
        length = ramp(mechanism, mode.name)
        looped = model.mechanism.constrained
        prefix = f"m{number}_"
        own = (closed.render(model, prefix, length > 0) if looped
               else step.rendered(model, step_of(model), "tree", prefix))
        files["ft_trig.h"] = max(files.get("ft_trig.h", ""), own["ft_trig.h"], key=len)  # only some modes may have
                                                                                         # passive joints with friction
        files |= {name: text for name, text in own.items() if name not in SHARED}
        modes.append(_mode(mechanism, number, model, looped, length, [joint.name for joint in carried]))
    starts = {joint.name: joint.start for joint in carried}
    context = Context(
        name=mechanism.name, modes=modes, closed=[mode for mode in modes if mode.closed],
        unramped=not any(mode.ramp for mode in modes),
        ramp=max(1, *(mode.ramp for mode in modes)), position=POSITION, velocity=VELOCITY,
        units=[_unit(joint.type) for joint in mechanism.streamed],
        carried=[closed.angle(starts[joint.name], joint) for joint in carried],
    )
    sizes = [(len(Model.of(in_mode(mechanism, m.name)).mechanism.streamed), len(in_mode(mechanism, m.name).moving))
             for m in mechanism.modes]
    files["ft_model.h"] = step.model_header(mechanism, modes=sizes)
    for name in ("ft_step.h", "ft_step.c"):
        files[name] = template(name.replace("step", "modes")).render(vars(context))
    return files


def _unit(kind: str) -> str:
    return unit_of(kind == "prismatic")


def _mode(mechanism: Mechanism, number: int, model: Model, closed: bool, length: int,
          carried: list[str]) -> Mode:
    names = [joint.name for joint in mechanism.streamed]
    own = [joint.name for joint in model.mechanism.streamed]
    places = [names.index(name) for name in own]
    tree: list[str] = []
    carries: list[tuple[int, int]] = []
    follows: list[Follower] = []
    if closed:
        dependent = assemble(model).dependent
        for i, body in enumerate(model.bodies):
            name = body.joint.name
            if name in carried:
                carries.append((carried.index(name), i))
                tree.append(f"s->carried[{carried.index(name)}]")
                continue
            tree.append(f"before[{names.index(name)}]")
            if i in dependent:
                follows.append(Follower(i, names.index(name), _unit(body.joint.type)))
    name = mechanism.modes[number].name
    return Mode(
        name=name, rule="-" * (66 - len(name)), m=f"m{number}", M=f"M{number}", number=number,
        label="default:" if number + 1 == len(mechanism.modes) else f"case {number}:",
        unit="step" if closed else "tree", places=places,
        closed=closed, tree=tree, carries=carries, follows=follows,
        idle=[k for k in range(len(names)) if k not in places], ramp=length,
        per_tick=repr(1.0 / length) if length else "0.0",
    )
