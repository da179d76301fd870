"""The beam element: a linear Timoshenko beam with one shifted integration point (Isobe, Eqs 1-4).

The element has two nodes with six freedoms each, [u v w theta_x theta_y theta_z]. The element's axis is z. With the
integration point at s1 the element equals two rigid halves joined by springs at r1 = -s1 (Eq. 1). At s1 = 1 the shear
strain does not depend on the rotation of the first node. C_mot then scales the stiffness against relative rotation, so
the first end acts as a hinge: 0 is a pin, 1 is rigid.

A link consists of two elements: from its joint to its centre of gravity, and from there to the next joint. The
integration point of both elements is at the centre of gravity. All mass of the link is lumped there, and each joint is
a hinge at an element's end."""

from dataclasses import dataclass

import numpy as np

from femtorque.codegen.common import Array, BadInput, norm, product, square
from femtorque.codegen.mechanism import Section, Vector
from femtorque.codegen.model.bodies import Body, Model

SHEAR_FACTOR = 0.9  # solid circular section; a rigid link has no shear strain, so the value has no effect


@dataclass(frozen=True)
class Element:
    """Beam element. length m; EA N; EI about x and y, N m^2; GJ N m^2; GA_s shear stiffness N; s1: integration point in
    [-1, 1]."""

    length: float
    EA: float
    EI: tuple[float, float]
    GJ: float
    GA_s: float
    s1: float
    c_mot: float = 1.0  # factor on the stiffness of the spring against rotation at r1

    @property
    def r1(self) -> float:
        """Return the position of the equivalent springs (Eq. 1)."""
        return -self.s1


def strain_displacement(length: float, s1: float) -> Array:
    """Return [B(s1)] (6, 12), nodal displacements to strains: axial, bending in x and y, torsion, shear in x and y."""
    B = np.zeros((6, 12))
    slope = 1.0 / length
    near, far = (1.0 - s1) / 2.0, (1.0 + s1) / 2.0
    for strain, freedom in ((0, 2), (1, 3), (2, 4), (3, 5), (4, 0), (5, 1)):
        B[strain, freedom], B[strain, freedom + 6] = -slope, slope
    # a rotation about y moves points of the section towards +x, a rotation about x towards -y
    B[4, 4], B[4, 10] = -near, -far
    B[5, 3], B[5, 9] = near, far
    return B


def material(element: Element) -> Array:
    """Return [D(r1)] (6, 6) = diag(EA, C EI_x, C EI_y, C GJ, GA_s, GA_s), with C_mot at the rotational spring."""
    C = element.c_mot
    return np.diag([element.EA, C * element.EI[0], C * element.EI[1], C * element.GJ, element.GA_s, element.GA_s])


def stiffness(element: Element) -> Array:
    """Return [K] (12, 12) = l B(s1)' D(r1) B(s1) (Eq. 2). With one integration point the integral becomes a product."""
    B = strain_displacement(element.length, element.s1)
    return product(element.length * B.T, material(element), B)


def node_masses(model: Model) -> tuple[Array, Array]:
    """Return masses and inertias (n, 3, 3) of the nodes at the centres of gravity, in link axes. The nodes' masses and
    inertias equal those of the links."""
    return np.array([body.mass * np.eye(3) for body in model.bodies]), np.array([body.inertia for body in model.bodies])


def joint_element(model: Model, i: int) -> Element:
    """Return the element from joint i to the centre of gravity of link i, hinged at the joint.

    Raise BadInput if the link has no section, or if its centre of gravity is at the joint."""
    body = model.bodies[i]
    link = model.mechanism.link(body.joint.child)
    length = float(norm(body.com))
    if length == 0.0:
        raise BadInput(model.mechanism.source, f"joint.{body.joint.name}.c_mot", body.joint.c_mot,
                       f"link {link.name!r} has no element between a joint and its centre of gravity",
                       "use stiffness, in N m/rad")
    if link.section is None:
        raise BadInput(model.mechanism.source, f"joint.{body.joint.name}.c_mot", body.joint.c_mot,
                       f"C_mot scales the stiffness of link {link.name!r}, which has no section",
                       "give the link section = { area, radius }, or the joint stiffness in N m/rad")
    return first_element(body, link.section)


def first_element(body: Body, section: Section) -> Element:
    """Return the element from a body's joint to its centre of gravity, with the joint's C_mot and s1 = 1."""
    return _element(body.com, section, 1.0, body.joint.c_mot)


def second_element(body: Body, far_end: Vector, section: Section) -> Element:
    """Return the element from a body's centre of gravity to `far_end` (3,), m, in the body frame.

    Both ends of the element are rigid, and s1 = -1."""
    return _element(far_end - body.com, section, -1.0, 1.0)


def _element(along: Vector, section: Section, s1: float, c_mot: float) -> Element:
    """Return the element of a round tube with the section's area and outer radius."""
    E, A, r = section.E, section.area, section.radius
    I = A * (2.0 * square(r) - A / np.pi) / 4.0
    G = E / (2.0 * (1.0 + section.poisson))
    return Element(float(norm(along)), E * A, (E * I, E * I), 2.0 * G * I, SHEAR_FACTOR * G * A, s1, c_mot)


def element_axes(along: Vector) -> Array:
    """Return the rotation (3, 3) from element axes to the axes of the given vector (3,).

    The element's z is along this vector."""
    z = along / norm(along)
    other = np.eye(3)[np.argmin(np.abs(z))]
    x = np.cross(other, z)
    x /= norm(x)
    return np.column_stack([x, np.cross(z, x), z])


@dataclass(frozen=True)
class Springs:
    """Springs of C_mot and `stiffness` at the motors: tau = stiffness (q - rest)."""

    stiffness: Array  # stiffness, N m/rad or N/m
    rest: Array


def joint_springs(model: Model) -> Springs:
    """Return the spring at every joint: K du as a stiffness against the joint's motion."""
    return Springs(
        stiffness=np.array([joint_stiffness(model, i) for i in range(model.n)]),
        rest=np.array([body.joint.rest for body in model.bodies]),
    )


def joint_stiffness(model: Model, i: int) -> float:
    """Return the stiffness of joint i, N m/rad (prismatic: N/m): `stiffness`, plus the hinge stiffness of the element
    if C_mot > 0. The hinge stiffness comes from the element's K: it is the moment on the centre-of-gravity node for a
    unit rotation of this node about the joint's axis. The node at the joint is held, and the link moves as a rigid
    bar."""
    body = model.bodies[i]
    if body.joint.c_mot == 0.0:
        return body.joint.stiffness
    if body.prismatic:
        raise BadInput(model.mechanism.source, f"joint.{body.joint.name}.c_mot", body.joint.c_mot,
                       "the hinge of an element turns, a prismatic joint slides", "use stiffness, in N/m")
    element = joint_element(model, i)
    turn = rigid_turn(element.length, product(element_axes(body.com).T, body.axis))
    return body.joint.stiffness + float(product(turn, stiffness(element), turn))


def rigid_turn(length: float, axis: Vector) -> Array:
    """Return the nodal displacements (12,) of a unit rotation about the first node, which stays in place. Element axes.
    """
    far = np.cross(axis, [0.0, 0.0, length])
    return np.concatenate([np.zeros(6), far, axis])

