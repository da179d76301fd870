"""Timing of drives on buses, exact to the tick: the time until a drive counts as silent, the data that the board then
forgets, and the number of frames that a tick processes."""

import math
import struct

import numpy as np
import pytest

from femtorque.codegen.drive.can import Frame
from femtorque.codegen.drive.families.robstride import frames as robstride
from femtorque.codegen.wire import messages
from femtorque.host.link import drives
from tests.firmware.test_bus import ELBOW, arm, armed, by_hand, held, parked, ran, where
from tests.support.drives import HOST, READ, Bussed
from tests.support.servos import Served

SILENT = 5  # ticks until a missing answer counts as silence: 5 ms for an arm at 1 kHz (docs/faults.md)
TAKEN = 32  # frames of one bus that a tick processes


def state(app: Bussed) -> str:
    """Return the name of the state in this tick."""
    return app.name(messages.STATES, app.lib.fake_state_now())


@pytest.mark.parametrize(("missing", "ends"), [(SILENT, "HOLD"), (SILENT + 1, "FAULT")])
def test_that_a_drive_is_silent_once_it_has_owed_its_answer_for_five_milliseconds(missing, ends):
    app = held()
    app.drives["elbow"].deaf = True
    app.run(missing)
    app.drives["elbow"].deaf = False
    app.run(1)
    assert state(app) == ends
    app.run(20)
    assert state(app) == ends and (ends == "HOLD" or app.fault == ("DRIVE_SILENT", ELBOW))


def test_that_a_drive_that_ailed_and_fell_silent_before_it_was_set_is_asked_anew_and_nothing_else_is_written():
    """The drive has reported a wrong time limit. The frame with the limit must not write the first setting."""
    app = Bussed(arm())
    d = app.drives["elbow"]
    while d.heard[-1:] != ["read 9"]:
        app.run(1)
    d.error, d.deaf = 9, True
    app.bring(d.state())
    app.run(4 * SILENT)
    assert "write 9" not in d.heard
    d.deaf, d.error = False, 0
    app.run(60)
    assert {h for h in d.heard if h.startswith("write")} == {"write 9"}
    assert app.command("ARM") == "NONE"


def test_that_a_tick_takes_in_so_many_frames_of_a_bus_and_the_next_ones_the_rest():
    """In a flood of frames, a tick processes TAKEN frames, the next tick processes the remaining frames, and no frame
    is lost."""
    app = ran()
    before = app.counts().foreign
    for strangers, heard_at_once in ((TAKEN - 1, True), (TAKEN, False)):
        for d in app.drives.values():
            d.deaf = True
        at = [app.run(1)["position"][-1][ELBOW]]
        app.drives["elbow"].position += 0.01
        for _ in range(strangers):
            app.bring(Frame(0x321, bytes(8)))
        app.bring(app.drives["elbow"].state())
        at += [app.run(1)["position"][-1][ELBOW] for _ in range(2)]
        leaps = np.diff(at) * math.tau / 2.0**32 > 0.005  # without an answer, the board extrapolates by much less
        assert leaps.tolist() == [heard_at_once, not heard_at_once]
        for d in app.drives.values():
            d.deaf = False
        app.run(10)
    assert app.counts().foreign == before + 2 * TAKEN - 1


def test_that_answers_that_nobody_asked_for_do_not_count_as_settings():
    """The board polls a RobStride's position in every tick. 255 extra answers would reduce an 8-bit count by one."""
    app = held("robstride")
    d = app.drives["elbow"]
    told = Frame(robstride.identifier(READ, d.drive.id, HOST), struct.pack("<HHf", 0x7019, 0, d.position),
                 extended=True)
    for _ in range(20):
        for _ in range(15):
            app.bring(told)
        app.run(1)
        assert state(app) == "HOLD" and d.heard[-1] == "command"


def test_that_a_joint_whose_turn_nobody_knows_stays_where_it_was_seen_last():
    app = parked(lower=-4.0)
    d = app.drives["elbow"]
    app.run(60)
    before = where(app, ELBOW)
    d.deaf = True
    app.run(4 * SILENT)
    d.deaf, d.position = False, d.position + 1.0
    app.run(20)
    assert where(app, ELBOW) == pytest.approx(before, abs=1e-9) and "HOMED" not in app.flags


def test_that_a_drive_that_tells_its_range_of_velocities_is_not_judged_by_its_motion():
    app = ran()
    by_hand(app, "elbow", 1.0, 0.5)
    app.run(150)
    assert app.command("ARM") == "NONE"


def test_that_of_two_things_that_are_wrong_the_setting_is_told():
    app = Bussed(arm("robstride"))
    app.drives["elbow"].registers[0x7005] = 3
    app.run(60)
    by_hand(app, "elbow", 1.0, 0.5)
    app.run(150)
    assert drives.words(app.told, app.joints, ELBOW) == "its run_mode is 3, and must be 0"
    app.drives["elbow"].registers[0x7005] = 0
    app.run(150)
    assert drives.words(app.told, app.joints, ELBOW).startswith("its motion shows")


def test_that_nothing_is_sent_before_there_is_something_to_say():
    app, served = Bussed(arm()), Served()
    app.run(1)
    served.run(1)
    assert (app.sent, served.sent) == ([], b"")
    app.run(1)
    served.run(1)
    assert len(app.sent) == 3 and served.sent


# ---- state after an arming --------------------------------------------------------------------------


@pytest.mark.parametrize("ticks", range(1, 12))
def test_that_a_drive_that_tells_nothing_is_enabled_anew_by_as_many_frames_whenever_the_arming_before_ended(ticks):
    app = ran(arm("cubemars"))
    app.post("ARM")
    app.run(ticks)
    app.post("DISARM")
    app.run(10)
    assert "enable" in app.drives["elbow"].heard or ticks == 1
    app.clear()
    armed(app)
    assert [d.heard.count("enable") for d in app.drives.values()] == [4, 4, 4]
    assert all(d.enabled and d.heard[-1] == "command" for d in app.drives.values())


def test_that_a_drive_has_its_fifty_milliseconds_in_every_arming():
    app = ran()
    d = app.drives["elbow"]
    d.dull = True
    app.post("ARM")
    app.run(40)
    app.post("DISARM")
    app.run(20)
    d.heard.clear()
    app.post("ARM")
    app.run(100)
    assert app.fault == ("DRIVE_FAULT", ELBOW) and d.heard.count("enable") == 50 + 4 + 1


@pytest.mark.parametrize("family", ["damiao", "robstride"])
def test_that_a_drive_that_lost_its_time_limit_between_two_armings_is_not_commanded_without_it(family):
    """The supply dips while the drive is off, for too short a time to be missed."""
    app = held(family)
    app.post("DISARM")
    app.run(30)
    app.drives["elbow"].down = SILENT - 1
    app.run(30)
    app.post("ARM")
    app.run(80)
    assert app.fault == ("DRIVE_FAULT", ELBOW) and app.drives["elbow"].unlimited == 0
    app.run(60)
    assert app.command("CLEAR") == app.command("ARM") == "NONE"
    app.run(9)
    assert app.drives["elbow"].unlimited == 0 and app.drives["elbow"].heard[-1] == "command"


def test_that_an_arming_begins_with_the_frames_of_the_one_before():
    """Arming clears the rounding error of the torque."""
    app = Bussed(arm())
    app.drives["shoulder"].position = 0.0  # stretched out: the torques are not multiples of a step
    app.run(60)
    begun = []
    for _ in range(2):
        app.run(7)
        app.lib.fake_tick_number(100000)
        app.post("ARM")
        sent = []
        for _ in range(30):
            app.run(1)
            sent += [f for f in app.sent if f.id == app.drives["shoulder"].drive.id]
        begun.append(sent)
        app.post("DISARM")
        app.run(10)
    assert begun[0] == begun[1] and len({f.data for f in begun[0]}) > 4


@pytest.mark.parametrize("phase", range(8))
def test_that_a_mini_cheetah_is_disabled_by_the_first_frame_after_a_stop(phase):
    """After the first frame the board sends some zero-torque commands, so that the drive can leave its mode."""
    app = held("mini-cheetah")
    app.run(phase)
    app.clear()
    app.chip.estop = 1
    app.run(1)
    assert [d.heard[-1] for d in app.drives.values()] == ["disable"] * 3


def test_that_a_question_without_an_answer_is_no_state_that_is_lost_while_a_drive_is_switched_on():
    app = ran()
    d = app.drives["elbow"]
    before = app.counts().lost[ELBOW]
    del d.registers[9]
    app.post("ARM")
    app.run(40)
    assert "read 9" in d.heard[-4:] and state(app) == "HOLD"
    assert app.counts().lost[ELBOW] == before
    assert app.fault == ("DRIVE_FAULT", ELBOW)


# ---- position loop: drive or board ------------------------------------------------------------------


@pytest.mark.parametrize("side", ["lower", "upper"])
def test_that_beyond_a_limit_the_boards_law_says_which_torque_leads_back(side):
    """The drive's own loop would pull towards its target, even if this leads farther outside."""
    app = Bussed(arm(pd="drive"))
    joint, d = app.joints[ELBOW], app.drives["elbow"]
    end, out = getattr(joint.limits, side), {"lower": -1.0, "upper": 1.0}[side]
    d.position = joint.drive.sign * (end - out * 0.002)
    app.run(60)
    armed(app)
    for beyond, closes in ((-0.002, True), (0.002, False), (-0.002, True)):
        d.position = joint.drive.sign * (end + out * beyond)
        app.run(3)
        assert state(app) == "HOLD"
        assert (d.target.kp > 0.0, d.target.kd > 0.0) == (closes, closes)
        if not closes:
            torque = joint.drive.sign * d.target.torque
            assert out * torque < 0.0
