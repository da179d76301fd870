"""The link with arbitrary bytes, lost and flipped frames, and other configurations. No write is out of bounds."""

import random
import struct
import zlib
from dataclasses import replace
from functools import cache
from importlib.metadata import version

import numpy as np
import pytest
from cobs import cobs
from hypothesis import given, strategies as st

from femtorque.codegen.wire import Command, Follow, Hello, Knot, Poll, Read, messages
from femtorque.host.link import Sender
from tests.firmware.app import App, changed, in_hold, load, replace as swap, sources, three_link
from tests.firmware.streaming import three_link_knots, three_link_trajectory


@cache
def library():
    return load(sources(three_link()), "size_t ft_cobs_decode(uint8_t *bytes, size_t size);")


@given(st.binary(max_size=600).map(lambda b: b.replace(b"\0", b"\x01")))
def test_that_wrong_stuffing_is_refused_as_by_the_cobs_package(stuffed):
    ffi, lib = library()
    buffer = ffi.new("uint8_t[]", stuffed + b"\x55")
    n = lib.ft_cobs_decode(buffer, len(stuffed))
    assert buffer[len(stuffed)] == 0x55
    try:
        expected = cobs.decode(stuffed)
    except cobs.DecodeError:
        expected = None
    if expected is None:
        assert n == 2 ** (8 * ffi.sizeof("size_t")) - 1
    else:
        assert bytes(ffi.buffer(buffer, n)) == expected


# ---- identity ---------------------------------------------------------------------------------------


def test_that_hello_is_answered_whatever_the_tag():
    app = App(reset_cause=messages.RESETS["PIN"])
    app.send(Hello(), tag=app.tag ^ 0x1234)
    app.run(1)
    ident = app.ident
    assert (ident.protocol, ident.joints) == (messages.PROTOCOL, 3)
    assert int.from_bytes(ident.digest[:2], "big") == app.tag
    assert ident.name.rstrip(b"\0") == b"three-link"
    assert ident.board.rstrip(b"\0") == b"f405rg-4"
    assert (ident.rate_hz, ident.knot_hz, ident.ring) == (1000, 250, 256)
    assert ident.reset_cause == messages.RESETS["PIN"]


def test_that_hello_also_tells_which_chip_it_is_and_what_has_happened_to_it():
    app = App()
    app.chip.history.unique = bytes(range(0x41, 0x4D))
    told = {"options": 0x0FFFAAED, "resets": 70_000, "exception": 6, "pc": 0x08001234, "lr": 0x08004321,
            "psr": 0x21000000,
            "cfsr": 0x00010000, "hfsr": 0x40000000, "address": 0x30000000}
    for name, value in told.items():
        setattr(app.chip.history, name, value)
    app.run(2500)
    app.send(Hello(), tag=app.tag ^ 0x1234)
    app.run(1)
    about = app.about
    assert about.unique == b"ABCDEFGHIJKL" and about.version.rstrip(b"\0").decode() == version("femtorque")
    assert (about.uptime, about.resets, about.crash) == (2, 65535, 6)
    assert all(getattr(about, name) == told[name] for name in ("options", "pc", "lr", "psr", "cfsr", "hfsr", "address"))
    assert about.faults == bytes(messages.FAULT_NUMBERS)


def test_that_the_rest_of_an_answer_waits_for_room_of_its_own():
    """The send buffer has room for one frame, so IDENT fits and ABOUT does not."""
    app = App()
    app.run(1)
    app.ident = app.about = None
    app.chip.deaf = 2
    app.send(Hello())
    app.run(3)
    assert app.ident is not None and app.about is None
    app.chip.deaf = 0
    app.run(2)
    assert app.about is not None


def test_that_faults_are_counted_since_reset_by_their_numbers_up_to_255():
    app = App()
    for _ in range(260):
        app.lib.ft_app_missed()
        app.run(2, alive=False)
        app.command("CLEAR")
    app.send(Hello())
    app.run(1)
    number = messages.FAULTS["TICK_OVERRUN"][0]
    assert app.about.faults == bytes(255 if n == number else 0 for n in range(messages.FAULT_NUMBERS))
    assert max(row[0] for row in messages.FAULTS.values()) < messages.FAULT_NUMBERS


@pytest.mark.parametrize("length", [31, 32, 33, 4000])
def test_that_a_long_name_is_told_as_far_as_it_fits(length):
    app = App(replace(three_link(), name="n" * length))
    app.send(Hello())
    app.run(1)
    assert app.ident.name == b"n" * min(length, 32) + bytes(max(32 - length, 0))
    assert app.ident.board.rstrip(b"\0") == b"f405rg-4"


def test_that_frames_that_are_wrong_are_counted_and_change_nothing():
    """The frames belong to another configuration, or have a wrong length, type or check sum."""
    app = App()
    for message in (Command(5, messages.COMMANDS["DISARM"][0]), Poll(), Knot(1, (0,) * 3, (0.0,) * 3, (0.0,) * 3)):
        app.send(message, tag=app.tag ^ 1)
    for kind, payload in ((5, b"x"), (2, b""), (2, bytes(36)), (2, bytes(38)), (3, bytes(1)), (99, b""), (64, b"")):
        body = struct.pack("<BHH", kind, 0, app.tag) + payload
        app.feed(cobs.encode(body + struct.pack("<I", zlib.crc32(body))) + b"\0")
    app.feed(cobs.encode(bytes(8)) + b"\0")
    status = app.see()
    assert (status.wrong_tag, status.bad_frames, status.command_token, status.ack, status.refusal) == (3, 8, 0, 0, 0)


def test_that_answers_wait_for_room_on_the_line():
    app = in_hold()
    assert app.ask(Follow(app.token + 1, messages.FOLLOW_AUTO, 20_000)) == "NONE"
    app.chip.deaf = 1
    app.send(Hello())
    app.send(Read(0))
    app.run(60)
    app.chip.deaf = 0
    kinds = {type(m).__name__ for said in messages_of(app, 3) for m in said}
    assert kinds == {"Ident", "About", "Status", "Data", "Followed"}


def test_that_status_tells_what_its_tick_has_left():
    """All numbers in a report are its tick's: the chip's inputs and the telemetry, in motion, stop and rest."""
    app = App(patches={"fake_chip.c": swap("fake.cycles += 7u", "fake.cycles += 7u + fake.index"),
                       "ft_port.c": swap("s->ack = rx.wanted;", "s->ack = rx.wanted; s->line_errors += 3u;")})
    app.ready()
    rng, knots = np.random.default_rng(3), three_link_knots()
    app.start(knots, most=250)
    app.chip.index = 993
    app.run(1)
    app.chip.index = 0
    paces, played = set(), []
    for _ in range(400):
        celsius = app.chip.temperature  # the main loop reads this after it has answered
        app.chip.bus_voltage, app.chip.temperature = rng.uniform(20.0, 28.0), rng.uniform(-20.0, 80.0)
        app.status = None
        app.run(1)
        if len(app.trace) == 150:
            app.post("STOP")
        if app.status is None:
            continue
        status, record = app.status, app.trace[-1][-1]
        assert status.tick == record["tick"]
        for name in ("position", "target", "rate", "target_rate", "torque_ff", "torque", "duty"):
            assert np.array_equal(np.asarray(getattr(status, name), record[name].dtype), record[name]), name
        assert status.bus_mv == int(np.float32(app.chip.bus_voltage) * np.float32(1000.0))
        assert status.temperature == int(np.float32(celsius) * np.float32(1000.0))
        assert (status.cycles, status.cycles_max, status.line_errors) == (7, 1000, 3)
        paces.add(round(status.pace, 2))
        if status.pace == 1.0:
            played.append(status.knots_played - status.tick / 4)
    assert {0.0, 1.0} < paces and len(played) > 10 and np.ptp(played) < 1.0


@pytest.mark.parametrize("volts, celsius, bus_mv, temperature", [
    (64.9, 2.1e6, 64900, 2**31 - 1), (65.0, 2e6, 65535, 2**31 - 1), (64.0, -2e6, 64000, -2**31),
    (70.0, -3e6, 65535, -2**31), (float("nan"), float("nan"), 65535, 2**31 - 1),
])
def test_that_what_does_not_fit_into_status_is_told_as_the_most_that_does(volts, celsius, bus_mv, temperature):
    app = App()
    app.chip.bus_voltage, app.chip.temperature = volts, celsius
    status = app.see()
    assert abs(status.bus_mv - bus_mv) <= 1 and status.temperature == temperature


def test_that_a_limit_is_told_until_a_status_has_told_it():
    app = App(changed(limits={"effort": 0.3}))
    assert app.home([0.0, 0.0, 0.0]) == "NONE"
    assert app.command("ARM") == "NONE"
    assert app.see().limits & messages.LIMITS["TORQUE"][0]
    assert app.command("DISARM") == "NONE"
    app.see()
    assert app.see().limits == 0


@pytest.mark.parametrize("ticks", [1, 10])
def test_that_status_is_of_one_tick_although_one_comes_between(ticks):
    """If a tick interrupts the copy, the main loop copies the numbers again, four times at most."""
    between = "if (fake.index != 0u) { fake.index--; fake.bus_voltage += 1.0f; ft_app_tick(); } return 0;"
    app = App(patches={"fake_chip.c": lambda text: text.replace(
        "uint32_t ft_chip_line_errors(void) { return 0; }", "").replace(
        "static uint8_t in[BUFFER]", f"uint32_t ft_chip_line_errors(void) {{ {between} }}\nstatic uint8_t in[BUFFER]")})
    before = app.see()
    app.chip.index = ticks
    status = app.see()
    if ticks == 1:
        assert (status.bus_mv, app.chip.index) == (before.bus_mv + 1000, 0)
    else:
        assert app.chip.index == 10 - 4


def messages_of(app, ticks):
    """Return the board's replies in each of the next ticks."""
    said = []
    for _ in range(ticks):
        app.lib.fake_run(1, True, app.ffi.NULL)
        said.append(app.take())
    return said


def test_that_each_answer_comes_once():
    app = App()
    app.run(30)
    app.send(Hello())
    app.send(Read(0))
    said = messages_of(app, 500)
    kinds = [{type(m).__name__ for m in each} for each in said]
    assert sum("Ident" in k for k in kinds) == sum("Data" in k for k in kinds) == 1
    status = [i for i, k in enumerate(kinds) if "Status" in k]
    assert set(np.diff(status)) == {1000 // messages.STATUS_HZ}
    assert not any(kinds[i] for i in range(1, 500) if i not in status)


@pytest.mark.parametrize("at, heard", [(960, True), (1024, False)])
def test_that_a_round_takes_in_a_thousand_bytes_and_no_more(at, heard):
    app = App()
    app.run(30)
    app.feed(bytes(at))
    app.send(Hello())
    app.lib.ft_app_idle()
    app.take()
    assert (app.ident is not None) == heard
    app.lib.ft_app_idle()
    app.take()
    assert app.ident is not None


# ---- damage -----------------------------------------------------------------------------------------


def test_that_a_board_that_starts_anew_has_forgotten_its_host():
    app = in_hold()
    app.stream(three_link_knots(), most=20, end=False)
    assert app.see().ack == 20
    app.feed(b"\x20abc")  # the first part of a frame
    app.lib.ft_app_idle()
    app.lib.ft_app_start(0)
    status = app.see()
    assert (status.ack, status.buffered, status.bad_frames) == (0, 0, 0)


def test_that_an_endless_frame_is_cut_and_the_next_one_is_heard():
    app = App()
    app.feed(b"\x02" * 5000)
    app.run(11)
    app.feed(b"\0")
    app.send(Poll())
    frames = app.see().frames
    assert app.status.bad_frames == 1
    assert frames >= 1


class Wire:
    """A link for a Sender to the application. The link drops and damages frames. The link's time is in ticks."""

    def __init__(self, app, rng, dropped, flipped):
        self.app, self.rng, self.dropped, self.flipped = app, rng, dropped, flipped
        self.clock, self.ticks, self.queue = self, 0, []

    def now(self):
        return self.ticks * 1e-3

    @property
    def backlog(self):
        return len(self.queue) * 0.45e-3

    def send(self, message, seq=0):
        self.queue.append(self.app.codec.encode(message, self.app.tag, seq))

    def tick(self):
        for frame in self.queue[:3]:
            if self.rng.random() < self.dropped:
                continue
            damaged = bytearray(frame)
            if self.rng.random() < self.flipped:
                damaged[self.rng.randrange(len(frame))] ^= 1 << self.rng.randrange(8)
            self.app.feed(bytes(damaged))
        del self.queue[:3]
        self.app.run(1, alive=False)
        self.ticks += 1


@pytest.mark.parametrize("dropped, flipped", [(0.0, 0.0), (0.1, 0.1), (0.3, 0.0)])
def test_that_a_motion_arrives_whole_over_a_bad_wire(dropped, flipped):
    """Every knot arrives once and in order, and at pace 1 the exact path gives every target."""
    app = in_hold()
    rng = random.Random(3)
    knots = three_link_knots()
    wire = Wire(app, rng, dropped, flipped)
    sender = Sender(wire, knots, app.see().ack)
    sender.credit = app.status.credit
    started, last = False, None
    for _ in range(6000):
        if wire.ticks % 20 == 0:
            wire.send(Poll())
        sender.send()
        wire.tick()
        if app.status is not last:
            last = app.status
            sender.take(last)
        if not started and sender.acked >= 200:
            assert app.command("START") == "NONE"
            started = True
        if started and app.status.flags & messages.FLAGS["ENDED"][0]:
            break
    assert app.state == "HOLD"
    assert app.fault == ("NONE", 255)
    assert sender.done
    assert app.see().ack == len(knots)
    assert (sender.retransmissions > 0) == (dropped + flipped > 0.0)
    trace = np.concatenate(app.trace)
    first = np.flatnonzero(np.abs(trace["target_rate"]).max(axis=1) > 0.0)[0]
    q = trace["target"].astype(float) * (2.0 * np.pi / 2.0**32)
    motion = three_link_trajectory()
    lags = range(-5, 40)
    error = min(np.max(np.abs(q[first:first + 3030] - motion.at((np.arange(3030) + lag) * 1e-3)[0])) for lag in lags)
    assert error < 2e-8
