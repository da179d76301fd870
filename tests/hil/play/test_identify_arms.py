"""Identification of whole arms of other types, from the file to the image of the result."""

import re
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from femtorque.codegen.common import MECHANISMS
from femtorque.codegen.mechanism import Friction, Mechanism, load_mechanism
from femtorque.codegen.toolchain import platformio
from femtorque.hil.plant import plant_of
from femtorque.host.board import Board
from femtorque.host.lab.inertial import excitation, experiment, write_back
from femtorque.host.lab.inertial.experiment import Result
from femtorque.host.lab.inertial.regressor import Unknowns
from tests.codegen.mechanism.test_urdf import robot
from tests.support.differing import differing
from tests.support.mimic import GRIPPER
from tests.support.plugged import plugged_in


def identified(file: Path, truth: Mechanism) -> tuple[Result, Mechanism]:
    """Play and identify with the board's image of a file, write the result into the file, and build the file again."""
    arm = load_mechanism(file)
    programme = experiment.whole(arm, {})
    with plugged_in(arm, plant_of(truth), file.parent / "image") as virtual, Board.connect("auto", arm) as board:
        board.home()
        board.arm()
        virtual.brakes = False
        result = experiment.identify(board, arm, programme, print)
    print(result.words())
    write_back.write_inertias(file, result)
    after = load_mechanism(file)
    assert platformio.build_image(after, file.parent / "image").elf.is_file()
    return result, after


def explained(result: Result, truth: Mechanism, times: float) -> None:
    """On motions outside the fit, the unexplained torque falls by `times`, or to 1.1 times the true parameters'."""
    assert result.judged is not None
    true = Unknowns.of(truth)
    floor = replace(result.found, unknowns=true, values=true.prior).left(result.unseen).after
    ratio = result.judged.before / result.judged.after
    print(f"unexplained falls by {ratio.round(1)}, to {result.judged.after.round(4)}; true numbers {floor.round(4)}")
    assert np.all((ratio > times) | (result.judged.after < 1.1 * floor))


def rough(mechanism: Mechanism) -> Mechanism:
    """Return the true arm of a file, with friction that the file does not contain."""
    truth = differing(mechanism)
    return replace(truth, joints=tuple(replace(joint, friction=Friction(0.02, 0.05)) if joint.motor else joint
                                       for joint in truth.joints))


def test_a_gripper_whose_fingers_follow_one_motor_is_identified(tmp_path, monkeypatch):
    """Mimic joints; the fit uses driven coordinates. The motions are short, and the search tries only a few."""
    monkeypatch.setattr(excitation, "SECONDS", 4.0)
    monkeypatch.setattr(excitation, "OF_CLOSED", 20)
    monkeypatch.setattr(excitation, "EVEN", 0.8)
    monkeypatch.setattr(experiment, "REHEARSAL", 1.0)
    file = tmp_path / "arm.toml"
    file.write_text(GRIPPER.replace("counts = 4096", 'counts = 4096, at = "motor"'), encoding="utf-8")
    truth = rough(load_mechanism(file))
    result, after = identified(file, truth)
    explained(result, truth, 5.0)
    for joint, true in zip(after.streamed, truth.streamed, strict=True):
        if true.motor is not None:
            assert joint.friction.coulomb == pytest.approx(true.friction.coulomb, rel=0.1)


@pytest.mark.bench
@pytest.mark.parametrize("name", ["five_bar", "aloha_like"])
def test_arms_with_loops_and_arms_of_servos_are_identified(name, tmp_path):
    file = tmp_path / "arm.toml"
    shutil.copy(MECHANISMS / f"{name}.toml", file)
    truth = differing(load_mechanism(file))
    explained(identified(file, truth)[0], truth, 5.0)


@pytest.mark.bench
def test_masses_found_override_a_urdf_that_does_not_change(tmp_path, here):
    file, urdf = tmp_path / "arm.toml", tmp_path / "so101.urdf"
    shutil.copy(robot("so101.urdf"), urdf)
    done = here("init", "arm", "--from", urdf, "--board", "f405rg-6", "-o", file)
    assert done.returncode == 0, done.stderr
    text, before = urdf.read_bytes(), load_mechanism(file)
    truth = differing(before)
    result, after = identified(file, truth)
    explained(result, truth, 5.0)
    assert urdf.read_bytes() == text
    assert len(re.findall(r"^\[\[link\]\]", file.read_text(encoding="utf-8"), re.MULTILINE)) == 6
    moved = [link for link, was in zip(after.links, before.links, strict=True) if link.mass != was.mass]
    assert len(moved) == 6
