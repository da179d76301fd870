"""Tests the commands of the page on work in the lab, with the virtual board at `--port auto` and a simulated hand."""

import json
import os
import re
import shlex
import shutil
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import femtorque
from femtorque.codegen.common import MECHANISMS
from femtorque.codegen.mechanism import Mechanism, Payload, load_mechanism
from femtorque.codegen.motion import Trajectory
from femtorque.hil.board import VirtualBoard
from femtorque.hil.plant import plant_of
from femtorque.hil.plant.plant_library import library
from femtorque.host.lab.inertial import experiment, physical
from femtorque.host.lab.inertial.regressor import phi_of
from tests.hil.play.test_identify_whole import feels
from tests.support import rig
from tests.support.differing import differing
from tests.support.plugged import Hand, ctrl_c, plugged_in
from tests.support.suite import ROOT
from tests.whole.test_readme import typed

PAGE = (ROOT / "docs" / "lab.md").read_text(encoding="utf-8")
SECTIONS = {text.splitlines()[0]: text for text in PAGE.split("\n## ")[1:]}
LINES = {title: lines for title, text in SECTIONS.items()
         if (lines := [x for x in typed(text) if not x.startswith("pip ")])}

TABLE = """<mujoco><worldbody>
<geom name="table" type="box" size="0.6 0.6 0.02" pos="0 0 -0.2"/>
</worldbody></mujoco>
"""

Typed = Callable[..., tuple[str, str]]


def test_every_command_of_the_page_is_typed_here():
    assert sorted(LINES) == sorted(["First power-up", "By hand", "Friction and inertia", "Masses of the whole arm",
                                    "Things to touch"])
    assert len(re.findall(r"^    femtorque ", PAGE, re.MULTILINE)) == sum(map(len, LINES.values()))


@pytest.fixture
def arm(tmp_path, monkeypatch) -> Path:
    """Write the page's arm.toml in the reader's folder: three joints in a plane."""
    monkeypatch.chdir(tmp_path)
    text = Path(rig.three_link().source).read_text(encoding="utf-8")
    file = Path("arm.toml")
    file.write_text(text.replace('name = "three-link"', 'name = "arm"').replace('"hand"', '"tool"'), encoding="utf-8")
    return file


@pytest.fixture
def types(capfd) -> Typed:
    """Type a line. Return the command's output and messages."""
    def run(line: str, status: int = 0) -> tuple[str, str]:
        with pytest.raises(SystemExit) as left:
            femtorque.main(shlex.split(line)[1:])
        shown = capfd.readouterr()
        assert left.value.code == status, f"{line}\n{shown.out}\n{shown.err}"
        return shown.out, shown.err

    return run


def test_an_arm_is_brought_up_and_its_file_mended(arm, types, monkeypatch):
    """The file has the wrong sign for the wrist's encoder. The page's last line needs a drive, which this arm lacks."""
    look, mend, taught = LINES["First power-up"]
    truth = load_mechanism(arm)
    right = arm.read_text(encoding="utf-8")
    place = right.rindex("counts = 8192")
    arm.write_text(f"{right[:place]}sign = -1, {right[place:]}", encoding="utf-8")
    with plugged_in(load_mechanism(arm), world=truth) as board:
        monkeypatch.setattr(sys, "stdin", Hand(board))
        said, _ = types(look, 1)
        assert "shoulder: good" in said and "wrist: its encoder counts the wrong way" in said
        types(mend, 1)
        assert board.outputs_safe()
    mended = load_mechanism(arm)
    assert [j.encoder.sign for j in mended.moving] == [1, 1, 1]
    with plugged_in(mended, world=truth) as board:
        monkeypatch.setattr(sys, "stdin", Hand(board))
        assert types(taught)[0] == "shoulder: good\nelbow: good\nwrist: good\n"



def led(board: VirtualBoard, seconds: float) -> None:
    """Move the floating arm by hand there and back, then press Ctrl-C."""
    plant, start, begun = board.plant, board.plant.q.copy(), board.seconds

    def hand(p: object) -> np.ndarray:
        share = 0.5 - 0.5 * np.cos(2.0 * np.pi * np.clip((board.seconds - begun) / seconds, 0.0, 1.0))
        away = start + share * np.array([0.5, -0.4, 0.3]) - plant.q
        return np.array([20.0, 12.0, 4.0]) * away - np.array([1.0, 0.5, 0.1]) * plant.v

    plant.hand = hand
    board.at(begun + seconds + 0.2, lambda: setattr(plant, "hand", None))
    ctrl_c(board, seconds + 0.4)


def test_an_arm_is_led_by_hand_repeats_it_and_is_jogged(arm, types):
    first, recorded, repeat, plan, jog = LINES["By hand"]
    with plugged_in(load_mechanism(arm)) as board:
        types("femtorque home arm.toml --port auto")
        ctrl_c(board, 0.5)
        assert types(first)[0] == "the arm was held where it was led to; the motors are off now\n"
        led(board, 2.0)
        types(recorded)
        assert types(repeat)[0].startswith("done: ")
        before = board.plant.q[1]
        assert types(jog)[0].startswith("elbow: from ")
        assert board.plant.q[1] - before == pytest.approx(0.4, abs=0.05)
    assert "every limit kept" in types(plan)[0] and Path("led.png").stat().st_size > 20_000
    motion = Trajectory.load(Path("led.csv"), load_mechanism(arm))
    assert np.ptp(motion.positions[:, 0]) == pytest.approx(0.5, abs=0.05)


def test_friction_and_rotors_are_measured_joint_by_joint(arm, types):
    every, one = LINES["Friction and inertia"]
    text, file = arm.read_text(encoding="utf-8"), load_mechanism(arm)
    truth = differing(file, mass=0.0, centre=0.0)
    with plugged_in(file, plant_of(truth)):
        types("femtorque home arm.toml --port auto")
        said, _ = types(every)
        assert arm.read_text(encoding="utf-8") == text
        types(one)
    for joint in truth.moving:
        found = re.search(rf"^{joint.name}: viscous friction (\S+) .*Coulomb friction (\S+) ", said, re.MULTILINE)
        assert found and float(found[2]) == pytest.approx(joint.friction.coulomb, rel=0.1), said
    shoulder, elbow, wrist = (joint.friction for joint in load_mechanism(arm).moving)
    assert elbow.coulomb == pytest.approx(truth.moving[1].friction.coulomb, rel=0.1)
    assert (shoulder, wrist) == (file.moving[0].friction, file.moving[2].friction)


def test_the_whole_arm_and_then_its_load_are_identified(arm, types, monkeypatch):
    """The arm has [feel]: thresholds are written with the masses, and a motion outside the fit does not exceed them.
    Ctrl-C stops the first command. Rehearsals are as fast as the motions."""
    monkeypatch.setattr(experiment, "REHEARSAL", 1.0)
    look, write, held, *_ = LINES["Masses of the whole arm"]
    arm.write_text(arm.read_text(encoding="utf-8") + '\n[feel]\nreaction = "none"\n', encoding="utf-8")
    text, file = arm.read_text(encoding="utf-8"), load_mechanism(arm)
    truth = differing(file, 5)
    with plugged_in(file, plant_of(truth)) as board:
        types("femtorque home arm.toml --port auto")
        ctrl_c(board, 3.0)
        _, stopped = types(look, 1)
        assert "nothing was identified" in stopped and np.max(np.abs(board.plant.v)) < 0.01
        assert arm.read_text(encoding="utf-8") == text and not Path("arm.identified.html").exists()
        shown, steps = types(f"{write} --json")
    said = json.loads(shown)
    assert steps.index("arm.motion-1.html") < steps.index("rehearsal") and said["written"]
    page = Path("arm.identified.html").read_text(encoding="utf-8")
    assert "A motion that the fit has not seen" in page and "centre of gravity, mm" in page and "Touches" in page
    after = load_mechanism(arm)
    for row, touch, joint, true in zip(said["joints"], said["touches"], after.moving, truth.moving, strict=True):
        assert row["residual"]["after"] < row["residual"]["before"] / 1.5, row  # a count is 0.8 mrad
        assert joint.friction.coulomb == pytest.approx(row["coulomb"]["after"], rel=1e-3)
        assert joint.friction.coulomb == pytest.approx(true.friction.coulomb, rel=0.1)
        assert "stribeck" not in row and "load" not in row  # the plant has none
        assert joint.contact is not None
        assert joint.contact.torque == pytest.approx(touch["contact"]["torque"], rel=1e-3)
        assert joint.contact.torque > 1.8 * true.friction.coulomb
    for link, row in zip(after.links, said["links"], strict=True):
        assert link.mass == pytest.approx(row["mass"]["after"], rel=1e-5)
        assert physical.is_consistent(phi_of(link))
        assert "ixx" in row["not_seen"]  # the motions of a planar arm do not determine this moment
    felt = feels(after, truth, (31,))
    assert np.all(felt.share < 0.9)
    # A report shows only one tick in twenty. So in another motion the peaks may be up to 1.19 times as high.
    assert np.all(felt.off < 1.25 * np.array([touch["after"] for touch in said["touches"]]))
    carried = Payload("gripped", "tool", 0.1, np.array([0.18, 0.02, 0.0]), np.diag([1e-5, 1e-5, 2e-5]))
    with plugged_in(after, plant_of(replace(truth, payloads=(carried,)))):
        types("femtorque home arm.toml --port auto")
        types(held)
    found, = load_mechanism(arm).payloads
    (*first, inertia), (*true, turned) = (phi_of(load)[[1, 2, 6]] for load in (found, carried))  # about the wrist
    # a motion in a horizontal plane hardly determines a mass
    assert np.linalg.norm(np.subtract(first, true)) < 0.1 * np.linalg.norm(true)
    assert inertia == pytest.approx(turned, rel=0.1)


WEIGHT = Payload("weight", "tool", 2.0, np.array([0.07, 0.01, 0.02]), np.diag([2e-3, 3e-3, 3e-3]))


class Somebody:
    """A simulated person who attaches a weight when asked. loaded: the arm with the weight."""

    def __init__(self, board: VirtualBoard, loaded: Mechanism) -> None:
        self.board, self.loaded = board, loaded

    def isatty(self) -> bool:
        return True

    def readline(self) -> str:
        return "\n"

    def fileno(self) -> int:
        ours, theirs = os.pipe()
        loaded, (ffi, _) = plant_of(self.loaded), library()
        for name in ("mass", "centre", "inertia"):
            bodies, new = (ffi.buffer(plant.tree.held[name]) for plant in (self.board.plant, loaded))
            bodies[:] = new[:]
        os.write(theirs, b"\n")
        os.close(theirs)
        return ours


def test_a_weight_tells_a_strong_motor_from_a_light_arm(arm, types, monkeypatch):
    """The arm's motors have other R and K than the file's, and its links have other masses. Gravity loads this arm."""
    factors = {"waist": (1.2, 1.0), "shoulder": (1.0, 0.9), "elbow": (0.85, 1.0)}
    *_, line = LINES["Masses of the whole arm"]
    file = loaded_arm(arm)
    assert "run it at a terminal" in types(line, 2)[1]
    truth = differing(file, 5)
    truth = replace(truth, joints=tuple(
        replace(joint, motor=replace(joint.motor, R=factors[joint.name][0] * joint.motor.R,
                                     K=factors[joint.name][1] * joint.motor.K)) if joint.motor else joint
        for joint in truth.joints))
    shown = fixed_on(types, line, file, truth, monkeypatch)
    assert "not determined" not in shown and "identify --whole again" in shown
    for joint, was in zip(load_mechanism(arm).moving, file.moving, strict=True):
        r, k = factors[joint.name]
        assert joint.motor.R / was.motor.R == pytest.approx(r / k, rel=0.02)
        assert (joint.motor.K, joint.friction) == (was.motor.K, was.friction)


@pytest.mark.assure
def test_two_passes_find_a_payload_on_an_arm_that_its_file_does_not_know(arm, types, monkeypatch):
    """The arm's masses differ from the file by 5 %, and its friction by a fifth."""
    line = LINES["Masses of the whole arm"][3]
    file = loaded_arm(arm)
    assert "run it at a terminal" in types(line, 2)[1]
    fixed_on(types, line, file, differing(file, 3, 0.05, 0.003, 1.2), monkeypatch)
    found, = load_mechanism(arm).payloads
    assert found.mass == pytest.approx(WEIGHT.mass, rel=0.02)
    assert np.linalg.norm(found.com - WEIGHT.com) < 4e-3


def loaded_arm(path):
    """Write an arm whose joints bear weight, and return its file."""
    text = (MECHANISMS / "three_axis.toml").read_text(encoding="utf-8")
    path.write_text(text.replace('name = "three-axis"', 'name = "arm"').replace('"gripper"', '"tool"'),
                    encoding="utf-8")
    return load_mechanism(path)


def fixed_on(types, line, file, truth, monkeypatch):
    """Type a line during which somebody attaches WEIGHT. Return the answer."""
    monkeypatch.setattr(experiment, "REHEARSAL", 1.0)
    with plugged_in(file, plant_of(truth), world=truth) as board:
        types("femtorque home arm.toml --port auto")
        monkeypatch.setattr(sys, "stdin", Somebody(board, replace(truth, payloads=(WEIGHT,))))
        return types(line)[0]


def test_an_arm_meets_a_scene_and_is_written_as_mjcf(arm, types):
    """The scene has a table below the arm. The arm does not touch the table."""
    simulate, scenario = LINES["Things to touch"]
    written = re.search(r"`(femtorque generate [^`]*)`", SECTIONS["Things to touch"])[1]
    shutil.copy(MECHANISMS / "three_link.csv", "reach.csv")
    Path("table.xml").write_text(TABLE, encoding="utf-8")
    assert types(simulate)[0].startswith("done; ")
    types(written)
    assert Path("arm_c/arm.xml").is_file()
    assert scenario == "femtorque hil scenario push"  # typed by tests/hil/scenarios/test_scenarios.py
