"""Comparison of the emitted C of flexible links in both precisions with the float64 reference."""

from dataclasses import replace

import numpy as np
import pytest

from femtorque.codegen.common import BadInput
from femtorque.codegen.emit.sources import generate
from femtorque.codegen.mechanism import Section
from femtorque.codegen.model import Model, joint_springs
from femtorque.codegen.motion import from_rows
from femtorque.codegen.reference import Flexible, Wrench
from femtorque.codegen.reference.flexible import marched
from femtorque.codegen.toolchain import CompiledStep
from femtorque.codegen.verify import examine, torque, verification as verify
from femtorque.codegen.verify.motion_torques import samples
from femtorque.hil.cost import chip_step
from tests.support import flexible_chain, oracle

CASES = {
    "single": flexible_chain.single(3, gravity=(0.0, -9.81, 0.0), damping=1e-3),
    "nothing at the tip": flexible_chain.single(2, 0.0, gravity=(0.0, -9.81, 0.0)),
    "two planes": flexible_chain.single(2, 0.1, stiffness=(0.6, 0.75), axis=(1.0, 2.0, 3.0), gravity=(0.0, -2.0, -3.0)),
    "two links, shear": flexible_chain.sheared(flexible_chain.two_link(3, damping=1e-3, stiffness=2.0), 100.0),
    "two links, two planes": flexible_chain.two_link(2, stiffness=(2.0, 3.0), axis=(0.3, 0.5, 0.8),
                                                     gravity=(1.0, -3.0, -4.0)),
    "beam second": flexible_chain.beam_second(2, stiffness=2.0),
    "beam second, spatial": flexible_chain.beam_second(2, stiffness=(2.0, 3.0),
                                                       axes=((0.1, -0.3, 1.0), (0.2, 1.0, 0.4))),
    "flexible joints": flexible_chain.flexible_joints(),
    "flexible joints, spatial": flexible_chain.flexible_joints(axis=(0.3, 0.5, 0.8), gravity=(1.0, -5.0, -6.0)),
    "a sliding spring": flexible_chain.flexible_joints(axis=(0.3, 0.5, 0.8), slides=True),
    "a spring on a beam": flexible_chain.wall_arm(2, stiffness=3.0),
    "a spring on a beam, spatial": flexible_chain.wall_arm(2, stiffness=3.0, axis=(0.3, 0.5, 0.8)),
    "a beam on a beam": flexible_chain.double(2, stiffness=3.0),
    "a beam on a beam, nothing at its tip": flexible_chain.double(2, stiffness=3.0, load=0.0),
    "a beam on a beam, two planes": flexible_chain.double(2, stiffness=(3.0, 4.0), axis=(0.3, 0.5, 0.8),
                                                          gravity=(1.0, -3.0, -4.0)),
    "torsion": flexible_chain.twisted(2, 2.0),
    "beams and springs": flexible_chain.springs_between(2, stiffness=3.0),
    "beams and springs, two planes": flexible_chain.springs_between(1, stiffness=(3.0, 4.0), axis=(0.3, 0.5, 0.8)),
}


HARD = 0.12  # s
SECONDS = {"a spring on a beam": 0.2, "a spring on a beam, spatial": 0.2, "beams and springs": 0.1}


def sampled(mechanism, duration: float = HARD):
    """Return a fast motion of all joints, rad, in which slopes and springs almost reach 45 degrees."""
    n = len(mechanism.streamed)
    motion = oracle.septic([0.3, -0.2, 0.1][:n], [0.6, 0.2, 0.3][:n], duration)
    ticks = round(duration * mechanism.control.rate_hz)
    return motion.position((np.arange(ticks + 2) - 0.5) / mechanism.control.rate_hz)


@pytest.mark.parametrize("name", CASES)
def test_emitted_c_is_the_march(name):
    mechanism = CASES[name]
    model, positions = Model.of(mechanism), sampled(mechanism, SECONDS.get(name, HARD))
    expected = Flexible(model).torque(positions)
    double, single = (CompiledStep(model, precision).torque(positions) for precision in ("double", "single"))
    peak = np.abs(expected).max()
    np.testing.assert_allclose(double, expected, atol=1e-10 * peak, rtol=0.0)
    np.testing.assert_allclose(single, expected, atol=1e-4 * peak, rtol=0.0)
    rigid = CompiledStep(Model.of(rigidly(mechanism)), "double").torque(positions)
    assert np.abs(rigid - expected).max() > 0.03 * peak


def rigidly(mechanism):
    return replace(mechanism, links=tuple(replace(link, beam=None) for link in mechanism.links),
                   lock={joint.name: joint.rest for joint in mechanism.moving if joint.elastic})


def hold_to_the_march(mechanism, positions, reference) -> None:
    expected = Flexible(Model.of(reference)).torque(positions)
    np.testing.assert_allclose(CompiledStep(Model.of(mechanism), "double").torque(positions), expected,
                               atol=1e-10 * np.abs(expected).max(), rtol=0.0)


def test_a_slide_on_the_tip_and_one_below_the_link():
    """Both joints are prismatic, one joint has a spring, and a fixed inclination precedes the link."""
    one = flexible_chain.two_link(2, stiffness=(2.0, 3.0), axis=(0.2, 1.0, 0.1), gravity=(1.0, -3.0, -4.0))
    shoulder, elbow = one.joints
    mechanism = replace(one, joints=(replace(shoulder, type="prismatic", rpy=np.array([0.3, -0.2, 0.5])),
                                     replace(elbow, type="prismatic", stiffness=40.0, rest=0.1,
                                             rpy=np.array([0.1, 0.2, 0.3]))))
    hold_to_the_march(mechanism, 0.3 * sampled(mechanism), mechanism)


def test_c_mot_of_a_passive_joint_is_the_stiffness_of_its_hinge():
    """C_mot scales the bending stiffness of the link's section."""
    arm = flexible_chain.flexible_joints()
    links = tuple(replace(x, section=Section(2e-5, 4e-3)) if x.name == "fore" else x for x in arm.links)
    half = replace(arm, links=links, joints=tuple(
        replace(j, stiffness=0.0, c_mot=0.5, rest=0.0) if j.name == "elbow spring" else j for j in arm.joints))
    stiffness = joint_springs(Model.of(half)).stiffness[3]
    assert 5.0 < stiffness < 500.0
    same = replace(arm, joints=tuple(
        replace(j, stiffness=float(stiffness), rest=0.0) if j.name == "elbow spring" else j for j in arm.joints))
    positions = sampled(half)
    hold_to_the_march(half, positions, same)


def test_a_flexible_mast_stands_on_the_ground():
    """The link is fixed to the base, and its tip carries a joint."""
    one = flexible_chain.two_link(2, stiffness=2.0)
    shoulder, elbow = one.joints
    mechanism = replace(one, joints=(replace(shoulder, type="fixed"), elbow))
    hold_to_the_march(mechanism, sampled(mechanism), mechanism)


def test_the_generated_folder_stands_on_its_own(tmp_path):
    names = [path.name for path in generate(CASES["a spring on a beam"], tmp_path)]
    assert {"ft_flexible.c", "ft_flexible.h", "ft_step.c", "README.md"} <= set(names)
    readme = (tmp_path / "README.md").read_text()
    assert "`ft_flexible.c`: the integration of flexible links and springs" in readme
    assert "-c ft_flexible.c ft_step.c" in readme
    assert "wrist" not in readme  # the caller does not command the joint with the spring
    assert max(map(len, (tmp_path / "ft_step.c").read_text().splitlines())) <= 100


def test_verify_holds_the_flexible_step_against_the_march():
    found = verify.verify(flexible_chain.wall_arm(2, rate_hz=250, stiffness=5.0), (), chip_step.run_step_on_chip,
                          motions=1)
    assert found.good, found.reasons
    assert found.bit_identical
    assert 0.0 < found.worst("double").of_peak < 1e-10
    assert found.worst("reference").of_peak < 0.05


def swinging(mechanism, stretch: float = 1.0):
    """Return a motion of both joints in 0.2 s."""
    return from_rows([joint.name for joint in mechanism.streamed], np.array([0.0, 0.2]),
                     *np.array([[[0.1, 0.2], [0.1 + 0.4 * stretch, 0.2 - 0.3 * stretch]], *np.zeros((2, 2, 2))]))


@pytest.mark.parametrize("case", ["two links, two planes", "flexible joints", "a beam on a beam"])
def test_the_c_bends_as_the_reference_does(case):
    model = Model.of(CASES[case])
    motion = swinging(model.mechanism)
    step, z = marched(model, motion, 200)
    z[:, :len(step.springs)] -= step.rest[:len(step.springs)]
    found = CompiledStep(model, "double").bent(samples(model, motion, 200))
    np.testing.assert_allclose(found, z, atol=1e-9 * np.abs(z).max())


def test_torque_by_c_marches_no_reference_until_its_error_is_asked_for(monkeypatch):
    mechanism, steps = CASES["two links, two planes"], []
    monkeypatch.setattr(Flexible, "step", lambda *_: steps.append(1) or np.zeros(2))
    found = torque(mechanism, swinging(mechanism), lambda model, positions: CompiledStep(model).torque(positions))
    assert len(found.tau) == 200 and not steps
    assert found.error > 0.0 and steps


@pytest.mark.parametrize("by", ["reference", "c"])
def test_torque_warns_of_slopes_as_check_does(by):
    mechanism = flexible_chain.beam_second(2, stiffness=1.2)
    motion = swinging(mechanism, 2.0)
    step = None if by == "reference" else lambda model, positions: CompiledStep(model).torque(positions)
    (line,) = torque(mechanism, motion, step).warnings
    assert line in examine(mechanism, [motion]).warnings
    assert "link.arm.beam has a slope of" in line and "beyond 0.2 the deflection is not small" in line
    assert torque(flexible_chain.beam_second(2, stiffness=40.0), motion, step).warnings == ()


def test_torque_of_a_motion_by_reference_and_by_c():
    mechanism = CASES["flexible joints"]
    motion = swinging(mechanism)
    by_reference = torque(mechanism, motion)
    by_c = torque(mechanism, motion, lambda model, positions: CompiledStep(model).torque(positions))
    assert by_reference.joints == ("shoulder", "elbow")
    assert by_reference.error < 1e-3
    peak = np.abs(by_reference.tau).max()
    np.testing.assert_allclose(by_c.tau, by_reference.tau, atol=1e-3 * peak, rtol=0.0)
    moving = from_rows(["shoulder", "elbow"], np.array([0.0, 0.2]), np.zeros((2, 2)), np.ones((2, 2)), np.zeros((2, 2)))
    with pytest.raises(BadInput, match="flexible links start at rest"):
        torque(mechanism, moving)
    with pytest.raises(BadInput, match="not computed with flexible links"):
        torque(mechanism, motion, wrench=Wrench("fore", np.zeros(3), np.zeros(3)))
