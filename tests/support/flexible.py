"""Planar flexible arms for tests of the inverse model and of the plant. This module imports neither of the two."""

from dataclasses import replace

import numpy as np

from femtorque.codegen.mechanism import Beam, Joint, Link, Mechanism, Payload
from tests.support import oracle

LENGTH, MASS, EI = 0.4, 0.24, 0.55


def _base(gravity) -> Mechanism:
    return oracle.planar_chain(1, gravity=gravity)


def rod(name: str, mass: float, length: float, beam: Beam | None = None) -> Link:
    across = mass * length**2 / 12.0
    return Link(name, mass, np.array([length / 2, 0.0, 0.0]), np.diag([0.0, across, across]), beam=beam)


def hinge(name: str, parent: str, child: str, x: float, **more) -> Joint:
    return Joint(name, "revolute", parent, child, np.array([x, 0.0, 0.0]), np.zeros(3),
                 np.array([0.0, 0.0, 1.0]), **more)


def one_link(elements: int = 3, *, tip: float = 0.05, gravity=(0.0, 0.0, 0.0), stiffness: float = EI,
             damping: float = 0.0) -> Mechanism:
    """Return the single flexible link: a beam of 0.4 m and 0.24 kg with a point mass at its end."""
    beam = rod("beam", MASS, LENGTH, Beam(LENGTH, (np.inf, stiffness), elements, damping))
    carried = Payload("tip", "beam", tip, np.array([LENGTH, 0.0, 0.0]), np.zeros((3, 3)))
    return replace(_base(gravity), links=(beam,), joints=(hinge("hub", "base", "beam", 0.0),),
                   payloads=(carried,) if tip else ())


def two_link(elements: int = 3, *, gravity=(0.0, -9.81, 0.0), stiffness: float = EI, spring: float | None = None,
             damping: float = 5e-3) -> Mechanism:
    """Return a rigid link of 0.5 m and 8 kg with the flexible link at its end. spring: stiffness, N m/rad. With a
    spring, the last 0.1 m is rigid and is connected by the spring."""
    elastic = MASS if spring is None else 0.8 * MASS
    beam = rod("beam", elastic, LENGTH, Beam(LENGTH, (np.inf, stiffness), elements, damping))
    links = [rod("upper", 8.0, 0.5), beam]
    joints = [hinge("shoulder", "base", "upper", 0.0), hinge("elbow", "upper", "beam", 0.5)]
    if spring is not None:
        links.append(rod("hand", 0.2 * MASS, 0.1))
        joints.append(hinge("wrist", "beam", "hand", LENGTH, actuated=False, stiffness=spring))
    return replace(_base(gravity), links=tuple(links), joints=tuple(joints))
