"""moteus' frames in C against the maker's package, and commands against Python's, which tests/codegen/drive compares
with this package."""

import math
import struct
from dataclasses import asdict, replace

import moteus
import numpy as np
import pytest
from moteus import Mode, Register as R
from moteus.protocol import parse_registers

from femtorque.codegen.drive import DRIVES, DriveType
from femtorque.codegen.drive.can import Frame
from femtorque.codegen.drive.catalogue import CATALOGUE
from femtorque.codegen.drive.families.moteus import FAMILY, frames
from femtorque.codegen.drive.family import Target
from tests.codegen.drive.test_moteus import theirs
from tests.firmware.frames import HZ, LONG, NOTHING, SETTING, STATE, Frames, compiled

ID = 0x12
OWN = replace(DRIVES["moteus-r4"], kp=60.0, kd=3.0)
REPORT = bytes.fromhex("21000a29017ba1ffff220e1900505050")


@pytest.fixture(scope="module")
def c():
    return Codec(*compiled("moteus", size=32))


class Codec(Frames):
    def row(self, drive: DriveType = OWN, gear: float = 1.0, id: int = ID):
        kind = drive.behind(gear)
        return self.ffi.new("ft_drive_config *", {
            "id": id, "step": math.tau / 100_000 / gear, "gear": gear,
            **{name: getattr(kind, name) for name in ("position", "torque", "kp", "kd")}})

    def command(self, target: Target, carried: float = 0.0, drive: DriveType = OWN, gear: float = 1.0):
        return self.commanded("moteus", self.row(drive, gear), asdict(target), carried)

    def hear(self, frame: Frame, id: int = ID):
        return self.heard("moteus", self.row(id=id), frame.id | LONG * frame.extended, frame.data)


def sent(data: bytes, size: int) -> Frame:
    """Return the frame of the board, padded to a size."""
    return Frame(0xF700 | ID, data.ljust(size, b"\x50"), extended=True, fd=True)


def on_steps(drive: DriveType, share: np.ndarray) -> Target:
    """Return a float32 target near whole steps, not near the middle between two steps. First the position's share."""
    steps = (math.tau / 1e5, math.tau * 2.5e-4, drive.kp / 127, drive.kd / 127, 0.01)
    most = (drive.position, drive.velocity, drive.kp, drive.kd, drive.torque)
    return Target(*(float(np.float32((math.floor(s * m / step) + 0.2) * step))
                    for s, m, step in zip(share, most, steps, strict=True)))


def in_the_middle(begins: Target) -> Target:
    """Return the target half a tick later, moved by the velocity that is sent."""
    sent = min(max(round(begins.velocity / (math.tau * 2.5e-4)), -32767), 32767) * math.tau * 2.5e-4
    return replace(begins, position=float(np.float32(begins.position + 0.5 * sent / HZ)))


@pytest.mark.parametrize("drive", [OWN, *(d for d in CATALOGUE if d.family == "moteus")], ids=lambda d: f"{d.name}")
def test_that_commands_are_bit_for_bit_those_of_the_table(c, drive):
    """All positions are within a hundredth of the range, where single precision resolves the steps."""
    chance = np.random.default_rng(7)
    for share in chance.uniform(-1.3, 1.3, (200, 5)) * (0.01, 1.0, 1.0, 1.0, 1.0):
        target = on_steps(drive, share)
        assert c.command(in_the_middle(target), drive=drive)[0] == frames.command(drive, ID, target), target


def test_that_behind_a_gear_the_drive_is_told_what_its_own_output_is_to_do(c):
    begins = on_steps(OWN, np.array([0.01, 0.3, 0.5, 0.5, 0.5]))
    target = in_the_middle(begins)
    joint = Target(target.position / 3, target.velocity / 3, 9 * target.kp, 9 * target.kd, 3 * target.torque)
    assert c.command(joint, gear=3.0)[0] == frames.command(OWN, ID, begins)


@pytest.mark.parametrize("value", [1e30, -1e30, float("inf"), float("-inf"), float("nan")])
def test_that_no_number_wraps(c, value):
    target = Target(value, value, value, value, value)
    if value == value:
        ours = frames.command(OWN, ID, target)
        at = slice(5, 9)  # at whole turns, float32 resolves the end of the range only to some steps
        sent = c.command(target)[0].data
        assert sent[:5] + sent[9:] == ours.data[:5] + ours.data[9:]
        assert abs(struct.unpack("<i", sent[at])[0] - struct.unpack("<i", ours.data[at])[0]) <= 2
    else:
        assert c.command(target)[0] == c.command(Target())[0]
    carried = c.command(target, carried=1e-3)[1]
    assert carried == carried and abs(carried) <= 0.01


def test_that_what_rounding_leaves_over_is_made_up_for(c):
    for asked in np.random.default_rng(1).uniform(-OWN.torque, OWN.torque, 20):
        carried, given_ = 0.0, []
        for _ in range(300):
            frame, carried = c.command(Target(torque=float(asked)), carried)
            given_.append(struct.unpack("<h", frame.data[13:15])[0] * 0.01)
        assert abs(np.mean(given_) - asked) < 1e-4 and np.max(np.abs(np.array(given_) - asked)) <= 0.0101


def test_that_a_drive_is_enabled_by_a_command_of_nothing_and_stopped_by_mode_0_whatever_it_has(c):
    assert c.told("moteus_enable", c.row()) == frames.command(OWN, ID, Target())
    for clear in (False, True):
        assert c.told("moteus_disable", c.row(), clear) == sent(theirs().make_stop(query=True).data, 12)


def test_that_registers_are_asked_for_and_written_as_the_table_has_it(c):
    """The package's names of the registers have the same numbers, and its bytes read them. can.md: 0x01 and 0x09 write
    one number of 8 and of 32 bits."""
    for setting in FAMILY.settings:
        r = setting.register
        resolution = {1: moteus.INT8, 4: moteus.INT32}[r.size]
        asked = theirs().make_custom_query({getattr(R, r.name.upper()): resolution}).data
        assert c.told("moteus_ask", c.row(), r.number, r.size) == sent(asked, len(asked))
        write = bytes([asked[0] - 0x10]) + asked[1:] + (0x55).to_bytes(r.size, "little")
        assert c.told("moteus_write", c.row(), r.number, r.size, 0x55) == sent(write, len(write))


@pytest.mark.parametrize("id", [1, 7, 8, 118])
def test_that_states_are_heard_from_each_id(c, id):
    chance = np.random.default_rng(2)
    for _ in range(60):
        counts, mode = int(chance.integers(-2**31 + 1, 2**31)), int(chance.integers(16))
        fault, warmth = int(chance.integers(110)), int(chance.integers(-40, 128))
        data = b"\x21\x00" + bytes([mode]) + b"\x29\x01" + struct.pack("<i", counts) + b"\x22\x0e" + struct.pack(
            "<bB", warmth, fault) + b"\x50" * 3
        kind, said = c.hear(Frame(frames.answer_id(id), data, extended=id > 7, fd=True), id)
        read = parse_registers(data).response
        assert kind == STATE and (said.position + 2**31) % 2**32 - 2**31 == counts
        assert read[R.POSITION] == pytest.approx(counts / 1e5) and said.warmth == max(read[R.TEMPERATURE], 0)
        assert said.enabled == (read[R.MODE] == Mode.POSITION)
        assert said.error == {Mode.FAULT: read[R.FAULT] or 1, Mode.TIMEOUT: 11}.get(read[R.MODE], 0)


@pytest.mark.parametrize(("id", "data", "heard"), [
    (0x1277, REPORT, STATE), (0x1200, REPORT, NOTHING), (0x1177, REPORT, NOTHING), (0x1277, REPORT + b"PPPP", NOTHING),
    (0x1277, REPORT[:12], NOTHING), (0x1277, b"\x25" + REPORT[1:], NOTHING),
    (0x1277, REPORT[:9] + b"\x21" + REPORT[10:], NOTHING),
    (0x1277, REPORT[:5] + b"\0\0\0\x80" + REPORT[9:], NOTHING)])
def test_which_states_are_heard(c, id, data, heard):
    """A state is accepted only if it is addressed to the board, comes from this drive and contains a position."""
    assert c.hear(Frame(id, data, extended=True, fd=True))[0] == heard


@pytest.mark.parametrize(("data", "number", "value"), [
    ("210c02", 0x00C, 2), ("2982020500 0000", 0x102, 5), ("298102040301 00", 0x101, 0x010304),
    ("25810234 12", 0x101, 0x1234), ("310c01", 0x00C, 0xFFFFFFFF), ("3181020 1", 0x101, 0xFFFFFFFF)])
def test_that_registers_are_heard_and_those_that_cannot_be_read_have_no_value(c, data, number, value):
    kind, said = c.hear(Frame(0x1277, bytes.fromhex(data.replace(" ", "")), extended=True, fd=True))
    assert (kind, said.setting, said.value) == (SETTING, number, value)
