"""The tour of the README, typed into a terminal: its lines, for its robot and for others, and nothing beside them."""

from __future__ import annotations

import re
import shutil

import pytest

from femtorque.codegen.common.firmware import MECHANISMS
from femtorque.host.record.log import read
from tests.codegen.mechanism.test_urdf import robot
from tests.support.suite import ROOT
from tests.support.terminal import CTRL_C, PROMPT, terminal
from tests.whole.test_readme import FETCH, TOUR, block

MAKE, PLAY = TOUR[:6], TOUR[6:]  # from a URDF to a report; on a board that is served
WINCE = re.compile(r"Traceback|unexpected|\bnan\b|\binf\b|None|e[+-]\d\d rad|\[/?\w+\]|object at 0x")

# another robot in the tour's lines: options of `init` beside --from and --board, and the goals of the arm
ROBOTS = {
    "ur5": ("ur5_robot.urdf", "", """
[[waypoint]]
joints = { shoulder_pan_joint = 4.0, shoulder_lift_joint = -1.2, elbow_joint = 1.0 }

[[waypoint]]
joints = { shoulder_pan_joint = -5.0, wrist_1_joint = 2.0 }
"""),
    "panda": ("panda_description/urdf/panda.urdf", " --lock panda_finger_joint1 --lock panda_finger_joint2"
              " --lock panda_joint7", """
tip = { link = "panda_hand_tcp" }

[[waypoint]]
xyz = [0.5, 0.1, 0.5]

[[waypoint]]
xyz = [0.5, -0.1, 0.5]
line = true
"""),
    "kinova": ("kinova_description/robots/kinova.urdf", "", """
tip = { link = "j2s6s200_end_effector" }

[[waypoint]]
joints = { j2s6s200_joint_1 = 7.0, j2s6s200_joint_2 = 4.0 }

[[waypoint]]
xyz = [0.3, 0.2, 0.5]
"""),
    "leg": ("go2.urdf", " --chain base:FL_foot", """
tip = { link = "FL_foot" }

[[waypoint]]
xyz = [0.15, 0.14, -0.3]

[[waypoint]]
xyz = [0.25, 0.14, -0.25]
line = true
"""),
}

# a five-bar of one's own, as the page on mechanism files has it
OWN = """
name = "drawer"
gravity = [0.0, -9.81, 0.0]

[board]
use = "f405rg-4"
bus_voltage = 24.0
{links}
[[joint]]
name = "left"
type = "revolute"
parent = "base"
child = "a"
xyz = [-0.05, 0.0, 0.0]
axis = [0.0, 0.0, 1.0]
start = 2.4
limits = {{ lower = -1, upper = 4, velocity = 10, effort = 4 }}
motor = {{ R = 1.6, L = 2.5e-3, K = 0.35, gear = 1.0, inertia = 3e-3, channel = 0 }}
encoder = {{ counts = 8192 }}
gains = {{ ku = 26.7, kv = 0.792 }}

[[joint]]
name = "left_elbow"
type = "revolute"
parent = "a"
child = "b"
xyz = [0.15, 0.0, 0.0]
axis = [0.0, 0.0, 1.0]
actuated = false
start = -1.7

[[joint]]
name = "right"
type = "revolute"
parent = "base"
child = "c"
xyz = [0.05, 0.0, 0.0]
axis = [0.0, 0.0, 1.0]
start = 0.74
limits = {{ lower = -1, upper = 4, velocity = 10, effort = 4 }}
motor = {{ R = 1.6, L = 2.5e-3, K = 0.35, gear = 1.0, inertia = 3e-3, channel = 1 }}
encoder = {{ counts = 8192 }}
gains = {{ ku = 26.7, kv = 0.793 }}

[[joint]]
name = "right_elbow"
type = "revolute"
parent = "c"
child = "d"
xyz = [0.15, 0.0, 0.0]
axis = [0.0, 0.0, 1.0]
actuated = false
start = 1.7

[[loop]]
name = "tip"
type = "planar"
a = {{ link = "b", xyz = [0.25, 0.0, 0.0] }}
b = {{ link = "d", xyz = [0.25, 0.0, 0.0] }}
""".format(links="".join(f'\n[[link]]\nname = "{name}"\nmass = 0.2\nrod = {rod}\n'
                         for name, rod in (("a", 0.15), ("b", 0.25), ("c", 0.15), ("d", 0.25))))
OWN_WAY = """
tip = { link = "b", xyz = [0.25, 0.0, 0.0] }

[[waypoint]]
xyz = [0.05, 0.25, 0.0]

[[waypoint]]
xyz = [-0.05, 0.25, 0.0]
line = true
"""


@pytest.fixture
def desk(tmp_path):
    """Folder of the tour: the URDF where pip puts it, and images kept from before."""
    (ROOT / "build").mkdir(exist_ok=True)
    for name in ("mechanisms", "build"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "venv").mkdir()
    shutil.copy(robot("so101.urdf"), tmp_path / "venv" / "so101.urdf")
    return tmp_path


def gone(desk, lines):
    """Every line typed, each good and readable; what each verb showed."""
    said = {}
    with terminal(desk) as shell:
        for line in lines:
            status, shown = shell.type(line)
            assert status == 0, f"{line}\n{shown}"
            assert not WINCE.search(shown), f"{line}\n{shown}"
            said[line.split()[1]] = shown
    return said


def assert_played(said, desk, log="run.mcap", tight=1e-3):
    """Display and log agree: the arm went through the motion."""
    assert "every limit kept" in said["plan"]
    assert "done; the board is in DISARMED" in said["hil"] and "Tracking was worst at" in said["plot"]
    run = read(desk / log)
    assert run.true is not None and abs(run.true_error[[s == "TRACK" for s in run.state]]).max() < tight


def test_the_tour_of_the_readme_is_typed_from_a_urdf_to_a_report(desk):
    """With the lines as they stand there. `pip install` alone is left out: the package is here."""
    (desk / "reach.toml").write_text(block("toml"))
    said = gone(desk, [FETCH.split("&& ")[1], *MAKE])
    assert "so101.toml: edit it" in said["init"] and "shoulder_lift" in said["check"]
    assert "firmware.bin" in said["build"] and "µrad" in said["hil"]
    assert_played(said, desk)


@pytest.mark.bench
@pytest.mark.parametrize("name", [*ROBOTS, "five-bar"])
def test_the_tour_is_gone_with_another_robot(desk, name):
    """A URDF of another robot in the place of the tour's, or a file of one's own in that of `init`."""
    urdf, more, way = ROBOTS.get(name, ("", "", OWN_WAY))
    (desk / "reach.toml").write_text(way)
    lines = [line.replace("so101", name) for line in MAKE]
    if urdf:
        shutil.copy(robot(urdf), desk / f"{name}.urdf")
        lines[0] += more
    else:
        (desk / f"{name}.toml").write_text(OWN)
        lines = lines[1:]
    assert_played(gone(desk, lines), desk)


@pytest.mark.bench
def test_a_served_board_is_homed_and_played_on_from_another_terminal(desk):
    """In real time, with the live page, which Ctrl-C ends; and the same line again from where the first one ended."""
    serve, home, dry_run, play = (line.replace("8420", "0") for line in PLAY)
    with terminal(desk) as board, terminal(desk) as host:
        board.begin(serve.replace("5555", "0"))
        board.until("socket://")
        port = f"socket://{board.until(chr(10)).strip()}"
        for line in (home, dry_run):
            status, shown = host.type(line.replace("socket://localhost:5555", port))
            assert status == 0 and not WINCE.search(shown), shown
        assert "nothing was armed" in shown
        for _ in range(2):
            host.begin(play.replace("socket://localhost:5555", port) + " --resume 99")
            host.until("the page stays until Ctrl-C")
            host.keys(CTRL_C)
            assert "done: 3.000 s" in host.until(PROMPT)
        status, shown = host.type(home.replace("socket://localhost:5555", port))
        assert status == 1 and "nothing needs to be homed" in " ".join(shown.split())
        board.keys(CTRL_C)
        assert " ticks" in board.until(PROMPT)


def test_every_robot_of_the_tour_goes_through_lines_of_the_readme():
    """The one change in them is the robot's name; the rest is options that the README names."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for _, more, _ in ROBOTS.values():
        assert all(f"`{option} " in readme for option in re.findall(r"--\w+", more))
    assert (MECHANISMS / "five_bar.toml").is_file() and "docs/mechanism-files.md" in readme
