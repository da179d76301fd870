"""Tests of findings, warnings and errors of `check`."""

import io
import json
import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from rich.console import Console
from scipy.optimize import brentq

from femtorque.codegen.common import MECHANISMS, BadInput
from femtorque.codegen.mechanism import Contact, Control, Gains, Home, Joint, Limits, Mechanism, Motor, load_mechanism
from femtorque.codegen.mechanism.description import BoardUse, Encoder, Feel
from femtorque.codegen.motion import Trajectory, from_rows
from femtorque.codegen.verify.check import Report, examine
from femtorque.codegen.verify.check_tables import check_renderable
from femtorque.codegen.verify.new_file import Choice, text, write_new_file
from tests.codegen.mechanism.test_urdf import ARM as URDF, robot
from tests.support import oracle
from tests.support.bus_arm import described
from tests.support.oracle import random_tree


@pytest.fixture(scope="module")
def arm() -> Mechanism:
    return load_mechanism(MECHANISMS / "three_link.toml")


def changed(arm: Mechanism, joint: str, **changes: object) -> Mechanism:
    return replace(arm, joints=tuple(replace(j, **changes) if j.name == joint else j for j in arm.joints))


def joint(arm: Mechanism, name: str) -> Joint:
    return next(j for j in arm.joints if j.name == name)


def rendered(report: Report) -> str:
    console = Console(width=200, record=True, file=open("/dev/null", "w"))
    console.print(check_renderable(report))
    return console.export_text()


HALT = "a debugger that halts the processor of board {board} {does}"
LEAVES = "leaves {going}, until the watchdog resets it, some 0.1 s later; never halt it while they have power"
LAST = "{joints} at the last command, as no time limit of theirs is sure"


@pytest.mark.parametrize(("name", "board", "does"), [
    ("three_link", "f405rg-4", "stops its outputs"),
    ("three_link", "f405rg-6", LEAVES.format(going="the motors of TIM10 to TIM14 at their last duty")),
    ("damiao_arm", "nucleo-g474-can", "stops its outputs; its drives stop by their own time limits"),
    ("cubemars", "robomaster-c", LEAVES.format(going=LAST.format(joints="shoulder, elbow, wrist"))),
    ("odrive_arm", "f405rg-4", LEAVES.format(going=LAST.format(joints="base_turn, shoulder, elbow"))),
    ("so101_sts", "f405rg-6", LEAVES.format(going=LAST.format(
        joints="shoulder_pan, shoulder_lift, elbow_flex, wrist_flex, wrist_roll, gripper")))])
def test_that_it_names_the_motors_that_go_on_in_a_debuggers_halt(
        name: str, board: str, does: str) -> None:
    """By their makers, Feetech servos, CubeMars drives and ODrives as they come have no watchdog."""
    file = MECHANISMS / f"{name}.toml"
    mechanism = load_mechanism(file) if file.exists() else described(name)
    assert mechanism.board is not None
    report = examine(replace(mechanism, board=replace(mechanism.board, use=board)))
    line = HALT.format(board=board, does=does)
    assert report.halt == (line,) and report.data()["halt"] == [line]
    assert line in " ".join(rendered(report).split())


def test_that_a_board_which_drives_nothing_has_nothing_that_goes_on_in_a_halt(arm: Mechanism) -> None:
    assert arm.board is not None
    assert examine(replace(arm, board=replace(arm.board, use="compute"), joints=tuple(
        replace(j, motor=None, encoder=None) for j in arm.joints))).halt == ()


# joints with drives that lose their zero position without power
UNPLACED = {"odrive_arm": ("base_turn", "shoulder", "elbow")}
# half of the supply, which protects the gripper's servo, does not reach the velocity limit
SLOW = {"so101_sts": ("joint.gripper.limits.velocity = 4: the motor runs at most 2.339 without load",)}


@pytest.mark.parametrize("path", sorted(MECHANISMS.glob("*.toml")), ids=lambda p: p.stem)
def test_the_examples_check_without_warnings(path: Path) -> None:
    report = examine(load_mechanism(path))
    assert report.warnings == tuple(
        f"joint.{name}.drive does not say whether it has kept its zero: after each power-up `home` must "
        "give its position" for name in UNPLACED.get(path.stem, ())) + SLOW.get(path.stem, ())
    assert json.loads(json.dumps(report.data(), allow_nan=False))["name"] == report.mechanism.name
    for j in report.mechanism.joints:
        assert j.name in rendered(report)


def test_a_link_that_twists_is_checked_with_its_torsion() -> None:
    arm = load_mechanism(MECHANISMS / "flexible_arm.toml")
    upper, fore = arm.links
    twists = replace(arm, links=(upper, replace(fore, beam=replace(fore.beam, EI=(2.5, 2.5), GJ=1.5))))
    data = examine(twists).data()
    assert set(data["loop"]["worst_pose"]) == {"shoulder", "elbow", "fore's torsion"}
    assert data["moving"] == ["shoulder", "elbow"]
    assert data["loop"]["stable"]


def test_the_report_says_how_stiff_the_gains_may_be(arm: Mechanism) -> None:
    data = examine(arm).data()
    assert data["stiffest_gains"]["wrist"] == {"ku": 1.67, "kv": 0.0768}
    assert data["loop"]["stable"] and 0.9 < data["loop"]["spectral_radius"] < 1.0
    assert data["joints"][0]["motor"]["stall_effort"] == pytest.approx(0.35 * 24.0 / 1.6)
    assert data["board"]["lead"] == 1


def test_unstable_gains_are_refused_naming_joint_rate_and_cure(arm: Mechanism) -> None:
    with pytest.raises(BadInput) as caught:
        examine(changed(arm, "wrist", gains=Gains(ku=20.0, kv=0.9)))
    line = str(caught.value)
    assert "joint.wrist.gains: the sampled loop is unstable at 1000 Hz" in line and "ku = 1.67, kv = 0.0768" in line


def test_gains_close_to_the_limit_are_warned_of(arm: Mechanism) -> None:
    wrist = joint(arm, "wrist").gains
    report = examine(changed(arm, "wrist", gains=Gains(wrist.ku * 1.6, wrist.kv * 1.6)))
    assert any(w.startswith("joint.wrist.gains: above the stiffest with gain margin 2") for w in report.warnings)


def test_thresholds_of_touches_within_the_noise_of_encoders_are_warned_of(arm: Mechanism) -> None:
    feels = replace(arm, feel=Feel())
    said = rendered(examine(feels))
    assert "at rest a touch is felt from: shoulder" in said and "warning" not in said and "goes back" not in said
    assert "it goes back after 1 s without one" in rendered(examine(replace(arm, feel=Feel("return"))))
    report = examine(changed(feels, "wrist", contact=Contact(0.01)))
    assert [w for w in report.warnings if "joint.wrist.contact.torque = 0.01 is less than 6 times the noise" in w]


def test_servos_without_a_cut_of_their_supply_get_a_warning() -> None:
    servos = load_mechanism(MECHANISMS / "so101_sts.toml")
    assert "output [cutoff] cuts their supply where they do not say within 0.03 s" in examine(servos).silence[0]
    uncut = examine(replace(servos, safety=replace(servos.safety, cutoff=None)))
    said = [w for w in uncut.warnings if "nothing cuts the supply of servos" in w]
    assert len(said) == 1 and "shoulder_pan, " in said[0] and "[safety.cutoff] lets the board do it" in said[0]
    assert "so the e-stop must cut their supply by a relay" in uncut.silence[0]


def test_a_drive_without_its_rotor_is_warned_of_once_a_kind() -> None:
    arm = load_mechanism(MECHANISMS / "damiao_arm.toml")
    bare = replace(arm, joints=tuple(replace(j, drive=replace(j.drive, inertia=0.0)) for j in arm.joints))
    with pytest.raises(BadInput, match=r"have gain margin 2; or give its drive\.inertia"):
        examine(bare)
    bare = replace(bare, joints=tuple(replace(j, gains=Gains(0.5, 0.03)) for j in bare.joints))
    said = [w for w in examine(bare).warnings if "drive.inertia" in w]
    assert said == [
        "joint.shoulder.drive.inertia (and of elbow) is missing: torques and gains assume a rotor without mass; "
        "0.16 is published of damiao-4340",
        "joint.wrist.drive.inertia is missing: torques and gains assume a rotor without mass; 0.01 is published of "
        "damiao-4310"]
    assert not [w for w in examine(arm).warnings if "drive.inertia" in w]


@pytest.mark.parametrize(("ku", "kv", "warned"), [(1.0, 1.0, False), (0.25, 0.5, False), (0.04, 0.2, False),
                                                  (0.02, 0.15, True), (1.0, 0.1, True), (0.08, 0.05, True)])
def test_gains_far_below_the_stiffest_or_with_little_damping_get_a_warning(arm: Mechanism, ku: float, kv: float,
                                                                               warned: bool) -> None:
    """ku and kv are fractions of the stiffest gains, which give critical damping.

    The damping ratio is then kv divided by the square root of ku."""
    report = examine(changed(arm, "wrist", gains=Gains(1.67 * ku, 0.0768 * kv)))
    said = [w for w in report.warnings if "far below the stiffest" in w]
    assert bool(said) is warned and all(w.startswith("joint.wrist.gains: ku = ") for w in said)
    assert all(f"damp what it moves by {kv / ku**0.5:.2g} of critical" in w for w in said)


WARNINGS = {
    "no-load speed": ({"limits": Limits(-2.6, 2.6, 500.0, 0.4)},
                      "joint.wrist.limits.velocity = 500: the motor runs at most"),
    "no effort limit": ({"limits": Limits(-2.6, 2.6, 5.0)}, "joint.wrist.limits.effort is not given"),
    "three-phase motor": ({"motor": Motor(1.6, 4e-4, 0.35, channel=2, kind="three-phase")},
                          "joint.wrist.motor.kind = three-phase: no board here commutates"),
    "inductance a thousandth": ({"motor": Motor(1.6, 4e-7, 0.35, channel=2)},
                                "joint.wrist.motor: L/R = 2.5e-07 s, where motors"),
    "no encoder": ({"encoder": None}, "joint.wrist has a motor but no encoder"),
    "no gains": ({"gains": Gains()}, "joint.wrist has a motor but no gains.ku"),
    "no damping": ({"gains": Gains(ku=1e-3)}, "joint.wrist.gains.kv is 0: nothing damps"),
    "no dry friction": ({"friction": None}, "joint.wrist.friction.coulomb is 0"),
    "no motor": ({"motor": None, "encoder": None},
                 "board f405rg-4 cannot drive it yet: joint.wrist.motor, joint.wrist.encoder are missing"),
    "not actuated": ({"actuated": False, "motor": None, "encoder": None, "gains": Gains()},
                     "joint.wrist is not actuated"),
    "coarse encoder": ({"encoder": Encoder(64)}, "joint.wrist.encoder.counts = 64: one count makes a torque"),
}


def test_frames_without_mass_are_one_line(tmp_path: Path) -> None:
    path = tmp_path / "arm.urdf"
    path.write_text(URDF)
    console = Console(width=120, record=True, file=io.StringIO())
    console.print(check_renderable(examine(load_mechanism(path))))
    shown = console.export_text()
    assert "without mass: tip" in shown and shown.count("tip") == 1 and "flange" in shown


@pytest.mark.parametrize("case", list(WARNINGS))
def test_probable_mistakes_get_a_warning(arm: Mechanism, case: str) -> None:
    changes, warning = WARNINGS[case]
    if "friction" in changes:
        changes = {"friction": replace(joint(arm, "wrist").friction, coulomb=0.0)}
    assert any(w.startswith(warning) for w in examine(changed(arm, "wrist", **changes)).warnings)


@pytest.mark.parametrize(("changes", "rule"), [
    ({"joint": {"motor": Motor(1.6, 2e-3, 0.35, channel=7)}},
     r"joint\.wrist\.motor\.channel = 7: board 'f405rg-4' has channels 0 to 3"),
    ({"joint": {"c_mot": 0.5}}, r"joint\.wrist\.c_mot"),
    ({"board": BoardUse("f405rg-4", 24.0, 19999)}, r"board\.pwm_hz = 19999: .*nearest: 20000"),
    ({"board": BoardUse("f405rg4")}, "no such board; did you mean 'f405rg-4'"),
    ({"board": BoardUse("f405rg-4", 24.0, 10000), "control": Control(rate_hz=100, knot_hz=50, observer_hz=25.0)},
     "unstable at 100 Hz"),
])
def test_impossible_mechanisms_are_refused(arm: Mechanism, changes: dict[str, Any], rule: str) -> None:
    whole = {key: value for key, value in changes.items() if key != "joint"}
    with pytest.raises(BadInput, match=rule):
        examine(replace(changed(arm, "wrist", **changes.get("joint", {})), **whole))


@pytest.mark.parametrize("upper, warned", [(np.inf, True), (3.2, True), (3.1, False)])
def test_a_spring_that_may_turn_more_than_half_a_turn_is_warned_of(arm: Mechanism, upper: float, warned: bool) -> None:
    report = examine(changed(arm, "wrist", stiffness=1.0, limits=Limits(-1.0, upper, 10.0, 1.0)))
    assert any("joint.wrist has a spring and no limits" in w for w in report.warnings) == warned


def test_a_joint_without_inertia_about_its_axis_is_warned_of(arm: Mechanism) -> None:
    motor = Motor(1.0, 1e-3, 0.05, channel=2)
    spinning = changed(arm, "wrist", axis=np.array([1.0, 0.0, 0.0]), motor=motor, limits=Limits())
    report = examine(spinning)  # inertia of a slender rod about its axis, without a rotor
    assert any(w.startswith("joint.wrist: nothing resists its motion") for w in report.warnings)
    assert report.stability is None and report.rule == {}


def test_a_mechanism_without_motors_has_no_loop_to_check() -> None:
    report = examine(random_tree(np.random.default_rng(5), 6))
    assert report.stability is None and report.rule == {} and report.data()["loop"] is None
    assert report.data()["joints"][0]["limits"]["upper"] is None


NUMBERS = ["1e9", "1e-9", "1e-30", "5e-324", "1e5", "1e-5", "1", "100.0", "0.3", "-0.5", "0.0", "64", "1000"]
SPOTS = [m.span() for m in re.finditer(r"(?<![\w\"])-?\d[\d.e-]*", text("arm"))]


any_numbers = given(changes=st.dictionaries(st.sampled_from(SPOTS), st.sampled_from(NUMBERS), min_size=1, max_size=2))
free = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@settings(free, max_examples=15)
@any_numbers
def test_any_numbers_give_a_report_or_one_line(tmp_path: Path, changes: dict[tuple[int, int], str]) -> None:
    reported_or_refused(tmp_path, changes)


@pytest.mark.bench
@settings(free, max_examples=200)
@any_numbers
def test_many_numbers_give_a_report_or_one_line(tmp_path: Path, changes: dict[tuple[int, int], str]) -> None:
    reported_or_refused(tmp_path, changes)


def reported_or_refused(tmp_path: Path, changes: dict[tuple[int, int], str]) -> None:
    content = text("arm")
    for (start, stop), value in sorted(changes.items(), reverse=True):
        content = content[:start] + value + content[stop:]
    path = tmp_path / "arm.toml"
    path.write_text(content)
    try:
        report = examine(load_mechanism(path))
    except BadInput as error:
        assert len(str(error).splitlines()) == 1
        return
    json.dumps(report.data(), allow_nan=False)
    assert "arm" in rendered(report)


def test_a_urdf_gets_motors_that_fit_its_joints(tmp_path: Path) -> None:
    """Motors exceed the limits, gains follow the rule, and channels are numbered from the base outwards."""
    arm = load_mechanism(write_new_file("so101", tmp_path / "so101.toml", robot("so101.urdf"), Choice("f405rg-6")))
    report = examine(arm)
    assert not [w for w in report.warnings if "motor" in w or "gains" in w or "coulomb" in w]
    assert [j.name for j in sorted(arm.moving, key=lambda j: j.motor.channel)][:3] == ["shoulder_pan",
                                                                                       "shoulder_lift", "elbow_flex"]
    for joint in arm.moving:
        constant, bus = joint.motor.K * joint.motor.gear, arm.board.bus_voltage
        assert 1.25 < bus / constant / joint.limits.velocity < 1.35
        assert 1.45 < constant * bus / joint.motor.R / joint.limits.effort < 1.55
        assert joint.gains == report.rule[joint.name]


def test_an_overlay_that_could_make_the_loop_unstable_is_refused():
    mechanism = load_mechanism(MECHANISMS / "three_link.toml")
    examine(replace(mechanism, safety=replace(mechanism.safety, gain_overlay=(0.5, 1.5))))  # the gain margin is 2
    with pytest.raises(BadInput, match="safety.gain_overlay = .*with all gains times 3 the sampled loop is unstable"):
        examine(replace(mechanism, safety=replace(mechanism.safety, gain_overlay=(0.5, 3.0))))


def test_a_zero_that_is_sought_with_too_little_torque_is_warned_of():
    mechanism = load_mechanism(MECHANISMS / "three_link.toml")
    upright = replace(mechanism, gravity=np.array([0.0, -9.81, 0.0]))
    for effort, warned in ((0.3, True), (4.0, False)):
        joints = list(upright.joints)
        joints[0] = replace(joints[0], encoder=replace(joints[0].encoder, zero="stop"),
                            home=Home(at=-3.0, effort=effort))
        said = examine(replace(upright, joints=tuple(joints))).warnings
        assert any("joint.shoulder.home.effort = 0.3 does not carry the joint" in w for w in said) == warned


def test_a_flexible_link_that_turns_too_fast_or_bends_too_far_gets_a_warning():
    link = load_mechanism(MECHANISMS / "flexible_link.toml")
    link = replace(link, control=replace(link.control, rate_hz=250, knot_hz=250))
    assert not [w for w in examine(link).warnings if "turn" in w]
    fast = replace(link, joints=(replace(link.joints[0], limits=replace(link.joints[0].limits, velocity=30.0)),))
    assert ("link.beam.beam: the joints' limits let it turn at 30 rad/s, 1.9 times its lowest frequency of 15.5 rad/s; "
            "its tension was compared with an exact chain up to 1.5 times") in examine(fast).warnings

    def swung(seconds: float) -> Trajectory:
        t = np.linspace(0.0, seconds, 151)
        q, qd, qdd = oracle.septic([0.0], [1.0], seconds).at(t)
        return from_rows(["hub"], t, q, qd, qdd)

    slow, bent, folded = (" ".join(examine(link, [swung(s)]).warnings) for s in (1.2, 0.5, 0.15))
    assert "slope" not in slow
    assert "link.beam.beam has a slope of 0." in bent
    assert "beyond 0.2 the deflection is not small" in bent
    assert "link.beam.beam bends by" in folded
    assert "it is computed up to 0.79, and the torques are invalid" in folded


def clamped_with_a_mass(length: float, EI: float, mass: float, at_its_end: float) -> list[float]:
    """Return the lowest frequencies, Hz, of a slender beam with a clamped root and a point mass at its end.

    The frequency equation is 1 + cos cosh + (m / M) kL (cos sinh - sin cosh) = 0 for the roots kL (Blevins, Formulas
    for Natural Frequency and Mode Shape)."""
    def equation(x: float) -> float:
        return (1.0 + np.cos(x) * np.cosh(x)
                + at_its_end / mass * x * (np.cos(x) * np.sinh(x) - np.sin(x) * np.cosh(x)))

    starts = np.linspace(0.1, 9.0, 200)
    roots = [brentq(equation, a, b) for a, b in pairwise(starts) if equation(a) * equation(b) < 0.0]
    return [x**2 * np.sqrt(EI / (mass * length**3)) / (2.0 * np.pi) for x in roots]


def test_check_shows_flexible_links_with_their_first_frequencies_and_damping() -> None:
    report = examine(load_mechanism(MECHANISMS / "flexible_link.toml"))
    exact = clamped_with_a_mass(0.4, 0.55, 0.24, 0.05)
    for mode, hz in zip(report.beams, exact, strict=False):
        assert mode.hz == pytest.approx(hz, rel=5e-3)  # the link has three elements
        # damping proportional to strain rate: omega s / 2
        assert mode.damping == pytest.approx(np.pi * mode.hz * 1e-3, rel=1e-6)
    shown = rendered(report)
    assert re.search(r"beam +0\.4 +rigid, 0\.55 +rigid +3 +0\.001", shown)
    assert f"mode 1 {report.beams[0].hz:.4g} Hz, " in shown and "of critical damping" in shown
    assert report.data()["beam_modes"][0]["hz"] == report.beams[0].hz
    assert examine(load_mechanism(MECHANISMS / "three_link.toml")).beams == ()


def test_links_on_the_ground_take_one_line() -> None:
    go2 = load_mechanism(robot("go2.urdf"))
    leg = replace(go2, lock=go2.lock | {j.name: j.start for j in go2.moving if not j.name.startswith("FL")})
    shown = rendered(examine(leg))
    assert "FR_thigh_joint  " not in shown and "FL_calf_joint" in shown
    ground = next(line for line in shown.splitlines() if line.startswith("on the ground"))
    still = sum(link.mass for link in leg.links if not link.name.startswith("FL") or link.name == "FL_hip_rotor")
    assert f"({still:.4g} kg)" in ground and "locked: FR_hip_joint" in ground
    assert "3 moving joints, 2.202 kg moved" in shown


def test_loops_take_one_line_of_a_terminal() -> None:
    shown = rendered(examine(load_mechanism(MECHANISMS / "five_bar.toml")))
    assert "loops: mobility 2, 2 joints actuated, at the start " in shown
