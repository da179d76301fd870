"""Drives on CAN and servos on a wire in one application: each bus has its schedule and its faults."""

from dataclasses import replace

import numpy as np
import pytest

from femtorque.codegen.mechanism.description import Cutoff
from femtorque.host.link import drives
from tests.support import mixed
from tests.support.drives import Bussed
from tests.support.servos import Served


class Both(Bussed, Served):
    """Drives that answer in the same tick, and servos with their own delays."""


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
    app.line.servos = ()
    app.run(50)
    assert states(app) == ["seen"] * 4 + ["silent"] * 2


def test_that_drives_that_are_silent_on_can_leave_servos_heard(app):
    for d in app.drives.values():
        d.deaf = True
    app.run(50)
    assert states(app) == ["silent"] * 4 + ["seen"] * 2


def test_that_what_each_bus_suffers_is_told_of_it(app):
    """The CAN controller has left its bus, the wire's echo is damaged. Each report has its bus's number."""
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


def test_that_drives_of_all_families_tell_where_their_joints_are(app):
    """Every type of drive has a different step. A leap is included."""
    for leap in (0.0, 0.9, -0.9):
        for d in app.drives.values():
            d.position += leap
        for name in app.servos:
            app.angle[name] += leap
        app.run(3)
        own = [app.drives[j.name].position if j.name in app.drives else app.angle[j.name] for j in app.joints]
        placed = [j.drive.sign * at for j, at in zip(app.joints, own, strict=True)][1:]
        assert app.found[1:] == pytest.approx(placed, abs=2e-3)  # the first drive does not know its turn


def held(**safety) -> Both:
    """Arm the board. The board commands torques to all drives and a duty to the last servo."""
    m = mixed.arm()
    app = Both(replace(m, joints=tuple(replace(j, drive=replace(j.drive, pd="board")) for j in m.joints),
                       safety=replace(m.safety, **safety)))
    app.run(170 if not safety else 260)
    assert app.home() == "NONE" and app.command("ARM") == "NONE"
    app.run(30)
    assert app.state == "HOLD"
    return app


@pytest.fixture
def armed() -> Both:
    return held()


def test_that_only_servos_lack_the_supply_that_the_board_switches():
    app = Both(replace(mixed.arm(), safety=replace(mixed.arm().safety, cutoff=Cutoff())))
    app.run(40)
    assert app.command("ARM") == "DRIVE_SILENT" and app.status.refusal_joint == 4
    assert not app.chip.servo_supply and states(app) == ["seen"] * 4 + ["silent"] * 2


def test_that_a_servo_costs_its_supply_while_drives_brake_only_if_it_is_silent():
    """A servo in place of another would be believed to be off, and none is while the board brakes."""
    app = held(cutoff=Cutoff(), sensing="brake")
    app.drives["shoulder_pan"].position += 1.0
    app.run(10)
    assert app.fault == ("ENCODER", 0) and app.chip.outputs and app.chip.servo_supply
    app = held(cutoff=Cutoff(), sensing="brake")
    app.servos["gripper"].cut = True
    app.run(30)
    assert app.fault == ("DRIVE_SILENT", 5) and app.chip.outputs and not app.chip.servo_supply


def test_that_drives_of_all_families_are_switched_on_and_get_the_torque_of_the_law(armed):
    """One image has drives of all families. Torques are correct on average to far less than a field's step."""
    assert all(d.enabled and d.unlimited == 0 for d in armed.drives.values())
    assert all(servo.driving for servo in armed.servos.values())
    for d in armed.drives.values():
        d.position += 1e-3  # a torque to compare with
    told, law = [], []
    for _ in range(200):
        law.append(armed.run(1)["torque"][-1][:4])
        told.append([j.drive.sign * armed.drives[j.name].target.torque for j in armed.joints[:4]])
    steps = [2.0 * j.drive.type.torque / (65535.0 if j.drive.type.family == "robstride" else 4095.0)
             for j in armed.joints[:4]]
    away = np.mean(told[1:], axis=0) - np.mean(law[:-1], axis=0)  # the result of a tick is sent in the next tick
    assert np.all(np.abs(away) < 0.02 * np.array(steps))


def test_that_errors_of_drives_of_all_families_are_cleared(app):
    for d in app.drives.values():
        d.error = 3
    app.run(60)
    assert ["clear" in d.heard for d in app.drives.values()] == [True, True, False, False]  # the last two cannot
