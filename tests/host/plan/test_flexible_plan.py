"""Tests `femtorque plan` for arms with a flexible link: the motion that is written, and refusals."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from femtorque import main
from femtorque.codegen.common import BadInput, Refused
from femtorque.codegen.mechanism import Mechanism, load_mechanism
from femtorque.host.plan import flexible_plan, tip_file
from femtorque.host.plan.tip_torques import flexible_arm

HERE = Path(__file__).parents[3] / "mechanisms"
ARM, PATH = HERE / "wall_arm.toml", HERE / "wall_arm_path.csv"


@pytest.fixture(scope="module")
def arm() -> Mechanism:
    return load_mechanism(ARM)


def test_command_writes_the_joints_motion_and_says_what_it_takes(tmp_path, capfd):
    out, figure = tmp_path / "motion.csv", tmp_path / "motion.png"
    with pytest.raises(SystemExit) as ended:
        main(["plan", str(ARM), str(PATH), "-o", str(out), "--figure", str(figure), "--json"])
    answer = json.loads(capfd.readouterr().out)
    assert ended.value.code == 0
    assert answer["conditions"] == [5, 5]
    assert answer["pressing"] == pytest.approx(2.0)
    assert figure.stat().st_size > 10_000
    written = np.genfromtxt(out, delimiter=",", names=True)
    assert written.dtype.names[0] == "t"
    assert written["t"][-1] == answer["duration"] > answer["path_start"] + 1.0
    for joint in ("shoulder", "elbow"):
        assert written[f"{joint}vel"][[0, -1]] == pytest.approx([0.0, 0.0], abs=1e-12)
        drawn = np.gradient(written[joint], written["t"])
        assert np.abs(drawn - written[f"{joint}vel"])[1:-1].max() < 2e-3 * np.abs(drawn).max()


def test_tip_presses_at_rest_with_what_is_asked(arm):
    """By statics, the shoulder carries the weights and the floor's force of 2 N at the start."""
    found = flexible_plan.plan_flexible(arm, PATH, ends="static")
    q = found.motion.q[0]
    upper = 0.5 * np.cos(q[0])
    weights = 8.0 * 0.5 * upper * 9.81
    lever = 0.7 - upper  # horizontal distance from the elbow to the tip
    assert found.path[0] == pytest.approx([0.7, -0.6, 0.0], abs=1e-9)
    floor = -2.0 * 0.7
    # the centres of gravity of forearm and hand are between elbow and tip
    least, most = weights + floor + 0.24 * 9.81 * upper, weights + floor + 0.24 * 9.81 * (upper + lever)
    assert least < found.motion.torque[0, 0] < most


def test_waypoints_are_planned_as_if_rigid_then_bent(arm, tmp_path):
    file = tmp_path / "way.csv"
    file.write_text("shoulder,elbow\n-1.2,1.25\n-1.25,1.3\n")
    found = flexible_plan.plan_flexible(arm, file)
    slope = found.motion.W[-1] @ flexible_arm(arm).beam.hub
    shoulder, elbow = found.trajectory.positions[-1]
    assert shoulder == pytest.approx(-1.25, abs=1e-6)
    assert elbow == pytest.approx(1.3 + slope, abs=5e-3)  # the exact chain sags more than the beam model
    assert found.exact is not None
    assert found.exact.left < 0.2 * found.exact.linear


def test_joints_begin_where_they_are_said_to_stand(arm, tmp_path):
    """The weights rotate the link's root against the chord. Waypoints start from the joints' present positions."""
    file = tmp_path / "way.csv"
    file.write_text("shoulder,elbow\n-1.2,1.25\n")
    begin = np.array([-1.25, 1.4])
    found = flexible_plan.plan_flexible(arm, file, begin=begin)
    assert found.trajectory.positions[0] == pytest.approx(begin, abs=1e-4)
    assert found.motion.W[0] @ flexible_arm(arm).beam.hub > 0.01
    with pytest.raises(BadInput, match="t = 0: begins with elbow at 0.598. rad, and the arm is at 1.4 rad"):
        flexible_plan.plan_flexible(arm, PATH, begin=begin)


def test_the_tip_may_be_a_point_before_the_end_of_the_hand(arm):
    """Half-way along the hand, the numbers of stable and unstable roots differ. The chord follows by triangle."""
    found = flexible_plan.plan_flexible(arm, PATH, tip_point="hand:0.05,0,0")
    assert found.motion.counts == (4, 6)
    inside = (0.7**2 + 0.6**2 - 0.5**2 - 0.45**2) / (2.0 * 0.5 * 0.45)
    during = np.argmin(np.abs(found.motion.times - found.motion.path_start))
    slope = found.motion.W[during] @ flexible_arm(arm, point=0.05).beam.hub
    assert found.motion.q[during, 1] - slope == pytest.approx(np.arccos(inside), abs=1e-9)
    with pytest.raises(Refused, match="static ends are ill-posed: 4 stable roots and 6 unstable"):
        flexible_plan.plan_flexible(arm, PATH, tip_point="hand:0.05,0,0", ends="static")


@pytest.mark.parametrize(("tip", "words"), [
    ("finger", "tip = 'finger': no such link"),
    ("upper:0.1,0,0", "must be the end of forearm or beyond, on its axis; forearm:0.4,0,0"),
    ("forearm:0.2,0,0", "must be the end of forearm or beyond"),
    ("hand:0.1,0.02,0", "must be the end of forearm or beyond"),
    ("hand:0.1", "must be LINK or LINK:x,y,z"),
])
def test_a_tip_that_no_path_can_be_planned_for_is_refused(arm, tip, words):
    with pytest.raises(BadInput, match=words):
        flexible_plan.plan_flexible(arm, PATH, tip_point=tip)


@pytest.mark.parametrize(("scale", "press", "words"), [
    (1000.0, (0.0, 0.0), r"t = '0 \.\. 1000': .* at most 34 s .*times are in s"),
    (1.0, (0.0, 3.0), "press out of the plane of the arm by 3 N"),
    (1.0, (-2000.0, 0.0), "the root would turn by .* rad against the chord"),
])
def test_paths_in_other_units_and_impossible_forces_are_refused(arm, tmp_path, scale, press, words):
    file = tmp_path / "path.csv"
    file.write_text("t,x,y,fy,fz\n" + "\n".join(f"{scale * t:g},{0.7 - 0.1 * t:g},-0.6,{press[0]:g},{press[1]:g}"
                                              for t in np.linspace(0.0, 1.0, 8)))
    with pytest.raises((BadInput, Refused), match=words):
        flexible_plan.plan_flexible(arm, file)


@pytest.mark.parametrize(("options", "words"), [
    (["--back"], "--back: is not for an arm with a flexible link"),
    (["--reserve", "0.3"], "--reserve: is not for an arm"),
    (["--speed", "0.5"], "--speed = 0.5: .* has its own times"),
])
def test_options_that_mean_nothing_here_are_refused(tmp_path, capfd, options, words):
    with pytest.raises(SystemExit):
        main(["plan", str(ARM), str(PATH), "-o", str(tmp_path / "m.csv"), *options])
    assert re.search(words, capfd.readouterr().err)


@pytest.mark.parametrize(("text", "words"), [
    ("t,x,q\n", "header = 'q': columns: t, x, y"),
    ("t,x\n0,1\n", "has no column y"),
    ("t,x,y\n0,1,1\n", "at least 6 are needed"),
    ("t,x,y\n" + "0,1,1\n" * 7, "must begin at 0 and increase"),
    ("t,x,y\n0,1\n" + "0,1,1\n" * 7, "has 2 cells, the header has 3"),
    ("t,x,y\n0,1,nan\n" + "0,1,1\n" * 7, "must be finite"),
    ("t,x,y\n0,1,one\n" + "0,1,1\n" * 7, "must be numbers"),
])
def test_bad_paths_get_one_line(tmp_path, text, words):
    file = tmp_path / "path.csv"
    file.write_text(text)
    with pytest.raises(BadInput, match=words):
        tip_file.load(file)


def path_of(tmp_path: Path, x0: float, x1: float, duration: float) -> Path:
    t = np.linspace(0.0, 1.0, 12)
    rows = [f"{duration * s:.6f},{x0 + (x1 - x0) * s**3 * (10 - 15 * s + 6 * s * s):.9f},-0.6" for s in t]
    file = tmp_path / "path.csv"
    file.write_text("t,x,y\n" + "\n".join(rows) + "\n")
    return file


def test_a_path_out_of_reach_is_refused_with_the_distance(arm, tmp_path):
    with pytest.raises(Refused, match="it is 1.166 m from shoulder, and the arm reaches from 0.000 to 1.000 m"):
        flexible_plan.plan_flexible(arm, path_of(tmp_path, 0.5, 1.0, 1.0))


def test_a_path_too_fast_for_a_motor_is_refused_with_its_joint(arm, tmp_path):
    with pytest.raises((BadInput, Refused), match="(shoulder|elbow).*(limit|effort)"):
        flexible_plan.plan_flexible(arm, path_of(tmp_path, 0.7, 0.2, 0.25))
