"""How much of a bus drives take, against the counts of the field's own documents."""

from __future__ import annotations

import pytest

from codegen.drive.budget import Wire, load, servo_load
from codegen.drive.catalogue import DRIVES

CLASSIC, FD = Wire("can", 1e6), Wire("can-fd", 1e6, 5e6)


def arm(name: str, count: int):
    return [(k, DRIVES[name]) for k in range(1, count + 1)]


@pytest.mark.parametrize(("name", "wire", "mean", "worst"), [
    ("damiao-4340", CLASSIC, 231e-6, 243e-6), ("robstride-03", CLASSIC, 273e-6, 287e-6),
    ("damiao-4340", FD, 102e-6, 105e-6)])
def test_a_command_and_its_reply_take_what_others_counted(name, wire, mean, worst):
    found = load(wire, arm(name, 1))
    assert found.mean == pytest.approx(mean, rel=0.02)
    assert found.worst == pytest.approx(worst, rel=0.03)


def test_how_many_drives_a_bus_bears_at_a_thousand_rounds_a_second():
    """Three on classic CAN, eight on CAN FD with its data phase at 5 Mbit/s."""
    for wire, most in ((CLASSIC, 3), (FD, 8)):
        assert load(wire, arm("damiao-4310", most)).fastest >= 1000.0
        assert load(wire, arm("damiao-4310", most + 1)).fastest < 1000.0


def test_six_servos_on_one_wire_answer_four_hundred_times_a_second():
    assert 400.0 < servo_load(Wire("sts", 1e6), range(1, 7)).fastest < 1000.0
