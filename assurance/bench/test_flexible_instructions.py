"""The number of executed instructions of the step with flexible links on a Cortex-M4F, in the worst tick, for different
numbers of elements and joints.

A mode has the same cost in every mechanism. The body at the tip and a second plane of bending increase the cost."""

from dataclasses import replace

import numpy as np
import pytest

from femtorque.codegen.model import Model
from femtorque.hil.cost import chip_step
from tests.support import flexible_chain, oracle

ELEMENTS = (1, 2, 3, 4, 5)
TICKS = 24
MECHANISMS = {
    "single link": lambda n: flexible_chain.single(n, gravity=(0.0, -9.81, 0.0)),
    "two links, elbow on the tip": lambda n: flexible_chain.two_link(n, stiffness=5.0),
    "rigid link, flexible link": lambda n: flexible_chain.beam_second(n, stiffness=5.0),
    "the same in space, two planes": lambda n: flexible_chain.beam_second(
        n, stiffness=(5.0, 7.0), axes=((0.1, -0.3, 1.0), (0.2, 1.0, 0.4))),
    "hand on a spring at the tip": lambda n: flexible_chain.wall_arm(n, stiffness=5.0),
    "both links bend": lambda n: flexible_chain.double(n, stiffness=5.0),
    "both in space, two planes": lambda n: flexible_chain.double(n, stiffness=(5.0, 7.0), axis=(0.3, 0.5, 0.8)),
}
MODE = {"single link": 98, "two links, elbow on the tip": 98, "rigid link, flexible link": 98,
        "the same in space, two planes": 120, "hand on a spring at the tip": 98,
        "both links bend": 115, "both in space, two planes": 143}  # upper limit for each mode and plane
SMALLEST = {"single link": 690, "two links, elbow on the tip": 890, "rigid link, flexible link": 880,
            "the same in space, two planes": 3200, "hand on a spring at the tip": 1385,
            "both links bend": 2080, "both in space, two planes": 10220}  # upper limit with one element


def instructions(mechanism) -> int:
    model = Model.of(mechanism)
    n = len(mechanism.streamed)
    motion = oracle.septic([0.3, -0.2, 0.1][:n], [0.6, 0.2, 0.3][:n], 0.3)
    positions = motion.position((np.arange(60, 62 + TICKS) - 0.5) / mechanism.control.rate_hz)
    return int(chip_step.run_step_on_chip(model, positions).instructions.max())


@pytest.mark.bench
def test_instructions_grow_in_proportion_to_the_elements():
    print(f"\ninstructions of a step{'':12}" + "".join(f"{n:>7}" for n in ELEMENTS)
          + "   elements, each a mode pair per plane")
    for name, build in MECHANISMS.items():
        found = [instructions(build(n)) for n in ELEMENTS]
        planes = (2 if "planes" in name else 1) * (2 if "both" in name else 1)  # total over all links
        mode = np.diff(found) / (2 * planes)
        print(f"{name:34}" + "".join(f"{count:>7}" for count in found) + f"   {mode.mean():.1f} a mode")
        assert np.ptp(mode[1:]) < 6.0  # the compiler may end a loop earlier or later
        assert mode[0] > mode[1:].min() - 6.0  # one element may cost less than the linear model predicts, but not more
        assert mode[1:].max() <= MODE[name]
        assert found[0] <= SMALLEST[name]


@pytest.mark.bench
def test_a_spring_costs_little_more_than_a_joint():
    joints = flexible_chain.flexible_joints()
    rigid = replace(joints, joints=tuple(replace(j, actuated=True, stiffness=0.0) for j in joints.joints))
    model = Model.of(rigid)
    positions = oracle.septic([0.0] * 4, [0.3] * 4, 0.3).position((np.arange(60, 62 + TICKS) - 0.5) / 1000.0)
    stiff = int(chip_step.run_step_on_chip(model, positions).instructions.max())
    bent = instructions(joints)
    print(f"\ntwo joints with springs behind them {bent}, four driven joints instead {stiff}")
    assert bent < 4 * stiff
