"""Comparison of reference and emitted C with Pinocchio: loops of every type, with prismatic joints, in space, on moving
links."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import ArrayLike

from femtorque.codegen.emit import step_sources
from femtorque.codegen.mechanism import Anchor, Control, Joint, Link, Loop, Mechanism
from femtorque.codegen.model import Model
from femtorque.codegen.model.kinematics import pose
from femtorque.codegen.model.loop_assembly import Assembly, assemble
from femtorque.codegen.model.modes import rpy_of
from femtorque.codegen.reference import discrete
from femtorque.codegen.toolchain import CompiledStep
from femtorque.codegen.verify import object_files
from tests.support.closed import Closed

X, Y, Z, NONE = np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0]), np.array([0.0, 0.0, 1.0]), np.zeros(3)
SAMPLES = 203


def link(name: str, mass: float = 0.3) -> Link:
    return Link(name, mass, np.array([0.1, 0.02, 0.01]), mass * np.diag([2e-4, 1e-3, 1.1e-3]))


def joint(parent: str, child: str, xyz: ArrayLike = NONE, axis: np.ndarray = Z, start: float = 0.0, drive: bool = True,
          slides: bool = False, rpy: ArrayLike = NONE) -> Joint:
    return Joint(child, "prismatic" if slides else "revolute", parent, child, np.array(xyz, float),
                 np.array(rpy, float),
                 axis, actuated=drive, start=start)


def anchor(name: str, xyz: ArrayLike = NONE, rpy: ArrayLike = NONE) -> Anchor:
    return Anchor(name, np.array(xyz, float), np.array(rpy, float))


def mechanism(joints: Sequence[Joint], loop: Loop | None, gravity: ArrayLike = (0.0, 0.0, -9.81)) -> Mechanism:
    links = tuple(link(j.child, 0.01 if j.child == "cross" else 0.3) for j in joints)
    return Mechanism("kind", np.array(gravity, float), Control(), None, links, tuple(joints),
                     loops=() if loop is None else (loop,))


def slider_crank(driven_slide: bool) -> Mechanism:
    joints = (joint("base", "crank", start=0.6, drive=not driven_slide),
              joint("crank", "rod", (0.1, 0.0, 0.0), start=-0.8, drive=False),
              joint("base", "slide", axis=X, start=0.35, drive=driven_slide, slides=True))
    return mechanism(joints, Loop("pin", "revolute" if driven_slide else "ball", anchor("rod", (0.3, 0.0, 0.0)),
                                  anchor("slide", (0.02, 0.0, 0.0))), (0.0, -9.81, 0.0))


def crank_and_rocker_in_space() -> Mechanism:
    joints = (joint("base", "crank", start=0.3), joint("crank", "cross", (0.1, 0.0, 0.0), Y, 0.3, False),
              joint("cross", "coupler", axis=Z, start=0.5, drive=False),
              joint("base", "rocker", (0.3, 0.1, 0.1), X, 0.4, False))
    return mechanism(joints,
                     Loop("ball", "ball", anchor("coupler", (0.3, 0.0, 0.0)), anchor("rocker", (0.0, 0.0, 0.25))))


def pin_in_a_plane_that_moves() -> Mechanism:
    joints = (joint("base", "a", start=0.3), joint("a", "a2", (0.2, 0.0, 0.0), Y, 0.2),
              joint("base", "b", (0.5, 0.0, 0.0), X, 0.1, False), joint("b", "b2", (-0.1, 0.1, 0.0), Y, 0.2, False))
    return mechanism(joints, Loop("pin", "planar", anchor("a2", (0.1, 0.0, 0.0), (0.3, 0.2, 0.1)),
                                  anchor("b2", (-0.1, 0.0, 0.1))))


def parallelogram_on_a_waist() -> Mechanism:
    """Return three driven joints with mobility 2 on a tilted base. The plane of the loop rotates with the waist."""
    joints = (joint("base", "waist", start=0.4, rpy=(0.2, 0.3, 0.0)), joint("waist", "arm", (0.0, 0.0, 0.1), Y, -0.6),
              joint("arm", "fore", (0.3, 0.0, 0.0), Y, 1.2, False), joint("waist", "rod", (-0.1, 0.0, 0.1), Y, -0.5))
    turned = (np.pi / 2.0, 0.0, 0.0)
    return mechanism(joints, Loop("pin", "revolute", anchor("fore", (-0.1, 0.0, 0.0), turned),
                                  anchor("rod", (0.3, 0.0, 0.0), turned)))


def two_arms(kind: str) -> Mechanism:
    """Return two arms of six driven joints each that are connected to each other at their start."""
    axes, joints = (Z, Y, Y, X, Y, Z), []
    for name, at, starts in (("a", -0.4, (0.2, -0.5, 0.9, 0.2, 0.4, 0.1)),
                             ("b", 0.4, (2.9, -0.5, 0.9, -0.2, 0.4, 0.2))):
        for i, (axis, start) in enumerate(zip(axes, starts, strict=True)):
            xyz = (at, 0.0, 0.0) if i == 0 else (0.2, 0.0, 0.03)
            joints.append(joint("base" if i == 0 else f"{name}{i - 1}", f"{name}{i}", xyz, axis, start))
    tree = mechanism(joints, None)
    model = Model.of(tree)
    at = pose(model, [b.joint.start for b in model.bodies])
    a, b = ([x.joint.name for x in model.bodies].index(n) for n in ("a5", "b5"))
    point = at.origin[a] + at.R[a] @ [0.1, 0.0, 0.0]
    there = anchor("b5", at.R[b].T @ (point - at.origin[b]), rpy_of(at.R[b].T @ at.R[a]))
    return replace(tree, loops=(Loop("hold", kind, anchor("a5", (0.1, 0.0, 0.0)), there),))


# function that makes the mechanism, mobility, number of redundantly driven joints
KINDS: dict[str, tuple[Callable[[], Mechanism], int, int]] = {
    "slider-crank": (lambda: slider_crank(False), 1, 0),
    "driven slide": (lambda: slider_crank(True), 1, 0),
    "crank and rocker in space": (crank_and_rocker_in_space, 1, 0),
    "pin in a plane that moves": (pin_in_a_plane_that_moves, 2, 0),
    "parallelogram on a waist": (parallelogram_on_a_waist, 2, 1),
    "two arms, rigid": (lambda: two_arms("rigid"), 6, 6),
    "two arms, hinge": (lambda: two_arms("revolute"), 7, 5),
}


def motion(assembly: Assembly) -> np.ndarray:
    """Return a quintic of all joints (SAMPLES, n) from the start, in which independent joints move by 0.25 at most."""
    free = list(assembly.independent)
    there = assembly.reach(assembly.start[free] + np.random.default_rng(0).uniform(-0.25, 0.25, len(free)))[0][free]
    s = np.linspace(0.0, 1.0, SAMPLES)[:, None]
    way = np.zeros((SAMPLES, len(assembly.actuated)))
    way[:, [assembly.actuated.index(i) for i in free]] = (
        assembly.start[free] + s * s * s * (10.0 - 15.0 * s + 6.0 * s * s) * (there - assembly.start[free]))
    return assembly.follow(way)


LARGE = ("two arms, rigid", "two arms, hinge")
COMPILED = ("driven slide", "parallelogram on a waist", *LARGE)  # every compiler must accept their C


@pytest.mark.parametrize("kind", [pytest.param(k, marks=pytest.mark.bench) if k in LARGE else k for k in KINDS])
def test_loops_of_every_kind(kind: str) -> None:
    make, mobility, redundant = KINDS[kind]
    model = Model.of(make())
    assembly, oracle = assemble(model), Closed(model.mechanism)
    assert (assembly.mobility, len(assembly.redundant)) == (mobility, redundant)
    assert oracle.mobility(assembly.start) == mobility
    q, driven = motion(assembly), list(assembly.actuated)
    assert np.abs(oracle.residual(q[-1])).max() < 1e-10
    plain = discrete.emitted_torque(model, q[:, driven])
    k = SAMPLES // 2
    velocities, changes = (q[k + 1] - q[k - 1]) / (2.0 * model.dt), (q[k + 1] - 2.0 * q[k] + q[k - 1]) / model.dt**2
    expected = oracle.inverse(q[k], velocities, changes, assembly.weights())[0]
    peak = np.abs(plain).max()
    np.testing.assert_allclose(plain[k - 1], expected[driven], atol=5e-6 * peak)
    sources = step_sources(model)
    double, single = (CompiledStep(model, precision, sources).torque(q[:, driven])
                      for precision in ("double", "single"))
    assert np.abs(double - plain).max() < 1e-10 * peak
    assert np.abs(single - plain).max() < 1e-4 * peak
    assert kind not in COMPILED or not any(c.error for c in object_files.compilations(sources))
