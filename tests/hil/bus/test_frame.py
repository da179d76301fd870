"""The frames' lengths equal the standard's arithmetic and the independently computed budget."""

import random

import pytest

from femtorque.codegen.drive import can
from femtorque.hil.bus.frame import ACK, DELIMITER, END, INTERMISSION, SIZES, Frame, image

BIT, DATA_BIT = 1e-6, 2e-7
TAIL = DELIMITER + ACK + END


def test_a_frame_without_stuffed_bits_has_the_standards_length():
    """Without intermission, a base frame has 44 + 8 n bits and an extended frame has 64 + 8 n bits."""
    base, extended = Frame(0x555, bytes([0x55] * 8)), Frame(0x15555555, bytes([0x55] * 8), extended=True)
    for frame, length in ((base, 108), (extended, 128)):
        most = len(image(frame).levels) + TAIL
        assert length <= most <= length + 4  # at most four stuff bits in the control field and the CRC


def unstuffed(levels: str) -> str:
    """Return the bits without stuff bits. A stuff bit follows five equal bits and has the opposite value. The stuff bit
    counts as the first bit of the next run of equal bits."""
    plain, run = "", 0
    for at, level in enumerate(levels):
        if run == 5:
            assert level != levels[at - 1]
            run = 1
            continue
        run = run + 1 if at and level == levels[at - 1] else 1
        plain += level
    return plain


@pytest.mark.parametrize("extended", [False, True])
def test_five_bits_alike_bring_a_sixth_and_the_check_sum_makes_the_message_a_multiple_of_the_generator(extended):
    """The message times x^15 plus the check sum is a multiple of the generator polynomial, 0xC599 with its leading
    coefficient 1. The fields are at the bit positions of the standard."""
    chance = random.Random(7)
    for _ in range(100):
        number, size = chance.randrange(1 << (29 if extended else 11)), chance.randrange(9)
        data = bytes(chance.choice((0, 255, chance.randrange(256))) for _ in range(size))
        plain = unstuffed(image(Frame(number, data, extended)).levels)
        head = f"0{number >> 18:011b}11{number & 0x3FFFF:018b}000" if extended else f"0{number:011b}000"
        assert plain[:-15] == f"{head}{size:04b}" + "".join(f"{byte:08b}" for byte in data)
        rest = int(plain, 2)
        while rest.bit_length() >= 16:
            rest ^= 0b1100010110011001 << rest.bit_length() - 16
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
    """The rate changes at sample points, so BRS and the CRC delimiter together take a bit of each rate. After five
    equal last data bits, only the fixed stuff bit follows. The budget is never too small."""
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
    assert picture.fast[0] == len(f"0{0x123:011b}00101") and picture.levels.startswith(f"0{0x123:011b}00101")
    assert picture.seconds(picture.fast[0], 1.0, 0.2) == pytest.approx(picture.fast[0])
    assert picture.seconds(picture.fast[0] + 5, 1.0, 0.2) == pytest.approx(picture.fast[0] + 1.0)
