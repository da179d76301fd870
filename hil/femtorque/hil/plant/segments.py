"""Flexible links as chains of rigid segments with springs between them: geometrically exact, whatever turns or bends.

A segment has the mass and the inertia of its piece of the beam; half-way between two segments' middles stands a spring
of stiffness EI / h for each plane of bending (and GJ / h, where the link twists), h being a segment's length, with
damping in the same proportion as the beam's. The first and the last segment are half as long, so that springs are at
the middle of what bends there. Its error falls with the square of h.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from femtorque.codegen.mechanism.description import Beam, Friction, Joint, Link, Mechanism

AT_END = 1e-9  # m
AXES = np.eye(3)


def segmented(mechanism: Mechanism, segments: int) -> Mechanism:
    """A mechanism with every flexible link as so many segments; its first keeps the link's name. Passive joints hold
    them."""
    links: list[Link] = []
    joints, payloads = list(mechanism.joints), list(mechanism.payloads)
    for link in mechanism.links:
        if link.beam is None:
            links.append(link)
            continue
        parts, springs = _parts(link, link.beam, segments)
        links += parts
        end, to_end = parts[-1].name, np.array([link.beam.length - 0.5 * link.beam.length / segments, 0.0, 0.0])
        beyond = link.beam.length - AT_END
        joints = [replace(j, parent=end, xyz=j.xyz - to_end) if j.parent == link.name and j.xyz[0] >= beyond else j
                  for j in joints]
        payloads = [replace(p, link=end, com=p.com - to_end) if p.link == link.name and p.com[0] >= beyond else p
                    for p in payloads]
        at = next(k for k, j in enumerate(joints) if j.child == link.name)
        joints[at + 1:at + 1] = springs
    return replace(mechanism, links=tuple(links), joints=tuple(joints), payloads=tuple(payloads))


def _parts(link: Link, beam: Beam, segments: int) -> tuple[list[Link], list[Joint]]:
    """Segments, massless pieces between two springs at one place, and the springs."""
    h = beam.length / segments
    stiffnesses = (*beam.EI, beam.GJ or np.inf)
    springs = [(axis, k) for axis, k in zip(AXES[[1, 2, 0]], stiffnesses, strict=True) if np.isfinite(k)]
    parts, joints = [_segment(link, link.name, 0.5 * h)], []
    for n in range(1, segments + 1):
        for k, (axis, stiffness) in enumerate(springs):
            last = k == len(springs) - 1
            name = f"{link.name} {n}" if last else f"{link.name} {n}.{k + 1}"
            place = np.zeros(3) if k else np.array([h if n > 1 else 0.5 * h, 0.0, 0.0])
            joints.append(Joint(f"{name}'s spring", "revolute", parts[-1].name, name, place, np.zeros(3), axis,
                                actuated=False, stiffness=stiffness / h,
                                friction=Friction(viscous=beam.damping * stiffness / h)))
            long = 0.5 * h if n == segments else h
            parts.append(_segment(link, name, long) if last else Link(name, 0.0, np.zeros(3), np.zeros((3, 3))))
    return parts, joints


def _segment(link: Link, name: str, long: float) -> Link:
    """A piece of the beam `long` m from its joint."""
    assert link.beam is not None
    share = long / link.beam.length
    across = link.mass * share * long**2 / 12.0
    inertia = np.diag([share * link.inertia[0, 0], across, across])
    return Link(name, share * link.mass, np.array([0.5 * long, 0.0, 0.0]), inertia)
