"""Comparison of joint torques due to an external wrench on a link with Pinocchio's rnea with external forces."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

from femtorque import main
from femtorque.codegen.common import BadInput
from femtorque.codegen.emit import moving_links, step_sources
from femtorque.codegen.emit.wrench import render
from femtorque.codegen.mechanism import Joint, Link, Mechanism
from femtorque.codegen.model import Model
from femtorque.codegen.motion import from_rows
from femtorque.codegen.reference import rigid, wrench
from femtorque.codegen.reference.rigid import matrix_form
from femtorque.codegen.reference.wrench import Wrench
from femtorque.codegen.toolchain import wrench_library
from femtorque.codegen.verify import motion_torques as torque, object_files
from femtorque.hil.cost import chip_step
from tests.support.oracle import peak, pinocchio_model, planar_chain, random_chain, random_tree

XYZ, RPY = np.array([0.1, -0.2, 0.15]), np.array([0.3, -0.5, 0.9])


def with_tool(mechanism: Mechanism, carrier: int) -> Mechanism:
    """Return the mechanism with a massless link "tool" fixed to a link, and a massless link fixed to the ground."""
    nothing = np.zeros(3), np.zeros((3, 3))
    tool = Joint("wrist", "fixed", mechanism.links[carrier].name, "tool", XYZ, RPY, np.array([0.0, 0.0, 1.0]))
    post = Joint("foot", "fixed", "base", "post", XYZ, RPY, np.array([0.0, 0.0, 1.0]))
    links = (*mechanism.links, Link("tool", 0.0, *nothing), Link("post", 0.0, *nothing))
    return replace(mechanism, links=links, joints=(*mechanism.joints, tool, post))


def rnea(model: Model, carrier: int, place: pin.SE3, force, moment, q, qd, qdd) -> np.ndarray:
    """Return torques (N, n) with the wrench at `place`, given in the frame of joint `carrier`."""
    oracle = pinocchio_model(model)
    data, rows = oracle.createData(), []
    for x, v, a in zip(q, qd, qdd, strict=True):
        pin.forwardKinematics(oracle, data, x)
        joint = data.oMi[carrier + 1]
        at = (joint * place).translation
        forces = [pin.Force.Zero() for _ in range(oracle.njoints)]
        forces[carrier + 1] = joint.actInv(pin.Force(force, moment + np.cross(at, force)))
        rows.append(pin.rnea(oracle, data, x, v, a, forces).copy())
    return np.array(rows)


@pytest.mark.parametrize("convert", [rigid.recursion, matrix_form])
@pytest.mark.parametrize("make", [random_chain, random_tree], ids=["chain", "tree with slides"])
@pytest.mark.parametrize("seed", range(5))
def test_torque_with_a_wrench_is_that_of_pinocchio(seed, make, convert):
    rng = np.random.default_rng(seed)
    carrier = int(rng.integers(6))
    mechanism = with_tool(make(rng, 6), carrier)
    model = Model.of(mechanism)
    force, moment = rng.uniform(-20, 20, 3), rng.uniform(-5, 5, 3)
    q, qd, qdd = rng.uniform(-1, 1, (3, 20, 6))
    for link, place in ((mechanism.links[carrier].name, pin.SE3.Identity()),
                        ("tool", pin.SE3(pin.rpy.rpyToMatrix(RPY), XYZ))):  # fmt: skip
        ours = rigid.newton_euler(model, q, qd, qdd)
        ours = ours + wrench.wrench_torque(model, q, Wrench(link, force, moment), convert)
        truth = rnea(model, carrier, place, force, moment, q, qd, qdd)
        assert peak(ours - truth) <= 1e-12 * peak(truth)


@pytest.mark.parametrize("precision, within", [("double", 1e-12), ("single", 3e-6)])
@pytest.mark.parametrize("make", [random_chain, random_tree], ids=["chain", "tree with slides"])
def test_the_emitted_c_agrees_with_pinocchio(make, precision, within):
    """For every link, including a fixed tool, the torque equals the change of rnea's torque by the external force."""
    rng = np.random.default_rng(7)
    mechanism = with_tool(make(rng, 6), 4)
    model = Model.of(mechanism)
    q, still = rng.uniform(-1, 1, (5, 6)), np.zeros((5, 6))
    q[:, [body.prismatic for body in model.bodies]] *= 0.3
    nothing = np.zeros(3)
    for link, body in moving_links(model).items():
        force, moment = rng.uniform(-20, 20, 3), rng.uniform(-5, 5, 3)
        place = pin.SE3(pin.rpy.rpyToMatrix(RPY), XYZ) if link == "tool" else pin.SE3.Identity()
        truth = (rnea(model, body, place, force, moment, q, still, still)
                 - rnea(model, body, place, nothing, nothing, q, still, still))
        ours = wrench_library.emitted_wrench_torque(model, q, Wrench(link, force, moment), precision)
        assert peak(ours - truth) <= within * peak(truth)


def test_host_and_chip_bear_the_same_bits():
    mechanism = with_tool(random_tree(np.random.default_rng(8), 6), 5)
    model, q = Model.of(mechanism), np.random.default_rng(9).uniform(-1, 1, (20, 6))
    held = Wrench.of("tool", [1, -2, 3, -4, 5, -6])
    here, there = (f(model, q, held).astype(np.float32) for f in (wrench_library.emitted_wrench_torque, chip_step.held))
    assert np.array_equal(here.view(np.uint32), there.view(np.uint32)) and here.any()


def test_the_emitted_c_is_clean_and_no_part_of_the_step():
    mechanism = with_tool(random_tree(np.random.default_rng(8), 6), 5)
    sources = wrench_library.sources(Model.of(mechanism))
    assert [c.error for c in object_files.compilations(sources)] == [None] * 5
    assert not set(render(Model.of(mechanism))) & set(step_sources(Model.of(mechanism)))


def motion():
    return from_rows(["joint1", "joint2"], np.array([0.0, 0.1]), np.array([[0.0, 0.0], [0.1, 0.2]]), np.zeros((2, 2)),
                     np.zeros((2, 2)))  # fmt: skip


def test_the_verb_adds_it_to_every_tick():
    mechanism = planar_chain(2)
    held = Wrench.of("link2", [1, 2, 3, 4, 5, 6])
    with_it, without = torque.torque(mechanism, motion(), wrench=held), torque.torque(mechanism, motion())
    expected = wrench.wrench_torque(Model.of(mechanism), motion().at(without.t)[0], held)
    np.testing.assert_allclose(with_it.tau - without.tau, expected, atol=1e-12)
    assert with_it.error == without.error


def test_impossible_wrenches_are_refused_in_one_line():
    mechanism = with_tool(planar_chain(2), 1)
    model, six = Model.of(mechanism), [0.0] * 6
    with pytest.raises(BadInput, match="link22.*no such link.*link2"):
        wrench.wrench_torque(model, np.zeros(2), Wrench.of("link22", six))
    for ground in ("base", "post"):
        with pytest.raises(BadInput, match="does not move"):
            wrench.wrench_torque(model, np.zeros(2), Wrench.of(ground, six))
    with pytest.raises(BadInput, match="six numbers"):
        Wrench.of("link1", [np.nan, 0, 0, 0, 0, 0])
    for held in (wrench_library.emitted_wrench_torque, chip_step.held):
        with pytest.raises(BadInput, match="link22.*no such link.*link2"):
            held(model, np.zeros((1, 2)), Wrench.of("link22", six))


def test_on_the_command_line(tmp_path, monkeypatch):
    monkeypatch.chdir(Path(__file__).parents[3])
    out = tmp_path / "held.csv"
    arguments = ["torque", "mechanisms/two_link.toml", "mechanisms/two_link.csv", "-o", str(out)]
    load = ["--wrench", "link2", "0", "-10", "0", "0", "0", "0"]
    double = ["--backend", "c", "--precision", "double"]
    read = []
    for more in ([], load, [*load, *double], [*load, "--backend", "c"], [*load, "--backend", "chip"]):
        with pytest.raises(SystemExit) as left:
            main([*arguments, "--force", *more])
        assert left.value.code == 0
        read.append(np.genfromtxt(out, delimiter=",", skip_header=1))
    assert np.max(np.abs(read[1] - read[0])) > 0.1
    assert np.max(np.abs(read[2] - read[1])) <= 1e-5 * np.max(np.abs(read[1]))
    assert np.max(np.abs(read[3] - read[1])) <= 1e-4 * np.max(np.abs(read[1]))
    assert np.array_equal(read[3], read[4])
