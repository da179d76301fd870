"""Dynamixel X servos on a wire: their set-up, their goals, and the effects of their answers."""

import dataclasses
import math

import numpy as np
import pytest

from femtorque.codegen.drive.families.dynamixel import frames as dynamixel
from femtorque.codegen.mechanism import Safety
from femtorque.hil.drives.families.dynamixel import servo as x
from femtorque.host.link import drives
from tests.support.dynamixels import Wired, aloha

WAIST, SHOULDER, ELBOW = range(3)
IDS = range(1, 7)
SET_UP = 700  # ticks
COUNT = math.tau / 4096
CURRENT_A_NM = {"waist": 4.4 / 10.6 / 2.69e-3, "wrist_angle": 2.3 / 4.1 / 2.69e-3}  # steps


def arm(reaction: str = "coast", **changes):
    """Return the arm of six servos. changes: changes of the first joint's drive."""
    mechanism = aloha()
    first = mechanism.joints[0]
    drive = dataclasses.replace(first.drive, **changes)
    return dataclasses.replace(mechanism, joints=(dataclasses.replace(first, drive=drive), *mechanism.joints[1:]),
                               safety=Safety(host="coast", motion=reaction))


def comes(register: int, value: int, size: int = 1, **changes) -> Wired:
    """Return an arm whose first servo has another setting."""
    app = Wired(arm(**changes))
    servo = app.servos["waist"]
    servo.stored[register:register + size] = value.to_bytes(size, "little", signed=value < 0)
    servo.power_up(0.0)
    app.run(SET_UP)
    return app


def ran(**changes) -> Wired:
    app = Wired(arm(**changes))
    app.run(SET_UP)
    return app


def held(**changes) -> Wired:
    app = ran(**changes)
    assert app.command("ARM") == "NONE"
    app.run(60)
    assert app.state == "HOLD"
    return app


def writes(app: Wired, register: int) -> int:
    """Return the number of packets that write this register."""
    return sum(int.from_bytes(p[8:10], "little") == register for p in written(app))


def written(app: Wired) -> list[bytes]:
    return [p for p in app.packets if p.startswith(dynamixel.HEAD) and p[7] == dynamixel.SYNC_WRITE]


def test_that_servos_as_they_come_are_set_up_and_stored_in_no_more_than_once_each():
    app = ran()
    for servo in app.servos.values():
        assert [servo.get(at) for at in (x.WATCHDOG, x.LEVEL, x.MODE, x.DELAY)] == [2, 1, 0, 0]
        assert servo.get(x.GOAL_CURRENT, 2) == 0 and servo.get(x.GOAL_PWM, 2) == 885
    assert writes(app, x.DELAY) <= 6 and writes(app, x.MODE) <= 6
    assert app.command("ARM") == "NONE"
    assert drives.firmware(app.told, app.joints, WAIST) == "47"


def test_that_what_was_stored_is_not_stored_again():
    app = Wired(arm())
    for servo in app.servos.values():
        servo.stored[x.DELAY] = servo.stored[x.MODE] = 0
        servo.power_up(0.0)
    app.run(SET_UP)
    assert writes(app, x.DELAY) == writes(app, x.MODE) == 0 and app.command("ARM") == "NONE"


@pytest.mark.parametrize("ticks", [40, 97, 501])
def test_that_servos_that_come_up_later_than_the_board_are_set_up_whenever_that_is(ticks):
    app = Wired(arm())
    for servo in app.servos.values():
        servo.power_off()
    app.run(ticks)
    assert app.command("ARM") == "DRIVE_SILENT"
    for name, servo in app.servos.items():
        servo.power_up(app.angle[name])
    app.run(SET_UP)
    assert app.command("ARM") == "NONE"


def test_that_a_servo_that_answers_nothing_but_pings_is_put_right():
    app = Wired(arm())
    app.servos["elbow"].registers[x.LEVEL] = 0
    app.run(SET_UP)
    assert app.command("ARM") == "NONE" and app.servos["elbow"].get(x.LEVEL) == 1


def test_that_a_current_is_that_of_the_laws_torque():
    app = held()
    app.angle["waist"] += 0.01
    given = []
    for _ in range(64):
        app.run(1)
        given.append(app.goal("waist"))
    law = app.run(1)["torque"][-1][WAIST]
    assert law < -0.5 and np.mean(given[-16:]) == pytest.approx(law * CURRENT_A_NM["waist"], rel=0.02)


@pytest.mark.parametrize(("register", "size", "value", "said"), [
    (x.MODEL, 2, 1130, "its model is 1130, and must be 1120"),
    (x.CURRENT_LIMIT, 2, 1000, "its current limit is 1000, and must be 2047"),
    (x.PWM_LIMIT, 2, 500, "its PWM limit is 500, and must be 885"),
    (x.HOMING, 4, -100, "its homing offset is -100, and must be 0"),
    (x.DRIVE_MODE, 1, 1, "its drive mode is 1, and must be without bits 0 and 3"),
    (x.DRIVE_MODE, 1, 8, "its drive mode is 8, and must be without bits 0 and 3"),
    (x.SHUTDOWN, 1, 0x30, "its shutdown is 48, and must be with bits 2, 4 and 5")])
def test_that_a_servo_that_is_set_otherwise_is_not_armed(register, size, value, said):
    app = comes(register, value, size)
    assert app.command("ARM") == "DRIVE_SETTING"
    assert drives.words(app.told, app.joints, WAIST) == said


def test_that_a_servo_with_an_older_firmware_is_named_and_not_armed():
    """The older servo does not know the query to all servos. Then all get the older question, and answer."""
    app = comes(x.FIRMWARE, 44)
    assert app.command("ARM") == "DRIVE_SETTING"
    assert drives.words(app.told, app.joints, WAIST) == "its firmware is 44, and must be 46 or later"
    assert drives.state(app.told, SHOULDER) == drives.state(app.told, 5) == "seen"


def test_that_a_homing_offset_and_a_limit_may_be_the_files():
    setting = dataclasses.replace(aloha().joints[0].drive.servo, offset=-100, limit=0.5)
    app = Wired(arm(servo=setting))
    servo = app.servos["waist"]
    servo.stored[x.HOMING:x.HOMING + 4] = (-100).to_bytes(4, "little", signed=True)
    servo.stored[x.CURRENT_LIMIT:x.CURRENT_LIMIT + 2] = round(0.5 * 2047).to_bytes(2, "little")
    servo.power_up(0.0)
    app.run(SET_UP)
    assert app.command("ARM") == "NONE"


def test_that_a_missing_servo_is_named_and_the_others_are_heard():
    app = Wired(arm())
    app.servos["shoulder"].cut = True
    app.run(SET_UP)
    assert app.command("ARM") == "DRIVE_SILENT"
    assert [drives.state(app.told, j) for j in range(6)] == ["seen", "silent", "seen", "seen", "seen", "seen"]


def test_that_a_servo_that_leaves_while_it_runs_stops_by_itself_and_is_armed_again_when_it_is_back():
    """The board first writes 0 to the expired watchdog."""
    app = held()
    app.servos["elbow"].cut = True
    app.run(60)
    assert app.fault == ("DRIVE_SILENT", ELBOW) and app.state == "FAULT"
    elbow = app.servos["elbow"]
    assert elbow.driving and elbow.registers[x.WATCHDOG] == x.EXPIRED and not elbow.turning
    assert not any(servo.driving for name, servo in app.servos.items() if name != "elbow")
    elbow.cut = False
    app.run(SET_UP)
    assert app.command("CLEAR") == "NONE"
    assert elbow.registers[x.WATCHDOG] == 2 and app.command("ARM") == "NONE"


@pytest.mark.parametrize("name", list(x.ERRORS))
def test_that_what_ails_a_servo_is_named_and_over_after_its_reboot(name):
    app = held()
    app.servos["elbow"].fail(x.ERRORS[name])
    app.run(30)
    assert app.fault == ("DRIVE_FAULT", ELBOW) and app.state == "FAULT"
    assert drives.error(app.joints[ELBOW].drive, app.told.error[ELBOW]) == name
    app.run(SET_UP)
    assert app.servos["elbow"].registers[x.HARDWARE] == 0
    assert app.command("CLEAR") == "NONE" and app.command("ARM") == "NONE"
