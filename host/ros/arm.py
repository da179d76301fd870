"""A board as a ROS 2 node: state, description, diagnostics, services, and trajectories from a topic or an action.

Everything of the board is done in one thread, by `step`. A trajectory is sampled on frames of FRAME and sent as chunks
of live targets that lie AHEAD: the board keeps every limit, whatever is asked for.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from femtorque.codegen.common.errors import BadInput, Refused
from femtorque.codegen.wire import messages
from femtorque.codegen.wire.messages import Status
from femtorque.codegen.wire.names import fault_words, state_name
from femtorque.host.board import Board
from femtorque.host.live.following import Following, board_status
from femtorque.host.record.robot import robot_description
from femtorque.host.ros.files import COMMANDS
from femtorque.host.ros.goals import ABORTED, CANCELED, GOAL_TOLERANCE, PATH_TOLERANCE, SUCCEEDED, Goal, Goals, stamp
from femtorque.host.ros.interfaces import TRIGGER, message
from femtorque.host.ros.joints import Joints
from femtorque.host.ros.motion import INVALID_GOAL, OLD_STAMP, Invalid, Motion, read, seconds

if TYPE_CHECKING:
    from femtorque.host.ros.node import Node
    from femtorque.host.ros.rclpy_node import RclpyNode

Array = NDArray[np.float64]

FRAME, AHEAD, MOST = 0.02, 0.5, 25  # s between targets, s that they lie ahead, targets of a chunk
LIVE = 0.1  # s: a message of one point due no later is a live target, as MoveIt Servo sends them
FEEDBACK, DIAGNOSTICS = 0.05, 1.0  # s between two
GRACE = 2.0  # s after its end in which a goal without a time tolerance must be reached
BRAKED = 2.0  # s in which joints that were stopped are at rest
SETTLED = 0.1  # s after the last target: the joints are at rest
TRAJECTORY, POINT = "trajectory_msgs/msg/JointTrajectory", "trajectory_msgs/msg/JointTrajectoryPoint"
OK, WARN, ERROR = 0, 1, 2  # diagnostic_msgs/msg/DiagnosticStatus


class Arm:
    """board: connected with its mechanism. say: takes lines for the user."""

    def __init__(self, board: Board, node: Node | RclpyNode, controller: str, say: Callable[[str], None]) -> None:
        assert board.mechanism is not None
        self.board, self.mechanism, self._say = board, board.mechanism, say
        self.names = [joint.name for joint in self.mechanism.streamed]
        self._clock = board.session.clock
        self._joints = Joints(self.mechanism)
        self._following: Following | None = None
        self._motion: Motion | None = None
        self._began, self._sent = 0.0, 0  # s of the clock; frames of the motion that have been sent
        self._newest: Status | None = None
        self._shown = ("", -math.inf)  # state and fault of the last diagnostics, and their time
        self._fed = -math.inf
        self._states = node.publisher("/joint_states", "sensor_msgs/msg/JointState")
        self._diagnostics = node.publisher("/diagnostics", "diagnostic_msgs/msg/DiagnosticArray")
        description = node.publisher("/robot_description", "std_msgs/msg/String", latched=True)
        description.publish(message("std_msgs/msg/String", data=robot_description(self.mechanism)))
        self.goals = Goals(node, controller, self.names, self._begin, self.stop, GRACE)
        node.subscribe(f"/{controller}/joint_trajectory", TRAJECTORY, self._heard)
        node.subscribe(f"/{node.name}/{COMMANDS}", "sensor_msgs/msg/JointState", self._commanded)
        for name, done in (("home", self._home), ("arm", board.arm), ("disarm", self._disarm), ("clear", board.clear)):
            node.serve(f"/{node.name}/{name}", TRIGGER, self._service(name, done))
        self._node = node
        board.session.listeners.append(self._take)

    def close(self) -> None:
        """Stop what moves."""
        self.board.session.listeners.remove(self._take)
        if self._following is not None:
            self.goals.end(ABORTED, INVALID_GOAL, "the node ends")
            self.stop()

    def step(self) -> None:
        """One round: hear, send, publish. Raises Refused where the board is silent."""
        self.board.session.pump()
        self._node.handle()
        self._send()
        status, self._newest = self._newest, None
        if status is not None:
            self._publish(status)
        self._watch()
        self._diagnose()

    def stop(self) -> None:
        """Each joint brakes at once and is held."""
        following, self._following, self._motion = self._following, None, None
        if following is not None:
            following.__exit__(Refused, None, None)

    # ---- motions
    def _begin(self, trajectory: Any, goal: Goal | None = None) -> None:
        """Begin a motion, which replaces what moves. Raises Invalid."""
        if not self.board.session.in_state("HOLD", "FOLLOW"):
            raise Invalid(INVALID_GOAL, f"the arm is not held: {self.board.session.describe()}; "
                                        f"the service /{self._node.name}/arm arms it")
        now = self._clock.now()
        motion = read(trajectory, self.mechanism.streamed, self._here(now))
        began = now
        if at := seconds(trajectory.header.stamp):
            began += at - time.time()
            if began + motion.duration < now:
                raise Invalid(OLD_STAMP, "the trajectory ended before it came")
        if self.goals.active is not None:
            self.goals.end(CANCELED, INVALID_GOAL, "another trajectory came")
        try:
            self._follow()
        except (BadInput, Refused) as error:
            raise Invalid(INVALID_GOAL, str(error)) from None
        self._motion, self._began = motion, began
        self._sent = max(0, math.ceil((now - began) / FRAME))
        self._send()

    def _heard(self, trajectory: Any) -> None:
        """A trajectory of the topic. One that cannot be executed is reported, and nothing moves."""
        try:
            if len(trajectory.points) == 1 and seconds(trajectory.points[0].time_from_start) <= LIVE:
                self._live(trajectory.joint_names, trajectory.points[0].positions)
            else:
                self._begin(trajectory)
        except Invalid as error:
            self._say(f"joint_trajectory: {error}")
        except (BadInput, Refused) as error:
            self._say(str(error))

    def _commanded(self, command: Any) -> None:
        """Positions of ros2_control's topic system: a live target. An arm that is not held leaves them, as they come
        all the time."""
        if not self.board.session.in_state("HOLD", "FOLLOW") or not np.all(np.isfinite(command.position)):
            return
        try:
            self._live(command.name, command.position)
        except (BadInput, Invalid, Refused) as error:
            self._say(f"{COMMANDS}: {error}")

    def _live(self, names: Any, positions: Any) -> None:
        """Positions that are due at once: a live target."""
        if not self.board.session.in_state("HOLD", "FOLLOW"):
            raise Invalid(INVALID_GOAL, f"the arm is not held: {self.board.session.describe()}")
        alone = message(TRAJECTORY, joint_names=names, points=[message(POINT, positions=positions)])
        target = read(alone, self.mechanism.streamed, self._here(self._clock.now())).positions[-1]
        if self.goals.active is not None:
            self.goals.end(CANCELED, INVALID_GOAL, "a live target came")
        self._motion = None
        self._follow().send(target)

    def _here(self, now: float) -> tuple[Array, Array]:
        """Positions and velocities (J,) of what the joints are asked to do now."""
        if self._motion is not None and now >= self._began:
            return self._motion.at(now - self._began)
        return board_status(self.board.session).targets, np.zeros(len(self.names))

    def _follow(self) -> Following:
        """The board in FOLLOW, or asked for it again by the next target."""
        flags = self.board.session.status.flags
        if self._following is not None and self.board.session.in_state("HOLD") \
                and not flags & messages.FLAGS["UNDERRUN"][0]:
            self.stop()
        if self._following is None:
            self.board.session.wait(lambda: not self.board.session.in_state("FOLLOW"), BRAKED, "is not at rest")
            following = self.board.follow()
            following.__enter__()
            self._following = following
        return self._following

    def _send(self) -> None:
        """Targets of the motion until AHEAD."""
        if self._motion is None or self._following is None:
            return
        now, last = self._clock.now(), math.ceil(self._motion.duration / FRAME)
        until = min(last, math.ceil((now + AHEAD - self._began) / FRAME))
        if until - self._sent < MOST // 2 and until < last or self._sent > last:
            return
        frames = np.arange(self._sent, min(until, self._sent + MOST - 1) + 1)
        ahead = self._began + frames * FRAME - now
        rows = [self._motion.at(frame * FRAME) for frame in frames]
        keep = ahead >= 0.0
        if keep.any():
            try:
                self._following.chunk(ahead[keep], np.array([q for q, _ in rows])[keep],
                                      np.array([v for _, v in rows])[keep], t=now)
            except (BadInput, Refused) as error:
                self._failed(str(error))
                return
        self._sent = int(frames[-1]) + 1

    def _failed(self, line: str) -> None:
        self._say(line)
        self.goals.end(ABORTED, PATH_TOLERANCE, line)
        self.stop()

    # ---- the active goal
    def _watch(self) -> None:
        """Look after the active goal: feedback, tolerances, its end."""
        goal, motion, now = self.goals.active, self._motion, self._clock.now()
        session = self.board.session
        if session.in_state("FAULT", "ESTOP", "DISARMED", "HELD") and (goal or self._following):
            self._failed(f"the motion ended: {session.describe()}")
            return
        if goal is None or motion is None:
            return
        t = now - self._began
        status = board_status(session)
        error = status.targets - status.positions
        if session.followed is not None and session.in_state("FOLLOW"):
            error = error - np.array(session.followed.behind, float)
        if now - self._fed >= FEEDBACK and t >= 0.0:
            self._fed = now
            self.goals.feedback(motion.at(t), (status.positions, status.velocities), error, t)
        if np.any(np.abs(error) > goal.path):
            k = int(np.argmax(np.abs(error) / goal.path))
            self._failed_by(PATH_TOLERANCE, f"{self.names[k]} is {abs(error[k]):.4g} off its path, more than "
                                            f"{goal.path[k]:.4g}")
            return
        if t < motion.duration + SETTLED:
            return
        off = np.abs(motion.positions[-1] - status.positions)
        if np.all(off <= goal.place):
            self._motion = None
            self.goals.end(SUCCEEDED, 0, "")
        elif t > motion.duration + goal.grace:
            k = int(np.argmax(off / goal.place))
            self._failed_by(GOAL_TOLERANCE, f"{self.names[k]} is {off[k]:.4g} off its goal, more than "
                                            f"{goal.place[k]:.4g}, {goal.grace:g} s after its end")

    def _failed_by(self, code: int, line: str) -> None:
        self._say(line)
        self.stop()
        self.goals.end(ABORTED, code, line)

    # ---- services
    def _home(self) -> None:
        self.board.home()

    def _disarm(self) -> None:
        self.goals.end(ABORTED, INVALID_GOAL, "the arm was disarmed")
        self.stop()
        self.board.disarm()

    def _service(self, name: str, done: Callable[[], None]) -> Callable[[Any, Callable[[Any], None]], None]:
        def answer(request: Any, reply: Callable[[Any], None]) -> None:
            try:
                done()
            except (BadInput, Refused) as error:
                reply(message(f"{TRIGGER}_Response", success=False, message=str(error)))
            else:
                reply(message(f"{TRIGGER}_Response", success=True, message=self.board.session.describe()))

        return answer

    # ---- topics
    def _take(self, status: Status) -> None:
        self._newest = status

    def _publish(self, status: Status) -> None:
        seen = board_status(self.board.session)
        positions, velocities = self._joints.at(seen.positions, seen.velocities)
        self._states.publish(message(
            "sensor_msgs/msg/JointState", header=message("std_msgs/msg/Header", stamp=stamp()), name=self._joints.names,
            position=positions, velocity=velocities, effort=self._joints.efforts(seen.torques)))

    def _diagnose(self) -> None:
        """State and fault, at once when they change, else once a second."""
        status, now = self.board.session.status, self._clock.now()
        fault = fault_words(status, self.board.session.joint(status.fault_joint)) if status.fault else ""
        words = f"{state_name(status)} {fault}".strip()
        if words == self._shown[0] and now - self._shown[1] < DIAGNOSTICS:
            return
        self._shown = (words, now)
        seen = board_status(self.board.session)
        level = ERROR if fault or seen.state == "ESTOP" else OK if "HOMED" in seen.flags else WARN
        values = {"state": seen.state, "fault": seen.fault, "joint": seen.joint, "homed": str("HOMED" in seen.flags),
                  "supply, V": f"{1e-3 * status.bus_mv:.2f}", "unreadable messages": str(self._node.refused)}
        rows = [message("diagnostic_msgs/msg/KeyValue", key=key, value=value) for key, value in values.items()]
        about = self.board.session.about
        told = message("diagnostic_msgs/msg/DiagnosticStatus", level=level, name=f"{self._node.name}: board",
                       message=words, hardware_id=bytes(about.unique).hex() if about else "", values=rows)
        self._diagnostics.publish(message("diagnostic_msgs/msg/DiagnosticArray", status=[told],
                                          header=message("std_msgs/msg/Header", stamp=stamp())))
