"""A client of the node that uses the real rclpy, as MoveIt does. assurance/bench/test_ros.py runs this program in ROS
2's Python.

Usage: client.py START..., the pose of three_link with a continuous elbow. The client prints the answers as JSON, and
exits during one of its goals. Without a pose the client prints the joints' positions and the board's state. With `arm`
the client arms a held arm, and disarms the arm during a goal."""

import json
import math
import os
import sys
import time

import rclpy
from action_msgs.msg import GoalStatusArray
from action_msgs.srv import CancelGoal
from builtin_interfaces.msg import Duration
from control_msgs.action import FollowJointTrajectory, GripperCommand
from control_msgs.msg import GripperCommand as Grip, JointTolerance
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.action import ActionClient
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

TAKEN = sys.argv[1:] == ["arm"]
START = [] if TAKEN else [float(word) for word in sys.argv[1:]]
ARM = ["shoulder", "elbow"]
ACTION = "/arm_controller/follow_joint_trajectory"
rclpy.init()
node = rclpy.create_node("client")
heard: dict[str, list] = {}
for topic, kind, latched in (("/joint_states", JointState, False), ("/robot_description", String, True),
                             ("/diagnostics", DiagnosticArray, False),
                             (f"{ACTION}/_action/status", GoalStatusArray, True)):
    durability = DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE
    node.create_subscription(kind, topic, heard.setdefault(topic, []).append,
                             QoSProfile(depth=100, durability=durability))
topic = node.create_publisher(JointTrajectory, "/arm_controller/joint_trajectory", 10)
follow = ActionClient(node, FollowJointTrajectory, ACTION)
wrist = ActionClient(node, FollowJointTrajectory, "/wrist_controller/follow_joint_trajectory")
grip = ActionClient(node, GripperCommand, "/wrist_controller/gripper_cmd")
told: dict[str, object] = {}


def wait(future):
    rclpy.spin_until_future_complete(node, future, timeout_sec=20.0)
    assert future.done()
    return future.result()


def idle(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        rclpy.spin_once(node, timeout_sec=0.02)


def call(name):
    client = node.create_client(Trigger, f"/femtorque/{name}")
    assert client.wait_for_service(20.0)
    began = time.monotonic()
    response = wait(client.call_async(Trigger.Request()))
    return [response.success, response.message, time.monotonic() - began]


def trajectory(times, rows, names):
    return JointTrajectory(joint_names=names, points=[JointTrajectoryPoint(
        positions=[float(x) for x in row], time_from_start=Duration(sec=int(t), nanosec=round(1e9 * (t % 1.0))))
        for t, row in zip(times, rows, strict=True)])


def goal(times, rows, names=ARM, action=follow, **more):
    """Send a goal that the node accepts. Return the goal's handle, the future of its result, and its feedback."""
    feedback: list = []
    handle = wait(action.send_goal_async(
        FollowJointTrajectory.Goal(trajectory=trajectory(times, rows, names), **more),
        feedback_callback=lambda message: feedback.append(message.feedback)))
    assert handle.accepted
    return handle, handle.get_result_async(), feedback


def ended(future):
    done = wait(future)
    return [done.status, done.result.error_code, done.result.error_string]


def positions():
    return list(heard["/joint_states"][-1].position)


if not START:
    assert follow.wait_for_server(20.0)
    while not (heard["/diagnostics"] and heard["/joint_states"]):
        idle(0.1)
    idle(3.0)
    (about,) = heard["/diagnostics"][-1].status
    answers: list = [positions(), about.message]
    if TAKEN:
        home = positions()[:2]
        answers += [ended(goal([1.0], [home])[1]), call("arm"), ended(goal([0.5], [home])[1])]
        _, result, _ = goal([3.0], [[home[0] - 0.3, home[1]]])
        idle(0.5)
        answers += [call("disarm"), ended(result)]
    print(json.dumps(answers), flush=True)
    os._exit(0)
there = [START[0] + 0.3, START[1] - 0.2]
began = time.monotonic()
assert follow.wait_for_server(20.0) and grip.wait_for_server(20.0)
told["discovery"] = time.monotonic() - began
told["not armed"] = ended(goal([1.0], [START[:2]])[1])
told["home"], told["arm"] = call("home"), call("arm")
_, result, feedback = goal([1.0, 2.0], [START[:2], there])
told["goal"] = ended(result)
told["feedback"] = [[getattr(one, "index", None), max(map(abs, one.error.positions))] for one in feedback]
told["many"] = ended(goal([0.04 * k for k in range(1, 51)], [there] * 50)[1])
told["part"] = ended(goal([0.5], [[START[1]]], ["elbow"])[1])
told["turned"] = [*ended(goal([1.0], [[there[0], there[1] + 6.0 * math.pi]])[1]), *positions()]
told["not mine"] = ended(goal([1.0], [[0.0]], ["hand"])[1])
told["beyond"] = ended(goal([1.0], [[9.0, 0.0]])[1])
told["tolerance"] = ended(goal([0.05], [[there[0] - 0.6, START[1]]],
                               path_tolerance=[JointTolerance(name="shoulder", position=0.02)])[1])
handle, result, _ = goal([3.0], [there])
idle(1.0)
began = time.monotonic()
told["cancel"] = [wait(handle.cancel_goal_async()).return_code, time.monotonic() - began, *ended(result)]
other = rclpy.create_node("other")
cancel = other.create_client(CancelGoal, f"{ACTION}/_action/cancel_goal")
assert cancel.wait_for_service(20.0)
_, result, _ = goal([30.0], [START[:2]])
bad = [ended(goal([1.0], [[0.0]], ["hand"])[1])[0] for _ in range(100)]
began, every = time.monotonic(), cancel.call_async(CancelGoal.Request())
rclpy.spin_until_future_complete(other, every, timeout_sec=20.0)
told["all"] = [every.result().return_code, time.monotonic() - began, *ended(result), len(bad)]
_, result, _ = goal([3.0], [START[:2]])
idle(0.5)
began = time.monotonic()
_, second, _ = goal([1.5], [there])
told["preempted"] = [*ended(result), time.monotonic() - began]
gripped = wait(grip.send_goal_async(GripperCommand.Goal(command=Grip(position=START[2] + 0.2))))
done = wait(gripped.get_result_async())
told["gripped"] = [done.status, done.result.reached_goal, done.result.position]
told["second"] = ended(second)
told["gripper's path"] = ended(goal([0.5], [[START[2] + 0.1]], ["wrist"], wrist)[1])
heard["/joint_states"].clear()
idle(1.0)
told["states a second"] = len(heard["/joint_states"])
topic.publish(trajectory([0.5, 1.0], [START[:2], there], ARM))
idle(1.6)
told["by topic"] = positions()
told["described"] = heard["/robot_description"][0].data[:200]
told["diagnosed"] = [row.value for row in heard["/diagnostics"][-1].status[0].values]
goal([2.0], [START[:2]])
print(json.dumps(told), flush=True)
os._exit(0)  # the client exits; the goal is played to its end
