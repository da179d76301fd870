"""Comparison of the computed bus load with counts from published documents."""

import random

import pytest

from femtorque.codegen.drive.budget import Wire, bus_load, servo_load
from femtorque.codegen.drive.catalogue import DRIVES
from femtorque.hil.bus import Frame
from femtorque.hil.bus.frame import INTERMISSION, image

CLASSIC, FD = Wire("can", 1e6), Wire("can-fd", 1e6, 5e6)


def arm(name: str, count: int):
    return [(k, DRIVES[name]) for k in range(1, count + 1)]


@pytest.mark.parametrize(("name", "wire", "mean", "worst"), [
    ("damiao-4340", CLASSIC, 231e-6, 243e-6), ("robstride-03", CLASSIC, 273e-6, 287e-6),
    ("damiao-4340", FD, 102e-6, 105e-6)])
def test_a_command_and_its_reply_take_what_others_counted(name, wire, mean, worst):
    found = bus_load(wire, arm(name, 1))
    assert found.mean == pytest.approx(mean, rel=0.02)
    assert found.planned == pytest.approx(worst, rel=0.03)
    assert found.planned < found.worst < 1.2 * found.planned


@pytest.mark.parametrize(("name", "wire"), [("damiao-4340", CLASSIC), ("robstride-03", CLASSIC),
                                            ("damiao-4340", FD)])
def test_no_contents_take_longer_than_the_worst(name, wire):
    """The virtual bus gives the lengths of frames with the maximum number of stuff bits.

    One payload repeats 1111 0000 after a first bit. Other payloads come from a random search for the most stuff bits.
    """
    chance, extended, fd = random.Random(5), name.startswith("robstride"), wire.kind == "can-fd"
    width = 29 if extended else 11

    def length(number: int, data: bytes) -> float:
        frame = Frame(number, data, extended, fd=fd, fast=fd)
        fast = 1.0 / wire.data_bitrate if wire.data_bitrate else 1.0 / wire.bitrate
        return image(frame).length(1.0 / wire.bitrate, fast) + INTERMISSION / wire.bitrate

    longest = 0.0
    for _ in range(8):
        number, word = chance.randrange(1 << width), int.from_bytes(bytes([0x0F] * 8), "big") >> chance.randrange(4)
        best = length(number, word.to_bytes(8, "big"))
        for _ in range(300):
            other, changed = number ^ 1 << chance.randrange(width), word ^ 1 << chance.randrange(64)
            found = length(other, changed.to_bytes(8, "big"))
            if found >= best:
                number, word, best = other, changed, found
        longest = max(longest, best)
    worst = bus_load(wire, arm(name, 1)).worst
    assert 0.9 * worst < 2.0 * longest <= worst * (1.0 + 1e-9)


def test_how_many_drives_a_bus_bears_at_a_thousand_rounds_a_second():
    """At a thousand cycles a second, classic CAN carries three drives, and CAN FD at 5 Mbit/s eight."""
    for wire, most in ((CLASSIC, 3), (FD, 8)):
        assert bus_load(wire, arm("damiao-4310", most)).fastest >= 1000.0
        assert bus_load(wire, arm("damiao-4310", most + 1)).fastest < 1000.0


def test_six_servos_on_one_wire_answer_four_hundred_times_a_second():
    assert 400.0 < servo_load(Wire("sts", 1e6), 6 * [DRIVES["feetech-sts3215-12v"]]).fastest < 1000.0
