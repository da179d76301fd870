"""Tests a session with seven drives, from a URDF to an arm that moves, without changes by hand."""

import json
import re

import pytest

# Each row: mass, kg; centre of gravity, m; moments of inertia, kg m^2; the joint's position in the parent link, m;
# axis; range, rad. The arm has seven joints and a mass of 4 kg. The inertia of the outer links is a hundredth of their
# rotors' inertia.
LINKS = (
    (1.1, (0.0, 0.0, 0.05), (1.6e-3, 1.3e-3, 1e-3), (0.0, 0.0, 0.06), (0, 0, 1), (-1.4, 2.9)),
    (0.3, (0.01, 0.0, 0.03), (4e-4, 4e-4, 2e-4), (-0.03, 0.0, 0.06), (1, 0, 0), (-1.7, 1.7)),
    (1.0, (0.0, 0.0, 0.09), (4e-3, 4e-3, 7e-4), (0.03, 0.0, 0.07), (0, 0, 1), (-1.5, 1.5)),
    (0.6, (0.0, -0.03, 0.06), (6e-4, 5e-4, 3e-4), (0.0, 0.03, 0.15), (0, 1, 0), (0.0, 2.4)),
    (0.5, (0.0, 0.0, 0.04), (4e-4, 4e-4, 3e-4), (0.0, -0.03, 0.1), (0, 0, 1), (-1.5, 1.5)),
    (0.4, (-0.04, 0.0, 0.0), (1.4e-4, 1.6e-4, 1.6e-4), (0.04, 0.0, 0.12), (1, 0, 0), (-0.8, 0.8)),
    (0.4, (0.0, 0.01, 0.07), (6e-4, 5e-4, 3e-4), (-0.04, 0.0, 0.0), (0, 1, 0), (-1.5, 1.5)),
)
WAY = "[[waypoint]]\njoints = { j1 = 0.6, j2 = 0.5, j3 = -0.4, j4 = 1.2, j5 = 0.6, j6 = 0.4, j7 = -0.5 }\n"


def urdf() -> str:
    parts = ['<robot name="seven"><link name="ground"/>']
    for k, (mass, com, moments, at, axis, (lower, upper)) in enumerate(LINKS, 1):
        ixx, iyy, izz = moments
        parts.append(f"""
<link name="l{k}"><inertial><origin xyz="{' '.join(map(str, com))}"/><mass value="{mass}"/>
  <inertia ixx="{ixx}" iyy="{iyy}" izz="{izz}" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="j{k}" type="revolute"><parent link="{f'l{k - 1}' if k > 1 else 'ground'}"/><child link="l{k}"/>
  <origin xyz="{' '.join(map(str, at))}"/><axis xyz="{' '.join(map(str, axis))}"/>
  <limit lower="{lower}" upper="{upper}" velocity="8" effort="28"/></joint>""")
    return "".join(parts) + "</robot>"


@pytest.fixture
def seven(here, tmp_path):
    """Run the commands in order. Return a function that types a command, the names of the files, and the folder."""
    (tmp_path / "seven.urdf").write_text(urdf())
    (tmp_path / "way.toml").write_text(WAY)
    file, motion = tmp_path / "seven.toml", tmp_path / "seven.csv"

    def does(*arguments, status=0):
        done = here(*arguments)
        assert done.returncode == status, done.stderr + done.stdout
        return done

    does("init", "seven", "-o", file, "--from", tmp_path / "seven.urdf", "--board", "nucleo-g474-can",
         "--drive", "damiao-4340")
    does("plan", file, tmp_path / "way.toml", "-o", motion, "--back", "--speed", "0.5")
    return does, file, motion, tmp_path


def test_seven_drives_play_the_first_motion_of_an_unprepared_urdf_within_a_milliradian(seven):
    does, file, motion, folder = seven
    assert json.loads(does("check", file, "--json").stdout)["warnings"] == []
    said = json.loads(does("hil", "run", file, motion, "--json", "--log", folder / "run.mcap").stdout)
    assert (said["ended"], said["state"], said["faults"], said["outputs_safe"]) == ("done", "DISARMED", [], True)
    assert max(said["true_max"].values()) < 1e-3
    assert "oscillates" not in does("plot", folder / "run.mcap").stdout


def test_gains_without_rotors_are_too_soft_and_check_and_plot_say_so(seven):
    """The gains were computed without the rotors of the virtual drives, so the joints oscillate."""
    does, file, motion, folder = seven
    text = file.read_text()
    file.write_text(re.sub(r"ku = \d+, kv = \d+", "ku = 39, kv = 0.291", text.replace(", inertia = 0.16", "")))
    warnings = json.loads(does("check", file, "--json").stdout)["warnings"]
    assert any("joint.j1.drive.inertia (and of 6 more joints) is missing" in line for line in warnings)
    # a motion of 2 s: a short motion shows no frequency
    does("plan", file, folder / "way.toml", "-o", motion, "--back", "--speed", "0.25")
    does("hil", "run", file, motion, "--log", folder / "soft.mcap")
    said = does("plot", folder / "soft.mcap").stdout
    assert re.search(r"The loop of j\d oscillates at \d\.\d Hz, by [\d.]+ mrad", said)
    assert "play the motion slower" not in said and "than the mechanism file says" not in said
