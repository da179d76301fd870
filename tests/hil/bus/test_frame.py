"""Frames on the wire: lengths compared with the arithmetic of the standard and with the bus budget's, which is written
independently."""

from __future__ import annotations

import random

import pytest

from femtorque.codegen.drive import can
from femtorque.hil.bus.frame import ACK, DELIMITER, END, INTERMISSION, SIZES, Frame, crc15, image, stuffed

BIT, DATA_BIT = 1e-6, 2e-7
TAIL = DELIMITER + ACK + END


def test_a_frame_without_stuffed_bits_has_the_standards_length():
    """44 + 8 n of a base frame, 64 + 8 n of an extended one, both without intermission."""
    base, extended = Frame(0x555, bytes([0x55] * 8)), Frame(0x15555555, bytes([0x55] * 8), extended=True)
    for frame, length in ((base, 108), (extended, 128)):
        most = len(image(frame).levels) + TAIL
        assert length <= most <= length + 4  # some stuffed bits of control field and check sum


def test_five_bits_alike_bring_a_sixth_of_the_other_kind_that_counts_on():
    assert stuffed("00000") == "000001"
    assert stuffed("000001111") == "0000011111" + "0"
    assert stuffed("11111", to_the_end=False) == "11111"
    assert stuffed("0101") == "0101"


def test_the_check_sum_makes_the_message_a_multiple_of_the_generator():
    """The message times x^15 plus the check sum is a multiple of the generator polynomial, 0xC599 with its leading
    one."""
    plain = "0" + f"{0x14:011b}" + "000" + "0001" + "00000001"
    rest = int(plain, 2) << 15 | crc15(plain)
    generator = 0b1100010110011001
    while rest.bit_length() >= 16:
        rest ^= generator << rest.bit_length() - 16
    assert rest == 0


@pytest.mark.parametrize("extended", [False, True])
def test_lengths_are_those_of_the_bus_budget_bit_for_bit(extended):
    chance = random.Random(5)
    for _ in range(400):
        number, size = chance.randrange(1 << (29 if extended else 11)), chance.randrange(9)
        data = bytes(chance.choice((0, 255, chance.randrange(256))) for _ in range(size))
        theirs = can.bits(can.Frame(number, data, extended))
        ours = image(Frame(number, data, extended)).length(BIT, BIT) + INTERMISSION * BIT
        assert ours == pytest.approx(theirs.seconds(1e6), abs=1e-12)


@pytest.mark.parametrize("extended", [False, True])
def test_lengths_of_fast_frames_differ_from_the_budgets_by_what_the_standard_says(extended):
    """The rate changes at sample points, so that BRS and the delimiter take one bit of each rate; and a data field that
    ends with five bits alike has no stuffed bit of its own before the fixed one. The budget is never too low."""
    chance, seen = random.Random(6), set()
    for _ in range(600):
        number, size = chance.randrange(1 << (29 if extended else 11)), chance.choice(SIZES)
        data = bytes(chance.choice((0, 255, chance.randrange(256))) for _ in range(size))
        theirs = can.bits(can.Frame(number, data, extended, fd=True))
        frame = Frame(number, data, extended, fd=True, fast=True)
        at_the_end = round((theirs.seconds(1e6, 5e6) - BIT + DATA_BIT - INTERMISSION * BIT
                            - image(frame).length(BIT, DATA_BIT)) / DATA_BIT)
        seen.add(at_the_end)
        assert at_the_end in (0, 1)
        before_check = image(frame).levels[:-(27 if size <= 16 else 32)]
        assert at_the_end == (before_check[-5:] in ("00000", "11111"))
    assert seen == {0, 1}


def test_the_data_phase_begins_after_brs():
    picture = image(Frame(0x123, bytes(8), fd=True, fast=True))
    assert picture.fast[0] == len(stuffed(f"0{0x123:011b}00101"))
    assert picture.seconds(picture.fast[0], 1.0, 0.2) == pytest.approx(picture.fast[0])
    assert picture.seconds(picture.fast[0] + 5, 1.0, 0.2) == pytest.approx(picture.fast[0] + 1.0)
