"""A board as a ROS 2 node: state, description, diagnostics, services, and controllers of the joints. Only the thread
that calls `step` communicates with the board. The motions of the controllers are sampled every FRAME seconds. The
samples are sent in chunks, AHEAD seconds before their times. The board keeps every limit."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from femtorque.codegen.common import Array, BadInput, Refused
from femtorque.codegen.wire import Followed, Status, fault_words, messages, state_name
from femtorque.host.board import Board
from femtorque.host.live import Following, board_status
from femtorque.host.record import robot_description
from femtorque.host.ros.controller import Controller, Seen
from femtorque.host.ros.files import COMMANDS, split
from femtorque.host.ros.goals import ABORTED, PATH_TOLERANCE, AnyNode, stamp
from femtorque.host.ros.interfaces import TRIGGER, message
from femtorque.host.ros.joints import Joints
from femtorque.host.ros.motion import INVALID_GOAL, Invalid, Motion

FRAME, AHEAD, MOST = 0.02, 0.5, 25  # time between targets, s; time that targets are sent ahead, s; targets per chunk
DIAGNOSTICS = 1.0  # time between two messages, s
BRAKED = 2.0  # maximum time until braked joints are at rest, s
VELOCITY = messages.FOLLOW_LIMITS["VELOCITY"][0]
OK, WARN, ERROR = 0, 1, 2  # diagnostic_msgs/msg/DiagnosticStatus


class Arm:
    """board: connected with its mechanism. controller: its name. gripper: a second controller's joint."""

    def __init__(self, board: Board, node: AnyNode, controller: str, say: Callable[[str], None],
                 gripper: str = "") -> None:
        assert board.mechanism is not None
        self.board, self.mechanism, self._print = board, board.mechanism, say
        self.names = [joint.called for joint in self.mechanism.streamed]
        self._clock = board.session.clock
        self._joints = Joints(self.mechanism)
        self._following: Following | None = None
        self._origin, self._sent = 0.0, 0  # time of frame 0, s; number of frames that were sent
        self._newest: Status | None = None
        self._kept = np.zeros(len(self.names))  # 1 if the board has limited the joint's velocity in this motion
        self._judged: Followed | None = None  # the last report that was used to update _kept
        self._shown = ("", -math.inf)  # state, fault and time of the last diagnostics message
        self._said = ("", -math.inf)  # last printed line and its time
        self._states = node.publisher("/joint_states", "sensor_msgs/msg/JointState")
        self._diagnostics = node.publisher("/diagnostics", "diagnostic_msgs/msg/DiagnosticArray")
        description = node.publisher("/robot_description", "std_msgs/msg/String", latched=True)
        description.publish(message("std_msgs/msg/String", data=robot_description(self.mechanism)))
        self.controllers = [
            Controller(self, node, name, [self.mechanism.streamed[k] for k in columns], columns, grips, self._say)
            for name, columns, grips in split(self.mechanism, controller, gripper)]
        node.subscribe(f"/{node.name}/{COMMANDS}", "sensor_msgs/msg/JointState", self._commanded)
        for name, done in (("home", self._home), ("arm", self._arm), ("disarm", self._disarm), ("clear", self._clear)):
            node.serve(f"/{node.name}/{name}", TRIGGER, self._service(name, done))
        self._node = node
        board.session.listeners.append(self._take)

    def close(self) -> None:
        self.board.session.listeners.remove(self._take)
        if self._following is not None:
            why = sys.exc_info()[1]
            self._end(INVALID_GOAL, f"the node ends: {why}" if why else "the node ends")
            self.stop()

    def step(self) -> None:
        """Run one round: receive, send, publish. Raises Refused if the board is silent."""
        self.board.session.pump()
        self._node.handle()
        self._send()
        status, self._newest = self._newest, None
        if status is not None:
            self._publish(status)
        self._watch()
        self._diagnose()

    def stop(self) -> None:
        """Brake all joints together, and hold them."""
        following, self._following = self._following, None
        for controller in self.controllers:
            controller.motion = None
        if following is not None:
            following.__exit__(Refused, None, None)

    # ---- motions
    def now(self) -> float:
        return self._clock.now()

    def ready(self) -> None:
        """Raise Invalid unless the board holds the arm."""
        session, name = self.board.session, self._node.name
        if not session.in_state("HOLD", "FOLLOW"):
            way = f"services /{name}/clear and /{name}/arm arm" if session.in_state("FAULT", "ESTOP") else \
                f"service /{name}/arm arms"
            raise Invalid(INVALID_GOAL, f"the arm is not armed: {session.describe()}; the {way} it")

    def here(self, controller: Controller) -> tuple[Array, Array]:
        """Return the present target positions and velocities (K,) of a controller's joints."""
        now = self.now()
        if controller.moving(now) and (asked := controller.asked(now)):
            return asked
        return board_status(self.board.session).targets[controller.columns], np.zeros(len(controller.columns))

    def play(self, controller: Controller, motion: Motion, began: float | None) -> None:
        """Start a controller's motion. began: its time 0; None: when the board follows. Raises Invalid."""
        try:
            following = self._follow()
            began = self.now() if began is None else began
            controller.motion, controller.began = motion, began
            self._kept[controller.columns], self._judged = 0.0, self.board.session.followed
            now = self.now()
            self._origin, self._sent = began, max(0, math.ceil((now - began) / FRAME))
            if any(one.moving(now) for one in self.controllers):
                self._send()
            else:
                following.send(self._asked(now)[0])
                self._sent += 1
        except (BadInput, Refused) as error:
            raise Invalid(INVALID_GOAL, str(error)) from None

    def _asked(self, t: float) -> tuple[Array, Array]:
        """Return the target positions and velocities (J,) at time t. Joints without a motion keep their targets."""
        q, v = board_status(self.board.session).targets, np.zeros(len(self.names))
        for one in self.controllers:
            if asked := one.asked(t):
                q[one.columns], v[one.columns] = asked
        return q, v

    def _say(self, line: str) -> None:
        """Print a line. A sender that repeats its error does not fill the terminal."""
        now = self.now()
        if line != self._said[0] or now - self._said[1] >= DIAGNOSTICS:
            self._said = (line, now)
            self._print(line)

    def _commanded(self, command: Any) -> None:
        """Take positions from ros2_control's topic system as a live target. A disarmed arm ignores the target."""
        if not self.board.session.in_state("HOLD", "FOLLOW") or not np.all(np.isfinite(command.position)):
            return
        told = dict(zip(command.name, command.position, strict=True))
        try:
            if unknown := set(told) - set(self.names):
                raise Invalid(INVALID_GOAL, f"the joints are {', '.join(self.names)}, not {', '.join(unknown)}")
            for one in self.controllers:
                mine = [name for name in one.names if name in told]
                if mine:
                    one.live(mine, [told[name] for name in mine])
        except (BadInput, Invalid, Refused) as error:
            self._say(f"{COMMANDS}: {error}")

    def _follow(self) -> Following:
        """Return the sender of live targets. If the board has left FOLLOW, the next target requests FOLLOW again."""
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
        """Send the targets of the motions for the next AHEAD seconds."""
        ends = [one.began + one.motion.duration for one in self.controllers if one.motion is not None]
        if self._following is None or not ends:
            return
        now, last = self.now(), math.ceil((max(ends) - self._origin) / FRAME)
        until = min(last, math.ceil((now + AHEAD - self._origin) / FRAME))
        if until - self._sent < MOST // 2 and until < last or self._sent > last:
            return
        frames = np.arange(self._sent, min(until, self._sent + MOST - 1) + 1)
        frames = frames[self._origin + frames * FRAME >= now]
        if len(frames):
            at = self._origin + frames * FRAME
            rows = [self._asked(t) for t in at.tolist()]
            try:
                self._following.chunk(at - now, np.array([q for q, _ in rows]), np.array([v for _, v in rows]), t=now)
            except (BadInput, Refused) as error:
                self._failed(str(error))
                return
        self._sent = min(until, self._sent + MOST - 1) + 1

    def _failed(self, line: str) -> None:
        self._say(line)
        self._end(PATH_TOLERANCE, line)
        self.stop()

    def _end(self, code: int, line: str) -> None:
        for one in self.controllers:
            one.end(ABORTED, code, line)

    def _watch(self) -> None:
        session = self.board.session
        if session.in_state("FAULT", "ESTOP", "DISARMED", "HELD") and (
                self._following or any(one.active for one in self.controllers)):
            self._failed(f"the motion ended: {session.describe()}")
            return
        seen = self._seen()
        for one in self.controllers:
            if line := one.watch(self.now(), seen.of(one.columns)):
                self._say(line)
                self.stop()

    def _seen(self) -> Seen:
        session, status = self.board.session, board_status(self.board.session)
        off = status.targets - status.positions
        if session.followed is not None and session.in_state("FOLLOW"):
            off = off - np.array(session.followed.behind, float)
            if self._judged is not session.followed:
                self._judged = session.followed
                self._kept[[j for j, bits in enumerate(self._judged.limits) if bits & VELOCITY]] = 1.0
        slow = np.array(session.status.target_rate, float) - status.velocities
        return Seen(status.positions, status.velocities, status.torques, off, slow, self._kept)

    # ---- services
    def _home(self) -> None:
        try:
            self.board.home()
        except Refused:
            if self.board.session.in_state("FAULT", "ESTOP") or "HOMED" not in board_status(self.board.session).flags:
                raise
            raise Refused("the joints have their zeros, and are not at their start: homing is not "
                          f"needed; the service /{self._node.name}/arm arms the arm where it is") from None

    def _arm(self) -> None:
        if "HOMED" not in board_status(self.board.session).flags and not self.board.session.in_state("FAULT", "ESTOP"):
            raise Refused("the joints have no zero yet: put them at their start pose, where the service "
                          f"/{self._node.name}/home homes them")
        self.board.arm()

    def _disarm(self) -> None:
        self._end(INVALID_GOAL, "the arm was disarmed")
        self.stop()
        self.board.disarm()

    def _clear(self) -> None:
        self.board.clear()
        if self.board.session.in_state("HELD"):
            raise Refused(f"{self.board.session.describe()}; the service /{self._node.name}/arm takes the arm over")

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
        """Publish state and fault once a second, and immediately after each change."""
        status, now = self.board.session.status, self._clock.now()
        fault = fault_words(status, self.board.session.joint(status.fault_joint)) if status.fault else ""
        words = f"{state_name(status)} {fault}".strip()
        if words == self._shown[0] and now - self._shown[1] < DIAGNOSTICS:
            return
        self._shown = (words, now)
        seen = board_status(self.board.session)
        level = ERROR if fault or seen.state == "ESTOP" else OK if "HOMED" in seen.flags else WARN
        values = {"state": seen.state, "fault": seen.fault, "joint": seen.joint, "homed": str("HOMED" in seen.flags),
                  "supply, V": f"{1e-3 * status.bus_mv:.2f}", "unreadable messages": str(self._node.refused),
                  "the last of these": self._node.why}
        rows = [message("diagnostic_msgs/msg/KeyValue", key=key, value=value) for key, value in values.items()]
        about = self.board.session.about
        told = message("diagnostic_msgs/msg/DiagnosticStatus", level=level, name=f"{self._node.name}: board",
                       message=words, hardware_id=bytes(about.unique).hex() if about else "", values=rows)
        self._diagnostics.publish(message("diagnostic_msgs/msg/DiagnosticArray", status=[told],
                                          header=message("std_msgs/msg/Header", stamp=stamp())))
