"""A short tour, recorded throughout, in which a board executes its worst tick, for any mechanism. The causes: a
command, a stop or a fault while a hand guides the arm; arming at a zero that was just found; a motion that misses its
timing. tests/hil/cost/test_tick_budget.py compares a longer tour."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial

import numpy as np

from femtorque.codegen.common import Array, Refused
from femtorque.codegen.control import lab_row, unfollowed
from femtorque.codegen.mechanism import Home, Mechanism
from femtorque.codegen.motion import Knots
from femtorque.codegen.wire import (
    FOLLOW_AUTO, Float, Follow, Gains, Jog, Probe, Seek, Target, WithToken, flag, from_wire)
from femtorque.hil.board import GRIP, VirtualBoard, VirtualClock
from femtorque.hil.plant import counts_per_unit, rigid
from femtorque.hil.play import session_with
from femtorque.host.link import COLUMNS, PERIOD, Column, Configuration, Recorder, jog_rate, message

MOMENT = 0.02  # time of several STATUS frames, s
STILL = 25  # number of MOMENTs in which joints come to rest
DAMPED = 1.3  # speed of a damped floating joint, as a fraction of the speed at which damping begins
FAST = 2.0  # speed that is too fast, as a fraction of a joint's maximum speed
AHEAD = 20  # counts until the index pulse appears
FRAME = 20_000  # time between targets of a live stream, us
NEAR = 2**20  # wire units between successive targets
BAD = 2**30  # distance of two knots that no joint can follow, wire units


class Life:
    """A board with unpowered motors, and its host. motion: returns a motion from rest to rest that starts at (J,)."""

    def __init__(self, board: VirtualBoard, mechanism: Mechanism, motion: Callable[[Array], Knots],
                 feedforward: bool = True) -> None:
        self.board, self.mechanism, self.motion = board, mechanism, motion
        self.clock = VirtualClock(board)
        self.session = session_with(board, Configuration.of(mechanism, feedforward), self.clock)
        self.recorder = Recorder(self.session)
        self.float_speed = mechanism.safety.float_speed

    def live(self, on_part: Callable[[int, str], None] = lambda done, what: None) -> tuple[str, ...]:
        """Run all parts of the tour, without a verdict. on_part: called before each part with its number and name.
        Returns the parts of the tour that the board did not complete."""
        refused = []
        with suppress(Refused):
            self.session.connect()
            self.ready()
        for done, (what, part) in enumerate(PARTS.items()):
            on_part(done, what)
            try:
                part(self)
            except Refused:
                refused.append(what)
        self.session.close()
        return tuple(refused)

    # -- parts --------------------------------------------------------------------------------------------------------

    def is_stopped_and_runs_out(self) -> None:
        self.begins()
        self.wait(MOMENT)
        self.take("STOP")
        self.session.wait(lambda: self.session.in_state("HOLD"), 1.0, "does not stop")
        self.take("RESUME")
        self.session.wait(lambda: self.session.in_state("HOLD"), 1.0, "does not stop before its knots end")
        self.take("FLUSH")

    def jogs(self) -> None:
        rate = 0.1 * jog_rate(self.mechanism, 0)
        self.session.ask(Jog(0, 0, rate), "JOG")
        self.session.tell(Jog(0, 0, rate))
        self.wait(MOMENT)
        self.take("STOP")
        self.session.wait(lambda: self.session.in_state("HOLD"), 1.0, "does not hold")
        self.ask(Gains(0, 0, 64, 64, 64))

    def follows_targets(self) -> None:
        """Send smooth targets, targets outside the limits and late targets; then stop."""
        if unfollowed(self.mechanism):
            return
        self.session.ask(Follow(0, FOLLOW_AUTO, FRAME), "FOLLOW")
        start = np.array(self.session.status.target)
        ways = [0, 1, 2, 3, 4, 5, 400, -400, 400, 400, 0, 0, -400, 3, 2, 1, 0]
        for i, way in enumerate(ways):
            self.session.link.send(Target(0, 0, i * FRAME, 0, (start + way * NEAR).tolist(), [0.0] * len(start)))
            self.wait(2e-6 * FRAME if i == 9 else 1e-6 * FRAME)
        self.take("STOP")
        self.session.wait(lambda: self.session.in_state("HOLD", "FAULT"), 2.0, "does not stop following")

    def is_led_by_hand(self) -> None:
        for command in ("START", "STOP"):  # the board refuses START after all checks, and accepts STOP
            self.floats()
            self.seems_to_move(DAMPED * self.float_speed, partial(self.session.post, command))

    def finds_a_fault(self) -> None:
        """Inject a motion fault, after which the board holds the arm if the mechanism file requests it."""
        first, ack = message(self.motion(self.held()), 0), self.session.status.ack
        far = np.array(first.position) + BAD
        self.floats()
        if self.mechanism.safety.motion == "hold":
            self.seems_to_move(FAST)
        self.session.link.send(first, seq=ack)
        self.session.link.send(replace(first, flags=0, position=far.tolist()), seq=ack + 1)
        self.session.wait(lambda: self.session.in_state("FAULT"), 0.1, "takes a bad knot")

    def probes(self) -> None:
        if self.mechanism.safety.brake is not None:  # PROBE is refused then
            return
        self.rests()
        self.ask(Seek(0, 0))
        self.take("DISARM")
        for _ in range(STILL):  # open loops come a step closer in each tick
            self.wait(MOMENT)
            self.ask(Probe(0, 0, 0.0))
            if self.session.in_state("PROBE"):
                break
        self.session.ask(Probe(0, 0, 0.0), "PROBE")
        self.session.tell(Probe(0, 0, 0.05 * self.mechanism.streamed[0].limits.effort))
        self.wait(MOMENT)

    def is_armed_where_it_finds_a_zero(self) -> None:
        """If a joint seeks its index, home the other joints where they are and arm just before an index."""
        plant, joints = self.board.plant, self.mechanism.streamed
        seekers = [j for j, joint in enumerate(joints) if joint.encoder and joint.encoder.zero == "index"]
        if not seekers or not isinstance(plant, rigid.Plant):
            return
        self.settles()  # while the arm is held, because without power it would coast
        self.rests()
        self.session.home(plant.q)
        j = seekers[0]
        way = (joints[j].home or Home()).direction * AHEAD / abs(counts_per_unit(joints[j]))
        plant.indexes = {j: plant.q[j] + way}
        self.session.ask(Seek(0, j), "SEEK")
        self.session.wait(lambda: not flag(self.session.status, "SEEKING"), 5.0, "finds no index")
        self.settles()
        self.take("ARM")
        self.wait(MOMENT)

    def changes_modes(self) -> None:
        """Change to each mode soon after a motion starts, in poses that fit the mode and in poses that do not."""
        for mode in range(1, len(self.mechanism.modes)):
            self.begins(mode)
            self.session.wait(lambda: self.session.in_state("HOLD", "FAULT"), 1.0, "does not stop before its knots end")
            if not self.session.in_state("HOLD"):
                self.rests()
                self.ready()
            self.take("FLUSH")

    # -- pieces of the parts
    # -----------------------------------------------------------------------------------------------

    def ready(self) -> None:
        """Home the joints at their present positions, start the recording, and arm the board."""
        self.session.home(self.board.plant.q)
        n = len(self.mechanism.streamed)
        self.recorder.start([Column("torque_ff", j % n) for j in range(COLUMNS)], mode="RING")
        self.take("FLUSH")
        self.session.arm()

    def held(self) -> Array:
        """Return the positions at which the joints are held (J,), rad or m."""
        self.wait(MOMENT)
        return from_wire(self.session.status.target, self.session.configuration.joints)

    def begins(self, mode: int = 0) -> None:
        """Buffer a motion without its last knots and start it. mode: of all knots except the first eight."""
        motion, first = self.motion(self.held()), self.session.status.ack
        if mode:
            motion = replace(motion, mode=np.where(np.arange(len(motion)) < 8, 0, mode))
        sent = len(motion) - 2
        for i in range(sent):
            self.session.link.send(message(motion, i), seq=first + i)
            if i % 8 == 7:
                self.wait(PERIOD)
        self.session.wait(lambda: self.session.status.ack - first & 0xFFFF >= sent, 1.0, "takes no knots")
        self.session.start()

    def floats(self) -> None:
        self.session.ask(Float(0, 40), "FLOAT")

    def seems_to_move(self, speed: float, meanwhile: Callable[[], None] = lambda: None) -> None:
        """Let the encoder counts increase in each tick, at a fraction of each joint's maximum speed."""
        dt, faults = self.board.dt, self.board.encoder_faults
        ways = [speed * dt * lab_row(self.mechanism, joint).float_velocity / self.float_speed * counts_per_unit(joint)
                for joint in self.mechanism.streamed]
        before, last = [fault.offset for fault in faults], round(1.5 * MOMENT / dt)
        for tick in range(1, last + 1):
            for fault, offset, way in zip(faults, before, ways, strict=True):
                fault.offset = offset + round(tick * way)
            if tick == last // 3:
                meanwhile()
            self.session.pump()
            self.clock.sleep(dt)

    def rests(self) -> None:
        """Disarm the board, and let the arm come to rest if that is possible."""
        self.take("CLEAR")
        self.take("DISARM")
        self.settles()

    def settles(self) -> None:
        """Wait until the arm is at rest, up to a time limit."""
        for _ in range(STILL):
            self.wait(MOMENT)
            if np.all(np.abs(self.board.plant.v) < GRIP):
                break

    def take(self, command: str) -> None:
        with suppress(Refused):
            self.session.command(command)

    def ask(self, message: WithToken) -> None:
        with suppress(Refused):
            self.session.ask(message, type(message).__name__.upper())

    def wait(self, seconds: float) -> None:
        end = self.board.seconds + seconds
        while self.board.seconds < end:
            self.session.pump()
            self.clock.sleep(PERIOD)


PARTS = {"a stop on the path": Life.is_stopped_and_runs_out, "a jog": Life.jogs, "targets": Life.follows_targets,
         "leading by hand": Life.is_led_by_hand,
         "a zero": Life.is_armed_where_it_finds_a_zero,
         "its modes": Life.changes_modes, "a fault": Life.finds_a_fault, "a probe": Life.probes}
