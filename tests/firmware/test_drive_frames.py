"""The frames of drives in C against the commands of femtorque.codegen.drive, which tests/codegen/drive compares with
published encoders, and against the makers' packages."""

import struct
from dataclasses import asdict, fields
from unittest import mock

import can
import numpy as np
import pytest
from damiao_motor.core.motor import REGISTER_TABLE, DaMiaoMotor
from robstride.client import Client, MotorMsg

from femtorque.codegen.drive import DRIVES, DriveType, family_of, mit
from femtorque.codegen.drive.can import Frame
from femtorque.codegen.drive.catalogue import CATALOGUE
from femtorque.codegen.drive.families import damiao, robstride as of_robstride
from femtorque.codegen.drive.families.robstride import frames as robstride
from femtorque.codegen.drive.family import Target
from tests.firmware.frames import ECHO, LONG, NOTHING, SETTING, STATE, Frames, compiled
from tests.support import dialects
from tests.support.drives import HOST, READ, STATE as TELLS, WRITE

SPOKEN = ("damiao", "robstride", "mini_cheetah", "cubemars")
CHEETAHS = [d for d in CATALOGUE if d.family in ("cubemars", "mini-cheetah")]
ID, REPLY = 0x12, 0x22
ENTER, EXIT, CLEAR = (DaMiaoMotor.encode_enable_msg(), DaMiaoMotor.encode_disable_msg(),
                      DaMiaoMotor.encode_clear_error_msg())
THEIRS = {"damiao-4340": "4340", "damiao-4310": "4310", "damiao-8009": "8009", "damiao-10010l": "10010L"}


@pytest.fixture(scope="module")
def c():
    return Drives(*compiled("mit", *SPOKEN))


class Drives(Frames):
    def __init__(self, ffi, lib) -> None:
        super().__init__(ffi, lib)
        self.address = ffi.new("ft_drive_config *", {"id": ID, "reply": REPLY})

    def row(self, drive: DriveType):
        own = {name: getattr(drive, name) for name in ("position", "velocity", "torque", "kp", "kd")}
        return self.ffi.new("ft_drive_config *", {"id": ID, "reply": REPLY} | own)

    def command(self, drive: DriveType, target: Target, carried: float = 0.0) -> tuple[Frame, float]:
        return self.commanded(family_of(drive).c, self.row(drive), asdict(target), carried)

    def hear(self, drive: DriveType, frame: Frame, extended: bool | None = None):
        long = frame.extended if extended is None else extended
        return self.heard(family_of(drive).c, self.row(drive), frame.id | LONG * long, frame.data)


def command_of(drive: DriveType, target: Target) -> Frame:
    return (robstride if drive.family == "robstride" else mit).command(drive, ID, target)


def reach(drive: DriveType) -> dict[str, float]:
    return {f.name: getattr(drive, f.name) for f in fields(Target)}


def rounded_to(drive: DriveType, share: np.ndarray) -> Target:
    """Round to float32, as the chip does. Avoid values near the middle between two counts."""
    found = {}
    for (name, scale), s in zip(mit.ranges(drive, fine=drive.family == "robstride").items(), share, strict=True):
        x = (float(s) * reach(drive)[name] - scale.low) / scale.step
        if abs(x - np.floor(x) - 0.5) < 0.05:
            x += 0.1
        found[name] = float(np.float32(scale.low + x * scale.step))
    return Target(**found)


@pytest.mark.parametrize("drive", [d for d in CATALOGUE if family_of(d).c in SPOKEN], ids=lambda d: d.name)
def test_that_commands_are_bit_for_bit_those_of_the_table(c, drive):
    chance = np.random.default_rng(7)
    for share in chance.uniform(-1.4, 1.4, (200, 5)):  # beyond the ranges, too
        target = rounded_to(drive, share)
        assert c.command(drive, target)[0] == command_of(drive, target), target


@pytest.mark.parametrize("drive", [DRIVES["damiao-4340"], DRIVES["robstride-03"]], ids=lambda d: d.name)
@pytest.mark.parametrize("value", [1e30, -1e30, float("inf"), float("-inf"), float("nan")])
def test_that_no_field_wraps(c, drive, value):
    target = Target(value, value, value, value, value)
    if value == value:
        assert c.command(drive, target)[0] == command_of(drive, target)
    frame, carried = c.command(drive, target, carried=1e-3)
    assert carried == carried and abs(carried) < drive.torque
    assert len(frame.data) == 8


@pytest.mark.parametrize("drive", [DRIVES["damiao-10010l"], DRIVES["robstride-04"]], ids=lambda d: d.name)
def test_that_what_rounding_leaves_over_is_made_up_for(c, drive):
    """Averaged over ticks, the torque is correct to much less than one step of its field."""
    scale = mit.ranges(drive, fine=drive.family == "robstride")["torque"]
    for asked in np.random.default_rng(1).uniform(-drive.torque, drive.torque, 20):
        carried, given = 0.0, []
        for _ in range(400):
            frame, carried = c.command(drive, Target(torque=float(asked)), carried)
            given.append(scale.decode(torque_count(drive, frame)))
        assert abs(np.mean(given) - asked) < 0.01 * scale.step
        assert np.max(np.abs(np.array(given) - asked)) <= 1.001 * scale.step


def torque_count(drive: DriveType, frame: Frame) -> int:
    return frame.id >> 8 & 0xFFFF if drive.family == "robstride" else mit.COMMAND.unpack(frame.data)["torque"]


@pytest.mark.parametrize("drive", [DRIVES["damiao-4340"], DRIVES["robstride-03"]], ids=lambda d: d.name)
def test_that_for_no_number_a_field_has_the_one_nearest_to_zero(c, drive):
    none = float("nan")
    assert c.command(drive, Target(none, none, none, none, none))[0] == c.command(drive, Target())[0]


def test_that_nothing_is_carried_beyond_the_range(c):
    drive = DRIVES["damiao-4340"]
    carried = 0.0
    for _ in range(50):
        _, carried = c.command(drive, Target(torque=100.0), carried)
        assert carried == 0.0


def test_damiaos_special_frames_and_registers(c):
    assert c.told("damiao_enable", c.address) == Frame(ID, ENTER)
    for clear, last in ((False, EXIT), (True, CLEAR)):
        assert c.told("damiao_disable", c.address, clear) == Frame(ID, last)
    bus = mock.Mock()
    theirs = DaMiaoMotor(ID, REPLY, bus, motor_type="4340")

    def sent() -> Frame:
        message = bus.send.call_args[0][0]
        return Frame(message.arbitration_id, bytes(message.data))

    for r in (setting.register for setting in damiao.FAMILY.settings):
        theirs.request_register_reading(r.number)
        assert c.told("damiao_ask", c.address, r.number, r.size) == sent()
        them = REGISTER_TABLE[r.number]
        assert (them.variable, them.data_type) == (r.name, {"f": "float", "I": "uint32"}[r.format])
    theirs.write_register(9, 400)
    assert c.told("damiao_write", c.address, 9, 4, 400) == sent()


@pytest.mark.parametrize("name", THEIRS)
def test_damiaos_states_are_heard_as_damiao_motor_reads_them(c, name):
    drive, theirs = DRIVES[name], DaMiaoMotor(ID & 15, REPLY, mock.Mock(), motor_type=THEIRS[name])
    chance = np.random.default_rng(4)
    for _ in range(100):
        data = bytes([0x10 | ID & 15, *chance.integers(1, 256, 7).tolist()])
        kind, said = c.hear(drive, Frame(REPLY, data))
        them = theirs.decode_sensor_feedback(data)
        assert kind == STATE
        assert mit.ranges(drive)["position"].decode(said.position) == pytest.approx(them["pos"], abs=1e-9)
        assert said.velocity == pytest.approx(them["vel"], abs=1e-5 * drive.velocity)
        assert said.torque == pytest.approx(them["torq"], abs=1e-5 * drive.torque)
        assert said.warmth == them["t_mos"]


@pytest.mark.parametrize("drive", [*CHEETAHS, *(d for d in CATALOGUE if d.family == "damiao")], ids=lambda d: d.name)
def test_states_are_heard(c, drive):
    chance = np.random.default_rng(2)
    errors, warm = {"damiao": (16, 41), "cubemars": (8, 81), "mini-cheetah": (8, 81)}[drive.family]
    for share in chance.uniform(-1.0, 1.0, (60, 3)):
        error = int(chance.integers(errors))
        state = share * (drive.position, drive.velocity, drive.torque)
        data = dialects.answer(drive, ID, *state, error=error, temperature=warm, supply=24)
        kind, said = c.hear(drive, Frame(REPLY, data))
        scales = mit.ranges(drive)
        found = (scales["position"].decode(said.position), said.velocity, said.torque)
        steps = [scales[name].step for name in ("position", "velocity", "torque")]
        assert kind == STATE and np.all(np.abs(state - found) <= 0.501 * np.array(steps))
        assert (said.enabled, said.error, said.warmth) == {
            "damiao": (error == 1, error if error > 1 else 0, 41), "cubemars": (False, error, 41),
            "mini-cheetah": (False, 0, 0)}[drive.family]


def test_damiaos_registers_are_heard(c):
    drive = DRIVES["damiao-4340"]
    kind, said = c.hear(drive, Frame(REPLY, struct.pack("<HBBf", ID, 0x33, 23, 28.0)))
    assert (kind, said.setting, said.value) == (SETTING, 23, struct.unpack("<I", struct.pack("<f", 28.0))[0])


def test_that_damiaos_answer_to_what_was_written_is_no_word_on_what_they_hold(c):
    drive = DRIVES["damiao-4340"]
    assert c.hear(drive, Frame(REPLY, struct.pack("<HBBI", ID, 0x55, 9, 400)))[0] == ECHO


@pytest.mark.parametrize("data", [b"\x12\x40\x33", b"\x12\x40\x55", b"\x02\x00\x33", b"\x12\x00\x34"])
def test_that_states_of_damiaos_that_look_like_answers_about_registers_are_states(c, data):
    """Each frame is a state, enabled or not, in which a byte of the position equals the code of an answer."""
    kind, said = c.hear(DRIVES["damiao-4340"], Frame(REPLY, data + bytes(5)))
    assert (kind, said.position, said.enabled) == (STATE, data[1] << 8 | data[2], data[0] >> 4 == 1)


@pytest.mark.parametrize("apart", range(1, 16))
def test_that_the_states_of_two_damiaos_on_one_reply_id_are_told_apart_by_the_lower_half_of_their_ids(c, apart):
    """Two drives may have the same reply identifier by mistake. The ids of two drives may also differ by eight."""
    drive = DRIVES["damiao-4340"]
    for other in (ID ^ apart, (ID + apart) & 15):
        data = dialects.answer(drive, other, 1.0, error=1)
        assert c.hear(drive, Frame(REPLY, data))[0] == (STATE if other == ID & 15 else NOTHING)


def test_that_foreign_frames_are_not_heard(c):
    drive = DRIVES["damiao-4340"]
    data = dialects.answer(drive, ID)
    assert c.hear(drive, Frame(REPLY + 1, data))[0] == NOTHING
    assert c.hear(drive, Frame(REPLY, data[:7]))[0] == NOTHING
    assert c.hear(drive, Frame(REPLY, data, extended=True))[0] == NOTHING
    assert c.hear(drive, Frame(REPLY, dialects.answer(drive, ID + 1)))[0] == NOTHING


# The encoders ak_mit.c of cubemars-ak-c-drivers and mit_can.py of TMotorCANControl scale by 2^N and truncate. The
# original encoder math_ops.c scales by 2^N - 1 and truncates. The fields of all three published encoders differ from
# femtorque's fields by at most one step.
def akin(x: float, low: float, high: float, bits: int) -> int:
    return min(int((min(max(x, low), high) - low) * ((1 << bits) / (high - low))), (1 << bits) - 1)


def original(x: float, low: float, high: float, bits: int) -> int:
    return int((min(max(x, low), high) - low) * ((1 << bits) - 1) / (high - low))


@pytest.mark.parametrize("drive", CHEETAHS, ids=lambda d: d.name)
def test_that_commands_are_those_of_others_to_a_step(c, drive):
    theirs = akin if drive.family == "cubemars" else original
    chance = np.random.default_rng(11)
    for share in chance.uniform(-1.2, 1.2, (200, 5)):
        target = rounded_to(drive, share)
        ours = int.from_bytes(c.command(drive, target)[0].data, "big")
        ends = ((-12.5, 12.5, 16), (-drive.velocity, drive.velocity, 12), (0.0, 500.0, 12), (0.0, 5.0, 12),
                (-drive.torque, drive.torque, 12))
        asked = (target.position, target.velocity, target.kp, target.kd, target.torque)
        for x, (low, high, bits) in reversed(list(zip(asked, ends, strict=True))):
            assert abs((ours & (1 << bits) - 1) - theirs(x, low, high, bits)) <= 1, (target, bits)
            ours >>= bits


@pytest.mark.parametrize("drive", [*CHEETAHS, *(d for d in CATALOGUE if d.family == "damiao")], ids=lambda d: d.name)
def test_that_no_command_is_one_of_the_special_frames(c, drive):
    """Special frames begin with ones. A command like them would enable a drive or move its zero."""
    for torque in np.linspace(0.99, 1.0, 50) * drive.torque:
        target = Target(1e3, 1e3, drive.kp, drive.kd, float(torque))
        sent = c.command(drive, target)[0]
        assert sent.data[:7] != b"\xff" * 7 and sent == mit.command(drive, ID, target)


@pytest.mark.parametrize("family", ["mini_cheetah", "cubemars"])
def test_special_frames_of_those_that_know_no_other_way_to_clear_errors(c, family):
    assert c.told(f"{family}_enable", c.address) == Frame(ID, ENTER)
    for clear in (False, True):
        assert c.told(f"{family}_disable", c.address, clear) == Frame(ID, EXIT)


def test_that_a_mini_cheetah_that_is_to_let_go_is_commanded_nothing_every_eighth_tick(c):
    """Early firmware leaves its mode only at a small current, which it measures only while commanded."""
    drive = next(d for d in CHEETAHS if d.family == "mini-cheetah")
    stop, (nothing, _) = Frame(ID, EXIT), c.command(drive, Target())
    for tick in range(17):
        c.lib.ft_mini_cheetah_disable(c.frame, c.address, True)
        assert c.told("mini_cheetah_release", c.row(drive), tick) == (stop if tick % 8 else nothing)


@pytest.mark.parametrize(("told", "warm"), [(0, 0), (39, 0), (41, 1), (65, 25), (255, 215)])
def test_that_cubemars_tell_their_temperature_from_forty_below_zero_on(c, told, warm):
    """AK driver manual, 5.3: codes 0 to 255 mean -40 to 215 deg C. The board reports no temperature below zero."""
    drive = DRIVES["cubemars-ak10-9"]
    data = dialects.answer(drive, ID, 1.0, temperature=told)
    assert c.hear(drive, Frame(REPLY, data))[1].warmth == warm


def test_that_what_mini_cheetahs_send_beside_their_state_is_neither_an_error_nor_a_temperature(c):
    drive = DRIVES["mini-cheetah"]
    kind, said = c.hear(drive, Frame(REPLY, dialects.answer(drive, ID, 1.0)[:6] + b"\x77\x77"))
    assert (kind, said.error, said.warmth) == (STATE, 0, 0)


@pytest.mark.parametrize(("name", "size", "kind"), [
    ("mini-cheetah", 8, STATE), ("mini-cheetah", 6, STATE), ("mini-cheetah", 5, NOTHING),
    ("cubemars-ak80-9", 8, STATE), ("cubemars-ak80-9", 6, NOTHING)])
def test_that_short_replies_are_those_of_early_mini_cheetahs_alone(c, name, size, kind):
    drive = DRIVES[name]
    data = dialects.answer(drive, ID, 1.0)
    assert c.hear(drive, Frame(REPLY, data[:size]))[0] == kind
    assert c.hear(drive, Frame(REPLY + 1, data))[0] == NOTHING
    assert c.hear(drive, Frame(REPLY, dialects.answer(drive, ID + 1, 1.0)))[0] == NOTHING
    assert c.hear(drive, Frame(REPLY, data, extended=True))[0] == NOTHING


def test_robstrides_other_frames(c):
    def theirs(kind: MotorMsg, *words: int) -> Frame:
        message = Client(mock.Mock())._rs_msg(kind, HOST, ID, struct.pack("<HHI", *words))
        return Frame(message.arbitration_id, bytes(message.data), extended=True)

    assert c.told("robstride_enable", c.address) == theirs(MotorMsg.Enable, 0, 0, 0)
    for clear in (False, True):
        assert c.told("robstride_disable", c.address, clear) == theirs(MotorMsg.Disable, clear, 0, 0)
    for p in (setting.register for setting in of_robstride.FAMILY.settings):
        assert c.told("robstride_ask", c.address, p.number, p.size) == theirs(MotorMsg.ReadParam, p.number, 0, 0)
    for value in (400, 0x12345678):
        wanted = theirs(MotorMsg.WriteParam, 0x7028, 0, value)
        assert c.told("robstride_write", c.address, 0x7028, 4, value) == wanted


@pytest.mark.parametrize("drive", [d for d in CATALOGUE if d.family == "robstride"], ids=lambda d: d.name)
def test_robstrides_states_are_heard(c, drive):
    """The package has the ranges of an RS01, and does not read the sixth fault bit."""
    chance, client, scales = np.random.default_rng(2), Client(mock.Mock()), mit.ranges(drive, fine=True)
    for _ in range(60):
        faults, mode = int(chance.integers(64)), int(chance.integers(3))
        body = chance.integers(0, 256, 6).astype(np.uint8).tobytes() + (417).to_bytes(2, "big")
        told = robstride.identifier(TELLS, mode << 14 | faults << 8 | ID, client.host_can_id)
        kind, said = c.hear(drive, Frame(told, body, extended=True))
        position, velocity, torque = struct.unpack(">3H2x", body)
        assert (kind, said.position) == (STATE, position)
        assert said.velocity == pytest.approx(scales["velocity"].decode(velocity), abs=1e-5 * drive.velocity)
        assert said.torque == pytest.approx(scales["torque"].decode(torque), abs=1e-5 * drive.torque)
        assert (said.enabled, said.error, said.warmth) == (mode == 2, faults, 41)
        if drive.name == "robstride-01":
            them = client._parse_feedback_resp(can.Message(arbitration_id=told, data=body), ID, 1)
            assert scales["position"].decode(position) == pytest.approx(them.angle, abs=0.01)
            assert (said.velocity, said.torque) == pytest.approx((them.velocity, them.torque), abs=0.02)
            assert (said.error & 0x1F).bit_count() == len(them.errors)
    for host in (0, 0x7F, 0xFE):  # a command does not name a host, so the drive answers the last host
        told = robstride.identifier(TELLS, 2 << 14 | ID, host)
        assert c.hear(drive, Frame(told, bytes(8), extended=True))[0] == STATE
    other = robstride.identifier(TELLS, 2 << 14 | ID + 1, HOST)
    assert c.hear(drive, Frame(other, bytes(8), extended=True))[0] == NOTHING


def test_robstrides_parameters_are_heard(c):
    told = robstride.identifier(READ, ID, HOST)
    kind, said = c.hear(DRIVES["robstride-01"], Frame(told, struct.pack("<HHf", 0x7019, 0, 1.25), extended=True))
    assert (kind, said.setting, struct.unpack("<f", struct.pack("<I", said.value))[0]) == (SETTING, 0x7019, 1.25)


def test_that_a_parameter_that_could_not_be_read_has_no_value(c):
    """Bits 16 to 23 of the answer's identifier are 1 if the read failed (RobStride's manual, type 17)."""
    told = robstride.identifier(READ, 1 << 8 | ID, HOST)
    kind, said = c.hear(DRIVES["robstride-01"], Frame(told, struct.pack("<HHI", 0x7005, 0, 0), extended=True))
    assert (kind, said.setting, said.value) == (SETTING, 0x7005, 0xFFFFFFFF)


@pytest.mark.parametrize(("kind", "id", "host", "size", "extended", "heard"), [
    (READ, ID, HOST, 8, True, SETTING), (READ, ID + 1, HOST, 8, True, NOTHING), (READ, ID, HOST - 1, 8, True, NOTHING),
    (READ, ID, HOST, 7, True, NOTHING), (READ, ID, HOST, 8, False, NOTHING), (WRITE, ID, HOST, 8, True, NOTHING),
    (0x15, ID, HOST, 8, True, NOTHING), (TELLS, ID, HOST, 8, True, STATE), (TELLS, ID, HOST, 7, True, NOTHING),
    (TELLS, ID, HOST, 8, False, NOTHING)])
def test_which_frames_of_robstrides_are_heard(c, kind, id, host, size, extended, heard):
    """Type 0x15 reports faults. Every state also contains the faults, so the board ignores frames of this type."""
    frame = Frame(robstride.identifier(kind, id, host), bytes(size), extended=True)
    assert c.hear(DRIVES["robstride-01"], frame, extended)[0] == heard
