"""Timing of drives on buses, exact to the tick: the time until a drive counts as silent, the data that the board then
forgets, and the number of frames that a tick processes."""

import math
import struct
from dataclasses import replace

import numpy as np
import pytest

from femtorque.codegen.drive.can import Frame
from femtorque.codegen.drive.families.robstride import frames as robstride
from femtorque.codegen.drive.family import Target
from femtorque.codegen.mechanism import Bus, Mechanism, Safety
from femtorque.codegen.wire import Float, messages
from femtorque.host.link import drives
from tests.firmware.test_bus import ELBOW, SHOULDER, WRIST, arm, armed, by_hand, held, parked, ran, where
from tests.support.bus_arm import described
from tests.support.drives import HOST, LONG, READ, REMOTE, STATE, Bussed, FakeDrive
from tests.support.pc import on_pc
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


def test_that_a_question_with_the_number_of_a_state_is_no_state():
    app = held("robstride")
    d, foreign, before = app.drives["elbow"], app.counts().foreign, where(app, ELBOW)
    number = LONG | REMOTE | robstride.identifier(STATE, 2 << 14 | d.drive.id, HOST)
    app.lib.fake_bus_bring(0, app.ffi.new("ft_frame *", (number, 8, bytes(8))))
    app.run(1)
    assert state(app) == "HOLD" and app.counts().foreign == foreign + 1
    assert where(app, ELBOW) == pytest.approx(before, abs=1e-3)


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


def test_that_in_a_mode_of_the_lab_the_board_makes_the_torque():
    app = held(pd="drive")
    assert all(d.target.kp > 0.0 for d in app.drives.values())
    assert app.ask(Float(app.token + 1, 0)) == "NONE" and app.state == "FLOAT"
    assert all(d.target.kp == 0.0 for d in app.drives.values())


class ODrive(FakeDrive):
    """An ODrive, which reports its position only on request. mute: true if it sends no heartbeats."""

    mute = False

    def answer(self, frame: Frame) -> Frame | None:
        message = frame.id & 0x1F
        if frame.id >> 5 != self.drive.id or self.deaf:
            return None
        if frame.remote:
            self.heard.append({0: "version", 9: "poll"}[message])
            return Frame(frame.id, bytes([2, 5, 2, 0, 0, 6, 10, 0]) if message == 0 else
                         struct.pack("<2f", self.position / math.tau, self.velocity / math.tau))
        self._note({7: "enable" if frame.data[0] == 8 else "disable", 0x18: "clear"}.get(message, "command"))
        if message == 0x0E:
            self.target = Target(torque=struct.unpack("<f", frame.data)[0])
        return None

    def beat(self) -> Frame:
        return Frame(self.drive.id << 5 | 1, struct.pack("<IB3x", self.error, 8 if self.enabled else 1))


class Polled(Bussed):
    """An arm with a Damiao drive and an ODrive on one bus, and another ODrive on a second bus. A heartbeat comes every
    ten ticks. by_bus: frames of the last tick."""

    def __init__(self, mechanism: Mechanism) -> None:
        self.ticks, self.by_bus = 0, {}
        super().__init__(mechanism)
        self.polled = {j.name: ODrive(j.drive, position=j.drive.sign * j.start) for j in self.joints[1:]}
        self.drives |= self.polled
        self.run(60)
        assert self.home() == "NONE" and self.command("ARM") == "NONE"
        self.run(40)
        assert state(self) == "HOLD" and self.states() == ["enabled"] * 3

    def _deliver(self, number: int, name: str) -> None:
        super()._deliver(number, name)
        self.by_bus[name] = self.sent

    def run(self, ticks: int, **how):
        for _ in range(ticks):
            record = super().run(1, **how)
            self.ticks += 1
            for d in self.polled.values():
                if self.ticks % 10 == 0 and not d.mute:
                    self.bring(d.beat(), self.names.index(d.drive.bus))
        return record

    def states(self) -> list[str]:
        self.counts()
        return [drives.state(self.told, j) for j in range(3)]


def two_buses(**safety: str) -> Mechanism:
    mechanism, (elbow, wrist) = arm(), described("odrive-can").joints[1:]
    far = replace(wrist, drive=replace(wrist.drive, bus="can2"))
    return replace(mechanism, joints=(mechanism.joints[0], elbow, far), buses=(*mechanism.buses, Bus("can2")),
                   safety=Safety(host="coast", **safety), board=replace(mechanism.board, use="robomaster-c"))


def test_that_polled_drives_are_asked_in_every_tick_after_all_commands():
    polled = Polled(two_buses())
    poll = [(d.drive.id << 5 | 9, True) for d in polled.polled.values()]
    for command in ("DISARM", "ARM"):
        for _ in range(10):
            polled.run(1)
            near, far = ([(f.id, f.remote) for f in frames] for frames in polled.by_bus.values())
            assert near[2:] == poll[:1] and far[1:] == poll[1:] and not near[0][1] | near[1][1] | far[0][1]
        before = where(polled, ELBOW)
        polled.polled["elbow"].position += 0.1
        polled.run(3)
        assert abs(where(polled, ELBOW) - before) == pytest.approx(0.1, abs=1e-4)
        polled.post(command)
        polled.run(20)


def test_that_a_polled_drive_that_brakes_is_damped_by_its_own_velocity():
    polled = Polled(two_buses(electrical="brake"))
    polled.drives["shoulder"].error, d = 12, polled.polled["wrist"]
    polled.run(20)
    d.velocity = 0.5
    polled.run(3)
    assert polled.fault == ("DRIVE_FAULT", SHOULDER)
    assert d.target.torque == pytest.approx(-0.5 * polled.joints[WRIST].gains.kv, rel=1e-4)


@pytest.mark.parametrize(("happens", "fault", "after"), [
    ({"mute": True}, "DRIVE_SILENT", "silent"), ({"deaf": True}, "DRIVE_SILENT", "silent"),
    ({"error": 4}, "DRIVE_FAULT", "seen"), ({"enabled": False}, "DRIVE_FAULT", "seen")])
def test_that_a_polled_drive_needs_answers_and_heartbeats_without_an_error(happens, fault, after):
    """A drive is silent without its answers for 5 ticks, and without heartbeats for 50 ticks. The last heartbeat has
    been heard a tick before. The board clears the error."""
    polled = Polled(two_buses())
    polled.run(11 - polled.ticks % 10)
    vars(polled.polled["elbow"]).update(happens)
    polled.run({"mute": 49, "deaf": SILENT + 1, "error": 9, "enabled": 9}[next(iter(happens))])
    assert state(polled) == "HOLD"
    polled.run(1)
    assert state(polled) == "FAULT" and polled.fault == (fault, ELBOW)
    polled.run(110)
    for _ in range(3):
        assert polled.states() == ["seen", after, "seen"]
    vars(polled.polled["elbow"]).update(mute=False, deaf=False, error=0)
    polled.run(60)
    assert polled.states() == ["seen"] * 3


def test_that_on_a_pc_no_answer_is_believed_from_a_missing_one_to_that_of_a_later_frame():
    """The missing answer may come a tick late, and all later ones would be late too. One frame is left out, so a later
    answer shows that it belongs to its own frame. A drive that is off or answers a question is not doubted."""
    app, sent = ran(on_pc(arm())), []
    d = app.drives["elbow"]

    def ticks(count: int) -> None:
        for _ in range(count):
            app.run(1)
            sent.append(sum(f.id == d.drive.id or f.data[:1] == bytes([d.drive.id]) for f in app.sent))

    d.deaf = True
    ticks(1)
    d.deaf = False
    ticks(9)
    limit = d.registers.pop(9)
    app.post("ARM")
    ticks(10)
    d.registers[9] = limit
    ticks(10)
    d.deaf = True
    ticks(1)
    app.bring(Frame(d.drive.reply, bytes([d.drive.id, 0, 0x33, 9]) + struct.pack("<I", int(limit))))
    d.deaf = False
    ticks(9)
    assert sent == [1] * 40 and state(app) == "HOLD"
    before, late = where(app, ELBOW), app.counts().late[ELBOW]
    assert late == 0
    sent.clear()
    d.deaf = True
    ticks(1)
    d.deaf, d.position = False, d.position + 0.5  # an old answer
    ticks(1)
    app.bring(d.state())
    ticks(1)
    d.position -= 0.5
    ticks(6)
    assert sent == [1, 1, 0, 1, 1, 1, 1, 1, 1] and app.counts().late[ELBOW] == late + 2
    assert state(app) == "HOLD" and where(app, ELBOW) == pytest.approx(before, abs=1e-3)


def test_that_on_a_pc_a_drive_that_is_doubted_is_not_polled_either():
    m = on_pc(two_buses())
    polled = Polled(replace(m, board=replace(m.board, accept="no time limit")))
    d, polls = polled.polled["wrist"], []
    for tick in range(5):
        d.deaf = tick == 0
        d.heard.clear()
        polled.run(1)
        polls.append(len(d.heard))
    assert polls == [0, 2, 0, 2, 2]
