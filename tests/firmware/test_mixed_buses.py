"""Drives on CAN and servos on a wire of one application: each bus is served and judged by itself."""

from __future__ import annotations

import pytest

from host.link import drives
from tests.firmware.fuzz import mixed
from tests.support.drives import Bussed
from tests.support.servos import Served


class Both(Bussed, Served):
    """Drives that answer in the same tick, servos in time of their own."""


@pytest.fixture
def app() -> Both:
    app = Both(mixed.arm())
    app.run(170)
    return app


def states(app: Both) -> list[str]:
    app.counts()
    return [drives.state(app.told, j) for j in range(6)]


def test_that_drives_of_both_kinds_are_heard_and_set_right(app):
    before = list(app.counts().lost)
    assert states(app) == ["seen"] * 6 and list(app.told.lost) == before
    assert [drives.firmware(app.told, app.joints, j) for j in (0, 1, 5)] == ["5017", "", "3.10"]
    assert app.told.foreign == 0


def test_that_a_silent_wire_leaves_the_drives_on_can_heard(app):
    app.line.servos.clear()
    app.run(50)
    assert states(app) == ["seen"] * 4 + ["silent"] * 2


def test_that_drives_that_are_silent_on_can_leave_servos_heard(app):
    for d in app.drives.values():
        d.deaf = True
    app.run(50)
    assert states(app) == ["silent"] * 4 + ["seen"] * 2


def test_that_what_each_bus_suffers_is_told_of_it(app):
    """The controller of CAN takes no part; the wire's echo is spoilt."""
    app.lib.fake_bus_off(0, 1)
    app.counts()
    assert list(app.told.off[:2]) == [1, 0] and list(app.told.sending[:2]) == [0, 0]
    app.lib.fake_bus_off(0, 0)
    app.spoil = lambda data: bytes(1) + data[1:]
    app.run(5)
    app.counts()
    assert list(app.told.off[:2]) == [0, 0]
    assert app.told.sending[0] == 0 < app.told.sending[1] < 255
    app.run(300)
    app.counts()
    assert app.told.sending[1] == 255
