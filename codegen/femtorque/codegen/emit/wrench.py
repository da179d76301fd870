"""Emitted C of the joint torques that balance an external wrench: ft_wrench.h and ft_wrench.c, for any scheme. The C
loops over a table, along the path from the link to the ground. The C is separate from the step, so the step does not
become slower. The axes of every body are rotated so that its joint axis is z."""

from dataclasses import dataclass

import numpy as np

from femtorque.codegen.common import BadInput, product, template
from femtorque.codegen.model import GROUND, Model, frame_to_axis, placed_links
from femtorque.codegen.step import literal


@dataclass(frozen=True)
class Axis:
    """A row of the joints' table: parent joint as C, prismatic or not, rotation and origin in the parent's axes."""

    name: str
    parent: str
    slides: int
    rows: list[str]
    at: str


@dataclass(frozen=True)
class Bearer:
    """A link that a wrench can act on: index of its joint, and the link's origin in this joint's axes."""

    name: str
    joint: int
    at: str


@dataclass(frozen=True)
class Context:
    """Context of ft_wrench.h.j2 and ft_wrench.c.j2."""

    name: str
    joints: list[Axis]
    links: list[Bearer]
    slides: bool  # true if at least one joint is prismatic


def moving_links(model: Model) -> dict[str, int]:
    """Return {link's name: body} for the links on which a wrench can act, in the order of the C table."""
    return {name: body for name, (body, _, _) in placed_links(model.mechanism).items() if body != GROUND}


def render(model: Model) -> dict[str, str]:
    """Return {file name: text}. The returned files need ft_model.h and ft_trig.h of the step.

    Raise BadInput if the mechanism has closed loops or mimic joints."""
    if model.mechanism.constrained:
        raise BadInput(model.mechanism.source or model.mechanism.name, "loop" if model.mechanism.loops else "mimic",
                       None, "an external wrench on a mechanism with closed loops or mimic joints is not emitted",
                       "take --backend reference")
    turned = [frame_to_axis(body.axis) for body in model.bodies]
    joints = []
    for body, own in zip(model.bodies, turned, strict=True):
        parent = np.eye(3) if body.parent == GROUND else turned[body.parent]
        joints.append(Axis(
            body.joint.name, parent="FT_GROUND" if body.parent == GROUND else str(body.parent),
            slides=int(body.prismatic), rows=[_row(row) for row in product(parent.T, body.R0, own)],
            at=_row(product(parent.T, body.p0))))
    places = placed_links(model.mechanism)
    links = [Bearer(name, body, _row(product(turned[body].T, places[name][2])))
             for name, body in moving_links(model).items()]
    context = Context(model.mechanism.name, joints, links, slides=any(body.prismatic for body in model.bodies))
    return {name: template(name).render(vars(context)) for name in ("ft_wrench.h", "ft_wrench.c")}


def _row(v: np.ndarray) -> str:
    return ", ".join(literal(float(x)) for x in v)


