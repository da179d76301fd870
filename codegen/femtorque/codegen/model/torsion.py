"""Torsion of a flexible link, modelled as a spring at its tip.

Under a moment M about x, a Saint-Venant element from root to tip twists by M L / GJ. A spring of stiffness GJ / L at
the tip causes the same rotation. A link with `GJ` therefore becomes a link without `GJ`, and a joint about x at its end
whose only torque comes from this spring. Bodies that were fixed to the tip are then fixed to this joint. The tip
carries a third of the section's inertia about x (the element's consistent mass). Damping is proportional to the rate of
strain, as in bending."""

from dataclasses import replace

import numpy as np

from femtorque.codegen.mechanism import Friction, Joint, Limits, Link, Mechanism

END = 1e-9  # maximum distance between the attachment of a joint or body and the root or tip of its flexible link, m
STEEPEST = np.pi / 4.0  # maximum angle of springs in the computation, rad
SHARE = 1.0 / 3.0  # fraction of a bar's inertia that a linear element lumps at its end


def with_torsion(mechanism: Mechanism) -> Mechanism:
    """Return a copy of the mechanism in which the torsion of links with `GJ` is a joint "<link>'s torsion"."""
    links: list[Link] = []
    joints, payloads = list(mechanism.joints), list(mechanism.payloads)
    for link in mechanism.links:
        beam = link.beam
        if beam is None or beam.GJ is None:
            links.append(link)
            continue
        length, end = beam.length, f"{link.name}'s end"
        to_end = np.array([length, 0.0, 0.0])
        turning = SHARE * np.diag([link.inertia[0, 0], 0.0, 0.0])
        links += [replace(link, inertia=link.inertia - turning, beam=replace(beam, GJ=None)),
                  Link(end, 0.0, np.zeros(3), turning)]
        stiffness = beam.GJ / length
        spring = Joint(f"{link.name}'s torsion", "revolute", link.name, end, to_end, np.zeros(3),
                       np.array([1.0, 0.0, 0.0]), actuated=False, stiffness=stiffness,
                       limits=Limits(lower=-STEEPEST, upper=STEEPEST),
                       friction=Friction(viscous=beam.damping * stiffness))
        joints = [replace(j, parent=end, xyz=j.xyz - to_end)
                  if j.parent == link.name and j.xyz[0] >= length - END else j
                  for j in joints]
        payloads = [replace(p, link=end, com=p.com - to_end) if p.link == link.name and p.com[0] >= length - END else p
                    for p in payloads]
        at = next(k for k, j in enumerate(joints) if j.child == link.name)
        joints.insert(at + 1, spring)
    return replace(mechanism, links=tuple(links), joints=tuple(joints), payloads=tuple(payloads))
