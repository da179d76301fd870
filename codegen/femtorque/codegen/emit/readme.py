"""The README of a generated folder, which documents the API for one mechanism."""

from dataclasses import dataclass

from femtorque.codegen.common import template
from femtorque.codegen.emit import rnea
from femtorque.codegen.mechanism import Control, Joint, Mechanism
from femtorque.codegen.model import Model, has_modes

WHAT = {
    "ft_tree.h": "the open tree",
    "ft_tree.c": "the open tree's step, one block per link",
    "ft_loop.h": "the closed loops",
    "ft_loop.c": "the solution of the loops, one block per side of a loop",
    "ft_model.h": "sizes, rates, number types, units",
    "ft_trig.h": "sine and cosine of a binary fraction of a turn",
    "ft_step.h": "the API",
    "ft_step.c": "the step, one block per link",
    "ft_flexible.h": "flexible links and springs: functions for the step",
    "ft_flexible.c": "the integration of flexible links and springs, with a table of modes",
    "ft_wrench.h": "joint torques against an external wrench",
    "ft_wrench.c": "joint torques against a wrench, a loop along the path from a link to the ground",
    "ft_rnea.h": "torques at one instant, for your own controller",
    "ft_rnea.c": "torques at one instant, one block per link",
    "ft_units.h": "conversion of rad and m to whole positions and back",
}


@dataclass(frozen=True)
class Instant:
    """The README's section on ft_rnea: parameters, functions, and a table of costs."""

    loops: bool
    functions: list[str]
    modes: bool
    near: str
    mode: str
    table: str


@dataclass(frozen=True)
class Context:
    """Context of README.md.j2."""

    mechanism: Mechanism
    control: Control
    scheme: str
    gravity: list[str]
    joints: tuple[Joint, ...]
    files: list[tuple[str, str]]  # names of the files in the folder, each with a description
    library: bool
    names: list[str]
    instant: Instant | None  # texts of ft_rnea; None without ft_rnea
    compiled: str  # arguments of the compiler


def what(name: str, model: Model) -> str:
    """Return a one-line description of a file. If there are several modes, file names contain the mode's number."""
    for number, mode in enumerate(model.mechanism.modes):
        if (rest := name.removeprefix(f"ft_m{number}_")) != name:
            return f"{WHAT['ft_' + rest]}, mode {mode.name}"
    if name == "ft_step.c" and (model.mechanism.constrained or has_modes(model.mechanism)):
        return "a tick and a start, with the files above"
    return WHAT[name]


def render(model: Model, files: list[str], library: bool = False, derivatives: bool = False) -> dict[str, str]:
    """Return README.md of a folder with these files. library: a library contains the files in src/. derivatives:
    ft_rnea.c has derivatives of torques."""
    control = model.mechanism.control
    context = Context(
        mechanism=model.mechanism,
        control=control,
        scheme=model.scheme,
        gravity=[f"{g:g}" for g in model.gravity],
        joints=model.mechanism.streamed,
        files=[(f"src/{name}" if library else name, what(name, model)) for name in files],
        library=library,
        names=files,
        instant=_instant(model, derivatives),
        compiled="-Isrc src/*.c" if library else " ".join(name for name in files if name.endswith(".c")),
    )
    return {"README.md": template("README.md", trim=False).render(vars(context))}


def _instant(model: Model, derivatives: bool) -> Instant | None:
    mechanism = model.mechanism
    if mechanism.flexible:
        return None
    costs, moded = rnea.cost(model, derivatives), has_modes(mechanism)
    loops = any(cost.solution for cost in costs)
    names, functions = [mode.name for mode in mechanism.modes] if moded else [""], list(costs[0].calls)
    head = ["mode", *(f"`{name}`" for name in functions), "one more solution of the loops"]
    rows = [head, ["---"] * len(head)]
    rows += [[name, *map(_about, cost.calls.values()), _about(cost.solution) if cost.solution else ""]
             for name, cost in zip(names, costs, strict=True)]
    kept = slice(0 if moded else 1, None if loops else -1)
    return Instant(loops, functions, moded, near="&near, " if loops else "", mode="mode, " if moded else "",
                   table="\n".join(f"| {' | '.join(row[kept])} |" for row in rows))


def _about(count: int) -> str:
    """Return a number of instructions as text, rounded to two digits."""
    return f"{float(f'{count:.2g}'):.0f}"
