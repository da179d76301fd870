"""Comparison of moteus frames with the maker's package, and the bus load of five drives."""

import math
from dataclasses import replace

import moteus
import numpy as np
import pytest
from moteus import Register as R
from moteus.protocol import parse_registers

from femtorque.codegen.common import BadInput
from femtorque.codegen.drive.budget import Wire, bus_load
from femtorque.codegen.drive.catalogue import DRIVES
from femtorque.codegen.drive.families.moteus import FAMILY, frames
from femtorque.codegen.drive.family import Fitted, Target
from femtorque.codegen.mechanism import load_mechanism
from femtorque.hil.bus import Frame
from femtorque.hil.bus.frame import INTERMISSION, image
from tests.support.bus_arm import PLACE, described

DRIVE = replace(DRIVES["moteus-r4"], kp=60.0, kd=3.0)
FD = Wire("can-fd", 1e6, 5e6)
FINE = moteus.PositionResolution()
FINE.position, FINE.velocity, FINE.feedforward_torque = moteus.INT32, moteus.INT16, moteus.INT16
for name in ("kp_scale", "kd_scale", "maximum_torque", "stop_position", "watchdog_timeout", "velocity_limit",
             "accel_limit"):
    setattr(FINE, name, moteus.INT8)


def query() -> moteus.QueryResolution:
    asked = moteus.QueryResolution()
    for name in ("velocity", "torque", "voltage"):
        setattr(asked, name, moteus.IGNORE)
    asked.mode, asked.position, asked.temperature, asked.fault = moteus.INT8, moteus.INT32, moteus.INT8, moteus.INT8
    return asked


def theirs() -> moteus.Controller:
    return moteus.Controller(id=5, source_can_id=frames.SOURCE, position_resolution=FINE, query_resolution=query(),
                             transport=object())


def targets(count: int):
    chance = np.random.default_rng(3)
    for share in chance.uniform(-0.9, 0.9, (count, 5)):
        yield Target(*(float(s) for s in share * (DRIVE.position, DRIVE.velocity, DRIVE.kp, DRIVE.kd, DRIVE.torque)))


def past(value: float, step: float) -> float:
    """Return a number slightly above a quantisation step, so that truncation gives the step."""
    return value + math.copysign(0.25 * step, value)


def test_commands_are_those_of_the_package_but_that_it_truncates():
    """Registers and subframes must be equal. Numbers on a quantisation step must have equal bytes."""
    for t in targets(300):
        kp, kd = max(t.kp, 0.01 * DRIVE.kp), max(t.kd, 0.0)
        on_step = Target(round(t.position / math.tau * 1e5) * math.tau / 1e5,
                         round(t.velocity / math.tau * 4e3) * math.tau / 4e3,
                         round(kp / DRIVE.kp * 127) * DRIVE.kp / 127, round(kd / DRIVE.kd * 127) * DRIVE.kd / 127,
                         round(t.torque * 100) / 100)
        sent = theirs().make_position(
            position=past(on_step.position / math.tau, 1e-5), velocity=past(on_step.velocity / math.tau, 2.5e-4),
            feedforward_torque=past(on_step.torque, 0.01), kp_scale=past(on_step.kp / DRIVE.kp, 1 / 127),
            kd_scale=past(on_step.kd / DRIVE.kd, 1 / 127), maximum_torque=DRIVE.torque, stop_position=math.nan,
            watchdog_timeout=0.02, velocity_limit=-0.1, accel_limit=-0.05, query=True)
        ours = frames.command(DRIVE, 5, on_step)
        assert ours.data == sent.data + b"\x50" and len(ours.data) == 32
        assert (ours.id, ours.extended) == (0x8000 | sent.source << 8 | sent.destination, True)


def test_the_package_reads_out_of_a_command_what_was_to_be_said():
    for t in targets(200):
        t = replace(t, kp=abs(t.kp), kd=abs(t.kd))
        read = parse_registers(frames.command(DRIVE, 5, t).data)
        said = read.command
        assert said[R.MODE] == 10 and math.isnan(said[R.COMMAND_STOP_POSITION])
        assert said[R.COMMAND_POSITION] == pytest.approx(t.position / math.tau, abs=0.5001e-5)
        assert said[R.COMMAND_VELOCITY] == pytest.approx(t.velocity / math.tau, abs=0.5001 * 2.5e-4)
        assert said[R.COMMAND_FEEDFORWARD_TORQUE] == pytest.approx(t.torque, abs=0.5001e-2)
        assert said[R.COMMAND_KP_SCALE] == pytest.approx(t.kp / DRIVE.kp, abs=0.5001 / 127)
        assert said[R.COMMAND_KD_SCALE] == pytest.approx(t.kd / DRIVE.kd, abs=0.5001 / 127)
        assert (said[R.COMMAND_POSITION_MAX_TORQUE], said[R.COMMAND_TIMEOUT]) == (20.0, 0.02)
        assert said[R.COMMAND_VELOCITY_LIMIT] < 0 and said[R.COMMAND_ACCEL_LIMIT] < 0
        assert [number for number, _ in read.query] == [R.MODE, R.POSITION, R.TEMPERATURE, R.FAULT]


def test_without_kp_a_drive_is_led_to_no_position_and_beyond_eight_bits_it_has_its_own_largest_torque():
    said = parse_registers(frames.command(replace(DRIVE, torque=80.0), 5, Target(1.0, 2.0, 0.0, 1.0, 3.0)).data).command
    assert math.isnan(said[R.COMMAND_POSITION]) and math.isnan(said[R.COMMAND_POSITION_MAX_TORQUE])
    for torque, told in ((63.5, 63.5), (1.7, 2.0), (0.1, 0.5)):
        own = parse_registers(frames.command(replace(DRIVE, torque=torque), 5, Target()).data).command
        assert own[R.COMMAND_POSITION_MAX_TORQUE] == told


@pytest.mark.parametrize(("version", "word"), [("1.3.4", 0x010304), ("0.1.0", 0x000100), ("255.0.1", 0xFF0001)])
def test_versions_are_a_byte_each(version, word):
    """According to registers.md, 0x010304 is version 1.3.4."""
    assert FAMILY.firmware is not None
    assert FAMILY.firmware.word(version) == word and FAMILY.firmware.text(word) == version


def test_a_position_of_the_output_is_asked_for_where_a_joint_has_its_zero_by_it():
    home = next(s for s in FAMILY.settings if s.register.name == "home_state")
    assert home.bits(Fitted(DRIVE, placed=True)) == (2, 0xFFFFFFFF) and home.bits(Fitted(DRIVE))[1] == 0
    assert (home.number(1), home.must(Fitted(DRIVE, placed=True))) == ("1 (rotor)", "2 (output)")


def test_five_take_one_bus_a_thousand_times_a_second_and_four_whose_answers_have_long_identifiers():
    def arm(*ids):
        return [(id, DRIVES["moteus-r4"]) for id in ids]

    assert bus_load(FD, arm(1, 2, 3, 4, 5)).fastest >= 1000.0 > bus_load(FD, arm(1, 2, 3, 4, 5, 6)).fastest
    assert bus_load(FD, arm(8, 9, 10, 11)).fastest >= 1000.0 > bus_load(FD, arm(8, 9, 10, 11, 12)).fastest


@pytest.mark.parametrize("id", [1, 7, 8, 118])
def test_no_contents_take_longer_than_the_worst(id):
    """The virtual bus gives the lengths of frames with the maximum number of stuff bits."""
    def length(frame: Frame) -> float:
        return image(frame).length(1e-6, 2e-7) + INTERMISSION * 1e-6

    longest = [0.0, 0.0]
    for first in range(8):
        pattern = (int.from_bytes(bytes([0x0F] * 40), "big") >> first & (1 << 256) - 1).to_bytes(32, "big")
        longest[0] = max(longest[0], length(Frame(0xF700 | id, pattern, True, fd=True, fast=True)))
        longest[1] = max(longest[1], length(Frame(id << 8 | 0x77, pattern[:16], id > 7, fd=True, fast=True)))
    worst = bus_load(FD, [(id, DRIVES["moteus-r4"])]).worst
    assert 0.97 * worst < sum(longest) <= worst * (1.0 + 1e-9)


def test_a_mechanism_file_may_name_firmware_of_three_parts_and_no_number_of_the_board(tmp_path):
    described("moteus")  # this call writes the mechanism file
    source, file = (PLACE / "moteus_arm.toml").read_text(encoding="utf-8"), tmp_path / "arm.toml"
    file.write_text(source, encoding="utf-8")
    drive = load_mechanism(file).streamed[0].drive
    assert drive is not None and drive.firmware == "1.1.0"
    for was, becomes, said in (('firmware = "1.1.0"', 'firmware = "1.256.0"', "parts of 0 to 255"),
                               ('firmware = "1.1.0"', 'firmware = "1.1"', "is no version"),
                               ("id = 1 ", "id = 119 ", "at most 118"), ("id = 1 ", "id = 0 ", "at least 1"),
                               ("kp = 120.0, ", "", "nobody can ask it"), ("kd = 6.0, ", "", "nobody can ask it"),
                               ("id = 1 ", "id = 1, reply = 5 ", "part of moteus's own"),
                               ('"can-fd"', '"can"', "frames of 32 bytes")):
        file.write_text(source.replace(was, becomes), encoding="utf-8")
        with pytest.raises(BadInput, match=said):
            load_mechanism(file)
