"""The frames of drives in C against the frames of femtorque.codegen.drive. Other tests compare the Python frames with
published encoders."""

import struct
from dataclasses import asdict, fields

import numpy as np
import pytest

from femtorque.codegen.drive import DRIVES, DriveType, family_of, mit
from femtorque.codegen.drive.can import Frame
from femtorque.codegen.drive.catalogue import CATALOGUE
from femtorque.codegen.drive.families.damiao import frames as damiao
from femtorque.codegen.drive.families.robstride import frames as robstride
from femtorque.codegen.drive.family import State, Target
from tests.firmware.frames import ECHO, LONG, NOTHING, SETTING, STATE, Frames, compiled
from tests.support import dialects

SPOKEN = ("damiao", "robstride", "mini_cheetah", "cubemars")
CHEETAHS = [d for d in CATALOGUE if d.family in ("cubemars", "mini-cheetah")]
ID, REPLY = 0x12, 0x22


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
    assert c.told("damiao_enable", c.address) == Frame(ID, mit.ENTER)
    for clear, last in ((False, mit.EXIT), (True, mit.CLEAR)):
        assert c.told("damiao_disable", c.address, clear) == Frame(ID, last)
    for r in damiao.REGISTERS.values():
        assert c.told("damiao_ask", c.address, r.number, r.size) == damiao.read(ID, r.name)
    assert c.told("damiao_write", c.address, 9, 4, 400) == damiao.write(ID, "TIMEOUT", 400)


def heard(c, drive: DriveType, frame: Frame, theirs: State):
    """Return the report in a state. Compare its numbers with those of Python's reader."""
    kind, said = c.hear(drive, frame)
    assert kind == STATE
    assert mit.ranges(drive, fine=drive.family == "robstride")["position"].decode(said.position) == theirs.position
    assert said.velocity == pytest.approx(theirs.velocity, abs=1e-5 * drive.velocity)
    assert said.torque == pytest.approx(theirs.torque, abs=1e-5 * drive.torque)
    return said


@pytest.mark.parametrize("drive", [*CHEETAHS, *(d for d in CATALOGUE if d.family == "damiao")], ids=lambda d: d.name)
def test_states_are_heard(c, drive):
    chance = np.random.default_rng(2)
    errors, warm = {"damiao": (16, 41), "cubemars": (8, 81), "mini-cheetah": (8, 81)}[drive.family]
    for share in chance.uniform(-1.0, 1.0, (60, 3)):
        error = int(chance.integers(errors))
        state = State(ID, *(s * m for s, m in zip(share, (drive.position, drive.velocity, drive.torque), strict=True)))
        data = dialects.answer(drive, ID, state, error=error, temperature=warm, supply=24)
        theirs = dialects.reply(drive, data)
        said = heard(c, drive, Frame(REPLY, data), theirs)
        assert (said.enabled, said.error, said.warmth) == {
            "damiao": (error == 1, error if error > 1 else 0, 41), "cubemars": (False, error, 41),
            "mini-cheetah": (False, 0, 0)}[drive.family]
        assert drive.family == "damiao" or theirs.temperature == (41 if drive.family == "cubemars" else None)


def test_damiaos_registers_are_heard(c):
    drive = DRIVES["damiao-4340"]
    kind, said = c.hear(drive, Frame(REPLY, struct.pack("<HBBf", ID, 0x33, 23, 28.0)))
    assert (kind, said.setting, said.value) == (SETTING, 23, struct.unpack("<I", struct.pack("<f", 28.0))[0])
    assert damiao.value(struct.pack("<HBBf", ID, 0x33, 23, 28.0)) == (ID, "TMAX", 28.0)


def test_that_damiaos_answer_to_what_was_written_is_no_word_on_what_they_hold(c):
    drive = DRIVES["damiao-4340"]
    assert c.hear(drive, Frame(REPLY, struct.pack("<HBBI", ID, 0x55, 9, 400)))[0] == ECHO


@pytest.mark.parametrize("data", [b"\x12\x40\x33", b"\x12\x40\x55", b"\x02\x00\x33", b"\x12\x00\x34"])
def test_that_states_of_damiaos_that_look_like_answers_about_registers_are_states(c, data):
    """Each frame is a state of a drive with this identifier, enabled or not. A byte of the position equals the code
    that marks an answer."""
    kind, said = c.hear(DRIVES["damiao-4340"], Frame(REPLY, data + bytes(5)))
    assert (kind, said.position, said.enabled) == (STATE, data[1] << 8 | data[2], data[0] >> 4 == 1)


@pytest.mark.parametrize("apart", range(1, 16))
def test_that_the_states_of_two_damiaos_on_one_reply_id_are_told_apart_by_the_lower_half_of_their_ids(c, apart):
    """Two drives may have the same reply identifier by mistake. The ids of two drives may also differ by eight."""
    drive = DRIVES["damiao-4340"]
    for other in (ID ^ apart, (ID + apart) & 15):
        data = dialects.answer(drive, other, State(other, 1.0, 0.0, 0.0), error=1)
        assert c.hear(drive, Frame(REPLY, data))[0] == (STATE if other == ID & 15 else NOTHING)


def test_that_foreign_frames_are_not_heard(c):
    drive = DRIVES["damiao-4340"]
    data = dialects.answer(drive, ID, State(ID, 0.0, 0.0, 0.0))
    assert c.hear(drive, Frame(REPLY + 1, data))[0] == NOTHING
    assert c.hear(drive, Frame(REPLY, data[:7]))[0] == NOTHING
    assert c.hear(drive, Frame(REPLY, data, extended=True))[0] == NOTHING
    assert c.hear(drive, Frame(REPLY, dialects.answer(drive, ID + 1, State(0, 0.0, 0.0, 0.0))))[0] == NOTHING


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
    """Special frames begin with ones. A command that looks like a special frame would enable a drive, or make its
    position the zero."""
    for torque in np.linspace(0.99, 1.0, 50) * drive.torque:
        target = Target(1e3, 1e3, drive.kp, drive.kd, float(torque))
        sent = c.command(drive, target)[0]
        assert sent.data[:7] != b"\xff" * 7 and sent == mit.command(drive, ID, target)


@pytest.mark.parametrize("family", ["mini_cheetah", "cubemars"])
def test_special_frames_of_those_that_know_no_other_way_to_clear_errors(c, family):
    assert c.told(f"{family}_enable", c.address) == Frame(ID, mit.ENTER)
    for clear in (False, True):
        assert c.told(f"{family}_disable", c.address, clear) == Frame(ID, mit.EXIT)


def test_that_a_mini_cheetah_that_is_to_let_go_is_commanded_nothing_every_eighth_tick(c):
    """Early firmware measures the drive's current only while the drive is commanded. The drive leaves its mode only if
    this current is small."""
    drive = next(d for d in CHEETAHS if d.family == "mini-cheetah")
    stop, (nothing, _) = Frame(ID, mit.EXIT), c.command(drive, Target())
    for tick in range(17):
        c.lib.ft_mini_cheetah_disable(c.frame, c.address, True)
        assert c.told("mini_cheetah_release", c.row(drive), tick) == (stop if tick % 8 else nothing)


@pytest.mark.parametrize(("told", "warm"), [(0, 0), (39, 0), (41, 1), (65, 25), (255, 215)])
def test_that_cubemars_tell_their_temperature_from_forty_below_zero_on(c, told, warm):
    """AK driver manual, 5.3: codes 0 to 255 mean -40 to 215 deg C. The board reports no temperature below zero."""
    drive = DRIVES["cubemars-ak10-9"]
    data = dialects.answer(drive, ID, State(ID, 1.0, 0.0, 0.0), temperature=told)
    assert c.hear(drive, Frame(REPLY, data))[1].warmth == warm and dialects.reply(drive, data).temperature == told - 40


def test_that_what_mini_cheetahs_send_beside_their_state_is_neither_an_error_nor_a_temperature(c):
    drive = DRIVES["mini-cheetah"]
    kind, said = c.hear(drive, Frame(REPLY, dialects.answer(drive, ID, State(ID, 1.0, 0.0, 0.0))[:6] + b"\x77\x77"))
    assert (kind, said.error, said.warmth) == (STATE, 0, 0)


@pytest.mark.parametrize(("name", "size", "kind"), [
    ("mini-cheetah", 8, STATE), ("mini-cheetah", 6, STATE), ("mini-cheetah", 5, NOTHING),
    ("cubemars-ak80-9", 8, STATE), ("cubemars-ak80-9", 6, NOTHING)])
def test_that_short_replies_are_those_of_early_mini_cheetahs_alone(c, name, size, kind):
    drive = DRIVES[name]
    data = dialects.answer(drive, ID, State(ID, 1.0, 0.0, 0.0))
    assert c.hear(drive, Frame(REPLY, data[:size]))[0] == kind
    assert c.hear(drive, Frame(REPLY + 1, data))[0] == NOTHING
    assert c.hear(drive, Frame(REPLY, dialects.answer(drive, ID + 1, State(0, 1.0, 0.0, 0.0))))[0] == NOTHING
    assert c.hear(drive, Frame(REPLY, data, extended=True))[0] == NOTHING


def test_robstrides_other_frames(c):
    assert c.told("robstride_enable", c.address) == robstride.enable(ID)
    for clear in (False, True):
        assert c.told("robstride_disable", c.address, clear) == robstride.stop(ID, clear)
    for p in robstride.PARAMETERS.values():
        assert c.told("robstride_ask", c.address, p.number, p.size) == robstride.read(ID, p.name)
    for value in (400, 0x12345678):
        assert c.told("robstride_write", c.address, 0x7028, 4, value) == robstride.write(ID, "can_timeout", value)


@pytest.mark.parametrize("drive", [d for d in CATALOGUE if d.family == "robstride"], ids=lambda d: d.name)
def test_robstrides_states_are_heard(c, drive):
    chance = np.random.default_rng(2)
    for _ in range(60):
        faults, mode = int(chance.integers(64)), int(chance.integers(3))
        body = chance.integers(0, 256, 6).astype(np.uint8).tobytes() + (417).to_bytes(2, "big")
        told = robstride.identifier(robstride.STATE, mode << 14 | faults << 8 | ID, robstride.HOST)
        frame = Frame(told, body, extended=True)
        theirs = robstride.reply(drive, frame)
        said = heard(c, drive, frame, theirs)
        assert (said.enabled, said.error, said.warmth) == (mode == 2, faults, 41)
        names = [name for k, name in enumerate(robstride.FAULTS) if said.error >> k & 1]
        assert ", ".join(names) == theirs.fault
    for host in (0, 0x7F, 0xFE):  # a command does not name a host, so the drive answers the last host
        told = robstride.identifier(robstride.STATE, 2 << 14 | ID, host)
        assert c.hear(drive, Frame(told, bytes(8), extended=True))[0] == STATE
    other = robstride.identifier(robstride.STATE, 2 << 14 | ID + 1, robstride.HOST)
    assert c.hear(drive, Frame(other, bytes(8), extended=True))[0] == NOTHING


def test_robstrides_parameters_are_heard(c):
    told = robstride.identifier(robstride.READ, ID, robstride.HOST)
    kind, said = c.hear(DRIVES["robstride-01"], Frame(told, struct.pack("<HHf", 0x7019, 0, 1.25), extended=True))
    assert (kind, said.setting, struct.unpack("<f", struct.pack("<I", said.value))[0]) == (SETTING, 0x7019, 1.25)


def test_that_a_parameter_that_could_not_be_read_has_no_value(c):
    """Bits 16 to 23 of the answer's identifier: 0 if the drive read the parameter, 1 if not (RobStride's manual, type
    17)."""
    told = robstride.identifier(robstride.READ, 1 << 8 | ID, robstride.HOST)
    kind, said = c.hear(DRIVES["robstride-01"], Frame(told, struct.pack("<HHI", 0x7005, 0, 0), extended=True))
    assert (kind, said.setting, said.value) == (SETTING, 0x7005, 0xFFFFFFFF)


@pytest.mark.parametrize(("kind", "id", "host", "size", "extended", "heard"), [
    (robstride.READ, ID, robstride.HOST, 8, True, SETTING), (robstride.READ, ID + 1, robstride.HOST, 8, True, NOTHING),
    (robstride.READ, ID, robstride.HOST - 1, 8, True, NOTHING), (robstride.READ, ID, robstride.HOST, 7, True, NOTHING),
    (robstride.READ, ID, robstride.HOST, 8, False, NOTHING), (robstride.WRITE, ID, robstride.HOST, 8, True, NOTHING),
    (0x15, ID, robstride.HOST, 8, True, NOTHING), (robstride.STATE, ID, robstride.HOST, 8, True, STATE),
    (robstride.STATE, ID, robstride.HOST, 7, True, NOTHING), (robstride.STATE, ID, robstride.HOST, 8, False, NOTHING)])
def test_which_frames_of_robstrides_are_heard(c, kind, id, host, size, extended, heard):
    """Type 0x15 reports faults. Every state also contains the faults, so the board ignores frames of this type."""
    frame = Frame(robstride.identifier(kind, id, host), bytes(size), extended=True)
    assert c.hear(DRIVES["robstride-01"], frame, extended)[0] == heard
