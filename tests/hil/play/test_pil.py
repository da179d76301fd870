"""The pil image behind a serial port, with the plant simulated by the host. The virtual board acts as a real one, whose
plant rests and whose pins must drive nothing. A slow line changes no run, because time is counted in answered ticks."""

import json
import zlib
from contextlib import contextmanager
from dataclasses import replace
from functools import cache, partial

import numpy as np
import pytest

from femtorque.codegen.board import ADC_COUNTS, ADC_V
from femtorque.codegen.common import BadInput, Refused
from femtorque.codegen.motion import from_rows, knots
from femtorque.codegen.toolchain import platformio as build
from femtorque.codegen.wire import Codec, Drive, FrameReader, Sense, to_wire
from femtorque.hil.board import FAULTS, VirtualBoard, VirtualClock
from femtorque.hil.plant.rigid import Plant
from femtorque.hil.play import granted_ticks, pil
from femtorque.hil.play.closed_loop import Idle, folder, play_motion
from femtorque.hil.scenarios import scenario
from femtorque.host.link import Configuration, Link, Session, link, open_port
from tests.support import rig

SECONDS = 0.15
REACH = np.array([0.06, -0.05, 0.05])


@cache
def image(feedforward=True):
    place = rig.ROOT / folder(rig.three_link(), feedforward, pil=True)
    return build.build_image(rig.three_link(), place, feedforward=feedforward, pil=True).elf


@contextmanager
def real_board(elf=None):
    """Yield a board whose mechanism is unknown; only the port is known. The test observes the outputs."""
    with VirtualBoard(elf or image(), rig.three_link(), Idle(3)) as board:
        board.recording = False
        board.driven = False

        def watch(_):
            board.driven |= not np.all(np.isnan(board.voltages()))

        board.listeners.append(watch)
        yield board


def brief():
    names = [joint.name for joint in rig.three_link().moving]
    return from_rows(names, [0.0, SECONDS], np.array([rig.start(), rig.start() + REACH]))


def on_board(board, **options):
    return pil.run_in_the_loop(board.url, rig.three_link(), brief(), wall=VirtualClock(board), **options)


@contextmanager
def relay(board):
    """Return the relay without a host, for tests of the line."""
    mechanism = rig.three_link()
    configuration = Configuration.of(mechanism, pil=True)
    device, wall = open_port(board.url, configuration.baud), VirtualClock(board)
    pil.make_ready(device, configuration, wall)
    with pil.Relay(device, mechanism, Plant(mechanism), configuration.tag, wall) as between:
        yield between


class Played(Plant):
    """A plant that follows a path (T, n), one row per tick, whatever the voltages are."""

    def __init__(self, mechanism, path):
        super().__init__(mechanism)
        self.path, self.ticks, self.q = path, 0, path[0]

    def drive(self, seconds, voltage):
        self.ticks += 1
        self.q = self.path[min(self.ticks, len(self.path) - 1)]


@pytest.fixture(scope="module")
def clean():
    with real_board() as board:
        result = on_board(board)
        assert not board.driven
    return result


def during(result):
    """Return the part of a run in which the arm moves, and some ticks before it."""
    around = slice(result.moving.start - 20, result.moving.stop)
    names = ("torque_ff", "torque", "duty", "position", "target", "q")
    return {name: getattr(result.record, name)[around] for name in names}


def calibrate(board):
    """Make the virtual board's converter return exactly the nominal bus voltage, as a pil image assumes. The fault
    changes one constant of the image, and therefore the image's check sum."""
    nominal, exact = np.float32(board.bus_voltage), board.board.sense.bus.ratio * ADC_V / ADC_COUNTS
    counts = np.float32(round(board.bus_voltage / exact))
    steps = [np.float32(nominal / counts)]
    steps += [np.nextafter(steps[0], np.float32(way)) for way in (0, 1)]
    right = next(step for step in steps if step * counts == nominal)
    flash, start = board.image.flash, board.image.start
    assert 1 <= flash.count(np.float32(exact).tobytes()) <= 3  # one in each function that measures the bus
    assert zlib.crc32(flash[:-4]) == int.from_bytes(flash[-4:], "little")  # as built
    changed = flash[:-4].replace(np.float32(exact).tobytes(), right.tobytes())
    board.chip.core.load(start, changed + zlib.crc32(changed).to_bytes(4, "little"))


def test_the_duties_equal_the_virtual_boards_bit_for_bit(clean):
    """The test compares the duties only in ticks with equal encoder readings."""
    mechanism = rig.three_link()
    with VirtualBoard(rig.image(), mechanism, Plant(mechanism)) as board:
        calibrate(board)
        normal = play_motion(board, mechanism, knots(brief(), mechanism), feedforward=True)
    ticks = np.arange(len(clean.record.q)) + normal.moving.start - clean.moving.start
    with real_board() as board:
        again = on_board(board, plant=Played(mechanism, normal.record.q[np.clip(ticks, 0, len(normal.record.q) - 1)]))
        assert not board.driven
    assert again.ended == normal.ended == "done" and again.bit_identical is True
    assert again.state == "DISARMED" and again.faults == () and again.outputs_safe
    assert np.abs(again.record.duty).max() > 0.05
    here, there = during(again), during(normal)
    for name in here:
        assert np.array_equal(here[name], there[name]), name
    assert np.array_equal(again.tracking_rms, normal.tracking_rms)


def test_a_motion_is_played_with_the_plant_at_the_host(clean):
    assert clean.ended == "done" and clean.bit_identical is True
    assert clean.state == "DISARMED" and clean.faults == () and clean.outputs_safe
    np.testing.assert_allclose(clean.record.q[-1], rig.start() + REACH, atol=3e-3)


def test_a_bad_line_costs_time_and_nothing_else(clean):
    with real_board() as board, relay(board) as between:
        for line in (board.incoming, board.outgoing):
            line.drop = line.flip = 0.02
            line.duplicate = 0.1
        mechanism = rig.three_link()
        result = play_motion(between, mechanism, knots(brief(), mechanism), True, pil=True)
        assert between._line.repeated > 5 and board.incoming.dropped > 0 and board.outgoing.flipped > 0
    assert result.good
    here, there = during(result), during(clean)
    for name in here:
        assert np.array_equal(here[name], there[name]), name


def test_a_sense_that_comes_again_is_answered_again_and_not_executed():
    with real_board() as board:
        configuration = Configuration.of(rig.three_link(), pil=True)
        device, codec = open_port(board.url, configuration.baud), Codec(3)
        reader = FrameReader(codec)

        def ask(tick, counts):
            device.write(codec.encode(Sense(tick, counts), configuration.tag))
            board.run(0.01)
            frames = [frame.message for frame in reader.feed(device.read(65536))]
            return next(m for m in reversed(frames) if isinstance(m, Drive)), frames[-2].position

        board.run(0.05)
        first, _ = ask(0, (1000, 0, 0))  # this tick fails; the answer belongs to the next tick
        then, before = ask(first.tick + 1, (1000, 0, 0))
        assert then.tick == first.tick + 1
        # The first counts of the plant are not a movement.
        assert list(before) == to_wire(rig.start(), configuration.joints).tolist()
        once, moved = ask(then.tick + 1, (1010, 0, 0))
        again, still = ask(then.tick + 1, (1010, 0, 0))
        assert once == again and once.tick == then.tick + 1
        assert moved == still and moved[0] - before[0] == 10 * 2**32 // rig.three_link().joints[0].encoder.counts
        later, _ = ask(once.tick + 2, (1020, 0, 0))
        assert later == once
        device.close()


def cut(board, is_cut):
    board.incoming.cut = board.outgoing.cut = is_cut


def test_a_cut_line_ends_the_run_and_drops_the_outputs_on_the_board(monkeypatch):
    monkeypatch.setattr(granted_ticks, "LOST", 1.1)  # the board gives up after 1 s
    with real_board() as board:
        board.at(0.5, lambda: cut(board, True))
        result = on_board(board)
        assert "answered no SENSE for 1.1 s" in result.ended and result.state == "TRACK"
        cut(board, False)
        session = Session(Link(board.url, clock=VirtualClock(board)), Configuration.of(rig.three_link(), pil=True))
        session.connect()
        assert session.in_state("FAULT") and "BREAK" in session.describe()
        session.link.close()
        with relay(board) as between:  # the next run clears latched faults
            between.run(0.02)
            assert between.outputs_safe() and between.record().tick[-1] - between.record().tick[0] == 19
        assert not board.driven


def of_scenario(name, fault=None):
    """Return the results of a run of the three-link scenario on the board."""
    s = scenario.load_scenario("three_link")
    case = s.run(name)
    with real_board(image(case.feedforward)) as board:
        runner = partial(pil.run_in_the_loop, board.url, wall=VirtualClock(board))
        return scenario.play_scenario(s, case, short=True, fault=fault, runner=runner)


def test_a_host_that_is_silent_is_noticed_while_the_plant_goes_on(monkeypatch):
    monkeypatch.setitem(FAULTS, "host-stall", replace(FAULTS["host-stall"], settle=0.0))
    result = of_scenario("feed-forward + PD", "host-stall")
    assert "the host was silent" in result.ended and result.state == "HOLD"


@pytest.mark.bench
def test_the_scenario_gives_the_same_verdicts_on_a_real_board():
    s = scenario.load_scenario("three_link")
    runs = [r for r in s.file.run if r.fault is None or not FAULTS[r.fault].chip]
    checks = scenario.checks(s, {r.name: of_scenario(r.name) for r in runs}, short=True)
    assert len(checks) > 10
    assert not [f"{c.what}: {c.found}; {c.allowed}" for c in checks if not c.good]


def test_each_image_is_refused_where_the_other_is_wanted():
    normal, wanted = (Configuration.of(rig.three_link(), pil=p).digest.hex()[:16] for p in (False, True))
    with real_board(rig.image()) as board, pytest.raises(Refused, match=f"{normal}.*{wanted}.*build .*--pil`"):
        on_board(board)
    with real_board() as board, pytest.raises(Refused, match=f"f405rg-4-pil.*{wanted}.*{normal}"):
        Session(Link(board.url, clock=VirtualClock(board)), Configuration.of(rig.three_link())).connect()


def test_a_fault_that_a_real_board_cannot_be_given_is_bad_input():
    with pytest.raises(BadInput, match="virtual board only.*encoder-jump"):
        pil.run_in_the_loop("/dev/null", rig.three_link(), brief(), fault="crystal")


@pytest.fixture
def typed(tmp_path, here):
    """Run the command in the way that a user types it, with a board at a port."""
    motion = tmp_path / "brief.csv"
    rows = np.column_stack([[0.0, SECONDS], np.array([rig.start(), rig.start() + REACH])])
    names = ",".join(joint.name for joint in rig.three_link().moving)
    motion.write_text(f"t,{names}\n" + "\n".join(",".join(map(repr, map(float, row))) for row in rows) + "\n")
    return lambda port: here("hil", "pil", rig.ROOT / "mechanisms" / "three_link.toml", motion, "--port", port,
                             "--json")


def good(done, clean):
    assert done.returncode == 0, done.stdout + done.stderr
    told = json.loads(done.stdout)
    assert told["ended"] == "done" and told["bit_identical"] is True and told["digest"] == clean.digest
    np.testing.assert_allclose(list(told["true_rms"].values()), clean.tracking_rms, rtol=0.3)


def test_the_command_line_plays_on_a_board(typed, clean, monkeypatch):
    with real_board() as board:
        for module in (pil, link):
            monkeypatch.setattr(module, "WallClock", lambda: VirtualClock(board))
        good(typed(board.url), clean)
