"""A PC as the board, in lock-step with virtual drives. Its torques equal those of a chip's image bit for bit."""

import math
import os
import signal
import socket
import subprocess
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from femtorque.codegen.board import Times
from femtorque.codegen.mechanism import Mechanism, load_mechanism
from femtorque.codegen.motion import knots
from femtorque.codegen.wire import Codec, FrameReader, Status, messages as m
from femtorque.hil.board import SteppedPc, VirtualBoard
from femtorque.hil.board.drives_alone import Bench
from femtorque.hil.board.stepped_pc import CLASSIC, SLCAN, TIME, of_record
from femtorque.hil.plant import plant_of
from femtorque.hil.play import play_motion, run_closed_loop
from femtorque.host.board import Board
from femtorque.host.link import Configuration, Session
from femtorque.host.stream import Interrupts, stream
from tests.support.bus_arm import OTHERS, arm, described, file_of, moteus_arm
from tests.support.drives import Bussed
from tests.support.pc import (
    armed, drives_of, error, motion_of, on_pc, played, program_of, settle, so101, state, stepped)
from tests.support.suite import HANG, ROOT
from tests.support.usb_can import DAMIAO, FDCANUSB, ROBSTRIDE, UsbCan

FAULT = {number: name for name, (number, *_) in m.FAULTS.items()}


def start(board: SteppedPc) -> list[float]:
    return [joint.start for joint in board.mechanism.streamed]


KINDS = {"damiao": on_pc(file_of()), "moteus": on_pc(described("moteus"), 500, softer=0.5), "sts": so101(holds=True)}
each = pytest.mark.parametrize("kind", [pytest.param(kind, marks=[] if kind == "damiao" else pytest.mark.assure)
                                        for kind in KINDS])


@contextmanager
def held_arm(kind: str) -> Iterator[tuple[SteppedPc, Session]]:
    """Run an armed arm in HOLD."""
    with stepped(KINDS[kind]) as (board, session):
        armed(board, session)
        assert settle(board, session, 0.1) == "HOLD" and all(d.driving for d in drives_of(board))
        yield board, session


def stays(kind: str, board: SteppedPc) -> bool:
    return np.allclose(board.plant.q, start(board), atol=17e-3 if kind == "sts" else 1e-3)


def safe(kind: str, board: SteppedPc) -> bool:
    """Return True if servos hold the arm, or if all drives have let go or brake."""
    if kind == "sts":
        return all(d.driving for d in drives_of(board)) and stays(kind, board)
    return all(not d.driving or d.brakes_alone for d in drives_of(board))


def follow(host: Board, begin: list[float]) -> None:
    """Send 40 live targets, and wait until the arm is at rest."""
    with host.follow() as following:
        for k in range(40):
            following.send(np.array(begin) + 0.1 * math.sin(0.04 * k))
            host.session.clock.sleep(0.02)


@pytest.mark.parametrize("rate", [1000, 200])
def test_an_arm_of_drives_is_armed_moved_and_let_go(rate):
    mechanism = on_pc(file_of(), rate, softer=1.0 if rate == 1000 else 0.4)
    with stepped(mechanism) as (board, session):
        armed(board, session)
        assert settle(board, session, 0.1) == "HOLD" and all(d.driving for d in drives_of(board))
        assert np.all(played(board, session) < 0.5e-3)
        session.disarm()
        board.run(0.05)
        assert not any(d.driving for d in drives_of(board))


@pytest.mark.assure
@pytest.mark.parametrize("kind", ["fd", *OTHERS])
def test_drives_of_each_family_hold_still_until_they_are_commanded_and_answer_each_tick(kind):
    """The owner accepts drives without a time limit."""
    mechanism = on_pc(described(kind), 500, softer=0.5)
    mechanism = replace(mechanism, board=replace(mechanism.board, accept="no time limit"))
    with stepped(mechanism) as (board, session):
        assert np.array_equal(board.plant.q, start(board)) and not np.any(board.plant.v)
        armed(board, session)
        assert settle(board, session, 0.1) == "HOLD"
        lost = session.drives.lost
        assert np.all(played(board, session) < 1e-3)
        assert session.drives.lost == lost


def odrives(rate: int) -> Mechanism:
    mechanism = load_mechanism(ROOT / "mechanisms" / "odrive_arm.toml")
    assert mechanism.board is not None
    return on_pc(replace(mechanism, board=replace(mechanism.board, accept="no time limit")), rate, softer=0.5)


@pytest.mark.assure
@pytest.mark.parametrize("mechanism", [
    on_pc(file_of(), 100, softer=0.2), on_pc(file_of(), 200, softer=0.4), on_pc(moteus_arm(7), 500, softer=0.5),
    odrives(500)], ids=lambda m: m.name)
def test_an_arm_follows_as_closely_as_with_a_chip_at_the_same_rate(mechanism):
    """A chip's frames spread over the tick, and a PC's frames do not."""
    motion = motion_of(mechanism)
    with stepped(mechanism) as (board, session):
        armed(board, session)
        assert settle(board, session, 0.5) == "HOLD"
        errors = played(board, session, motion)
    run = run_closed_loop(mechanism, motion)
    of_chip = error(motion, run.record.seconds[run.moving], run.record.q[run.moving])
    assert np.all(errors < 1.15 * of_chip)


def test_a_stop_in_a_motion_ends_on_the_path_at_rest():
    with stepped(on_pc(file_of())) as (board, session):
        armed(board, session)
        interrupts, motion = Interrupts(), motion_of(board.mechanism, 1.2)
        board.clock.after(0.5, lambda: setattr(interrupts, "count", 1))
        outcome = stream(session, knots(motion, board.mechanism), interrupts=interrupts)
        assert outcome.ended != "done" and settle(board, session, 0.2) in ("HOLD", "DISARMED")
        way = (board.plant.q - start(board)) / (motion.at(motion.duration)[0] - start(board))
        assert np.all(way > 0.05) and np.all(way < 0.95) and np.ptp(way) < 0.05  # all joints as far on the path
        assert np.all(np.abs(board.plant.v) < 1e-2)


@pytest.mark.parametrize("late, missed", [(0.9, False), (1.1, True), (5.0, True)])
def test_a_tick_that_is_a_whole_period_late_is_a_missed_one(late, missed):
    """late: delay in periods. A missed tick is no fault while the outputs are off."""
    with stepped(on_pc(file_of())) as (board, session):
        board.late = late * 1e-3
        assert settle(board, session, 0.1) == "DISARMED"
        armed(board, session)
        assert settle(board, session, 0.1) == "HOLD"
        ticks, began = session.status.tick, board.seconds
        board.late = late * 1e-3
        settle(board, session, 0.1)
        left_out = round((board.seconds - began) * 1000) - (session.status.tick - ticks)
        assert state(session) == ("FAULT" if missed else "HOLD")
        assert not missed or FAULT[session.status.fault] == "TICK_OVERRUN"
        assert abs(left_out - math.floor(late)) <= 10  # STATUS is of one of the last ten ticks


@each
@pytest.mark.parametrize("granted", [(-10.0,), (0.0, 0.0)])
def test_a_clock_that_steps_back_or_repeats_itself_makes_no_further_tick(kind, granted):
    """granted: times after the asked time, ticks. The program asks again until its time has come."""
    with held_arm(kind) as (board, session):
        at, rate = board._asked, board.mechanism.control.rate_hz
        tick = 10**9 // rate
        for after in granted:
            board._give(board._clock, TIME.pack(at + round(after * tick)))
        asked = [board._question() for _ in granted]
        assert asked == ([at] if granted[0] else [at + tick] * 2)
        board._asked = asked[-1]
        ticks, began = session.status.tick, board.seconds
        assert settle(board, session, 0.2) == "HOLD"
        assert abs(session.status.tick - ticks - rate * (board.seconds - began)) <= 10


@each
def test_an_arm_is_held_when_its_port_is_closed(kind):
    with held_arm(kind) as (board, _):
        board.plug_in().close()
        board.run(1.5)
        assert board.process.poll() is None and all(d.driving for d in drives_of(board)) and stays(kind, board)


def test_a_request_to_end_lets_the_drives_go_before_the_program_ends():
    with stepped(on_pc(file_of())) as (board, session):
        armed(board, session)
        settle(board, session, 0.1)
        assert all(d.driving for d in drives_of(board))
        board.process.terminate()
        with pytest.raises(Exception, match="the program has ended"):
            board.run(1.0)
        assert board.process.wait(10.0) == 0 and not any(d.driving for d in drives_of(board))


def second_of(board: SteppedPc) -> int:
    first = board.process.pid
    return int(Path(f"/proc/{first}/task/{first}/children").read_text())


@each
@pytest.mark.parametrize("guarded", [True, False])
def test_the_drives_are_safe_after_a_kill(kind, guarded):
    """If guarded, the second process sends the last frames. Otherwise the drives' time limits act."""
    with held_arm(kind) as (board, _):
        if not guarded:
            os.kill(second_of(board), signal.SIGKILL)
        board.process.kill()
        assert board.process.wait(HANG) < 0
        said = board.said_at_the_end()
        assert not guarded or (b"servos hold the arm" if kind == "sts" else b"switched off") in said
        board._collect()
        Bench.run(board, 0.02 if guarded else 0.5)
        assert safe(kind, board)


CAN = on_pc(file_of(), 200, softer=0.4)


@pytest.mark.parametrize("mechanism", [so101(), CAN], ids=lambda m: m.name)
@pytest.mark.parametrize("delay, ends", [(2e-3, "HOLD"), (6e-3, "FAULT")])
def test_answers_that_come_a_tick_late_are_not_believed(mechanism, delay, ends):
    """A tick lasts 5 ms, and a wire's packets 1.5 ms. Late answers would be taken for those to the next question."""
    with stepped(mechanism) as (board, session):
        armed(board, session)
        settle(board, session, 0.1)
        board.times = Times(delay)
        assert settle(board, session, 0.4) == ends
        assert ends == "HOLD" or FAULT[session.status.fault] == "DRIVE_SILENT"


@pytest.mark.parametrize("mechanism", [so101(), CAN], ids=lambda m: m.name)
def test_a_bus_comes_back_into_step_after_late_answers(mechanism):
    """The joints take their positions from answers in time again."""
    with stepped(mechanism) as (board, session):
        armed(board, session)
        settle(board, session, 0.1)
        board.times = Times(6e-3)
        board.run(6e-3)
        board.times = Times()
        settle(board, session, 0.1)
        lost = session.drives.lost
        assert settle(board, session, 0.2) == "HOLD" and session.drives.lost == lost


@each
def test_an_adapter_that_is_pulled_is_a_fault_and_the_drives_are_safe(kind):
    with held_arm(kind) as (board, session):
        board.unplug(board.mechanism.buses[0].name)
        assert settle(board, session, 0.3) == "FAULT"
        assert FAULT[session.status.fault] == ("DRIVE_SILENT" if kind == "sts" else "BUS_OFF")
        assert safe(kind, board)


def test_a_second_process_that_ends_is_told():
    with stepped(on_pc(file_of())) as (board, session):
        os.kill(second_of(board), signal.SIGKILL)
        assert settle(board, session, 0.1) == "DISARMED"
        board.process.terminate()
        with pytest.raises(Exception, match="has ended"):
            board.run(1.0)
        assert b"the second process has ended" in board.said_at_the_end()


@pytest.mark.parametrize("news, fields", [
    (0x40, {"off": 1, "offs": 1}), (0x04, {"sending": 130, "receiving": 7, "overruns": 1})])  # CAN_ERR_BUSOFF, _CRTL
def test_news_of_the_bus_reach_its_health(news, fields):
    """The records are those of linux/can/error.h: controller state in byte 1, error counters in bytes 6 and 7."""
    with stepped(on_pc(file_of())) as (board, session):
        board.give("can1", CLASSIC.pack(0x20000000 | news, 8, bytes([0, 1, 0, 0, 0, 0, 130, 7])))
        board.pause("can1")
        settle(board, session, 0.2)
        assert {name: getattr(session.drives, name)[0] for name in fields} == fields
        board.pause("can1", False)
        settle(board, session, 0.2)
        assert session.drives.off[0] == 0  # it has restarted by itself


# the last bytes to the drives: moteus' mode becomes 0, and register 40 of the servos 1 to 6 becomes 0
@pytest.mark.parametrize("mechanism, last", [
    (KINDS["damiao"], lambda data: data[-1] == 0xFD),
    pytest.param(KINDS["moteus"], lambda data: data[:3] == bytes([1, 0, 0]), marks=pytest.mark.assure),
    pytest.param(so101(), lambda data: bytes([40, 1, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0]) in data[-40:],
                 marks=pytest.mark.assure)], ids=lambda x: getattr(x, "name", ""))
def test_a_process_that_stands_still_is_killed_and_its_drives_switched_off(mechanism, last):
    """The program runs in real time. The test waits for events only."""
    bus, = mechanism.buses
    wire = bus.kind == "sts"
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM if wire else socket.SOCK_SEQPACKET)
    port, its_port = socket.socketpair()
    with ours, port, subprocess.Popen(
            [program_of(mechanism), f"{bus.name}=fd:{theirs.fileno()}", f"port=fd:{its_port.fileno()}"],
            pass_fds=[theirs.fileno(), its_port.fileno()], stderr=subprocess.PIPE) as process:
        theirs.close()
        its_port.close()
        for _ in range(100):
            ours.recv(100)  # ticks pass
        process.send_signal(signal.SIGSTOP)
        assert process.wait(HANG) == -signal.SIGKILL
        assert process.stderr is not None and b"switched off" in process.stderr.read()
        sent = list[bytes]()
        while data := ours.recv(100):
            sent.append(data)
        assert last(b"".join(sent) if wire else of_record(sent[-1]).data)


@pytest.mark.parametrize("kind, serial", [
    pytest.param(kind, serial, id=f"{kind} by {serial[0]}", marks=[] if kind == "damiao" else pytest.mark.assure)
    for kind, serial in (("damiao", SLCAN), ("damiao", DAMIAO), ("so101", SLCAN), ("moteus", FDCANUSB),
                         ("robstride", ROBSTRIDE))])
def test_serial_adapters_and_wires_carry_an_arm(kind, serial):
    """The bytes pass terminals of this computer. Servos get plain bytes."""
    mechanism = so101() if kind == "so101" else on_pc(described(kind), 200, softer=0.4)
    with stepped(mechanism, serial=serial) as (board, session), Board(session, mechanism) as host:
        armed(board, session)
        assert settle(board, session, 0.2) == "HOLD"
        follow(host, start(board))
        reached = np.array(start(board)) + 0.1 * math.sin(0.04 * 39)
        assert np.allclose(board.plant.q, reached, atol=17e-3 if kind == "so101" else 2e-3)
        session.disarm()
        board.run(0.05)
        assert not any(d.driving for d in drives_of(board))
        adapters = [node for node in board._nodes.values() if isinstance(node, UsbCan)]
        assert all(node.on and node.refused == [] for node in adapters)


def test_an_adapter_takes_its_time():
    times = Times(2e-3, 0.5e-3)
    with stepped(on_pc(file_of(), 200, softer=0.4, times=times), times) as (board, session):
        armed(board, session)
        settle(board, session, 0.2)
        lost = session.drives.lost
        assert np.all(played(board, session) < 1e-3)
        assert state(session) == "HOLD" and session.drives.lost == lost


class Tape:
    """A recording of a chip's image in a motion. to_drives, from_drives: frames by the first tick after them. messages:
    the host's messages with sequence numbers, by the first tick after them. rows: results of each tick."""

    def __init__(self, kind: str) -> None:
        mechanism, elf = arm(kind)
        self.to_drives, self.from_drives = defaultdict(list), defaultdict(list)
        with VirtualBoard(elf, mechanism, plant_of(mechanism)) as board:
            board.brakes = True
            passed, bytes_ = [], []
            board.wiring.buses.wires["can1"].log = passed.append
            incoming = board.incoming
            board.incoming = lambda data: bytes_.append((board.seconds, data)) or incoming(data)
            result = play_motion(board, mechanism, knots(motion_of(mechanism, 0.4), mechanism), feedforward=True)
            assert result.ended == "done"
            self.rows, dt = board.record(), board.dt
        begins = float(np.min(self.rows.seconds - dt * self.rows.tick))  # a tick's end, some µs after its begin
        replies = {joint.drive.reply for joint in mechanism.streamed}
        for p in passed:
            where = self.from_drives if p.frame.id in replies else self.to_drives
            where[math.ceil((p.seconds - begins) / dt)].append(p.frame)
        self.messages = self._messages(bytes_, begins, dt, mechanism)

    @staticmethod
    def _messages(bytes_, begins: float, dt: float, mechanism: Mechanism):
        """Return the messages by the tick before which their last byte has come, 10 µs a byte."""
        found, reader, free = defaultdict(list), FrameReader(Codec(len(mechanism.streamed))), 0.0
        for at, data in bytes_:
            for byte in data:
                free = max(free, at) + 1e-5
                for frame in reader.feed(bytes([byte])):
                    found[math.ceil((free - begins) / dt)].append((frame.message, frame.seq))
        return found


@pytest.fixture(scope="module")
def tape() -> Tape:
    return Tape("damiao")


def test_the_torques_of_an_image_and_of_the_test_application_are_equal_bit_for_bit(tape):
    """The test application is the firmware's C for this computer, with variables in place of a chip."""
    app, row_of, compared = Bussed(described("damiao")), {int(t): k for k, t in enumerate(tape.rows.tick)}, 0
    app.drives.clear()  # the tape has their answers
    for tick in range(len(tape.rows.tick) - 2):
        for frame in tape.from_drives[tick]:
            app.bring(frame)
        for message, seq in tape.messages[tick + 1]:
            app.send(message, seq)
        record = app.run(1, alive=False)[0]
        due, sent = (Counter((f.id, f.data) for f in some) for some in (tape.to_drives[tick + 1], app.sent))
        assert not due - sent, f"tick {tick}"
        row = row_of[int(record["tick"])]
        for name in ("torque_ff", "torque", "rate"):
            assert np.array_equal(record[name], getattr(tape.rows, name)[row]), (name, tick)
        compared += bool(np.any(record["torque"]))
    assert compared > 300


def test_the_torques_of_an_image_and_of_a_pc_are_equal_bit_for_bit(tape):
    """Both get the same frames before the same ticks, and send the same frames. In the tick that switches the drives
    off, the chip drops two commands from its queue. A PC has sent both commands by then."""
    mechanism = on_pc(described("damiao"), times=Times())
    configuration = Configuration.of(mechanism)
    codec, compared, more = Codec(3), 0, 0
    reader, row_of = FrameReader(codec), {int(t): k for k, t in enumerate(tape.rows.tick)}
    with SteppedPc(program_of(mechanism), mechanism, plant_of(mechanism)) as board:
        board.deliver("can1", tape.from_drives[0])
        for tick in range(len(tape.rows.tick) - 2):
            for message, seq in tape.messages[tick + 1]:
                board.plug_in().write(codec.encode(message, configuration.tag, seq))
            sent = board.step()["can1"]
            due = Counter(tape.to_drives[tick + 1])
            assert not due - Counter(sent), f"tick {tick}"
            more += (Counter(sent) - due).total()
            board.deliver("can1", tape.from_drives[tick + 1])
            for frame in reader.feed(board.plug_in().read(65536)):
                if isinstance(frame.message, Status) and frame.message.tick in row_of:
                    row = row_of[frame.message.tick]
                    for name in ("torque_ff", "torque", "rate"):
                        assert np.array_equal(np.float32(getattr(frame.message, name)), getattr(tape.rows, name)[row])
                    compared += bool(np.any(tape.rows.torque[row]))
    assert compared > 30 and more == 2


def test_the_arm_follows_live_targets():
    mechanism = on_pc(file_of(), 200, softer=0.4)
    with stepped(mechanism) as (board, session), Board(session, mechanism) as host:
        host.home()
        follow(host, start(board))
        reached = np.array(start(board)) + 0.1 * math.sin(0.04 * 39)
        assert state(session) == "HOLD" and np.allclose(board.plant.q, reached, atol=2e-3)
