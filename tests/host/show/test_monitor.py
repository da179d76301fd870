"""Tests the live view of a board in the terminal."""

import io
import json
import re
from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console

from femtorque.codegen.common import MECHANISMS, Refused
from femtorque.codegen.mechanism import load_mechanism
from femtorque.codegen.wire import Drives, messages, to_wire
from femtorque.host.record import about, named, sample
from femtorque.host.show.monitor import snapshot, view, watch
from tests.codegen.mechanism.test_urdf import robot
from tests.support.fake_board import configuration, unconnected
from tests.whole.test_stream_command import MECHANISM, in_terminal


def looking(**keys):
    session, board = unconnected(listen_only=True, **keys)
    session.connect()
    return session, board


def shown(session):
    console = Console(file=io.StringIO(), width=120)
    console.print(view(session))
    return console.file.getvalue()


def refresh(session):
    session.clock.sleep(0.03)
    session.pump()


def test_what_the_board_says_is_shown_in_words():
    session, board = looking(lag=0.01)
    board.target[:] = int(0.25 * 2**32 / (2 * np.pi))
    board.state, board.limits = "HOLD", messages.LIMITS["TORQUE"][0]
    board._flag(HOMED=True, OUTPUTS=True)
    refresh(session)
    text = shown(session)
    assert "three-link on f405rg-4" in text and "HOLD" in text and "homed, outputs on" in text and "TORQUE" in text
    assert re.search(r"j2, rad .*\+0\.2400 .*\+0\.2500 .*\+1\.0e-02", text)


def test_the_mode_is_shown_by_its_name_where_there_are_several():
    session, board = looking()
    assert "mode" not in shown(session) and sample(session)["mode"] == ""
    board.mode = 1
    refresh(session)
    assert "mode 1, buffer" in shown(session)  # without a mechanism file
    session.configuration = replace(session.configuration, modes=("open", "grasp"))
    assert "mode grasp, buffer" in shown(session)
    assert sample(session)["mode"] == "grasp" and about(session)["modes"] == ["open", "grasp"]
    assert named(session, sample(session))["mode"] == 1


def test_old_positions_and_rates_of_a_joint_that_is_where_it_should_be_are_no_feedback():
    """The joint accelerates, and the reported positions were measured 2 ms earlier."""
    session, board = looking()
    board._flag(OUTPUTS=True)
    refresh(session)
    joints, old, acceleration = session.configuration.joints, 2e-3, 3.0
    session.configuration = replace(session.configuration, ages=(old,) * 3)
    given, seen, step = session.status, {}, session.configuration.rate_hz // messages.STATUS_HZ
    for k in range(1, 4):
        t = (given.tick + k * step) / session.configuration.rate_hz
        at, rates = [0.5 * acceleration * x * x for x in (t, t - old)], [acceleration * x for x in (t, t - old)]
        session._status = replace(
            given, tick=given.tick + k * step, target=to_wire([at[0]] * 3, joints).tolist(),
            position=to_wire([at[1]] * 3, joints).tolist(), target_rate=[rates[0]] * 3, rate=[rates[1]] * 3)
        seen = sample(session, seen)
    shares = np.array([joint.gains.ku * 0.5 * acceleration * old**2 for joint in joints])
    np.testing.assert_allclose(seen["pd"], -shares, atol=1e-3 * max(joint.gains.kv for joint in joints))


def test_it_says_which_chip_it_is_and_what_has_happened_to_it():
    session, board = looking(unique=b"ABCDEFGHIJKL")
    assert (f"chip {b'ABCDEFGHIJKL'.hex()}, femtorque 0.1.0, up 0 s when asked, 0 resets since power-on "
            "(last: POWER), brown-out reset off") in " ".join(shown(session).split())
    counts = bytearray(messages.FAULT_NUMBERS)
    counts[messages.FAULTS["KNOT"][0]] = 3
    board.crash = {"crash": 5, "pc": 0x08000100, "lr": 1, "faults": bytes(counts)}
    session.connect()
    text = " ".join(shown(session).split())
    assert "faults since reset: KNOT 3 last crash: bus fault at 0x08000100" in text
    assert snapshot(session)["identity"]["faults"] == {"KNOT": 3}


@pytest.mark.parametrize("name", [n for n in messages.FAULTS if n != "NONE"])
def test_every_fault_is_shown_with_its_mend(name):
    session, board = looking()
    board.fail(name, joint=0)
    refresh(session)
    text = " ".join(shown(session).split())
    assert f"{name} at joint j1: {messages.FAULTS[name][1]}; {messages.FAULTS[name][2]}" in text
    assert snapshot(session)["faults"] == [name] and snapshot(session)["state"] == "FAULT"


def test_it_ends_when_told_to_and_when_the_board_goes_away():
    session, board = looking()
    console = Console(file=io.StringIO(), width=120)
    began = session.clock.now()
    watch(session, console, lambda: session.clock.now() - began > 3.0)
    board.silent = True
    with pytest.raises(Refused, match="silent for 1.0 s"):
        watch(session, console, lambda: False)


def test_looking_does_not_keep_an_armed_board_alive():
    session, board = looking()
    board.state = "HOLD"
    began = session.clock.now()
    watch(session, Console(file=io.StringIO()), lambda: session.clock.now() - began > 2.0)
    assert board.state == "FAULT" and board.fault == messages.FAULTS["HOST_LOST"][0]


def test_one_look_as_json(fake, here):
    told = json.loads(here("monitor", "--port", "/dev/ttyUSB7", "--json").stdout)
    assert told["state"] == "DISARMED" and told["identity"]["name"] == "three-link" and len(told["position"]) == 3
    named = json.loads(here("monitor", "--port", "/dev/ttyUSB7", MECHANISM, "--json").stdout)
    assert named["joints"] == ["shoulder", "elbow", "wrist"]


def test_six_joints_fit_into_80_columns():
    """Joint names are shortened, but remain distinct."""
    arm = load_mechanism(robot("so101.urdf"))
    conf = replace(configuration(joints=6), joints=arm.streamed)
    session, _ = looking(expected=conf, conf=conf)
    console = Console(file=io.StringIO(), width=80)
    console.print(view(session))
    lines = console.file.getvalue().splitlines()
    assert max(map(len, lines)) <= 80
    for joint in arm.streamed:
        row, = (line for line in lines if line.strip().startswith(f"{joint.name}, rad"))
        assert len(row.split()) == 9


def with_drives(*joints):
    """Return a session, and a function that sends a report of these joints' drives."""
    n = len(joints)
    conf = replace(configuration(joints=n), joints=joints)
    session, board = looking(expected=conf, conf=conf)
    zeros = {f.name: (0,) * (n if f.length == "J" else f.length) if f.length != 1 else 0
             for m in messages.MESSAGES if m.name == "DRIVES" for f in m.fields}

    def tell(tick, **fields):
        board._send(Drives(**{**zeros, "tick": tick, **fields}), session.clock.now())
        session.clock.sleep(0.002)
        session.pump()

    return session, tell


def test_drives_are_shown_with_rate_age_losses_and_a_servos_firmware():
    """The first of six servos has not answered in a tenth of the ticks."""
    arm = load_mechanism(MECHANISMS / "so101_sts.toml")
    session, tell = with_drives(*arm.streamed)
    assert "answers" not in shown(session) and "drives" not in snapshot(session)
    tell(4000, answers=(3500,) * 6)
    assert snapshot(session)["drives"][0]["rate"] is None
    tell(4100, state=(2,) * 6, answers=(3590, *(3600,) * 5), lost=(410, *(0,) * 5), late=(0, 7, *(0,) * 4),
         age=(3, *(0,) * 5), value=(3 | 10 << 8,) * 6, warmth=(31,) * 6, error=(0, 4, 0, 0, 0, 0),
         offs=(2, 0, 0), sending=(5, 0, 0), stale=(9, 0, 0))
    data = snapshot(session)
    assert [d["rate"] for d in data["drives"]] == [900.0, *(1000.0,) * 5]
    first, second = data["drives"][:2]
    assert first == {
        "joint": "shoulder_pan", "type": "feetech-sts3215-12v", "bus": "servos", "id": 1, "state": "enabled",
        "temperature": 31, "rate": 900.0, "age": 3, "answers": 3590, "lost": 410, "late": 0, "firmware": "3.10",
        "says": ""}
    assert (second["late"], second["says"]) == (7, "over temperature, which is over")
    assert data["buses"] == [{"bus": "servos", "off": 0, "offs": 2, "sending": 5, "receiving": 0, "stale": 9,
                              "overruns": 0}]
    console = Console(file=io.StringIO(), width=80)
    console.print(view(session))
    lines = console.file.getvalue().splitlines()
    assert max(map(len, lines)) <= 80
    row = next(line.split() for line in lines if "enabled" in line)
    assert row == ["shoulder_pan,", "enabled", "31", "900", "3", "3590", "410", "0", "firmware", "3.10"]


def test_rates_of_drives_begin_anew_with_the_board():
    session, tell = with_drives(*load_mechanism(MECHANISMS / "so101_sts.toml").streamed)
    for tick in range(4000, 5200, 100):
        tell(tick, answers=(tick - 500,) * 6)
    assert [d["rate"] for d in snapshot(session)["drives"]] == [1000.0] * 6
    tell(20, answers=(10,) * 6)
    assert snapshot(session)["drives"][0]["rate"] is None


def test_buses_are_named_in_the_order_in_which_the_board_numbers_them():
    """The CAN bus has the first number, although the servo's joint is nearer to the base."""
    servo, drive = (load_mechanism(MECHANISMS / name).streamed[0] for name in ("so101_sts.toml", "damiao_arm.toml"))
    session, tell = with_drives(servo, drive)
    tell(4000, offs=(1, 2, 0))
    assert [(bus["bus"], bus["offs"]) for bus in snapshot(session)["buses"]] == [("can1", 1), ("servos", 2)]


def test_in_a_terminal_it_runs_until_ctrl_c(tcp_board):
    status, text = in_terminal(["monitor", "--port", tcp_board.port, MECHANISM],
                               [lambda _, shown: b"DISARMED" in shown and tcp_board.clock.now() > 2.0], tcp_board)
    assert status == 0, text
    assert "shoulder, rad" in text and "buffer 0/256" in text
