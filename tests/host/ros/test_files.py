"""Tests the files for MoveIt and ros2_control: their joints, limits and topics agree with the arm and the node."""

import xml.etree.ElementTree as ET
from types import SimpleNamespace

import numpy as np
import pytest
import yaml

from femtorque import Mechanism, Refused
from femtorque.codegen.mechanism import load_mechanism
from femtorque.codegen.verify import Choice, write_new_file
from femtorque.host.ros import files, joints, motion
from tests.codegen.mechanism.test_urdf import ARM as ARM_URDF
from tests.host.ros.test_arm import ros  # noqa: F401 (a fixture)
from tests.host.ros.test_motion import NAMES
from tests.support.suite import ROOT

ARM = ROOT / "mechanisms" / "three_link.toml"


def test_the_files_name_what_the_node_has_and_limits_that_the_board_keeps(here, tmp_path, ros):  # noqa: F811
    done = here("ros", ARM, "--write", tmp_path / "config", "--controller", "arm_controller")
    assert done.returncode == 0, done.stderr
    controllers, limits = (yaml.safe_load((tmp_path / "config" / name).read_text(encoding="utf-8"))
                           for name in ("moveit_controllers.yaml", "joint_limits.yaml"))
    (name,) = controllers["moveit_simple_controller_manager"]["controller_names"]
    controller = controllers["moveit_simple_controller_manager"][name]
    assert controller["joints"] == NAMES
    assert f"/{name}/{controller['action_ns']}/_action/send_goal" in ros.ether.services
    known = Mechanism.load(ARM).follow_limits()
    found = [[limits["joint_limits"][joint][f"max_{what}"] for what in ("velocity", "acceleration", "jerk")]
             for joint in NAMES]
    np.testing.assert_array_equal(found, known)
    tag = ET.parse(tmp_path / "config" / "ros2_control.xml").getroot()
    said = {one.get("name"): one.text for one in tag.iter("param")}
    assert said["joint_commands_topic"] in ros.ether.taken and said["joint_states_topic"] in ros.ether.published
    assert [joint.get("name") for joint in tag.iter("joint")] == NAMES


def test_an_arm_with_a_gripper_has_a_second_controller():
    config = yaml.safe_load(files.ros_files(Mechanism.load(ROOT / "mechanisms" / "so101_sts.toml"), "arm_controller",
                                            "n",
                                            "gripper")["moveit_controllers.yaml"])["moveit_simple_controller_manager"]
    assert config["controller_names"] == ["arm_controller", "gripper_controller"]
    told = config["gripper_controller"]
    assert (told["type"], told["action_ns"], told["joints"]) == ("GripperCommand", "gripper_cmd", ["gripper"])
    assert len(config["arm_controller"]["joints"]) == 5


def test_joints_have_the_urdfs_names_on_topics(tmp_path):
    (tmp_path / "arm.urdf").write_text(ARM_URDF.replace('"slide"', '"Slider 1"'))
    arm = load_mechanism(write_new_file("arm", tmp_path / "arm.toml", tmp_path / "arm.urdf", Choice("f405rg-4")))
    config = files.ros_files(arm, "arm_controller", "n", "Slider 1")
    controllers = yaml.safe_load(config["moveit_controllers.yaml"])["moveit_simple_controller_manager"]
    assert controllers["Slider_1_controller"]["joints"] == ["Slider 1"] == [arm.streamed[1].called]
    assert "Slider 1" in yaml.safe_load(config["joint_limits.yaml"])["joint_limits"]
    point = SimpleNamespace(positions=[0.2], velocities=[], accelerations=[], effort=[],
                            time_from_start=SimpleNamespace(sec=1, nanosec=0))
    goal = motion.read(SimpleNamespace(joint_names=["Slider 1"], points=[point]), arm.streamed, ([0.0, 0.25], [0, 0]))
    assert goal.positions[-1].tolist() == [0.0, 0.2] and joints.Joints(arm).names == ["shoulder", "Slider 1"]


def test_somebodys_own_files_stay(here, tmp_path):
    (tmp_path / "joint_limits.yaml").write_text("mine: 1\n")
    for more in ((), ("--force",)):
        done = here("ros", ARM, "--write", tmp_path, *more)
        assert done.returncode == 2 and "joint_limits.yaml: file: is there already and is not" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["joint_limits.yaml"]
    (tmp_path / "joint_limits.yaml").unlink()
    assert [here("ros", ARM, "--write", tmp_path).returncode for _ in range(2)] == [0, 0]


def test_a_gripper_that_the_arm_has_not_is_refused_if_it_is_named(here, tmp_path):
    done = here("ros", ARM, "--write", tmp_path / "config", "--gripper", "wirst")
    assert done.returncode == 2 and "--gripper = 'wirst': no such joint; did you mean 'wrist'?" in done.stderr


def test_without_a_port_there_is_nothing_to_be_a_node_of(here):
    done = here("ros", ARM)
    assert done.returncode == 2 and "--port: is missing" in done.stderr


def test_an_arm_that_cannot_follow_has_no_such_files():
    with pytest.raises(Refused, match="flexible"):
        files.ros_files(Mechanism.load(ROOT / "mechanisms" / "flexible_arm.toml"), "a", "b", "")
