"""Test that public URDFs of 2024 to 2026 get a moving arm from `init`, `check`, `plan` and `hil run`, without an edit.

The URDFs keep their owners' licences, so this tree has no copies. FEMTORQUE_URDFS names a folder with copies, as
OWNER+NAME/PATH. Without this folder, the test loads the files of these commits from GitHub. A robot whose file cannot
be had is skipped, and the reason is printed.
"""

import json
import os
import subprocess
import sys
import urllib.request
from dataclasses import dataclass
from pathlib import Path

import pytest

from femtorque.codegen.mechanism import Joint, load_mechanism

pytestmark = pytest.mark.bench

RAW = "https://raw.githubusercontent.com"
STEP = {False: 0.25, True: 0.02}  # rad; m for a prismatic joint: length of the motion
ERROR = 0.02  # rad or m: backlash of the weakest servos, 1 degree, and a little more
CHANNELS = ("--board", "f405rg-6")
CAN, WIRE = ("--board", "nucleo-g474-can", "--drive"), (*CHANNELS, "--drive")


@dataclass(frozen=True)
class Robot:
    """A URDF in a public repository, and the options of `init` for motors that are made up or sold."""

    repository: str
    commit: str
    path: str
    options: tuple[tuple[str, ...], ...]


LEFT = ("--chain", "openarm_left_base_link:openarm_left_ee_base_link")
ROBOTS = {
    "koch": Robot("AlexanderKoch-Koch/low_cost_robot", "7e0dc11d2fc6274b8f72c7ca27ddd624ed197e83",
                  "simulation/low_cost_robot/low-cost-arm.urdf", (CHANNELS, (*WIRE, "dynamixel-xl430-w250"))),
    "piper": Robot("agilexrobotics/Piper_ros", "4f22c61f96b8fb3ef3f937b99b63edb697caadf0",
                   "src/piper_description/urdf/piper_description.urdf", (CHANNELS, (*CAN, "damiao-4340"))),
    "scara": Robot("roboclubdtu/SimpleRobots", "8d2ae4fd202d15e241e203b388080ee7bbad4e24", "scara/scara.urdf",
                   (CHANNELS,)),
    "wxai": Robot("TrossenRobotics/trossen_arm_description", "8834f2e1706c4f848c03f8fb0d5eab5e4f377398",
                  "urdf/generated/wxai/wxai_follower.urdf", (CHANNELS, (*CAN, "damiao-4340"))),
    "so101": Robot("TheRobotStudio/SO-ARM100", "fda892cba81032c46c40976a48c9ceadbf40a9ca",
                   "Simulation/SO101/so101_new_calib.urdf", (CHANNELS, (*WIRE, "feetech-sts3215-12v"))),
    "openarm": Robot("bensonlee5/anvil-openarm-mujoco", "195c34b6938765fce58b5a7d82749c53dc788fa4",
                     "models/anvil_openarm_bimanual.urdf", ((*CAN, "damiao-8009", *LEFT),)),
    "yam": Robot("i2rt-robotics/i2rt", "5d47b358bafb30c65e397f2ece506550a0db4594",
                 "i2rt/robot_models/arm/yam/yam.urdf",
                 (CHANNELS, (*CAN, "damiao-4340"))),
    "rebot": Robot("Seeed-Projects/reBot-Isaacsim", "705baae7e108a84daa78c4fc5aa73f15d356b800",
                   "urdf/00-arm-rs_asm-v3/urdf/00-arm-rs_asm-v3.urdf", (CHANNELS, (*CAN, "robstride-06"))),
    # one of the two arms on the wheeled base
    "xlerobot": Robot("task-proxemics/XLeRobot", "6670d7db14adca0fab167bb569f160d7ba4672ec",
                      "simulation/Maniskill/assets/xlerobot/xlerobot.urdf",
                      ((*CHANNELS, "--chain", "Base:Moving_Jaw"),)),
}


def urdf_of(robot: Robot, folder: Path) -> Path:
    """Return the robot's URDF. Skip the test, with the reason, if the file cannot be had."""
    copies = os.environ.get("FEMTORQUE_URDFS")
    if copies is not None:
        found = Path(copies) / robot.repository.replace("/", "+") / robot.path
        if not found.is_file():
            missing(f"{found} is not there")
        return found
    place, address = folder / Path(robot.path).name, f"{RAW}/{robot.repository}/{robot.commit}/{robot.path}"
    try:
        with urllib.request.urlopen(address, timeout=20.0) as page:
            place.write_bytes(page.read())
    except OSError as error:
        missing(f"{address} cannot be loaded ({error}); FEMTORQUE_URDFS=FOLDER takes copies")
    return place


def missing(why: str) -> None:
    print(f"NOT RUN: {why}")
    pytest.skip(f"not run: {why}")


def run(folder: Path, *words: object) -> str:
    done = subprocess.run([sys.executable, "-m", "femtorque", *map(str, words)], cwd=folder, capture_output=True,
                          text=True, timeout=600)
    assert done.returncode == 0, f"{words}: {done.stderr}"
    return done.stdout


def way_of(joint: Joint) -> float:
    """Return a position within the joint's range, a step from its start."""
    step = STEP[joint.type == "prismatic"]
    up, down = (min(step, 0.8 * room) for room in (joint.limits.upper - joint.start, joint.start - joint.limits.lower))
    return joint.start + up if up >= down else joint.start - down


def test_a_urdf_comes_from_its_commit_and_a_missing_one_skips_the_test(tmp_path: Path,
                                                                        monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder of this PC stands in for GitHub."""
    robot = ROBOTS["scara"]
    place = tmp_path / "raw" / robot.repository / robot.commit / robot.path
    place.parent.mkdir(parents=True)
    place.write_text("<robot/>")
    monkeypatch.delenv("FEMTORQUE_URDFS", raising=False)
    monkeypatch.setattr(f"{__name__}.RAW", (tmp_path / "raw").as_uri())
    assert urdf_of(robot, tmp_path) == tmp_path / "scara.urdf" and (tmp_path / "scara.urdf").read_text() == "<robot/>"
    with pytest.raises(pytest.skip.Exception, match="piper.* cannot be loaded"):
        urdf_of(ROBOTS["piper"], tmp_path)


@pytest.mark.parametrize(("name", "number"), [(name, k) for name, one in ROBOTS.items()
                                              for k in range(len(one.options))])
def test_a_public_urdf_moves_the_first_time(tmp_path: Path, name: str, number: int) -> None:
    options = ROBOTS[name].options[number]
    run(tmp_path, "init", name, "--from", urdf_of(ROBOTS[name], tmp_path), *options)
    assert json.loads(run(tmp_path, "check", f"{name}.toml", "--json"))["stiffest_gains"]
    joints = load_mechanism(tmp_path / f"{name}.toml").streamed
    pose = ", ".join(f'"{joint.name}" = {way_of(joint):.4f}' for joint in joints)
    (tmp_path / "way.toml").write_text(f"[[waypoint]]\njoints = {{ {pose} }}\n")
    run(tmp_path, "plan", f"{name}.toml", "way.toml", "-o", "motion.csv", "--back")
    result = json.loads(run(tmp_path, "hil", "run", f"{name}.toml", "motion.csv", "--json"))
    worst = max(result["true_rms"].values())
    print(f"{name} {' '.join(options)}: {len(joints)} joints, worst true rms {worst:.2g}", flush=True)
    assert worst < ERROR
