"""Couples two arms with force feedback: hand and contact forces act on one common motion.

Both boards follow the positions of a massless body with damping b: velocity = (external torque at the leader + external
torque at the follower) / b, joint by joint. So two channels carry torques to this host, and two carry the common motion
to the arms, all with delays. An arm that is held acts like a spring k with damping kv, the gains of its board's PD law;
both arms held react by at most the sums of k and kv. With d the total delay, the loop (k + s kv) exp(-s d) / (s b) is
stable for b = 2 (k d + kv): from 1 / d rad/s on, its gain is at most 1/2; below, its phase lag is at most 90 degrees
plus 1 rad. So a longer delay makes both arms harder to move."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from femtorque.codegen.common import Array, Refused
from femtorque.codegen.control import Motors, follow_limits
from femtorque.codegen.mechanism import Mechanism
from femtorque.codegen.wire import STATUS_HZ
from femtorque.host.link import Errors, Feeling, feeling
from femtorque.host.live.following import Following
from femtorque.host.live.teleop import Leading

HZ = 100.0  # positions a second
MARGIN = 2.0  # of gain
MEMORY = 1.0  # time over which the largest delay is used, s
SETTLING = 1.0  # time for which both arms are held while the delay is measured, s
# fraction of the velocity limit: a leader's joint must reach this velocity with the joint's maximum effort
SLOWLY = 0.1
FELT = 2.0 / STATUS_HZ  # time between two reports of external torques, s


class Delay:
    """Delay, s, from an external torque on an arm until this host receives the arm's reaction: the measured round trip
    of the newest target that a report counts, plus FOLLOW's delay, the board's filter, and the periods of reports and
    positions."""

    def __init__(self, f: Following, mechanism: Mechanism) -> None:
        assert mechanism.feel is not None
        self._f = f
        self._rest = 1.0 / (2.0 * np.pi * mechanism.feel.bandwidth_hz) + FELT + 1.0 / HZ
        self._sent = deque[float](maxlen=1000)  # moments
        self._tick = -1
        self._known = deque[tuple[float, float]]()

    def send(self, q: Array, v: Array) -> None:
        """Send positions and velocities (J,) as a target, and read the reports."""
        self._f.send(q, v)
        now, told = self._f.session.clock.now(), self._f.session.followed
        self._sent.append(now)
        if told is not None and told.tick != self._tick:
            self._tick = told.tick
            behind = min(max(self._f.sent - told.targets - told.lost, 0), len(self._sent) - 1)
            self._known.append((now, now - self._sent[-1 - behind] + 1e-6 * told.delay))
        while self._known and now - self._known[0][0] > MEMORY:
            self._known.popleft()

    @property
    def seconds(self) -> float:
        """The longest delay in the last second; infinite if unknown."""
        return max((seconds for _, seconds in self._known), default=np.inf) + self._rest


@dataclass(frozen=True)
class Coupling:
    """The pairs of a leader's joint and a follower's joint. stiffness, damping (J,): the gains of both arms' PD laws,
    added, at the leader's joint (N m/rad and N m s/rad, or N/m and N s/m). A joint without a follower has 0. lower,
    upper, velocity, effort (J,): the stricter limit of the two arms."""

    leading: Leading
    stiffness: Array
    damping: Array
    lower: Array
    upper: Array
    velocity: Array
    effort: Array

    @staticmethod
    def of(leader: Mechanism, follower: Mechanism, leading: Leading) -> Coupling:
        """Raises Refused if an arm has no [feel] table or reacts to contacts, or if a joint leads two joints."""
        for arm in (leader, follower):
            if arm.feel is None or arm.feel.reaction != "none":
                raise Refused(f'{arm.name}: an arm that feels another arm needs a [feel] table with reaction = "none": '
                              "the other arm is the reaction")
        for i, joint in enumerate(leader.streamed):
            led = [own.name for own, k, s in zip(follower.streamed, leading.joints, leading.scale, strict=True)
                   if k == i and s]
            if len(led) > 1:
                raise Refused(f"{leader.name}: {joint.name} leads {' and '.join(led)}: where arms feel each other, a "
                              "joint leads one joint")
        strong = Motors.of(leader).effort.tolist()
        top = [[limits.velocity for limits in follow_limits(arm)] for arm in (leader, follower)]
        rows = []
        for joint, fast, i, s, o in zip(follower.streamed, top[1], leading.joints, leading.scale, leading.offset,
                                        strict=True):
            if i < 0 or not s:
                rows.append([0.0] * 6)
                continue
            own = leader.streamed[i]
            ends = sorted(((joint.limits.lower - o) / s, (joint.limits.upper - o) / s))
            rows.append([own.gains.ku + s**2 * joint.gains.ku, own.gains.kv + s**2 * joint.gains.kv,
                         max(own.limits.lower, ends[0]), min(own.limits.upper, ends[1]),
                         min(top[0][i], fast / abs(s)), strong[i]])
        return Coupling(leading, *np.array(rows).T)

    def drag(self, delay: float) -> Array:
        """Return b (J,), N m s/rad or N s/m, at the leader's joints."""
        return MARGIN * (self.stiffness * delay + self.damping)

    def heavy(self, delay: float) -> NDArray[np.bool_]:
        """Return (J,): True if the leader's maximum effort cannot overcome the damping even at low velocity."""
        return self.drag(delay) * SLOWLY * self.velocity > self.effort

    def torque(self, leader: Following, follower: Following) -> Array:
        """Return the external torques on both arms at the leader's joints (J,), without those below the thresholds."""
        led, own = (_beyond(feeling(f.session)) for f in (leader, follower))
        return np.array([0.0 if i < 0 else led[i] + s * own[k]
                         for k, (i, s) in enumerate(zip(self.leading.joints, self.leading.scale, strict=True))])


class Pair:
    """Two coupled arms. Both arms are in FOLLOW."""

    def __init__(self, coupling: Coupling, leader: Following, follower: Following, arms: tuple[Mechanism, Mechanism],
                 ) -> None:
        """arms: mechanisms of the leader and the follower."""
        self._coupling, self._f = coupling, (leader, follower)
        self._delays = Delay(leader, arms[0]), Delay(follower, arms[1])
        self._held = tuple(f.session.held() for f in self._f)
        # common positions (J,), at the leader's joints
        self.x = np.array([self._held[0][max(i, 0)] for i in coupling.leading.joints])
        self.sent = 0

    @property
    def delay(self) -> float:
        """The larger of the two arms' delays, s."""
        return max(delay.seconds for delay in self._delays)

    def measure(self) -> bool:
        """Hold both arms, measure the delay, and move the follower to the leader. True if the delay is short enough."""
        for _ in range(round(SETTLING * HZ)):
            self._send(np.zeros(len(self.x)))
        return not np.any(self._coupling.heavy(self.delay))

    def words(self) -> str:
        joints, delay = self._f[0].joints, self.delay
        drag, heavy = self._coupling.drag(delay), self._coupling.heavy(delay)
        each = [f"{joints[i].name} {drag[k]:.3g} N {'s/m' if joints[i].type == 'prismatic' else 'm s/rad'}"
                f"{' (too much for its effort)' if heavy[k] else ''}"
                for k, i in enumerate(self._coupling.leading.joints) if self._coupling.stiffness[k]]
        return f"delay {1e3 * delay:.0f} ms, so the arms move like dampers: {', '.join(each)}"

    def step(self) -> None:
        """Move both arms in the direction of their external torques, or hold both if the delay is too long."""
        coupling, delay = self._coupling, self.delay
        v = np.zeros(len(self.x))
        if np.isfinite(delay) and not np.any(coupling.heavy(delay)):
            torque, drag = coupling.torque(*self._f), coupling.drag(delay)
            np.divide(torque, drag, out=v, where=drag > 0.0)
            v = np.clip(v, -coupling.velocity, coupling.velocity)
        self._send(v)

    def behind(self) -> Array:
        """Return the follower's distance (J,) from the position that the leader requires, rad or m."""
        led, own = (f.session.positions() for f in self._f)
        return self._coupling.leading.target(led, own) - own

    def _send(self, v: Array) -> None:
        """Move the common positions for one period at velocities (J,) within the limits, and send them to both arms."""
        coupling, before = self._coupling, self.x
        led = coupling.stiffness > 0.0
        self.x = np.where(led, np.clip(before + v / HZ, np.minimum(coupling.lower, before),
                                       np.maximum(coupling.upper, before)), before)
        v = (self.x - before) * HZ
        q, rates = self._held[0].copy(), np.zeros(len(self._held[0]))
        for k in np.flatnonzero(led):
            i = coupling.leading.joints[k]
            q[i], rates[i] = self.x[k], v[k]
        self._delays[0].send(q, rates)
        own = np.where(led, coupling.leading.scale * self.x + coupling.leading.offset, self._held[1])
        self._delays[1].send(own, np.where(led, coupling.leading.scale * v, 0.0))
        self.sent += 1
        self._f[0].wait(1.0 / HZ)


def _beyond(felt: Feeling) -> Array:
    """Return the amounts by which the external torques exceed the contact thresholds; 0 below the threshold."""
    return np.sign(felt.external) * np.maximum(np.abs(felt.external) - felt.threshold, 0.0)


def couple(pair: Pair, until: Callable[[], bool], behind: Errors) -> int:
    """Couple both arms until `until()`. behind: collects the follower's distances. Returns the number of targets."""
    while not until():
        pair.step()
        behind.add(pair.behind())
    return pair.sent
