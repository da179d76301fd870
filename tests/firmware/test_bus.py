"""Drives on buses: their frames in each state, and the effects of their answers."""

import dataclasses
import math
import re
import struct

import numpy as np
import pytest

from femtorque.codegen.common import MECHANISMS
from femtorque.codegen.drive import DRIVES, application
from femtorque.codegen.drive.can import Frame
from femtorque.codegen.mechanism import Bus, Home, Mechanism, Safety, load_mechanism
from femtorque.codegen.motion import from_rows, knots
from femtorque.codegen.wire import Probe, Seek, messages
from femtorque.host.link import drives
from tests.support.drives import Bussed, FakeDrive

SHOULDER, ELBOW, WRIST = range(3)
KINDS = {"robstride": "robstride-03", "cubemars": "cubemars-ak10-9", "mini-cheetah": "mini-cheetah"}
MUTE = ("cubemars", "mini-cheetah")  # families that report neither their settings nor whether they are enabled


def arm(family: str = "damiao", pd: str = "board", **safety) -> Mechanism:
    mechanism = load_mechanism(MECHANISMS / "damiao_arm.toml")
    joints = []
    for j in mechanism.joints:
        kind = j.drive.type if family == "damiao" else DRIVES[KINDS[family]]
        reply = {"damiao": j.drive.reply, "cubemars": j.drive.id, "mini-cheetah": 0}.get(family)
        joints.append(dataclasses.replace(j, drive=dataclasses.replace(j.drive, type=kind, reply=reply, pd=pd)))
    return dataclasses.replace(mechanism, joints=tuple(joints), safety=Safety(host="coast", **safety))


@pytest.fixture(params=["damiao", *KINDS])
def board(request) -> Bussed:
    return ran(arm(request.param))


def ran(mechanism: Mechanism | None = None, ticks: int = 60) -> Bussed:
    """Return a board after some ticks. By default the drives have answered all questions."""
    app = Bussed(mechanism or arm())
    app.run(ticks)
    return app


def armed(app: Bussed) -> Bussed:
    assert app.command("ARM") == "NONE"
    app.run(9)
    return app


def held(family: str = "damiao", **how) -> Bussed:
    return armed(ran(arm(family, **how)))


def parked(**limits: float) -> Bussed:
    """Return an arm whose elbow may be parked beyond half a turn from its drive's zero."""
    mechanism = arm()
    joints = [dataclasses.replace(j, limits=dataclasses.replace(j.limits, **limits)) if j.name == "elbow" else j
              for j in mechanism.joints]
    return Bussed(dataclasses.replace(mechanism, joints=tuple(joints)))


def test_that_with_the_outputs_off_every_drive_is_disabled_in_every_tick(board):
    board.clear()
    board.run(50)
    for d in board.drives.values():
        if d.drive.type.family != "mini-cheetah":
            assert d.heard == ["disable"] * 50
            continue
        asked = [k for k, what in enumerate(d.heard) if what == "nothing"]  # early firmware needs these
        assert np.all(np.diff(asked) == 8) and len(asked) >= 6
        assert all(what == "disable" for k, what in enumerate(d.heard) if k not in asked)


def test_that_drives_are_asked_what_they_are_before_they_are_armed():
    app = ran()
    asked = [h for h in app.drives["elbow"].heard if h.startswith(("read", "write"))]
    assert asked == ["read 21", "read 22", "read 23", "read 10", "read 9", "write 9", "read 9", "read 14"]
    assert app.drives["elbow"].registers[9] == round(0.02 / 50e-6)  # 20 ms


def test_that_a_drive_tells_where_its_joint_is(board):
    assert board.flags >= {"HOMED"}
    for name, at in (("shoulder", 0.7), ("wrist", -1.2)):
        i, joint = board.joint(name)
        board.drives[name].position = joint.drive.sign * at
        board.run(10)
    app = Bussed(board.mechanism)
    for name, d in app.drives.items():
        d.position = app.joint(name)[1].drive.sign * 0.5
    app.run(20)
    found = np.array(app.see().position) / 2.0**32 * 2.0 * math.pi
    step = 2.0 * 12.57 / 65535.0
    assert np.abs(found - 0.5).max() < 0.6 * step


@pytest.mark.parametrize(("zero", "place"), [(0.9, 0.4), (-2.5, -1.5), (3.0, 1.9)])
def test_that_a_drive_with_another_zero_than_the_joints_tells_where_that_is(zero, place):
    """The last two drives start on the other side of half a turn from zero. Commands use the drive's coordinates."""
    mechanism = arm(pd="drive")
    joints = [dataclasses.replace(j, drive=dataclasses.replace(j.drive, zero=zero)) for j in mechanism.joints]
    app = Bussed(dataclasses.replace(mechanism, joints=tuple(joints)))
    own = {name: math.remainder(d.drive.sign * place + zero, math.tau) for name, d in app.drives.items()}
    for name, d in app.drives.items():
        d.position = own[name]
    app.run(60)
    found = np.array(app.see().position) / 2.0**32 * math.tau
    step = 2.0 * 12.57 / 65535.0
    assert np.abs(found - place).max() < step
    armed(app)
    assert all(abs(d.target.position - own[name]) < 2.0 * step for name, d in app.drives.items())


def geared(family: str, gear: float, lower: float = -1.04, upper: float = 1.04, **drive) -> Mechanism:
    """Return the arm with a gear at every drive, and with other joint limits."""
    mechanism = arm(family)
    return dataclasses.replace(mechanism, joints=tuple(dataclasses.replace(
        j, start=0.0, limits=dataclasses.replace(j.limits, lower=lower, upper=upper),
        drive=dataclasses.replace(j.drive, gear=gear, **drive)) for j in mechanism.joints))


@pytest.mark.parametrize("family", ["damiao", "robstride"])
@pytest.mark.parametrize(("gear", "place"), [
    (3.0, -0.9), (3.0, 1.03), (3.0, -1.3), (1.5, -1.9), (1.0, 3.3), (1.0, -6.0), (0.5, 5.5), (0.5, -4.0), (0.5, 7.0)])
def test_that_of_the_places_a_turn_of_the_drive_apart_the_one_within_the_limits_is_taken(family, gear, place):
    """At power-up a drive knows its position only within one turn of its own shaft. The turn begins at the drive's zero
    (RobStride) or is centred on it."""
    app = Bussed(geared(family, gear, place - 0.1, place + 0.01))
    least = 0.0 if family == "robstride" else -math.pi
    for d in app.drives.values():
        d.position = (d.drive.sign * gear * place - least) % math.tau + least
    app.run(60)
    step = 2.0 * app.drives["elbow"].drive.type.position / 65535.0 / gear
    away = np.array(app.see().position) / 2.0**32 * math.tau - place
    assert app.flags >= {"HOMED"} and np.abs(away).max() < 0.6 * step
    assert app.command("ARM") == "NONE"
    app.run(20)
    assert app.state == "HOLD"


def test_that_a_joint_with_a_range_of_more_than_a_turn_of_its_drive_is_homed():
    app = ran(geared("damiao", 3.0, -1.05, 1.05))
    assert "HOMED" not in app.flags and app.command("ARM") == "NOT_HOMED"
    assert app.home([0.5, 0.0, -0.5]) == "NONE" and app.command("ARM") == "NONE"


@pytest.mark.parametrize("family", ["damiao", "robstride"])
@pytest.mark.parametrize("pd", ["drive", "board"])
def test_that_a_drive_behind_a_gear_is_told_all_in_its_own_terms(family, pd):
    """The drive's angle is the joint's angle times the gear. The drive's torque is the joint's divided by the gear, and
    the gains are divided by the square of the gear. The drive's stored ranges must be the file's ranges."""
    gear, place = 3.0, 0.4
    app = Bussed(geared(family, gear, pd=pd))
    for d in app.drives.values():
        d.position = d.drive.sign * gear * place
    app.run(60)
    armed(app)
    status = app.see()
    for i, joint in enumerate(app.joints):
        t, sign, own = app.drives[joint.name].target, joint.drive.sign, joint.drive.type
        coarse = 65535.0 if family == "robstride" else 4095.0
        assert t.torque == pytest.approx(sign * status.torque[i] / gear, abs=2.0 * own.torque / coarse)
        if pd == "board":
            assert (t.kp, t.kd) == (0.0, 0.0)
            continue
        assert t.position == pytest.approx(sign * gear * place, abs=2.0 * own.position / 65535.0)
        assert t.kp == pytest.approx(joint.gains.ku / gear**2, abs=own.kp / coarse)
        assert t.kd == pytest.approx(joint.gains.kv / gear**2, abs=own.kd / coarse)
    assert abs(status.torque[SHOULDER]) > 5.0


def test_that_what_a_drive_behind_a_gear_has_stored_is_told_in_its_own_terms():
    app = Bussed(geared("damiao", 3.0))
    own = app.drives["elbow"].drive.type
    app.drives["shoulder"].registers[23] = own.torque * 3.0
    app.drives["elbow"].registers[22] = own.velocity / 3.0
    app.drives["wrist"].registers[21] = 12.5 / 3.0
    app.run(150)
    told = app.counts()
    assert [drives.words(told, app.joints, j) for j in range(3)] == [
        "its TMAX is 84, and must be 28", "its VMAX is 3.33333, and must be 10",
        "its PMAX is 4.16667, and must be 12.5"]
    assert app.command("ARM") == "DRIVE_SETTING"


@pytest.mark.parametrize("share", [1.0, 0.5])
def test_that_a_range_of_velocity_behind_a_gear_is_told_in_the_drives_own_terms(share):
    app = ran(geared("robstride", 3.0))
    by_hand(app, "elbow", 2.0, share)
    app.run(150)
    if share == 1.0:
        assert app.command("ARM") == "NONE"
        return
    assert app.command("ARM") == "DRIVE_SETTING"
    told = drives.words(app.told, app.joints, ELBOW)
    seems = re.search(r"range of velocity of about (\S+) rad/s, and it must be 20$", told)
    assert float(seems[1]) == pytest.approx(40.0, rel=0.03)


def test_that_armed_drives_are_enabled_and_then_commanded(board):
    board.clear()
    assert board.command("ARM") == "NONE"
    board.run(9)
    assert board.state == "HOLD"
    for d in board.drives.values():
        first = d.heard.index("enable")
        rests = {"nothing"} if d.drive.type.family == "mini-cheetah" else set()
        assert set(d.heard[:first]) - rests == {"disable"} and d.enabled
        enables = 4 if d.drive.type.family in MUTE else 2
        assert d.heard[first:first + enables] == ["enable"] * enables
        then = d.heard[first + enables:]
        again = {"damiao": ["read 9"], "robstride": ["read 0x7028"]}.get(d.drive.type.family, [])
        assert set(then) == {"command", *again}
        assert all(then.count(what) == 1 and then.index(what) <= 1 for what in again)  # the forgotten setting


def test_that_drives_get_the_torque_of_the_law():
    """The torques carry the arm's weight with each drive's sign, on average to far less than a field's step."""
    app = Bussed(arm())
    app.drives["shoulder"].position = 0.0  # the arm stretched out
    app.run(60)
    assert app.command("ARM") == "NONE"
    app.run(5)
    told = {name: [] for name in app.drives}
    for _ in range(200):
        app.run(1)
        for name, d in app.drives.items():
            assert (d.target.kp, d.target.kd) == (0.0, 0.0)
            told[name].append(d.target.torque)
    wanted = app.see().torque
    assert abs(wanted[SHOULDER]) > 5.0
    for i, joint in enumerate(app.joints):
        assert np.mean(told[joint.name]) == pytest.approx(joint.drive.sign * wanted[i], abs=2e-3)


def test_that_a_drive_that_closes_the_loop_gets_its_target_its_gains_and_the_torque_that_carries_the_arm():
    app = Bussed(arm(pd="drive"))
    app.drives["shoulder"].position = 0.0  # the arm is stretched out
    app.run(60)
    assert app.command("ARM") == "NONE"
    app.run(20)
    status = app.see()
    assert abs(status.torque_ff[SHOULDER]) > 5.0
    for i, joint in enumerate(app.joints):
        t, sign, kind = app.drives[joint.name].target, joint.drive.sign, joint.drive.type
        assert t.position == pytest.approx(sign * status.position[i] / 2.0**32 * 2.0 * math.pi, abs=4e-4)
        assert t.kp == pytest.approx(joint.gains.ku, abs=kind.kp / 4095.0)
        assert t.kd == pytest.approx(joint.gains.kv, abs=kind.kd / 4095.0)
        assert t.torque == pytest.approx(sign * status.torque_ff[i], abs=2.0 * kind.torque / 4095.0)
    before = app.drives["shoulder"].target
    app.drives["shoulder"].position += 0.01  # the drive's own position loop brings the joint back
    app.run(3)
    after, kind = app.drives["shoulder"].target, app.drives["shoulder"].drive.type
    assert after.position == pytest.approx(before.position, abs=4e-4)
    assert after.torque == pytest.approx(before.torque, abs=3.0 * kind.torque / 4095.0)


@pytest.mark.parametrize("family", ["damiao", "robstride"])
def test_that_a_drive_that_closes_the_loop_is_aimed_at_the_middle_of_the_time_in_which_it_holds_a_command(family):
    """A drive holds a command until the next tick. In motion, the command is that of the middle of this time, to half a
    step of the fields. Before the motion, the target is the measured position, half a step from its start at most."""
    app = held(family, pd="drive")
    t = np.linspace(0.0, 0.4, 41)
    s = (1.0 - np.cos(2.0 * np.pi * t / 0.4)) / 2.0
    poses = np.array([j.start for j in app.joints]) + np.outer(s * s, [0.5, -0.4, 0.6])
    app.stream(knots(from_rows([j.name for j in app.joints], t, poses), app.mechanism))
    app.post("START")
    app.run(10)
    desired, told = [], []
    for _ in range(300):
        desired.append(app.run(1)["target"][-1] * (math.tau / 2.0**32))
        told.append([[d.target.position, d.target.velocity] for d in app.drives.values()])
        for d in app.drives.values():
            d.position = d.target.position
    q, found = np.array(desired), np.array(told) * np.array([j.drive.sign for j in app.joints])[None, :, None]
    assert np.all(np.ptp(q, axis=0) > 0.3)
    kinds = [j.drive.type for j in app.joints]
    middle, rate = 0.5 * (q[1:] + q[:-1]), 1000.0 * np.diff(q, axis=0)
    away = np.abs(found[:-1, :, 0] - middle).max(axis=0), np.abs(found[:-1, :, 1] - rate).max(axis=0)
    fine = 65535.0 if family == "robstride" else 4095.0
    assert np.all(away[0] < [0.6 * 2.0 * k.position / 65535.0 for k in kinds])
    assert np.all(away[1] < [0.6 * 2.0 * k.velocity / fine + 1e-3 for k in kinds])


@pytest.mark.parametrize(("happens", "fault"), [
    (lambda app: setattr(app.drives["elbow"], "deaf", True), ("DRIVE_SILENT", ELBOW)),
    (lambda app: setattr(app.drives["elbow"], "error", 12), ("DRIVE_FAULT", ELBOW)),
    (lambda app: setattr(app.drives["elbow"], "enabled", False), ("DRIVE_FAULT", ELBOW)),
    (lambda app: app.lib.fake_bus_off(0, 1), ("BUS_OFF", SHOULDER)),
], ids=["deaf", "error", "off", "bus"])
@pytest.mark.parametrize("family", ["damiao", *KINDS])
def test_that_what_drives_and_buses_suffer_is_a_fault_that_disables_all(family, happens, fault):
    app = held(family)
    if fault[0] == "DRIVE_FAULT" and not app.drives["elbow"].enabled:
        pytest.fail("not armed")
    happens(app)
    if fault[0] == "DRIVE_FAULT" and (family == "mini-cheetah" or family in MUTE and not app.drives["elbow"].error):
        app.run(12)  # a drive that does not report its state: the following error ends HOLD
        assert app.state == "HOLD"
        return
    app.run(12)
    assert app.state == "FAULT" and app.fault == fault
    assert app.chip.outputs == 0
    app.clear()
    app.run(20)
    others = [d for name, d in app.drives.items() if name != "elbow"]
    resting = {"disable", "nothing"} if family == "mini-cheetah" else {"disable"}
    assert all(set(d.heard) == resting and not d.enabled for d in others)


@pytest.mark.parametrize(("number", "value"), [(21, 12.566), (22, 8.0), (23, 27.0), (10, 2)])
def test_that_a_drive_that_is_set_otherwise_is_not_armed(number, value):
    app = Bussed(arm())
    app.drives["elbow"].registers[number] = value
    app.run(60)
    assert app.command("ARM") == "DRIVE_SETTING" and app.status.refusal_joint == ELBOW
    app.drives["elbow"].registers[number] = {21: 12.5006, 22: 10.0, 23: 28.0, 10: 1}[number]  # 12.5 but for rounding
    app.run(60)
    assert app.command("ARM") == "NONE"


def of_firmware(wanted: str) -> Bussed:
    """Return an arm whose drives report firmware 5017. The file requires `wanted` of the elbow's drive."""
    mechanism = arm()
    joints = [dataclasses.replace(j, drive=dataclasses.replace(j.drive, firmware=wanted * (j.name == "elbow")))
              for j in mechanism.joints]
    app = ran(dataclasses.replace(mechanism, joints=tuple(joints)), 160)
    return app


def test_that_a_damiao_of_another_firmware_than_the_files_is_not_armed():
    app = of_firmware("5016")
    assert app.command("ARM") == "DRIVE_SETTING" and app.status.refusal_joint == ELBOW
    assert drives.words(app.told, app.joints, ELBOW) == "its sw_ver is 5017, and must be 5016"
    assert drives.firmware(app.told, app.joints, ELBOW) == ""


@pytest.mark.parametrize("wanted", ["", "5017"])
def test_that_a_damiao_tells_its_firmware(wanted):
    app = of_firmware(wanted)
    assert [drives.firmware(app.told, app.joints, j) for j in range(3)] == ["5017"] * 3
    assert app.command("ARM") == "NONE"


def test_that_what_a_drive_says_meanwhile_is_not_taken_for_its_firmware():
    """The drive has answered all other questions. A question without an answer does not count as a lost state."""
    app = Bussed(arm())
    del app.drives["elbow"].registers[14]
    app.run(160)
    lost = app.counts().lost[ELBOW]
    app.run(160)
    assert app.counts().lost[ELBOW] == lost
    assert [drives.firmware(app.told, app.joints, j) for j in range(3)] == ["5017", "", "5017"]
    assert app.command("ARM") == "DRIVE_SETTING"


def by_hand(app: Bussed, name: str, velocity: float, share: float = 1.0) -> None:
    """Turn a joint for 1.2 s at this velocity, with outputs off. share: of the velocity that is reported."""
    d = app.drives[name]
    for _ in range(1200):
        d.position += 1e-3 * velocity
        d.velocity = share * velocity
        app.run(1)
    d.velocity = 0.0


@pytest.mark.parametrize("family", KINDS)
@pytest.mark.parametrize(("share", "seems"), [(1.0, 0.0), (1.08, 0.0), (1.25, 0.8), (0.8, 1.25), (0.0, 16.0)])
def test_that_a_range_of_velocity_that_is_another_shows_when_the_joint_is_turned(family, share, seems):
    """These drives cannot report their velocity range. The sum of velocities differs from the change of position."""
    app = Bussed(arm(family))
    own = app.drives["elbow"].drive.type.velocity
    app.run(60)
    by_hand(app, "elbow", 1.0, share)
    app.run(150)
    if not seems:
        assert app.command("ARM") == "NONE"
        return
    assert app.command("ARM") == "DRIVE_SETTING" and app.status.refusal_joint == ELBOW
    told = drives.words(app.told, app.joints, ELBOW)
    told, value = re.fullmatch(r"(its motion .* of about) (\S+) rad/s, and it must be (.*)", told).group(0, 2)
    assert float(value) == pytest.approx(seems * own, rel=0.03) and told.endswith(f" {own:g}")
    by_hand(app, "elbow", -1.0)
    app.run(100)
    assert app.command("ARM") == "NONE"


@pytest.mark.parametrize("waited", range(0, 2000, 250))
def test_that_a_turn_by_three_quarters_of_a_radian_shows_another_range_whenever_it_begins(waited):
    """The motion takes 1.5 s from rest to rest, as bring-up requests."""
    app = Bussed(arm("robstride"))
    d = app.drives["elbow"]
    app.run(60 + waited)
    for k in range(1500):
        velocity = 0.25 * math.pi * math.sin(math.pi * k / 1500.0)
        d.position += 1e-3 * velocity
        d.velocity = 0.5 * velocity
        app.run(1)
    assert app.command("ARM") == "DRIVE_SETTING" and app.status.refusal_joint == ELBOW


def test_that_velocities_that_trail_are_no_other_range():
    """The reported velocities are 20 ms late while the joint accelerates and stops."""
    app = ran(arm("cubemars"))
    d, told = app.drives["elbow"], 0.0
    for k in range(1200):
        velocity = 3.0 * math.sin(2.0 * math.pi * k / 600.0)
        d.position += 1e-3 * velocity
        told += (velocity - told) / 20.0
        d.velocity = told
        app.run(1)
    assert app.command("ARM") == "NONE"


def test_that_a_robstride_whose_range_is_another_is_not_armed_unless_it_is_near_zero():
    """The drive cannot report its range. The board compares the states' position with an unscaled parameter, also after
    a move. Near zero, a reported position does not depend on the range."""
    for position, refused in (1.0, "DRIVE_SETTING"), (0.0, "NONE"):
        app = Bussed(arm("robstride"))
        d = app.drives["elbow"]
        d.drive = dataclasses.replace(d.drive, type=dataclasses.replace(d.drive.type, position=12.5 * 1.05))
        d.position = position
        app.run(60)
        assert app.command("ARM") == refused
    app.post("DISARM")
    app.run(3)
    by_hand(app, "elbow", 1.0, 12.57 / (12.5 * 1.05))
    app.run(250)
    assert app.command("ARM") == "DRIVE_SETTING" and app.status.refusal_joint == ELBOW


def test_that_an_error_that_persists_is_not_armed():
    app = ran()
    drive = app.drives["wrist"]
    for _ in range(300):
        drive.error = 9
        app.run(1)
    assert "clear" in drive.heard
    assert app.command("ARM") == "DRIVE_FAULT" and app.status.refusal_joint == WRIST
    app.run(110)
    app.counts()
    assert drives.words(app.told, app.joints, WRIST) == "under-voltage, which is over"
    assert drive.error == 0 and app.command("ARM") == "NONE"
    app.counts()
    assert drives.words(app.told, app.joints, WRIST) == ""


def mixed() -> Mechanism:
    """Return an arm with motors, one of which seeks its zero, and a drive at the last joint."""
    m = load_mechanism(MECHANISMS / "three_link.toml")
    drive = load_mechanism(MECHANISMS / "damiao_arm.toml").joints[2].drive
    joints = [dataclasses.replace(j, motor=None, encoder=None, drive=drive) if j.name == "wrist" else
              dataclasses.replace(j, encoder=dataclasses.replace(j.encoder, zero="stop"), home=Home(j.limits.upper))
              for j in m.joints]
    return dataclasses.replace(m, joints=tuple(joints), buses=(Bus("can1"),))


ASKED = {"SEEK": lambda app: app.ask(Seek(app.token % 255 + 1, 0)),
         "PROBE": lambda app: app.ask(Probe(app.token % 255 + 1, WRIST, 0.0))}


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize(("happens", "refused"), [
    (lambda app, d: None, "NONE"),
    (lambda app, d: setattr(d, "deaf", True), "DRIVE_SILENT"),
    (lambda app, d: app.lib.fake_bus_off(0, 1), "DRIVE_SILENT"),
    (lambda app, d: setattr(d, "error", 9), "DRIVE_FAULT"),
    (lambda app, d: d.registers.__setitem__(23, 27.0), "DRIVE_SETTING"),
], ids=["well", "deaf", "bus off", "error", "setting"])
def test_that_what_keeps_drives_from_being_armed_keeps_joints_from_being_sought_and_probed(asked, happens, refused):
    app = Bussed(mixed())
    happens(app, app.drives["wrist"])
    app.run(60)
    assert ASKED[asked](app) == refused
    if refused == "NONE":
        assert app.state == {"SEEK": "HOMING", "PROBE": "PROBE"}[asked]
    else:
        assert app.status.refusal_joint == WRIST and app.state == "DISARMED" and not app.drives["wrist"].enabled


def test_that_a_drive_that_comes_back_is_asked_and_placed_again():
    app = ran()
    d = app.drives["elbow"]
    d.deaf = True
    app.run(20)
    assert "HOMED" not in app.flags
    d.deaf, d.position = False, 0.9
    d.registers[9] = 0
    d.heard.clear()
    app.run(60)
    assert "HOMED" in app.flags and "write 9" in d.heard
    assert app.see().position[ELBOW] / 2.0**32 * 2.0 * math.pi == pytest.approx(0.9, abs=3e-4)


def test_that_a_drive_that_restarts_sooner_than_it_is_missed_is_asked_and_placed_again():
    """The drive has lost its turns and its time limit. The board sees only that it is no longer enabled."""
    app = held()
    d, turn = app.drives["elbow"], 2.0 * math.pi
    d.enabled, d.registers[9] = False, 0
    d.position -= turn
    d.heard.clear()
    app.run(12)
    assert app.fault == ("DRIVE_FAULT", ELBOW)
    app.run(60)
    assert "write 9" in d.heard and d.registers[9] == 400
    assert app.see().position[ELBOW] / 2.0**32 * turn == pytest.approx(0.0, abs=3e-4)  # at its place, a turn on
    assert app.command("CLEAR") == app.command("ARM") == "NONE"


@pytest.mark.parametrize("family", ["damiao", "robstride"])
@pytest.mark.parametrize("boot", [1, 3, 5, 20])
def test_that_no_drive_is_commanded_that_has_lost_its_time_limit_while_it_was_enabled(family, boot):
    """The drive has no supply for 2 ms and boots for `boot` ms. The dip may be too short for an answer to be missed. If
    the drive was not enabled before, only the forgotten setting shows the dip."""
    for when in range(-3, 10):  # ticks after the command
        app = ran(arm(family))
        d = app.drives["elbow"]
        for tick in range(-3, 80):
            if tick == 0:
                app.post("ARM")
            if tick == when:
                d.down = 2 + boot + 1
            app.run(1)
        assert not any(drive.unlimited for drive in app.drives.values()), when
        if app.fault[0] == "NONE":
            assert app.state == "HOLD" and d.registers[9 if family == "damiao" else 0x7028] == 400
            continue
        assert app.fault in {("DRIVE_FAULT", ELBOW), ("DRIVE_SILENT", ELBOW)}
        app.run(60)
        assert app.command("CLEAR") == app.command("ARM") == "NONE"


@pytest.mark.parametrize("family", ["damiao", "robstride"])
def test_that_a_drive_that_restarts_while_the_others_brake_is_set_right_before_it_does(family):
    app = held(family, electrical="brake")
    app.drives["wrist"].error = 12
    app.run(12)
    d = app.drives["elbow"]
    assert app.fault == ("DRIVE_FAULT", WRIST) and d.target.kd > 0.0
    assert app.drives["shoulder"].target.kd == pytest.approx(2.0, abs=2e-3)
    d.power_up()
    app.run(60)
    assert d.enabled and d.target.kd > 0.0 and d.unlimited == 0
    since = d.heard[max(k for k, what in enumerate(d.heard) if what == "enable"):]
    assert ("read 9" if family == "damiao" else "read 0x7028") in since  # the drive may have lost this setting


@pytest.mark.parametrize("turns", [-1, 1])
def test_that_a_drive_may_find_itself_in_another_turn(turns):
    """A drive whose turn starts at zero reports 5.8 rad for a joint at -0.5 rad."""
    app = Bussed(arm("robstride", pd="drive"))
    for joint in app.joints:
        app.drives[joint.name].position = joint.drive.sign * -0.5 + turns * 2.0 * math.pi
    app.run(60)
    assert "HOMED" in app.flags and app.command("ARM") == "NONE"
    app.run(5)
    found = np.array(app.see().position) / 2.0**32 * 2.0 * math.pi
    assert np.abs(found + 0.5).max() < 4e-4
    for d in app.drives.values():
        assert d.target.position == pytest.approx(d.position, abs=1e-3)


def test_that_foreign_frames_are_nobodys_and_counted():
    app = held()
    before = app.counts().foreign
    for _ in range(50):
        app.bring(Frame(0x321, bytes(8)))
        app.bring(Frame(0x11, bytes(3)))
        app.run(1)
    assert app.state == "HOLD" and app.counts().foreign == before + 100


def test_that_a_silent_drive_is_told_with_what_else_has_come():
    """A new Damiao has MST_ID 0, so its states belong to no drive of the file."""
    app = Bussed(arm())
    elbow = app.drives["elbow"]
    elbow.drive = dataclasses.replace(elbow.drive, reply=0)
    app.run(150)
    told = app.counts()
    assert app.command("ARM") == "DRIVE_SILENT" and told.foreign > 100
    assert drives.words(told, app.joints, ELBOW) == (
        f"{told.foreign} frames came from no drive of the file: its MST_ID (register 7), 0 as it comes, may "
        "differ from reply = 18")
    assert drives.words(told, app.joints, SHOULDER) == ""
    app = Bussed(arm())
    app.drives["elbow"].deaf = True
    app.run(150)
    assert drives.words(app.counts(), app.joints, ELBOW) == ""


def test_that_drives_of_one_id_on_two_buses_are_two():
    """The drives on the two buses have the same identifiers. Only the second bus's drive has an error."""
    m = arm()
    joints = [dataclasses.replace(j, drive=dataclasses.replace(j.drive, bus=bus, id=1, reply=0x11))
              for j, bus in zip(m.joints[:2], ("can1", "can2"), strict=True)]
    m = dataclasses.replace(m, joints=(*joints, m.joints[2]), buses=(Bus("can1"), Bus("can2")),
                            board=dataclasses.replace(m.board, use="robomaster-c"))
    app = Bussed(m)
    app.drives["elbow"].position = app.joints[ELBOW].drive.sign * 0.5
    app.run(60)
    found = np.array(app.see().position) / 2.0**32 * math.tau
    assert found[:2] == pytest.approx([app.joints[SHOULDER].start, 0.5], abs=4e-4)
    armed(app)
    app.drives["elbow"].error = 12
    app.run(12)
    assert app.fault == ("DRIVE_FAULT", ELBOW)


def test_that_an_answer_about_another_setting_answers_no_question():
    """The answer names a register that was not asked for, with the value that the requested register must have."""
    app = Bussed(arm())
    d = app.drives["elbow"]
    d.registers[21], d.registers[22] = 12.566, 8.0
    for _ in range(60):
        app.bring(Frame(d.drive.reply, bytes([d.drive.id, 0, 0x33, 5]) + struct.pack("<f", 12.5)))
        app.run(1)
    assert app.command("ARM") == "DRIVE_SETTING" and app.status.refusal_joint == ELBOW
    app.counts()
    assert drives.words(app.told, app.joints, ELBOW) == "its PMAX is 12.566, and must be 12.5"


def test_that_a_joint_that_may_be_parked_beyond_half_a_turn_is_told_where_it_is():
    app = parked(upper=4.0)
    app.drives["elbow"].position = 3.5 - 2.0 * math.pi  # without power the drive forgets whole turns
    app.run(60)
    assert "HOMED" not in app.flags
    assert app.command("ARM") == "NOT_HOMED" and app.status.refusal_joint == ELBOW
    assert app.home([0.0, 3.5, 0.0]) == "NONE" and app.command("ARM") == "NONE"
    app.run(3)
    assert app.see().position[ELBOW] / 2.0**32 * 2.0 * math.pi == pytest.approx(3.5, abs=1e-3)
    for _ in range(20):
        app.drives["elbow"].position += 5e-4
        app.run(1)
    assert app.see().position[ELBOW] / 2.0**32 * 2.0 * math.pi == pytest.approx(3.51, abs=1e-3)
    app.drives["elbow"].power_up()  # the drive has lost its count of turns
    app.run(60)
    assert app.fault == ("DRIVE_FAULT", ELBOW) and "HOMED" not in app.flags
    assert app.command("CLEAR") == "NONE" and app.command("ARM") == "NOT_HOMED"


def test_that_a_zero_that_was_given_while_a_drive_was_silent_is_none():
    """While the drive was silent, the joint may have moved unnoticed. The drive may come back in another turn."""
    app = parked(lower=-4.0)
    d = app.drives["elbow"]
    d.deaf = True
    app.run(60)
    app.home([0.0, 0.0, 0.0])
    d.deaf, d.position = False, d.position + 1.0
    app.run(60)
    assert "HOMED" not in app.flags and app.command("ARM") == "NOT_HOMED"


def test_that_what_was_wrong_with_a_drive_is_forgotten_with_it():
    """After the silence another drive may be connected in its place."""
    for family, spoil, mend in (
            ("cubemars", lambda app: by_hand(app, "elbow", 1.0, 0.8), lambda app: None),
            ("damiao", lambda app: app.drives["elbow"].registers.__setitem__(22, 8.0),
             lambda app: app.drives["elbow"].registers.__setitem__(22, 10.0))):
        app = Bussed(arm(family))
        spoil(app)
        app.run(60)
        assert app.command("ARM") == "DRIVE_SETTING"
        app.drives["elbow"].deaf = True
        app.run(20)
        mend(app)
        assert not app.counts().setting[ELBOW]
        app.drives["elbow"].deaf = False
        app.run(60)
        assert app.command("ARM") == "NONE"


def test_that_positions_of_a_moving_joint_are_followed_with_an_answer_missing():
    app = ran()
    d: FakeDrive = app.drives["shoulder"]
    for k in range(400):
        d.position = min(1e-3 * k * min(k / 200.0, 1.0), 0.3)
        d.deaf = k in (150, 151, 152)
        at = app.run(1)["position"][-1][SHOULDER] / 2.0**32 * 2.0 * math.pi
        if k == 153:  # 1.5 mrad per tick or more, three ticks after the last answer
            assert at == pytest.approx(1e-3 * 152 * 152 / 200.0, abs=2e-3)
    assert app.see().position[SHOULDER] / 2.0**32 * 2.0 * math.pi == pytest.approx(0.3, abs=4e-4)


def where(app: Bussed, joint: int) -> float:
    """Return a joint's position, rad, in this tick."""
    return app.see().position[joint] / 2.0**32 * 2.0 * math.pi


def test_that_a_joint_whose_drive_is_silent_is_not_taken_to_go_on():
    """The board extrapolates only for the few ticks until the drive counts as silent."""
    app = ran()
    d = app.drives["shoulder"]
    for _ in range(300):
        d.position += 1e-3
        app.run(1)
    d.deaf = True
    app.run(20)
    before = where(app, SHOULDER)
    app.run(300)
    assert where(app, SHOULDER) == pytest.approx(before, abs=0.02)


def test_that_a_leap_is_not_taken_to_go_on_where_an_answer_is_missing():
    """No joint can be as fast as this position jump."""
    app = ran()
    d = app.drives["elbow"]
    d.position += 2.0
    app.run(2)
    d.deaf = True
    at = app.run(1)["position"][-1][ELBOW]
    after = app.run(1)["position"][-1][ELBOW]
    assert abs(after - at) / 2.0**32 * 2.0 * math.pi < 0.1


def test_that_the_board_tells_how_its_drives_are():
    app = Bussed(arm())
    app.drives["elbow"].registers[22] = 8.0
    app.run(150)
    app.drives["wrist"].error = 12
    app.run(101)
    told, joints = app.told, app.joints
    assert [drives.state(told, j) for j in range(3)] == ["seen", "seen", "faulted"]
    assert tuple(told.warmth) == (30, 30, 30) and told.foreign == 0
    assert max(told.age) <= 1  # the elbow answers only in every second tick; the ticks between are for questions about
                               # settings
    assert all(90 < n < 260 for n in told.answers) and all(n < 5 for n in told.lost)
    assert drives.words(told, joints, ELBOW) == "its VMAX is 8, and must be 10"
    assert drives.words(told, joints, WRIST) == "rotor too hot"
    assert (drives.words(told, joints, SHOULDER), drives.words(None, joints, 0)) == ("", "")


def test_that_states_that_are_missing_or_too_many_are_counted_one_by_one():
    """A second answer in a tick counts as late, and its value is used."""
    app = held()
    d = app.drives["elbow"]
    before = app.counts()
    for _ in range(7):
        app.run(1)
        app.bring(d.state())
    for _ in range(3):
        d.deaf = True
        app.run(1)
        d.deaf = False
        app.run(4)
    after = app.counts()
    assert after.late[ELBOW] - before.late[ELBOW] == 7 and after.lost[ELBOW] - before.lost[ELBOW] == 3
    others = [(after.late[j] - before.late[j], after.lost[j] - before.lost[j]) for j in (SHOULDER, WRIST)]
    assert others == [(0, 0), (0, 0)]
    ticks = after.tick - before.tick
    assert [after.answers[j] - before.answers[j] for j in range(3)] == [ticks, ticks + 7 - 3, ticks]


def test_that_the_board_tells_which_parameter_of_a_robstride_is_wrong():
    app = Bussed(arm("robstride"))
    app.drives["elbow"].registers[0x7005] = 3
    app.drives["wrist"].error = 0b100100
    app.run(150)
    assert drives.words(app.told, app.joints, ELBOW) == "its run_mode is 3, and must be 0"
    assert drives.words(app.told, app.joints, WRIST) == "over-temperature, not calibrated"


@pytest.mark.parametrize(("index", "name"), [(0x7005, "run_mode"), (0x7028, "can_timeout"), (0x7019, "mech_pos")])
def test_that_a_robstride_without_a_parameter_is_not_armed_and_the_board_tells_which(index, name):
    app = Bussed(arm("robstride"))
    app.drives["elbow"].missing = index
    app.run(150)
    assert drives.words(app.told, app.joints, ELBOW) == (
        f"it cannot read its {name}: its firmware may be too old to have it")
    assert app.command("ARM") == "DRIVE_SETTING"


def test_that_states_of_drives_have_the_numbers_of_the_table():
    text = application()["ft_bus.h"].read_text()
    names = re.findall(r"FT_BUS_(SILENT|SEEN|ENABLED|FAULTED)\b", text.split("typedef enum {")[1].split("}")[0])
    assert names == sorted(messages.DRIVE_STATES, key=lambda name: messages.DRIVE_STATES[name][0])
