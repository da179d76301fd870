"""Closed mechanisms of no example: slider-cranks closed in three ways, and a Stewart platform."""

from collections.abc import Sequence

import numpy as np
import pytest

from femtorque.codegen.mechanism import Anchor, Control, Joint, Link, Loop, Mechanism
from femtorque.hil.plant.articulated.plant import Plant
from tests.hil.plant.articulated.test_plant import accelerations
from tests.support.closed import Closed

AXES = dict(zip("xyz", np.eye(3), strict=True))


def link(name: str, mass: float, com: Sequence[float] = (0.0, 0.0, 0.0),
         moments: Sequence[float] = (0.0, 0.0, 0.0)) -> Link:
    return Link(name, mass, np.array(com), np.diag(moments))


def joint(name: str, kind: str, parent: str, child: str, axis: str, start: float,
          xyz: Sequence[float] = (0.0, 0.0, 0.0),
          actuated: bool = False) -> Joint:
    return Joint(name, kind, parent, child, np.array(xyz, float), np.zeros(3), AXES[axis], actuated, start)


def closure(name: str, kind: str, a: str, a_xyz: Sequence[float], b: str, b_xyz: Sequence[float]) -> Loop:
    return Loop(name, kind,
                *(Anchor(side, np.array(xyz, float), np.zeros(3)) for side, xyz in ((a, a_xyz), (b, b_xyz))))


def slider_crank(kind: str) -> Mechanism:
    crank, rod = 0.10, 0.30
    links = (link("crank", 0.3, (crank / 2, 0, 0), np.array([0.0, 1.0, 1.0]) * 0.3 * crank**2 / 12),
             link("rod", 0.4, (rod / 2, 0, 0), np.array([0.0, 1.0, 1.0]) * 0.4 * rod**2 / 12),
             link("piston", 0.5, moments=(1e-4, 1e-4, 1e-4)))
    joints = (joint("crank", "continuous", "base", "crank", "z", 0.7, actuated=True),
              joint("pin", "revolute", "crank", "rod", "z", -0.9, (crank, 0, 0)),
              joint("slide", "prismatic", "base", "piston", "x", 0.37))
    return Mechanism("slider-crank", np.array([0.0, -9.81, 0.0]), Control(), None, links, joints,
                     loops=(closure("wrist", kind, "rod", (rod, 0, 0), "piston", (0, 0, 0)),))


def stewart() -> Mechanism:
    """Return a platform on six extensible legs, with six passive joints between massless links."""
    links, joints, loops = [], [], []
    carrier = "base"
    for name, kind, axis, start in (("x", "prismatic", "x", 0.01), ("y", "prismatic", "y", -0.02),
                                    ("z", "prismatic", "z", 0.5),
                                    ("rx", "revolute", "x", 0.05), ("ry", "revolute", "y", -0.03),
                                    ("rz", "revolute", "z", 0.04)):
        links.append(link(name, 0.0) if name != "rz" else link(name, 2.0, (0, 0, 0.03), (0.02, 0.02, 0.03)))
        joints.append(joint(f"platform_{name}", kind, carrier, name, axis, start))
        carrier = name
    for k in range(6):
        middle, side = k // 2 * 2.0 * np.pi / 3.0, 1.0 if k % 2 else -1.0
        foot, top = (r * np.array([np.cos(middle + side * a), np.sin(middle + side * a), 0.0])
                     for r, a in ((0.4, 0.2), (0.2, 0.8)))
        way = top + [0.0, 0.0, 0.5] - foot
        links += [link(f"cross{k}", 0.0), link(f"lower{k}", 0.3, (0, 0, 0.1), (1e-3, 1e-3, 1e-4)),
                  link(f"upper{k}", 0.2, (0, 0, -0.1), (1e-3, 1e-3, 1e-4))]
        joints += [joint(f"roll{k}", "revolute", "base", f"cross{k}", "x", -np.arctan2(way[1], way[2]), foot),
                   joint(f"pitch{k}", "revolute", f"cross{k}", f"lower{k}", "y",
                         np.arctan2(way[0], np.hypot(way[1], way[2]))),
                   joint(f"leg{k}", "prismatic", f"lower{k}", f"upper{k}", "z",
                         float(np.linalg.norm(way)), actuated=True)]
        loops.append(closure(f"top{k}", "ball", f"upper{k}", (0, 0, 0), "rz", top))
    return Mechanism("stewart", np.array([0.0, 0.0, -9.81]), Control(), None, tuple(links), tuple(joints),
                     loops=tuple(loops))


@pytest.mark.parametrize(("mechanism", "dropped", "tolerance"), [
    (slider_crank("planar"), 0, 1e-6), (slider_crank("ball"), 1, 1e-6), (slider_crank("revolute"), 3, 1e-6),
    (stewart(), 0, 1e-4),  # each universal joint has a ten-thousandth of the mass
], ids=lambda x: x.name if isinstance(x, Mechanism) else None)
def test_closed_mechanisms_start_and_accelerate_as_constrained_dynamics_says(mechanism: Mechanism, dropped: int,
                                                                tolerance: float) -> None:
    closed, rng = Closed(mechanism), np.random.default_rng(0)
    q = closed.assemble(closed.start, closed.active)
    plant = Plant(mechanism)
    assert len(plant.system.dropped) == dropped
    np.testing.assert_allclose(plant.q, q, atol=1e-9)
    freedoms = closed.freedoms(q)
    velocities = freedoms @ rng.normal(size=freedoms.shape[1])
    plant = Plant(mechanism, start=q, velocities=velocities)
    np.testing.assert_allclose(plant.v, velocities, atol=1e-9)
    tau = np.zeros(closed.n)
    tau[closed.active] = rng.normal(size=len(closed.active))
    expected = closed.forward(plant.q, plant.v, tau)[0]
    np.testing.assert_allclose(accelerations(plant, tau), expected, atol=tolerance * np.abs(expected).max())
    plant.push(0.01, tau)
    assert plant.cycle.closure() < 1e-11
