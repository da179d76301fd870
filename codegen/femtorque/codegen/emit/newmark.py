"""Emitted C of `scheme = "newmark"`: the paper's incremental kinematics, a loop over a table of links.

Same interface as the C of femtorque.codegen.emit.step, same numbers as femtorque.codegen.reference.rigid. Time is
counted in ticks, so that
dt appears only in the table: mass / dt^2, inertia / dt^2, gravity dt^2. Every body frame is turned so that its joint
moves about or along z.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from femtorque.codegen.common.elementary import square
from femtorque.codegen.common.templating import template
from femtorque.codegen.common.vectors import product
from femtorque.codegen.emit import step
from femtorque.codegen.model.beam_element import joint_springs
from femtorque.codegen.model.bodies import GROUND, Model
from femtorque.codegen.model.kinematics import frame_to_axis
from femtorque.codegen.reference.newmark import newmark_growth
from femtorque.codegen.step.c_text import literal
from femtorque.codegen.step.provenance import comment, of_links
from femtorque.codegen.wire.units import position_unit

TERMS_SINGLE, TERMS_DOUBLE = 6, 13  # of the power series, to rounding at 1/4


def render(model: Model) -> dict[str, str]:
    """{file name: text} of ft_model.h, ft_trig.h, ft_step.h and ft_step.c; the first two are those of every scheme."""
    context = _context(model)
    return step.headers(model) | {
        "ft_step.h": template("ft_newmark.h").render(vars(context)),
        "ft_step.c": template("ft_newmark.c").render(vars(context)),
    }


@dataclass(frozen=True)
class Element:
    """Row of the table of links: origin of its numbers, its parent in C, its axes X, Y and Z and place P in the
    parent's, its centre of gravity C, mass M and inertia J."""

    provenance: list[str]
    parent: str
    slides: str
    X: str
    Y: str
    Z: str
    P: str
    C: str
    M: str
    J: list[str]


@dataclass(frozen=True)
class Spring:
    """Stiffness, and the rest position as an unsigned position of either build."""

    stiffness: str
    rest: str


@dataclass(frozen=True)
class Context:
    """Context of ft_newmark.h.j2 and ft_newmark.c.j2."""

    name: str
    beta: str
    gamma: str
    growth: str
    verdict: str
    beta_1: str
    a_part: str
    gamma_c: str
    gamma_rest: str
    gravity: str
    links: list[Element]
    sprung: bool
    springs: list[Spring]
    terms_single: int
    terms_double: int
    atan_series: list[str]


def _context(model: Model) -> Context:
    control = model.mechanism.control
    growth = newmark_growth(control.beta, control.gamma)
    springs = joint_springs(model)
    return Context(
        name=model.mechanism.name,
        beta=f"{control.beta:g}",
        gamma=f"{control.gamma:g}",
        growth=f"{growth:.4g}",
        verdict=", so it dies out" if growth < 1.0 else ":\n * it never dies out",
        beta_1=literal(1.0 / control.beta),
        a_part=literal(1.0 / (2.0 * control.beta) - 1.0),
        gamma_c=literal(control.gamma),
        gamma_rest=literal(1.0 - control.gamma),
        gravity=_row(model.gravity * square(model.dt)),
        links=_links(model),
        sprung=bool(np.any(springs.stiffness)),
        springs=[_spring(model, i, k, rest) for i, (k, rest) in
                    enumerate(zip(springs.stiffness, springs.rest, strict=True))],
        terms_single=TERMS_SINGLE,
        terms_double=TERMS_DOUBLE,
        atan_series=[literal((-1) ** k / (2 * k + 1)) for k in range(TERMS_DOUBLE)],
    )


def _links(model: Model) -> list[Element]:
    """The table of links; Q turns z of a link's new axes to the joint's axis in its old ones."""
    Q = [frame_to_axis(body.axis) for body in model.bodies]
    links = []
    provenance = of_links(model, 1.0 / square(model.dt))
    for body, own, parameters in zip(model.bodies, Q, provenance, strict=True):
        parent = np.eye(3) if body.parent == GROUND else Q[body.parent]
        R = product(parent.T, body.R0, own)
        J = product(own.T, body.inertia, own) / square(model.dt)
        links.append(Element(
            provenance=comment(parameters),
            parent="FT_GROUND" if body.parent == GROUND else str(body.parent),
            slides=str(int(body.prismatic)),
            X=_row(R[:, 0]), Y=_row(R[:, 1]), Z=_row(R[:, 2]),
            P=_row(product(parent.T, body.p0)),
            C=_row(product(own.T, body.com)),
            M=literal(body.mass / square(model.dt)),
            J=[_row(row) for row in J],
        ))
    return links


def _spring(model: Model, i: int, stiffness: float, rest: float) -> Spring:
    steps = rest / position_unit(model.bodies[i].joint)
    return Spring(literal(float(stiffness)),
                  f"FT_ANGLE({round(steps) % 2**32:#x}, {round(steps * 2.0**32) % 2**64:#x})")


def _row(x: NDArray[np.float64]) -> str:
    return ", ".join(literal(float(value)) for value in x)
