"""Tests the identity, commands and refusals of a session. Every wait is bounded."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from femtorque.codegen.common import BadInput, Refused
from femtorque.codegen.wire import messages
from femtorque.host.link.about import crash
from femtorque.host.link.link import Link
from femtorque.host.link.session import Session
from tests.support.fake_board import FakeBoard, ManualClock, a_session as armed, configuration, unconnected as a_session


def test_a_board_says_which_chip_it_is_what_its_image_is_and_what_has_happened_to_it():
    session, board = a_session(unique=b"ABCDEFGHIJKL")
    assert session.connect().name == "three-link"
    who = session.identity()
    assert who["ring"] == board.ring_size and who["reset_cause"] == "POWER"
    assert (who["unique"], who["version"], who["resets"], who["crash"]) == (b"ABCDEFGHIJKL".hex(), "0.1.0", 0, None)
    assert who["brown_out"] == "off" and who["faults"] == {} and crash(session.about) == ""


def test_a_crash_is_told_with_all_that_is_needed_to_report_it():
    session, board = a_session()
    session.connect()
    session.clock.sleep(0.5)
    session.pump()
    board.crash = {"crash": 6, "pc": 0x08001234, "lr": 0x08004321, "cfsr": 0x10000, "hfsr": 0, "address": 0x30000000}
    board.reset("SOFTWARE", messages.FAULTS["HARD_FAULT"][0])
    with pytest.raises(Refused,
                       match=r"was reset \(cause SOFTWARE\), latched before it: HARD_FAULT.*\(usage fault at "
                             r"0x08001234, "
                                      "called from 0x08004321, CFSR 0x00010000, HFSR 0x00000000, address 0x30000000"):
        session.wait(lambda: False, 1.0, "")
    assert session.identity()["crash"]["pc"] == 0x08001234 and session.identity()["resets"] == 1
    board.crash["pc"] = 0
    assert "stack not readable, lr 0x08004321" in crash(board.about())


@pytest.mark.parametrize("other", [
    configuration(digest=b"\xaa" * 32), configuration(joints=6, digest=b"\xbb" * 32),
    configuration(digest=bytes(range(1, 3)) + bytes(30)),
], ids=["another digest", "another number of joints", "the same tag"])
def test_another_configuration_is_refused_with_both_digests_and_the_command_that_mends_it(other):
    session, board = a_session(conf=other)
    with pytest.raises(Refused, match="another configuration") as refused:
        session.connect()
    line = str(refused.value)
    assert other.digest[:8].hex() in line and bytes(range(1, 9)).hex() in line and "femtorque build arm.toml" in line
    assert not board.commands
    session.expected = replace(session.expected, board="pc")
    with pytest.raises(Refused, match="; start `femtorque board arm.toml`$"):
        session.connect()
    board.unique = b"VIRTUAL".rjust(12)
    with pytest.raises(Refused, match="; start `femtorque hil serve arm.toml`$"):
        session.connect()


def test_another_protocol_is_named_before_anything_else():
    session, board = a_session()
    ident = board.ident()
    board.ident = lambda: type(ident)(**{**ident.__dict__, "protocol": 77})
    with pytest.raises(Refused, match=f"speaks protocol 77, this host {messages.PROTOCOL}"):
        session.connect()


def test_status_of_another_configuration_is_ignored():
    session, board = a_session()
    session.connect()
    session.link.tag ^= 1
    before = session.status
    session.clock.sleep(0.05)
    session.pump()
    assert session.status is before and session.other_tag > 0


@pytest.mark.parametrize("port, noise, words", [
    ("/dev/ttyACM0", b"", "silent; check power, cable"), ("unix:/run/arm", b"", "serves one host at a time"),
    ("/dev/ttyACM0", b"\x55" * 40, "sending bytes that are no frames; check the baud rate"),
])
def test_nobody_there_is_told_in_bounded_time(port, noise, words):
    session, board = a_session()
    board.silent, session.link.port = not noise, port
    board._send = lambda message, now: board.to_host.put(noise, now)
    with pytest.raises(Refused, match=words):
        session.connect()
    assert session.clock.now() < 2.1


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_meeting_homing_and_arming_work_over_a_bad_wire(seed):
    session, board = a_session(seed=seed, drop=0.1, flip=0.1)
    session.connect()
    session.home([0.1, -0.2, 0.3])
    session.arm()
    assert board.commands == [0, messages.COMMANDS["ARM"][0]], "repeated commands are executed once"
    np.testing.assert_allclose(session.positions(), [0.1, -0.2, 0.3], atol=1e-8)


def test_tokens_go_on_from_the_boards_last_one():
    """With a token that the board knows, a second host's first command would count as a repetition."""
    clock = ManualClock()
    board = FakeBoard(clock)
    for _ in range(300):
        session = Session(Link(board, clock=clock), configuration())
        session.connect()
        session.command("DISARM")
    assert len(board.commands) == 300


@pytest.mark.parametrize("name", [n for n in messages.REFUSALS if n != "NONE"])
def test_every_refusal_is_shown_with_its_joint_and_its_mend(name):
    session, board = a_session()
    session.connect()
    board.refuse_with[messages.COMMANDS["ARM"][0]] = (name, 2)
    with pytest.raises(Refused) as refused:
        session.arm()
    _, meaning, mend = messages.REFUSALS[name]
    assert f"the board refused ARM: {name} at joint j3: {meaning}; {mend}" in str(refused.value)
    assert ("(j3 is at " in str(refused.value)) == (name == "OUTSIDE_LIMITS")


def test_a_command_that_is_never_acknowledged_is_given_up():
    session, board = a_session()
    session.connect()
    board.deaf_to = {messages.COMMANDS["ARM"][0]}
    began = session.clock.now()
    with pytest.raises(Refused, match="did not acknowledge ARM in 1 s; its state is DISARMED"):
        session.arm()
    assert session.clock.now() - began < 1.1


def test_an_idle_host_keeps_an_armed_board_alive():
    session, board = armed()
    for _ in range(1500):
        session.pump()
        session.clock.sleep(0.002)
    assert board.state == "HOLD"


def test_a_port_that_does_not_exist_is_bad_input():
    with pytest.raises(BadInput, match="/dev/ttyNOPE: port: cannot be opened .*No such file"):
        Link("/dev/ttyNOPE")
    with pytest.raises(BadInput, match="cannot be opened .*refused"):
        Link("socket://127.0.0.1:1")
    with pytest.raises(BadInput, match="cannot be opened"):
        Link("nonsense://x")
    with pytest.raises(BadInput, match="did you mean socket://localhost:5555"):
        Link("localhost:5555")
