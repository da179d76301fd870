"""Springs at joints. A spring has the file's `stiffness`. Hinges that C_mot leaves stiff get the closed-form stiffness
of a bent rod.

A rod of length l from the joint to the centre of gravity has the bending stiffness EI / l about a transverse axis and
the torsional stiffness GJ / l about its own axis (Timoshenko, Strength of Materials: constant moment, pure torsion).
C_mot is the fraction of the hinge stiffness that remains.
"""

import math

import numpy as np
from numpy.typing import NDArray

from femtorque.codegen.mechanism import Mechanism
from femtorque.codegen.model import Body, Model


def stiffnesses(mechanism: Mechanism) -> NDArray[np.float64]:
    """Return the stiffnesses of the springs at all moving joints (n,), N m/rad or N/m."""
    if not any(joint.c_mot for joint in mechanism.moving):
        return np.array([joint.stiffness for joint in mechanism.moving])
    bodies = {body.joint.name: body for body in Model.of(mechanism).bodies}
    return np.array([joint.stiffness + _hinge(mechanism, bodies[joint.name]) for joint in mechanism.moving])


def _hinge(mechanism: Mechanism, body: Body) -> float:
    section = mechanism.link(body.joint.child).section
    length = math.dist(body.com, (0.0, 0.0, 0.0))
    if body.joint.c_mot == 0.0 or section is None or length == 0.0:
        return 0.0
    inner = math.sqrt(max(0.0, section.radius**2 - section.area / math.pi))  # of a round tube
    EI = section.E * math.pi / 4.0 * (section.radius**4 - inner**4)
    GJ = EI / (1.0 + section.poisson)  # G = E / (2 (1 + nu)), J = 2 I
    along = float(np.dot(body.axis, body.com) / length)
    return body.joint.c_mot * (EI * (1.0 - along**2) + GJ * along**2) / length
