"""Tests that boards are found by their configuration, at any port."""

import json
import os
import pty
from dataclasses import replace
from types import SimpleNamespace

import pytest
from serial.tools import list_ports

from femtorque import Board
from femtorque.codegen.common import BadInput, Refused
from femtorque.codegen.mechanism import load_mechanism
from femtorque.host.link.configuration import Configuration
from femtorque.host.link.link import Link
from femtorque.host.link.ports import find, survey
from femtorque.host.link.serial_ports import candidates
from tests.support.fake_board import ManualClock
from tests.support.granted import GrantedClock
from tests.support.suite import ROOT
from tests.support.tcp_board import TcpBoard

MECHANISM = ROOT / "mechanisms" / "three_link.toml"


@pytest.fixture(scope="module")
def configuration():
    return Configuration.of(load_mechanism(MECHANISM))


class Clocks:
    """Host clocks by port. At the port of a board, the board's time advances while the host sleeps. At all other ports
    a wait takes no real time."""

    def __init__(self) -> None:
        self.boards: dict[str, TcpBoard] = {}

    def add(self, board: TcpBoard) -> TcpBoard:
        self.boards[board.port] = board
        return board

    def at(self, port: object) -> GrantedClock | ManualClock:
        board = self.boards.get(str(port))
        return GrantedClock(int(board.command[2]), paced=False) if board else ManualClock()


@pytest.fixture
def clocks(monkeypatch):
    clocks, opened = Clocks(), Link.__init__

    def at_its_time(self, port, *arguments, **keys):
        opened(self, port, *arguments, **{**keys, "clock": keys.get("clock") or clocks.at(port)})

    monkeypatch.setattr(Link, "__init__", at_its_time)
    return clocks


@pytest.fixture
def desk(configuration, monkeypatch, clocks):
    """Provide ports with two boards, a silent serial line, and a port that is not a USB device."""
    right, other = (clocks.add(TcpBoard(conf)) for conf in (
        configuration, replace(configuration, name="other-arm", digest=b"\xee" * 32)))
    ours, theirs = pty.openpty()
    listed = [SimpleNamespace(device=port, description=what, vid=vid) for port, what, vid in (
        (other.port, "ST-Link", 0x483), (right.port, "USB UART", 0x403), (os.ttyname(theirs), "GPS mouse", 0x1546),
        ("/dev/ttyS0", "n/a", None))]
    monkeypatch.setattr(list_ports, "comports", lambda: listed)
    yield SimpleNamespace(right=right, other=other, silent=os.ttyname(theirs), listed=listed)
    right.close()
    other.close()
    os.close(ours)
    os.close(theirs)


def test_everyone_on_the_desk_is_asked(desk):
    found = {answer.port: answer for answer in survey()}
    assert set(found) == {desk.right.port, desk.other.port, desk.silent}, "what is no USB port is left alone"
    assert found[desk.right.port].identity["name"] == "three-link" and found[desk.right.port].what == "USB UART"
    assert found[desk.other.port].identity["digest"] == "ee" * 32
    assert found[desk.silent].identity is None and "no answer to HELLO" in found[desk.silent].why
    assert desk.right.board.commands == [] and desk.right.board.state == "DISARMED", "asking changes nothing"


def test_the_command_lists_them(desk, here):
    told = json.loads(here("ports", "--json").stdout)["ports"]
    assert {row["port"] for row in told} == {desk.right.port, desk.other.port, desk.silent}
    shown = here("ports").stdout
    assert "three-link on f405rg-4, digest" in shown and "other-arm on f405rg-4" in shown and "GPS mouse" in shown


def test_auto_takes_the_board_that_carries_the_mechanism(desk, configuration):
    assert find(configuration) == desk.right.port
    with Board.connect("auto", MECHANISM) as board:
        assert board.session.link.port == desk.right.port and board.state == "DISARMED"


def test_auto_says_why_it_took_none(desk, configuration):
    with pytest.raises(Refused,
                       match=r"--port auto: 2 boards would do: .*three-link.*; name the port|"
                             r"2 boards would do: .*other"):
        find()
    desk.listed[:] = [port for port in desk.listed if port.device != desk.right.port]
    with pytest.raises(Refused,
                       match="no board carries three-link with digest .*; there is .*other-arm.* run `femtorque build"):
        find(configuration)
    desk.listed[:] = [port for port in desk.listed if port.device == desk.silent]
    with pytest.raises(Refused, match="no board answers .*no answer to HELLO.*name the port"):
        find(configuration)
    desk.listed.clear()
    with pytest.raises(Refused, match="no board answers: no USB serial port is plugged in; .*socket://host:port"):
        find(configuration)
    with pytest.raises(Refused, match="no board answers: .*; start `femtorque board .*` or `femtorque hil serve`"):
        find(replace(configuration, board="pc"))


def test_two_equal_arms_are_told_apart_by_their_chips(desk, configuration, clocks):
    twin = clocks.add(TcpBoard(configuration, unique=b"\xc4" * 12))
    desk.listed.append(SimpleNamespace(device=twin.port, description="twin", vid=1))
    try:
        with pytest.raises(Refused, match="2 boards would do: .*name the port, or the chip: --port auto:") as refused:
            find(configuration)
        assert all(f"chip {number.hex()}" in str(refused.value)
                   for number in (desk.right.board.unique, twin.board.unique))
        assert find(configuration, "auto:c4c4") == twin.port and find(configuration, "auto:3132") == desk.right.port
        with Board.connect("auto:C4", MECHANISM) as board:
            assert board.session.link.port == twin.port
        with pytest.raises(Refused, match="--port auto:c5: no board answers"):
            find(configuration, "auto:c5")
        with pytest.raises(BadInput, match="must be auto:ID with up to 24 hexadecimal digits"):
            find(configuration, "auto:left")
    finally:
        twin.close()


def test_a_port_that_cannot_be_opened_is_listed_with_the_reason(desk, here):
    desk.listed[:] = [SimpleNamespace(device="/dev/ttyNOPE", description="gone", vid=1)]
    assert "cannot be opened (No such file or directory)" in " ".join(here("ports").stdout.split())


def test_the_port_may_come_from_the_environment(desk, here, monkeypatch):
    monkeypatch.setenv("FEMTORQUE_PORT", desk.right.port)
    assert json.loads(here("monitor", "--json").stdout)["identity"]["name"] == "three-link"


def test_what_a_usb_device_calls_itself_holds_nothing_that_a_terminal_obeys(monkeypatch):
    monkeypatch.setattr(list_ports, "comports", lambda: [
        SimpleNamespace(device="/dev/ttyACM0", description="a board\x1b[2J\x07", vid=1)])
    assert candidates() == [("/dev/ttyACM0", "a board?[2J?")]


def test_adapters_for_a_pc_as_the_board_are_listed_as_its_options(here, monkeypatch):
    monkeypatch.setattr(list_ports, "comports", lambda: [
        SimpleNamespace(device="/dev/ttyACM0", vid=0x2E88, pid=0x4603),
        SimpleNamespace(device="/dev/ttyACM1", vid=0x1A86, pid=0x55D3),
        SimpleNamespace(device="/dev/ttyS0", vid=None, pid=None)])
    found = json.loads(here("ports", "--buses", "--json").stdout)["adapters"]
    assert [one["option"] for one in found] == ["--bus NAME=damiao:/dev/ttyACM0", "--wire NAME=/dev/ttyACM1"]
