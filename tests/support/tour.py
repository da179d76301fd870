"""A tour through what a control tick can be asked to do and the fault campaign leaves out: commands refused and
accepted, motions stopped and taken up again, zeros sought and found or not, an arm led by hand and pushed against its
limits, recordings, gains."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from femtorque.codegen.common.errors import Refused
from femtorque.codegen.mechanism.description import Mechanism
from femtorque.codegen.wire.messages import Float, Gains, Jog, Probe, Seek
from femtorque.codegen.wire.names import flag
from femtorque.hil.board.virtual import VirtualBoard
from femtorque.hil.plant.rigid import Plant
from femtorque.host.link import requests
from femtorque.host.link.capture import COLUMNS, Column, Recorder
from femtorque.host.link.session import PERIOD
from tests.support.course import Course

STOP, INDEX = -1.2, 0.9  # rad: of the first joint's stop in the plant, of the second one's index
FAR = [-9.0, 9.0]


class Tour(Course):
    """A course with what the lab modes ask for, recorded wherever nothing else is: that is a part of a tick, too."""

    def __init__(self, board: VirtualBoard, mechanism: Mechanism) -> None:
        super().__init__(board, mechanism)
        self.recorder = Recorder(self.session)
        connect = self.session.connect

        def connected() -> None:
            connect()
            self.record()

        self.session.connect = connected

    def record(self) -> None:
        n = len(self.names)
        self.recorder.start([Column("torque_ff", j % n) for j in range(COLUMNS)], mode="RING")

    def ready(self) -> None:
        self.record()
        super().ready()

    def ask(self, message: Any) -> bool:
        """True if the board took it."""
        try:
            self.session.ask(message, type(message).__name__.upper())
        except Refused:
            return False
        return True

    def keep_asking(self, message: Callable[[], Any], seconds: float) -> None:
        end = self.board.seconds + seconds
        while self.board.seconds < end:
            self.session.tell(message())
            for _ in range(4):
                self.session.pump()
                self.clock.sleep(PERIOD)

    def cleared(self) -> None:
        self.board.plant.hand = None
        with suppress(Refused):
            self.session.clear()
        with suppress(Refused):
            self.session.disarm()

    # -- parts --------------------------------------------------------------------------------------------------------

    def finds_its_zeros(self) -> None:
        self.session.connect()
        assert not self.ask(Seek(0, 2))  # has none to seek
        assert not self.ask(Seek(0, 9))
        requests.home(self.session, self.mechanism)
        assert self.session.status.unhomed == 255
        self.cleared()

    def finds_no_index(self) -> None:
        self.session.connect()
        self.session.home(self.start)
        self.board.plant.indexes = {}
        assert self.ask(Seek(0, 1))
        self.until("FAULT", seconds=40.0)
        self.cleared()

    def probes(self) -> None:
        self.session.connect()
        self.session.home(self.start)
        for joint, torque in ((9, 0.0), (2, 0.01), (2, 0.0), (2, 100.0)):
            assert self.ask(Probe(0, joint, torque)) == (joint == 2 and torque == 0.0)
        most = 0.3 * self.mechanism.moving[2].limits.effort
        self.keep_asking(lambda: Probe(0, 2, most), 0.8)  # as far as a probe may move it
        self.clock.sleep(0.3)
        self.cleared()

    def jogs(self) -> None:
        self.ready()
        for joint, rate in ((9, 0.1), (1, 100.0)):
            assert not self.ask(Jog(0, joint, rate))
        for joint, rate in ((1, 0.5), (1, -0.5)):
            assert self.ask(Jog(0, joint, rate))
            self.keep_asking(lambda joint=joint, rate=rate: Jog(0, joint, rate), 0.4)
            self.until("HOLD")
        assert self.ask(Jog(0, 1, 0.5))
        self.keep_asking(lambda: Jog(0, 1, 0.5), 0.1)
        assert self.ask(Jog(0, 2, 0.5))  # which has to wait until the other one stands
        self.keep_asking(lambda: Jog(0, 2, 0.5), 0.3)
        self.until("HOLD")
        self.cleared()

    def jogs_to_a_limit(self) -> None:
        self.ready()
        assert self.ask(Jog(0, 2, 1.0))
        self.keep_asking(lambda: Jog(0, 2, 1.0), 2.6)
        self.cleared()

    def floats(self) -> None:
        self.ready()
        assert not self.ask(Float(0, 100))
        plant, n = self.board.plant, len(self.names)
        for joint in range(n):
            for way in (-1.0, 1.0):
                assert self.ask(Float(0, 40))
                push = np.zeros(n)
                push[joint] = way * (0.8, 0.3,
                                     0.1)[joint] if n == 3 else 0.3 * way * self.mechanism.moving[joint].limits.effort
                plant.hand = lambda p, push=push: push
                self.wait(0.25)
                plant.hand = None
                self.session.command("STOP")
                self.until("HOLD", "FAULT")
                if self.session.in_state("FAULT"):
                    self.cleared()
                    self.ready()
        self.cleared()

    def is_held_at_a_limit(self, joint: int, way: float) -> None:
        """Homed next to a limit and pushed over it."""
        limits = self.mechanism.moving[joint].limits
        near = self.start.copy()
        near[joint] = limits.upper - 0.01 if way > 0.0 else limits.lower + 0.01
        self.session.connect()
        self.session.home(near)
        self.session.arm()
        for share, seconds in ((3.0, 0.03), (-12.0, 0.02), (3.0, 0.06)):
            push = np.zeros(3)
            push[joint] = share * way * limits.effort
            self.board.plant.hand = lambda p, push=push: push
            self.wait(seconds)
        self.cleared()

    def is_pushed_away(self, joint: int) -> None:
        self.ready()
        push = np.zeros(3)
        push[joint] = 3.0 * self.mechanism.moving[joint].limits.effort
        self.board.plant.hand = lambda p: push
        self.until("FAULT")
        self.cleared()

    def is_wanted_when_unwell(self) -> None:
        self.session.connect()
        self.session.home(self.start)
        for volts, celsius in ((5.0, 25.0), (40.0, 25.0), (24.0, 99.0)):
            self.board.bus_voltage, self.board.temperatures[0] = volts, celsius
            self.wait(0.05)
            assert not self.take("ARM")
            self.board.bus_voltage, self.board.temperatures[0] = 24.0, 25.0
            self.wait(0.05)
        self.board.estop(True)
        self.wait(0.05)
        assert not self.take("ARM")
        self.board.estop(False)
        self.cleared()
        self.board.driver_fault(True)
        self.wait(0.05)
        if self.take("ARM"):  # bridges that sleep are looked at once they are awake
            self.until("FAULT")
        self.board.driver_fault(False)
        self.cleared()

    def is_started_too_early_and_too_late(self) -> None:
        self.ready()
        motion = self.motion(self.start, self.there, 1.0)
        self.buffer(motion, 6)
        assert not self.take("START")
        assert self.take("FLUSH") and not self.take("RESUME")
        self.buffer(motion, 150)
        self.session.start()
        self.clock.sleep(0.2)
        assert self.take("STOP")
        self.until("HOLD")
        assert not self.take("START")
        self.session.resume()
        self.clock.sleep(0.1)
        assert self.take("STOP")
        self.until("HOLD")
        assert self.take("FLUSH") and not self.take("RESUME")
        self.cleared()

    def is_nearly_late(self) -> None:
        """Ticks that are done a little before the next one comes, so little that their duties do not count."""
        self.session.connect()
        period = round(self.board.dt * self.board.chip.rcc.hclk)
        for spare in range(600, 3000, 60):
            self.board.encoder_faults[0].stall = period - spare
            self.wait(0.02)
            with suppress(Refused):
                self.session.clear()

    def is_stopped_while_it_records(self) -> None:
        self.ready()
        Recorder(self.session).start([Column("position", 1)], mode="RING")
        self.wait(0.05)
        self.board.estop(True)
        self.until("ESTOP")
        self.board.estop(False)
        self.cleared()

    def is_wanted_outside_its_limits(self) -> None:
        self.session.connect()
        for way in (1, -1):
            limits = self.mechanism.moving[2].limits
            self.session.home([*self.start[:2], limits.upper - 0.01 if way > 0 else limits.lower + 0.01])
            self.board.encoder_faults[2].offset += 40 * way
            self.wait(0.1)
            assert not self.take("ARM")

    def is_armed_while_it_homes(self) -> None:
        """As soon as its zero is found."""
        self.session.connect()
        self.session.home(self.start)
        self.board.plant.indexes = {1: self.start[1] + 0.1}
        assert self.ask(Seek(0, 1))
        self.session.wait(lambda: not flag(self.session.status, "SEEKING"), 5.0, "finds no index")
        self.wait(0.2)
        assert self.session.in_state("HOMING") and self.take("ARM")
        self.until("HOLD")
        self.cleared()

    def finds_its_index_only_anew(self) -> None:
        """It is there already when it is sought."""
        self.session.connect()
        self.session.home(self.start)
        self.board.plant.indexes = {1: self.start[1]}
        assert self.ask(Seek(0, 1))
        self.wait(0.3)
        self.cleared()

    def is_pushed_beyond_its_limits(self, state: str, way: float) -> None:
        self.ready()
        if state == "FLOAT":
            assert self.ask(Float(0, 0))
        for push in (way, -way):
            self.board.plant.hand = lambda p, push=push: np.array([0.0, 0.0, 0.35 * push])
            self.wait(1.2)
        self.cleared()

    def records(self) -> None:
        self.ready()
        recorder = Recorder(self.session)
        columns = [Column(name, 1) for name in ("position", "torque", "duty", "rate")]
        recorder.start(columns, every=2)
        self.wait(0.2)
        recorder.start([Column(name, 2) for name in ("torque_ff", "target", "target_rate", "position")])
        self.wait(1.2)
        recorder.start(columns, mode="RING")
        self.wait(0.1)
        self.board.encoder_faults[0].offset += 2000
        self.until("FAULT")
        self.cleared()

    def changes_gains(self) -> None:
        self.session.connect()
        self.session.home(self.start)
        for joint, gains in ((9, (64, 64, 64)), (1, (1, 64, 64)), (1, (64, 255, 64)), (1, (64, 64, 1)),
                             (1, (64, 64, 64))):
            assert self.ask(Gains(0, joint, *gains)) == (joint == 1 and gains == (64, 64, 64))

    def has_its_outputs_dropped(self) -> None:
        """By the timers' break alone: the loop is closed again before it is looked at."""
        self.ready()
        for loop in self.board.board.outputs.estop:
            self.board.chip.timers[loop.timer].set_break(True)
            self.board.chip.timers[loop.timer].set_break(False)
        self.until("FAULT")
        self.cleared()

    def is_wanted_unhomed_or_moving(self) -> None:
        self.session.connect()
        assert not self.take("ARM")
        self.session.home(self.start)
        self.board.plant.hand = lambda p: np.array([0.0, 0.0, 0.05])
        self.wait(0.15)
        assert not self.take("ARM")
        self.board.plant.hand = None
        assert not self.take("RESUME")
        self.cleared()

    def take(self, command: str) -> bool:
        try:
            self.session.command(command)
        except Refused:
            return False
        return True

    def wait(self, seconds: float) -> None:
        end = self.board.seconds + seconds
        while self.board.seconds < end:
            self.session.pump()
            self.clock.sleep(PERIOD)


LIVES = {part.__name__: (part,) for part in (
    Tour.finds_its_zeros, Tour.finds_no_index, Tour.probes, Tour.jogs, Tour.jogs_to_a_limit, Tour.floats,
    Tour.records, Tour.changes_gains, Tour.has_its_outputs_dropped,
    Tour.is_wanted_unhomed_or_moving, Tour.is_wanted_outside_its_limits, Tour.is_armed_while_it_homes,
    Tour.finds_its_index_only_anew,
    Tour.is_wanted_when_unwell, Tour.is_started_too_early_and_too_late, Tour.is_stopped_while_it_records,
    Tour.is_nearly_late)} | {"motions": Tour.PARTS} | {
    f"is pushed away at joint {joint}": (partial(Tour.is_pushed_away, joint=joint),) for joint in range(3)} | {
    f"is held at a limit of joint {joint}, {way:+g}": (partial(Tour.is_held_at_a_limit, joint=joint, way=way),)
    for joint in range(3) for way in (-1.0, 1.0)} | {
    f"is pushed beyond its limits in {state}, {way:+g}": (partial(Tour.is_pushed_beyond_its_limits,
                                                                  state=state, way=way),)
    for state in ("FLOAT", "HOLD") for way in (-1.0, 1.0)}


# on any arm
ANYWHERE = ("motions", "floats", "records", "is_started_too_early_and_too_late", "is_stopped_while_it_records")


@contextmanager
def board(elf: Path, mechanism: Mechanism) -> Iterator[VirtualBoard]:
    """A board of the campaign's arm, at power-on."""
    start = np.array([j.start for j in mechanism.moving])
    plant = Plant(mechanism, pose=start, stops=[[STOP, 9.0], FAR, FAR])
    plant.indexes = {1: INDEX}
    with VirtualBoard(elf, mechanism, plant) as made:
        yield made


@contextmanager
def life(elf: Path, mechanism: Mechanism) -> Iterator[Tour]:
    """The tour of such a board."""
    with board(elf, mechanism) as made:
        yield Tour(made, mechanism)
