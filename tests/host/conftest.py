"""Fixtures: simulated boards in this process and at a TCP port, for tests of the command line."""

import pytest

from femtorque.codegen.mechanism import load_mechanism
from femtorque.host.link import Configuration, link
from tests.support.fake_board import FakeBoard, ManualClock
from tests.support.suite import ROOT
from tests.support.tcp_board import TcpBoard


@pytest.fixture
def fake(monkeypatch):
    """Return the Python board of the three-link arm at any port name. The board's time advances with the host's time.
    """
    clock = ManualClock()
    board = FakeBoard(clock, Configuration.of(load_mechanism(ROOT / "mechanisms" / "three_link.toml")))
    monkeypatch.setattr(link, "WallClock", lambda: clock)
    monkeypatch.setattr(link, "open_port", lambda port, baud: board)
    return board


@pytest.fixture
def tcp_board():
    board = TcpBoard(Configuration.of(load_mechanism(ROOT / "mechanisms" / "three_link.toml")))
    yield board
    board.close()
