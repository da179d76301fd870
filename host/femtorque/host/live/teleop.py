"""Makes an arm follow another arm that a user moves by hand. Also moves an arm's tip by keys or a gamepad."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from femtorque.codegen.common import Array, BadInput, hint
from femtorque.codegen.mechanism import Mechanism
from femtorque.host.link import Errors, Session, float_arm
from femtorque.host.live.following import Following
from femtorque.host.live.gamepad import PadJog
from femtorque.host.live.jog import TipJog

HZ = 100.0  # targets a second
HELD = 0.15  # time after each press for which a key counts as held, s; terminals do not report releases
AXES = {"w": (0, 1.0), "s": (0, -1.0), "a": (1, 1.0), "d": (1, -1.0), "e": (2, 1.0), "c": (2, -1.0)}
QUIT = ("q", "\x03", "\x04")


@dataclass(frozen=True)
class Leading:
    """For each joint of the follower: the leader's joint (-1: none, the joint stays), factor, offset, rad or m."""

    joints: tuple[int, ...]
    scale: Array
    offset: Array

    @staticmethod
    def of(leader: Mechanism, follower: Mechanism, scale: Mapping[str, float], offset: Mapping[str, float],
           names: Mapping[str, str]) -> Leading:
        """Match the joints of both arms by name. `names` maps names of the follower to different names of the leader.
        Raises BadInput for unknown names. Raises BadInput if no joint of the follower has a leader."""
        theirs, own = [j.name for j in leader.streamed], [j.name for j in follower.streamed]
        for known, whose, given in ((own, "follower", [*scale, *offset, *names]), (theirs, "leader", names.values())):
            for name in given:
                if name not in known:
                    raise BadInput("teleop", "joint", name, f"no such joint of the {whose}",
                                   hint(name, known, "joints"))
        led = [names.get(name, name) for name in own]
        found = tuple(theirs.index(name) if name in theirs else -1 for name in led)
        if max(found, default=-1) < 0:
            raise BadInput("teleop", "joints", None, "no joint of the leader has the name of a follower's joint",
                           "--lead FOLLOWER=LEADER, for each pair")
        return Leading(found, np.array([scale.get(name, 1.0) for name in own]),
                       np.array([offset.get(name, 0.0) for name in own]))

    def target(self, led: Array, stay: Array) -> Array:
        """Return the follower's positions (J,) for the leader's (J,). Joints without a leader keep their positions."""
        return np.array([stay[k] if i < 0 else s * led[i] + o
                         for k, (i, s, o) in enumerate(zip(self.joints, self.scale, self.offset, strict=True))])


def lead(leader: Session, f: Following, leading: Leading, friction: int, until: Callable[[], bool],
         behind: Errors) -> int:
    """Put the armed leader into FLOAT, and send its positions as targets to the follower. `until` ends the motion.
    behind: collects the follower's distances from the leader. Returns the number of targets."""
    clock, sent = leader.clock, 0
    stay, next_at = f.session.held(), clock.now()

    def on() -> bool:
        nonlocal sent, next_at
        if until():
            return True
        if clock.now() >= next_at:
            target = leading.target(leader.positions(), stay)
            f.send(target)
            behind.add(target - f.session.positions())
            sent, next_at = sent + 1, max(next_at + 1.0 / HZ, clock.now())
        return False

    float_arm(leader, friction, on)
    return sent


class Keys:
    """A tip's velocity by keys, base frame: w, s along x; a, d along y; e, c along z; q ends. A key acts for a short
    time. pressed: returns the keys since its last call. speed: velocity of the tip, m/s."""

    def __init__(self, pressed: Callable[[], str], speed: float) -> None:
        self._pressed, self._speed = pressed, speed
        self._until = dict[str, float]()
        self.over = False

    def velocity(self, now: float) -> Array | None:
        for key in self._pressed():
            self.over |= key in QUIT
            if key in AXES:
                self._until[key] = now + HELD
        velocity = np.zeros(3)
        for key, end in self._until.items():
            if end > now:
                axis, sign = AXES[key]
                velocity[axis] += sign * self._speed
        return velocity


def jog_tip(f: Following, tip: TipJog, source: Keys | PadJog, until: Callable[[], bool]) -> int:
    """Move a tip at a source's velocities; None sends no target. Returns the number of targets."""
    clock, sent, rests = f.session.clock, 0, False
    while not until():
        velocity = source.velocity(clock.now())
        if source.over:
            break
        if velocity is None:
            rests = True
        else:
            if rests:
                tip.q, rests = f.session.held(), False
            f.send(*tip.move(velocity, 1.0 / HZ))
            sent += 1
        f.wait(1.0 / HZ)
    return sent
