"""States that nothing leads to, put into a board's memory between its ticks or in the middle of one, to see what the
guards against them do: what is wrong is found and named, or the tick makes do without what others should have prepared.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial

import numpy as np

from femtorque.codegen.common.errors import Refused
from femtorque.codegen.mechanism.description import Mechanism
from femtorque.codegen.wire import messages
from femtorque.codegen.wire.messages import Float, Gains, Jog, Knot, Probe, Seek
from femtorque.hil.board.virtual import VirtualBoard
from femtorque.hil.chip.nvic import SYSTICK
from femtorque.hil.play.run import Witness
from femtorque.host.link.session import PERIOD
from tests.support.memory import Memory
from tests.support.tour import Tour

CYCLES = 0xE0001004  # read when a tick begins, before anything else
BREAK = 0x40010444  # of TIM8, read when the outputs are looked at: behind the law, before duties are written
COAST, BRAKE, HOLD = (messages.REACTIONS[name][0] for name in ("coast", "brake", "hold"))
ALARM_KNOT, ALARM_BOARD, ALARM_MEMORY = 1, 2, 3  # FT_ALARM_
RETRACTING = 3  # FT_RETRACTING
HALF_ONE = 15625  # path units in half a tick at pace 1
LENGTH = 8 * HALF_ONE  # of a segment, which takes four ticks
NO_INDEX = 16  # FT_NO_INDEX
NO_EVENT = 0xFF  # FT_NO_EVENT
RULE = 8  # bytes of one of ft_faults or ft_conditions: some numbers and a pointer
SENSE = 0x4001213C  # of ADC2, read for the bus voltage: before the path is sampled
Values = dict[str, float]


class Forced(Tour):
    """A tour whose board's memory is at hand."""

    def __init__(self, board: VirtualBoard, mechanism: Mechanism, memory: Memory) -> None:
        super().__init__(board, mechanism)
        self.memory, self.witness = memory, Witness(board)

    def put(self, values: Values) -> None:
        for name, value in values.items():
            self.memory.write(self.board.chip.core, name, value)

    def finds_no_fault(self) -> None:
        """No rule counts anywhere."""
        rules = self.board.image.symbol("ft_faults").size // RULE
        self.put({f"ft_faults[{i}].where": 0 for i in range(rules)})

    def permits_everything(self) -> None:
        """No condition is one of any event; but the compiler may know the first one's."""
        for table in ("ft_conditions_of_arm", "ft_conditions"):
            rules = self.board.image.symbol(table).size // RULE
            self.put({f"{table}[{i}].event": NO_EVENT for i in range(rules)})

    def look(self, name: str) -> float:
        return self.memory.read(self.board.chip.core, name)

    @contextmanager
    def each_tick(self, put: Values | Callable[[], Values], register: int = CYCLES) -> Iterator[None]:
        """Meanwhile every tick finds these, put there when it reads a register."""
        core = self.board.chip.core

        def watch(address: int, size: int, value: int | None) -> None:
            if address == register and value is None and SYSTICK in core.nvic.active:
                self.put(put() if callable(put) else put)

        self.board.chip.bus.watch = watch
        try:
            yield
        finally:
            self.board.chip.bus.watch = None

    def ends_in(self, state: str, fault: str = "", seconds: float = 0.5) -> None:
        """Whatever the host thinks of it."""
        end = self.board.seconds + seconds
        while self.witness.state != state and self.board.seconds < end:
            self.session.link.receive()
            self.clock.sleep(PERIOD)
        assert self.witness.state == state and (not fault or fault in self.witness.faults), (
            self.witness.state, self.witness.faults)
        off = state in ("FAULT", "ESTOP", "DISARMED")
        assert not off or self.board.outputs_safe() or self.look("ft.safety.reaction")

    def tracks(self) -> None:
        """At pace 1, with all knots of the motion there."""
        self.ready()
        motion = self.motion(self.start, self.there, 0.9)
        self.buffer(motion, len(motion))
        self.session.start()
        self.clock.sleep(0.1)
        assert self.session.in_state("TRACK")

    def seeks(self, joint: int) -> None:
        self.session.connect()
        self.session.home(self.start)
        assert self.ask(Seek(0, joint))
        self.clock.sleep(0.05)

    # -- the law and its duties ---------------------------------------------------------------------------------------

    def torque_is_no_number(self) -> None:
        self.ready()
        self.put({"ft_joint[1].ku": math.nan})
        self.ends_in("FAULT", "NOT_FINITE")

    def torque_of_a_mode_is_no_number(self) -> None:
        self.ready()
        assert self.ask(Float(0, 40))
        self.put({"ft.control.lab.friction": math.nan})
        self.ends_in("FAULT", "NOT_FINITE")

    def torque_of_each_mode_is_no_number(self) -> None:
        """In a probe the torque that was asked for; of a search what its gains come to."""
        self.session.connect()
        self.session.home(self.start)
        assert self.ask(Probe(0, 2, 0.0))
        self.put({"ft.control.lab.torque": math.nan})
        self.ends_in("FAULT", "NOT_FINITE")
        self.cleared()
        self.seeks(0)
        self.put({f"ft_joint[{j}].ku": math.nan for j in range(3)})
        self.ends_in("FAULT", "NOT_FINITE")

    def torque_of_a_mode_is_beyond_its_bound(self) -> None:
        self.ready()
        assert self.ask(Float(0, 40))
        self.put({"ft.control.lab.friction": 1e4})
        push = np.array([0.8, 0.3, 0.1])
        self.board.plant.hand = lambda p: push
        self.wait(0.1)
        bounds = [1.001 * j.limits.effort for j in self.mechanism.moving]
        assert np.all(np.abs(self.board.telemetry()["torque"]) <= bounds)

    def duties_are_out_of_bounds(self) -> None:
        """The chip's part of the image bounds them by itself: full voltage either way, or none."""
        self.ready()
        wrong, joints = [2.0, -2.0, math.nan], range(3)
        together = [wrong[turn:] + wrong[:turn] for turn in joints]
        alone = [[2.0 if j == other else 0.5 for j in joints] for other in joints]
        for duties in (*together, *alone):
            volts = [24.0 * min(max(duty, -1.0), 1.0) if duty == duty else 0.0 for duty in duties]
            with self.each_tick({f"ft.control.law.duty[{j}]": duty for j, duty in enumerate(duties)}, BREAK):
                self.board.advance(3)
                np.testing.assert_allclose(self.board.voltages(), volts, atol=0.1)
            self.session.link.receive()
            self.board.advance(200)
            if self.witness.state == "FAULT":
                self.cleared()
                self.ready()

    def torque_leads_farther_out(self, joint: int) -> None:
        """A joint that is held beyond a limit is given nothing that would take it farther: it yields to whoever pushes
        it back."""
        self.ready()
        beyond = int(self.look(f"ft.control.seen.coarse[{joint}]")) - 100_000
        self.put({f"ft_joint[{joint}].upper": beyond, f"ft_joint[{joint}].margin": 1 << 28,
                  f"ft_joint[{joint}].room": beyond - self.look(f"ft_joint[{joint}].lower")})
        push = np.zeros(3)
        push[joint] = -0.2 * self.mechanism.moving[joint].limits.effort
        self.board.plant.hand = lambda p: push
        self.board.advance(8)
        assert self.look(f"ft.control.law.torque[{joint}]") == 0.0
        assert self.look(f"ft.control.seen.coarse[{joint}]") > beyond

    def error_comes_and_goes(self) -> None:
        """Ticks too far from the target count in a row only."""
        self.ready()
        self.put({"ft_joint[0].following": 0})
        push = np.array([0.5, 0.0, 0.0])
        self.board.plant.hand = lambda p: push
        with self.each_tick({"ft.control.law.astray[0].ticks": 5, "ft.control.law.astray[0].last": 0}):
            self.clock.sleep(0.05)
        assert self.session.in_state("HOLD")

    def gains_differ(self) -> None:
        self.session.connect()
        self.session.home(self.start)
        for i in range(3):
            for j in range(3):
                self.put({f"ft.control.law.overlay[{i}][{j}]": 32})
                assert self.ask(Gains(0, (j + 1) % 3, 64, 64, 64))
                self.put({f"ft.control.law.overlay[{i}][{j}]": 64})

    # -- the path -----------------------------------------------------------------------------------------------------

    def knots_are_not_prepared(self) -> None:
        """The tick forms what it needs itself, and the motion is the same."""
        for part in ("segment", "from", "boundary", "to"):
            self.tracks()
            with self.each_tick(lambda part=part: {f"ft.control.motion.queue.openings[{i}].of.{part}": self.look(
                    f"ft.control.motion.queue.openings[{i}].of.{part}") + 1 for i in range(2)}):
                self.clock.sleep(0.1)
            assert self.session.in_state("TRACK")
            self.until("HOLD")
            self.cleared()
        self.tracks()
        self.session.stop()
        with self.each_tick({f"ft.control.motion.queue.openings[{i}].of.segment": 0 for i in range(2)}):
            self.clock.sleep(0.2)
        self.cleared()

    def motion_ends_early(self) -> None:
        """At a knot that is marked so only once it is being played."""
        self.tracks()
        self.put(self.last_knot())
        self.clock.sleep(0.02)
        self.ends_in("HOLD")
        self.cleared()
        for at in (LENGTH - HALF_ONE - 100, LENGTH):  # the step leads beyond the knot, or begins there
            self.tracks()
            self.put(self.last_knot() | {"ft.control.motion.at": at})
            self.until("HOLD")
            self.cleared()

    def last_knot(self) -> Values:
        """The segment being played marked as the last one."""
        tail = int(self.look("ft.control.motion.queue.tail")) % 256
        return {f"ft.control.motion.queue.ring[{tail}].flags": messages.KNOT_END}

    def knots_vanish(self) -> None:
        """While the motion gathers pace again."""
        self.tracks()
        self.session.stop()
        self.until("HOLD")
        self.session.resume()
        self.clock.sleep(0.01)
        self.put({"ft.control.motion.queue.head": self.look("ft.control.motion.queue.tail") + 2,
                  "ft.control.motion.queue.ends": self.look("ft.control.motion.queue.ended")})
        self.ends_in("HOLD")
        self.cleared()

    def pace_has_nothing_left_to_lose(self) -> None:
        self.tracks()
        self.session.stop()
        self.clock.sleep(0.005)
        self.put({"ft.control.motion.pace.half": 0, "ft.control.motion.pace.slope": -3})
        self.until("HOLD")
        self.session.resume()
        self.clock.sleep(0.01)
        self.put({"ft.control.motion.pace.half": HALF_ONE, "ft.control.motion.pace.slope": 3})
        self.clock.sleep(0.05)
        self.cleared()

    def pace_bends_the_other_way(self) -> None:
        for slope in (1, 3):
            self.tracks()
            self.session.stop()
            self.clock.sleep(0.005)
            self.put({"ft.control.motion.pace.slope": slope})
            self.until("HOLD")
            self.session.resume()
            self.clock.sleep(0.01)
            self.put({"ft.control.motion.pace.slope": -slope})
            self.clock.sleep(0.1)
            self.cleared()

    def motion_is_not_what_it_was(self) -> None:
        """When it is started: it has no beginning, is being forgotten, or its entry is not formed, or all that,
        permitted."""
        self.ready()
        self.buffer(self.motion(self.start, self.there, 1.0), 150)
        first = f"ft.control.motion.queue.ring[{int(self.look('ft.control.motion.queue.tail')) % 256}].flags"
        with self.each_tick({first: 0}):
            assert not self.take("START")
        self.put({first: messages.KNOT_START})
        with self.each_tick({"ft.control.motion.queue.flush": 1}):
            assert not self.take("START")
        self.cleared()
        self.ready()
        self.buffer(self.motion(self.start, self.there, 1.0), 150)
        with self.each_tick({"ft.control.motion.queue.entered": 0}):
            assert self.take("START")
        self.clock.sleep(0.05)
        assert self.session.in_state("TRACK")
        self.cleared()
        self.ready()
        self.buffer(self.motion(self.start, self.start, 1.0), 150)
        first = f"ft.control.motion.queue.ring[{int(self.look('ft.control.motion.queue.tail')) % 256}].flags"
        self.permits_everything()
        with self.each_tick({"ft.control.motion.queue.entered": 0, first: 0}):
            assert self.take("START")

    # -- the lab ------------------------------------------------------------------------------------------------------

    def search_runs_out_of_time(self) -> None:
        self.seeks(0)
        self.put({"ft.control.lab.ticks": 0})
        self.ends_in("FAULT", "HOMING")

    def index_is_sought_where_there_is_none(self) -> None:
        self.seeks(1)
        self.put({"ft_index_table[1].pin": NO_INDEX})
        self.clock.sleep(0.02)
        assert self.session.in_state("HOMING")
        self.session.disarm()

    def press_has_a_gap(self) -> None:
        """A joint against a stop has to press without a gap."""
        self.seeks(0)
        end = self.board.seconds + 10.0
        while self.look("ft.control.lab.pressed.ticks") < 5 and self.board.seconds < end:
            self.session.pump()
            self.clock.sleep(PERIOD)
        with self.each_tick({"ft.control.lab.pressed.last": 0}):
            self.wait(0.1)
            assert self.look("ft.control.lab.pressed.ticks") == 1
        self.cleared()

    def joint_stands_before_it_is_back(self) -> None:
        self.seeks(0)
        end = self.board.seconds + 10.0
        while self.look("ft.control.lab.search") != RETRACTING and self.board.seconds < end:
            self.session.pump()
            self.clock.sleep(PERIOD)
        with self.each_tick({"ft.control.lab.wanted": 0.0, "ft.control.lab.velocity": 0.0, "ft.control.lab.left": 1.0}):
            self.wait(0.03)
        self.cleared()

    def others_have_no_zero(self) -> None:
        for without in range(3):
            self.session.connect()
            self.session.home(self.start)
            joint = 1 if without != 1 else 0
            if joint == 1:
                self.board.plant.indexes = {1: self.start[1] + 0.02}
            assert self.ask(Seek(0, joint))
            with self.each_tick({f"ft.safety.homed[{without}]": 0}):
                self.wait(5.0 if joint == 0 else 0.4)
            self.session.disarm()

    # -- commands and faults ------------------------------------------------------------------------------------------

    def command_is_none(self) -> None:
        self.ready()
        for event in (0, 99):
            self.put({"ft.safety.request.event": event, "ft.safety.request.posted": 1})
            self.clock.sleep(0.03)
            self.session.pump()
            assert self.session.status.refusal == messages.REFUSALS["UNKNOWN"][0]
        self.cleared()

    def chip_runs_low(self) -> None:
        """Its supply is too low to be armed on, and high enough not to be reset."""
        self.session.connect()
        self.board.chip.supply(2.8)
        self.ends_in("FAULT", "SUPPLY")
        with suppress(Refused):  # which says that the board was reset
            self.session.connect()
        self.session.clear()
        self.session.home(self.start)
        for wanted in ("ARM", Seek(0, 0), Probe(0, 2, 0.0)):
            assert not (self.take(wanted) if isinstance(wanted, str) else self.ask(wanted))
        self.board.chip.supply(3.3)

    def clear_is_asked_for_what_stays(self) -> None:
        """Faults of the chip itself, which only a reset ends, and another one."""
        self.ready()
        self.board.encoder_faults[0].offset += 2000
        self.ends_in("FAULT", "ENCODER")
        for name in ("STACK", "CODE", "CRYSTAL", "ENCODER"):
            with self.each_tick({"ft.safety.fault": messages.FAULTS[name][0]}):
                assert self.take("CLEAR") == (name == "ENCODER")

    def motor_is_too_warm(self) -> None:
        """As after an overload, which keeps an arm from being armed until it has cooled."""
        self.session.connect()
        self.session.home(self.start)
        overload = messages.FAULTS["OVERLOAD"][0]
        with self.each_tick({f"ft.safety.alarms.set.of[{ALARM_BOARD}]": overload, "ft.safety.alarms.warm_joint": 1}):
            for wanted in ("ARM", Seek(0, 0), Probe(0, 2, 0.0)):
                assert not (self.take(wanted) if isinstance(wanted, str) else self.ask(wanted))

    def faults_have_come_often(self) -> None:
        """Counts of them end at 255."""
        faults = range(max(number for number, _, _ in messages.FAULTS.values()) + 1)
        self.ready()
        self.put({f"ft.safety.latched[{n}]": 255 for n in faults})
        self.board.encoder_faults[0].offset += 2000
        self.ends_in("FAULT", "ENCODER")
        for enter in (self.ready, self.tracks):
            self.cleared()
            enter()
            self.put({f"ft.safety.latched[{n}]": 255 for n in faults})
            with self.each_tick({"ft.safety.silent": 60000}):
                self.ends_in("FAULT", "HOST_LOST", seconds=2.0)

    def brakes_are_closing_when_it_is_disarmed(self) -> None:
        """As on a board that has any."""
        self.ready()
        with self.each_tick({"ft.safety.closing": 10}):
            self.take("DISARM")
        self.clock.sleep(0.1)
        self.cleared()

    def joint_turns_without_end(self) -> None:
        """By constants that are not those of the image, which is not to be heard."""
        self.ready()
        with self.each_tick({"ft_joint[1].room": 2**32 - 1, f"ft.safety.alarms.set.of[{ALARM_MEMORY}]": 0}):
            assert self.ask(Jog(0, 1, 0.5))
            self.keep_asking(lambda: Jog(0, 1, 0.5), 0.2)

    def command_comes_with_a_fault(self) -> None:
        self.ready()
        with self.each_tick({"ft.safety.request.event": messages.COMMANDS["STOP"][0], "ft.safety.request.posted": 1}):
            self.clock.sleep(0.02)
            self.put({"ft.safety.silent": 60000})
            self.clock.sleep(0.02)
        self.ends_in("FAULT", "HOST_LOST")

    def table_has_nothing(self) -> None:
        """Findings: none is made. Conditions: everything is permitted."""
        self.session.connect()
        self.permits_everything()
        assert self.take("ARM")
        self.finds_no_fault()
        self.board.encoder_faults[0].offset += 2000
        self.clock.sleep(0.02)
        assert self.session.in_state("HOLD")

    def outputs_are_not_wanted(self) -> None:
        """Although the board is armed."""
        self.ready()
        self.put({"ft_wanted": 0})
        self.ends_in("FAULT", "BREAK")

    def is_driven_where_it_is_not(self) -> None:
        """Modes that begin without outputs find something driven, and the other way round."""
        for message in (Seek(0, 0), Probe(0, 2, 0.0)):
            self.session.connect()
            self.session.home(self.start)
            self.finds_no_fault()
            with self.each_tick({"ft.safety.source": 1}, SENSE):
                assert self.ask(message)
            self.cleared()
        self.ready()
        assert self.ask(Float(0, 0))
        with self.each_tick({"ft.safety.source": 0}, BREAK):
            self.take("STOP")
        self.cleared()

    def column_is_none(self) -> None:
        self.ready()
        self.put({"capture.word[0]": 9999})
        self.clock.sleep(0.02)
        self.cleared()

    def knot_is_not_bad_after_all(self) -> None:
        """The alarm is taken back between its being heard and its being looked into."""
        self.ready()
        self.buffer(self.motion(self.start, self.there, 1.0), 150)
        self.session.start()
        self.clock.sleep(0.05)
        alarm = f"ft.safety.alarms.set.of[{ALARM_KNOT}]"
        with self.each_tick({alarm: 0}, BREAK):
            nothing = [0.0] * 3
            self.session.link.send(Knot(0, [2**30] * 3, nothing, nothing), seq=self.session.status.ack)
            self.clock.sleep(0.05)
        self.cleared()

    def host_is_lost(self, state: str, coming: int, fault: int) -> None:
        """All at once, in a state; with a fault that waits already, or is latched."""
        if state == "TRACK":
            self.tracks()
        else:
            self.ready()
        if state in ("JOG", "SLOWING"):
            assert self.ask(Jog(0, 1, 0.5))
            self.keep_asking(lambda: Jog(0, 1, 0.5), 0.1)
        if state == "SLOWING":
            self.take("STOP")
            end = self.board.seconds + 1.0
            while self.look("ft.safety.state") != messages.STATES["HOLD"][0] and self.board.seconds < end:
                self.board.advance(1)
        self.put({"ft.safety.silent": 60000, "ft.safety.coming": coming, "ft.safety.fault": fault})
        with self.each_tick({"ft.safety.silent": 60000}):
            self.ends_in("FAULT", seconds=2.0)

    def reacts(self, state: str, how: int, then: int) -> None:
        """As a mechanism whose file asks for other reactions."""
        {"TRACK": self.tracks, "HOLD": self.ready, "FLOAT": self.ready, "JOG": self.ready,
         "PROBE": self.session.connect, "HOMING": partial(self.seeks, 0)}[state]()
        if state == "PROBE":
            self.session.home(self.start)
        asked = {"FLOAT": Float(0, 0), "JOG": Jog(0, 1, 0.2), "PROBE": Probe(0, 2, 0.0)}.get(state)
        assert asked is None or self.ask(asked)
        faults = max(number for number, _, _ in messages.FAULTS.values()) + 1
        self.put({f"ft_reaction[{n}]": how for n in range(faults)})
        self.board.encoder_faults[0].offset += 2000
        self.clock.sleep(0.01)
        self.put({f"ft_reaction[{n}]": then for n in range(faults)})
        self.board.encoder_faults[1].offset += 2000
        self.clock.sleep(0.01)
        self.ends_in("FAULT", "ENCODER")

    def reacts_to_a_second_fault(self, state: str, reaction: int, then: int, source: int) -> None:
        """A late tick, which asks for `then` while the reaction to another fault is under way, with that being
        driven."""
        self.ready()
        assert state != "FLOAT" or self.ask(Float(0, 0))
        faults = range(max(number for number, _, _ in messages.FAULTS.values()) + 1)
        if state == "FAULT":
            self.put({f"ft_reaction[{n}]": HOLD for n in faults})
            self.board.encoder_faults[0].offset += 2000
            self.clock.sleep(0.005)
        self.put({f"ft_reaction[{n}]": then for n in faults})
        with self.each_tick({"ft.safety.reaction": reaction, "ft.safety.source": source}, SENSE):
            self.put({"ft.safety.alarms.set.of[0]": 1})
            self.clock.sleep(0.005)
        self.ends_in("FAULT", "ENCODER" if state == "FAULT" else "TICK_OVERRUN")

    def host_goes_while_motors_brake(self) -> None:
        """Nobody has to listen to a board that moves nothing."""
        self.ready()
        faults = range(max(number for number, _, _ in messages.FAULTS.values()) + 1)
        self.put({f"ft_reaction[{n}]": BRAKE for n in faults})
        self.board.encoder_faults[0].offset += 2000
        self.clock.sleep(0.01)
        with self.each_tick({"ft.safety.silent": 60000}):
            self.clock.sleep(0.01)
        assert self.look("ft.safety.reaction") == BRAKE and "HOST_LOST" not in self.witness.faults
        self.ends_in("FAULT", "ENCODER")

    def next_host_takes_over(self) -> None:
        """A board holds an arm without a host; the next one takes over, or a fault comes."""
        host_lost = messages.FAULTS["HOST_LOST"][0]
        for fault in (False, True):
            self.ready()
            self.put({f"ft_reaction[{host_lost}]": HOLD})
            with self.each_tick({"ft.safety.silent": 60000}):
                self.ends_in("HELD", "HOST_LOST", seconds=2.0)
                self.clock.sleep(0.01)
            if fault:
                self.board.encoder_faults[0].offset += 2000
                self.ends_in("FAULT", "ENCODER")
                self.cleared()
            else:
                assert not self.take("CLEAR") and self.take("ARM") and self.session.in_state("HOLD")
                assert self.take("DISARM")

    def arms_without_a_clock(self) -> None:
        """Its outputs stay off."""
        self.session.connect()
        self.session.home(self.start)
        self.board.kill_crystal()
        self.board.run(0.5)
        assert self.witness.state == "FAULT"
        self.permits_everything()
        self.put({"ft.safety.state": messages.STATES["DISARMED"][0],
                  "ft.safety.fault": 0, "ft.safety.request.posted": 1,
                  "ft.safety.request.event": messages.COMMANDS["ARM"][0]})
        self.board.run(0.05)
        assert self.board.outputs_safe()


LIVES: dict[str, Callable[[Forced], None]] = {part.__name__: part for part in (
    Forced.torque_is_no_number, Forced.torque_of_a_mode_is_no_number, Forced.torque_of_each_mode_is_no_number,
    Forced.torque_of_a_mode_is_beyond_its_bound,
    Forced.duties_are_out_of_bounds, Forced.error_comes_and_goes, Forced.gains_differ,
    Forced.knots_are_not_prepared, Forced.motion_ends_early, Forced.knots_vanish, Forced.pace_bends_the_other_way,
    Forced.motion_is_not_what_it_was, Forced.search_runs_out_of_time, Forced.index_is_sought_where_there_is_none,
    Forced.press_has_a_gap, Forced.joint_stands_before_it_is_back, Forced.others_have_no_zero, Forced.command_is_none,
    Forced.chip_runs_low, Forced.clear_is_asked_for_what_stays,
    Forced.motor_is_too_warm, Forced.faults_have_come_often, Forced.brakes_are_closing_when_it_is_disarmed,
    Forced.joint_turns_without_end, Forced.command_comes_with_a_fault, Forced.column_is_none,
    Forced.knot_is_not_bad_after_all,
    Forced.host_goes_while_motors_brake, Forced.next_host_takes_over, Forced.arms_without_a_clock,
    Forced.table_has_nothing, Forced.outputs_are_not_wanted,
    Forced.is_driven_where_it_is_not, Forced.pace_has_nothing_left_to_lose)} | {
    f"torque leads joint {joint} farther out": partial(Forced.torque_leads_farther_out, joint=joint)
    for joint in range(3)} | {
    f"reacts in {state} by {reaction}, then by {then}, driven by {source}": partial(
        Forced.reacts_to_a_second_fault, state=state, reaction=reaction, then=then, source=source)
    for state, reaction, then, source in (("FAULT", BRAKE, HOLD, 0), ("FAULT", COAST, HOLD, 0),
                                          ("FAULT", HOLD, HOLD, 1), ("FAULT", HOLD + 1, HOLD, 1),
                                          ("FAULT", BRAKE, BRAKE, 1), ("FAULT", HOLD, BRAKE, 1),
                                          ("FLOAT", COAST, HOLD, 0), ("HOLD", COAST, HOLD, 0))} | {
    f"host is lost in {state}, {coming} coming, {fault} latched": partial(
        Forced.host_is_lost, state=state, coming=coming, fault=fault)
    for state in ("TRACK", "JOG", "SLOWING", "HOLD") for coming in (0, 5) for fault in (0, 5)} | {
    f"reacts in {state} by {how}, then by {then}": partial(Forced.reacts, state=state, how=how, then=then)
    for state in ("TRACK", "HOLD", "FLOAT", "JOG", "HOMING", "PROBE") for how in (BRAKE, HOLD)
    for then in (COAST, BRAKE, HOLD)}
