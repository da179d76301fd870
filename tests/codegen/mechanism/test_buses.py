"""Tests of drives on a bus in a mechanism file: rules that concern several keys, and the bus load."""

import pytest
from rich.console import Console

from femtorque.codegen.board import load_board, served
from femtorque.codegen.common import BadInput
from femtorque.codegen.control import joint_constants, loop_stability
from femtorque.codegen.control.drives import drive_rows
from femtorque.codegen.mechanism.reader import load_mechanism
from femtorque.codegen.model import Model
from femtorque.codegen.verify import check_renderable, examine
from femtorque.codegen.verify.check import UNSTABLE

DRIVE = 'drive = { type = "damiao-4340", bus = "can1", id = %d }'
BUS = '[[bus]]\nname = "can1"\nkind = "%s"\n'


def arm(tmp_path, joints: int = 3, kind: str = "can", rate: int = 1000, change=lambda text: text):
    """Write a planar arm of equal links with a drive at every joint."""
    text = f'name = "arm"\n[control]\nrate_hz = {rate}\nknot_hz = {rate // 10}\n' + BUS % kind
    for k in range(joints):
        text += (f'[[link]]\nname = "l{k}"\nmass = 1.0\nrod = 0.3\n[[joint]]\nname = "j{k}"\ntype = "revolute"\n'
                 f'parent = "{"base" if not k else f"l{k - 1}"}"\nchild = "l{k}"\nxyz = [{0.3 * bool(k)}, 0.0, '
                 f'0.0]\naxis = [0, 0, 1]\n'
                 f'limits = {{ lower = -2.0, upper = 2.0, velocity = 5.0, effort = 20.0 }}\n{DRIVE % (k + 1)}\n')
    path = tmp_path / "arm.toml"
    path.write_text(change(text))
    return path


def refused(tmp_path, **kind) -> str:
    with pytest.raises(BadInput) as error:
        examine(load_mechanism(arm(tmp_path, **kind)))
    return str(error.value)


def test_a_drive_has_the_catalogues_ranges_but_for_those_of_the_file(tmp_path):
    own = arm(tmp_path, change=lambda text: text.replace("id = 2 }", "id = 2, velocity = 8.0, reply = 0x22 }"))
    a, b, _ = (joint.drive for joint in load_mechanism(own).joints)
    assert (a.type.velocity, a.reply) == (10.0, 0x11)
    assert (b.type.velocity, b.type.torque, b.reply) == (8.0, 28.0, 0x22)


@pytest.mark.parametrize(("was", "becomes", "said"), [
    ('"damiao-4340", bus = "can1", id = 1', '"damiao-4304", bus = "can1", id = 1',
     "no such drive; did you mean 'damiao-4340'"),
    ('bus = "can1", id = 1', 'bus = "can2", id = 1', "joint.j0.drive.bus = 'can2': no such bus"),
    ("id = 2 }", "id = 1 }", "joint.j1.drive.id = 1: is already used on bus 'can1' by joint 'j0'"),
    ("id = 2 }", "id = 17 }", "joint.j1.drive.id = 17: is already used on bus 'can1' by joint 'j0'"),
    ("id = 1 }", "id = 1, zero = 3.2 }", "joint.j0.drive.zero = 3.2: a drive comes up within half a turn of its own"),
    ("id = 1 }", "id = 1, zero = 0.1, position = 5.0 }",
     "joint.j0.drive.zero = 0.1: damiao-4340 may come up in another turn than its zero's, and then has to tell "
     "7.142 rad, and tells 5"),
    ("lower = -2.0, upper = 2.0, velocity = 5.0, effort = 20.0 }\ndrive = { type = \"damiao-4340\", bus = \"can1\", "
     "id = 1 }", "lower = -0.5, upper = 3.5, velocity = 5.0, effort = 20.0 }\ndrive = { type = \"damiao-4340\", bus = "
     "\"can1\", id = 1, position = 5.0 }", "may come up in another turn than its zero's, and then has to tell 7.142"),
    ("id = 1 }", "id = 1, limit = 0.5 }", "joint.j0.drive.limit = 0.5: damiao-4340 has none"),
    ("id = 1 }", 'id = 1, firmware = "3.10" }',
     "joint.j0.drive.firmware = '3.10': is no version of damiao-4340; \"5017\""),
    ('"damiao-4340", bus = "can1", id = 1', '"robstride-03", firmware = "5017", bus = "can1", id = 1',
     "joint.j0.drive.firmware = '5017': robstride-03 tells none; remove it"),
    ("effort = 20.0", "effort = 29.0", "joint.j0.limits.effort = 29.0: damiao-4340 tells at most 28 N m"),
    ("velocity = 5.0", "velocity = 11.0", "tells at most 10 rad/s"),
    ("lower = -2.0", "lower = -13.0", "joint.j0.limits.lower = 13.0: damiao-4340 tells at most 12.5 rad"),
    ("id = 1 }", "id = 1, gear = -2.0 }",
     "joint.j0.drive.gear = -2.0: must be positive; a drive that turns the other way has sign = -1"),
    ("id = 1 }", "id = 1, gear = 120 }", "joint.j0.drive.gear = 120.0: is no stage between a drive and its joint"),
    ("effort = 20.0 }\ndrive = { type = \"damiao-4340\", bus = \"can1\", id = 1 }",
     "effort = 57.0 }\ndrive = { type = \"damiao-4340\", bus = \"can1\", id = 1, gear = 2 }",
     "joint.j0.limits.effort = 57.0: damiao-4340 behind a gear of 2 tells at most 56 N m"),
    ("id = 1 }", "id = 1, gear = 2.0 }\ngains = { ku = 2001.0 }",
     "joint.j0.gains.ku = 2001.0: damiao-4340 behind a gear of 2 takes at most 2000"),
    ("id = 1 }", "id = 1, gear = 2.0, zero = 0.5 }",
     "joint.j0.drive.zero = 0.5: two places in the joint's limits are a turn of the drive behind a gear of 2 apart"),
    ("id = 1 }", "id = 1, gear = 0.1, position = 100.0 }",
     "joint.j0.drive.position = 100.0: damiao-4340 behind a gear of 0.1 is more than a hundred turns of the joint"),
    ("id = 1 }", "id = 1 }\nencoder = { counts = 4096 }", "joint.j0.encoder: a drive on a bus has its own"),
    ('"damiao-4340", bus = "can1", id = 1', '"robstride-03", bus = "can1", id = 200',
     "must be at most 127 with robstride"),
    ('kind = "can"', 'kind = "can"\ndata_bitrate = 5000000', "classic CAN has no data phase"),
])
def test_keys_that_contradict_are_refused(tmp_path, was, becomes, said):
    assert said in refused(tmp_path, change=lambda text: text.replace(was, becomes, 1))


def test_the_ranges_of_a_geared_drive_are_emitted_for_the_joint(tmp_path):
    """The drive turns three times per turn of the joint."""
    changes = ("id = 1 }", "id = 1, gear = 3.0, inertia = 0.02, sign = -1, zero = 1.0 }"), ("lower = -2.0, upper = 2.0",
                                                                                           "lower = -1.0, upper = 1.04")
    m = load_mechanism(arm(tmp_path, change=lambda text: text.replace(*changes[0], 1).replace(*changes[1], 1).replace(
        "velocity = 5.0, effort = 20.0", "velocity = 3.0, effort = 80.0", 1)))
    row, other, _ = drive_rows(m)
    assert (row.position, row.velocity, row.torque, row.kp, row.kd) == pytest.approx(
        (12.5 / 3.0, 10.0 / 3.0, 84.0, 4500.0, 45.0))
    assert (row.gear, row.turn, other.gear, other.turn) == (3.0, 2 * round(2**23 / 3), 1.0, 2**24)
    assert row.zero == round(1.0 / 12.5 * 65535)  # limit of the position that the drive reports, rad
    joint = joint_constants(m, m.joints[0])
    assert joint.count == pytest.approx(-2.0 * 12.5 / 3.0 / 65535.0) and joint.effort == 80.0
    assert m.joints[0].rotor == pytest.approx(0.18) and joint.rotor == pytest.approx(2.0 * 0.18 * 1e6)
    assert (row.placed, other.placed) == (1, 1)


@pytest.mark.parametrize(("gear", "upper", "placed"), [(3.0, 1.594, 1), (3.0, 1.595, 0), (1.5, 3.6, 1), (0.5, 6.2, 1)])
def test_a_joint_with_limits_that_leave_one_turn_of_its_drive_needs_no_home(tmp_path, gear, upper, placed):
    own = arm(tmp_path, change=lambda text: text.replace("id = 1 }", f"id = 1, gear = {gear} }}", 1).replace(
        "lower = -2.0, upper = 2.0, velocity = 5.0, effort = 20.0",
        f"lower = -0.5, upper = {upper}, velocity = 3.0, effort = 14.0", 1))
    assert drive_rows(load_mechanism(own))[0].placed == placed


def test_a_classic_drive_keeps_a_bus_classic(tmp_path):
    assert "speaks classic CAN alone" in refused(
        tmp_path, kind="can-fd", change=lambda text: text.replace("damiao-4340", "cubemars-ak10-9", 1))


def test_a_rate_that_a_bus_does_not_bear_is_refused_with_the_fastest_that_it_does(tmp_path):
    said = refused(tmp_path, joints=4)
    assert ("control.rate_hz = 1000: bus 'can1' would be busy for 9" in said
            and 'Hz, or another bus, kind = "can-fd"' in said)
    hz = int(said.split("at most ")[1].split(" Hz")[0])
    assert 900 < hz < 1000
    examine(load_mechanism(arm(tmp_path, joints=4, kind="can-fd")))


def test_check_shows_how_busy_each_bus_is(tmp_path):
    report = examine(load_mechanism(arm(tmp_path)))
    console = Console(width=200, record=True, file=open("/dev/null", "w"))
    console.print(check_renderable(report))
    shown = console.export_text()
    assert "can 1 Mbit/s" in shown and "j0 1: damiao-4340" in shown
    (bus,) = report.data()["buses"]
    assert "1.11 to" in shown and bus["command_after_s"][0] == pytest.approx(1e-3 + 108e-6)
    assert bus["fastest_hz"] == pytest.approx(1250, rel=0.02) and bus["joints"] == ["j0", "j1", "j2"]


@pytest.mark.parametrize(("kind", "said"), [
    ("cubemars-ak10-9", "CubeMars' drives are not known to stop by themselves"),
    ("mini-cheetah", "lets go after CAN_TIMEOUT of its own settings, as it comes 25 ms")])
def test_check_names_drives_whose_time_limit_the_board_cannot_set(tmp_path, kind, said):
    text = arm(tmp_path, change=lambda text: text.replace("damiao-4340", kind, 2).replace("effort = 20.0",
                                                                                          "effort = 15.0"))
    text.write_text(text.read_text() + '[board]\nuse = "f405rg-4"\nbus_voltage = 24.0\n')
    (told,) = [w for w in examine(load_mechanism(text)).silence if said in w]
    assert told.startswith("j0, j1: ") and "it be asked for its ranges" in told or "can they be asked" in told


def test_replies_have_the_ids_that_drives_come_with(tmp_path):
    def change(text):
        for kind in ("cubemars-ak10-9", "mini-cheetah", "mini-cheetah"):
            text = text.replace("damiao-4340", kind, 1)
        return text.replace("effort = 20.0", "effort = 15.0")

    joints = load_mechanism(arm(tmp_path, change=change)).joints
    assert [j.drive.reply for j in joints] == [1, 0, 0]  # the first byte of a mini-cheetah's reply identifies the drive
    for was, becomes, said in (("id = 2 }", "id = 2, reply = 1 }", "joint.j1.drive.reply = 1: is already used"),
                               ("id = 1 }", "id = 1, reply = 0 }", "joint.j1.drive.reply = 0: is already used"),
                               ("id = 2 }", "id = 200 }", "must be at most 127 with mini-cheetah")):
        assert said in refused(tmp_path, change=lambda t, w=was, b=becomes: change(t).replace(w, b))


def on(board: str, tmp_path, **kind):
    return served(load_mechanism(arm(tmp_path, **kind)), load_board(board))


def test_drives_need_no_channel_of_the_board(tmp_path):
    assert [channel for _, channel in on("f405rg-4", tmp_path)] == [None, None, None]


@pytest.mark.parametrize(("board", "kind", "was", "becomes", "said"), [
    ("f405rg-6", "can", "", "", "bus.can1.name = 'can1': board 'f405rg-6' has no bus of that name; did you mean "
                                "'can2'?"),
    ("compute", "can", "", "", "joint.j0.drive: board 'compute' has no e-stop loop: nothing would stop the drives"),
    ("f405rg-4", "can-fd", "", "", "bus.can1.kind = 'can-fd': STM32F405 of board 'f405rg-4' speaks classic CAN alone"),
    ("f405rg-4", "can", 'kind = "can"', 'bitrate = 800001', "cannot be made exactly of 42 MHz; nearest: 1000000"),
    ("nucleo-g474re-6", "can-fd", 'kind = "can-fd"', 'kind = "can-fd"\ndata_bitrate = 3200000',
     "bus.can1.data_bitrate = 3200000: cannot be made exactly of 170 MHz; nearest: 2500000"),
    ("f405rg-4", "can", 'type = "revolute"\nparent = "base"\nchild = "l0"\nxyz = [0.0, 0.0, 0.0]\naxis = [0, 0, 1]\n'
     "limits = { lower = -2.0, upper = 2.0, ", 'type = "continuous"\nparent = "base"\nchild = "l0"\n'
     'xyz = [0.0, 0.0, 0.0]\n' "axis = [0, 0, 1]\nlimits = { ", "the joint needs limits"),
])
def test_drives_beyond_the_board_are_refused(tmp_path, board, kind, was, becomes, said):
    with pytest.raises(BadInput) as error:
        on(board, tmp_path, kind=kind, change=lambda text: text.replace(was, becomes, 1))
    assert said in str(error.value), error.value


WRIST = "gains = { ku = %g, kv = %g }"


def told(tmp_path, pd: str, ku: float, kv: float):
    """Load a light arm. The last joint has these gains, and its loop is closed by the board or by the drive."""
    def change(text):
        return text.replace("id = 3 }", f'id = 3, pd = "{pd}" }}\n' + WRIST % (ku, kv)).replace(
            "mass = 1.0", "mass = 0.1") + '[board]\nuse = "f405rg-4"\nbus_voltage = 24.0\n'

    return load_mechanism(arm(tmp_path, change=change))


def test_a_loop_over_a_bus_has_positions_that_are_a_tick_old(tmp_path):
    """The refused gains are stable with positions of the same tick, but unstable with positions a tick old."""
    with_it, without = (loop_stability(Model.of(told(tmp_path, "board", 6.0, 0.15)), lead).radius for lead in (2, 1))
    assert without < UNSTABLE < with_it
    with pytest.raises(BadInput, match="joint.j2.gains: the sampled loop is unstable at 1000 Hz"):
        examine(told(tmp_path, "board", 6.0, 0.15))


def test_a_loop_that_drives_close_is_judged_at_their_rate(tmp_path):
    text = arm(tmp_path, change=lambda text: (
        text.replace("mass = 1.0", "mass = 0.1").replace("id = 3 }", "id = 3 }\n" + WRIST % (6.0, 0.15))))
    report = examine(load_mechanism(text))
    assert report.stability.radius < UNSTABLE
    assert report.rule["j2"].ku > 6.0 and all(g.ku <= 500.0 and g.kv <= 5.0 for g in report.rule.values())


def test_check_shows_gears_and_names_joints_without_a_zero_at_power_up(tmp_path, capsys):
    own = arm(tmp_path, change=lambda text: text.replace("id = 1 }", "id = 1, gear = 1.5 }").replace(
        "id = 2 }", "id = 2, gear = 2.0 }").replace("velocity = 5.0", "velocity = 4.0"))
    report = examine(load_mechanism(own))
    assert [w for w in report.warnings if "after each power-up" in w] == [
        "joint.j1.limits, -2 .. 2, contain places a turn of its drive apart, 3.14 rad: after each power-up "
        "`home` must give its position"]
    console = Console(width=200)
    console.print(check_renderable(report))
    shown = capsys.readouterr().out
    assert "damiao-4340, gear 1.5" in shown and "damiao-4340, gear 2 " in shown
    assert [j["drive"]["gear"] for j in report.data()["joints"]] == [1.5, 2.0, 1.0]


def test_gains_behind_a_gear_may_grow_with_its_square(tmp_path):
    stiff = arm(tmp_path, change=lambda text: text.replace("mass = 1.0", "mass = 20.0").replace(
        "velocity = 5.0", "velocity = 4.0").replace('bus = "can1", ', 'bus = "can1", gear = 2.0, ').replace(
        "id = 3 }", "id = 3 }\n" + WRIST % (6.0, 0.15)))
    rule = examine(load_mechanism(stiff)).rule
    assert max(g.ku for g in rule.values()) == 2000.0 and all(g.kv <= 20.0 for g in rule.values())
