"""Comparison of the lengths of CAN frames with published formulas and python-can's bit counter."""

import random

import pytest

from femtorque.codegen.drive import can
from femtorque.codegen.drive.can import Bits, Frame, bits, crc15, most_bits


@pytest.mark.parametrize(("extended", "size", "plain", "most"), [
    (False, 0, 47, 55), (False, 8, 111, 135), (True, 0, 67, 80), (True, 8, 131, 160)])
def test_lengths_that_the_literature_gives(extended, size, plain, most):
    """Eqs 1 and 2 of Davis, Burns, Bril and Lukkien 2007 (Controller Area Network schedulability analysis) give at most
    55 + 10 s and 80 + 10 s bits for s bytes, including the interframe space of three bits."""
    assert most_bits(size, extended) == Bits(most)
    chance = random.Random(1)
    found = [bits(Frame(chance.randrange(1 << (29 if extended else 11)), chance.randbytes(size), extended)).nominal
             for _ in range(300)]
    assert plain <= min(found) and max(found) <= most


def test_a_bit_is_stuffed_after_five_alike_and_counts_itself():
    """A frame with identifier 0 and without data starts with 19 zeros, and its CRC is also zero.

    In these 34 bits, a stuff bit follows every five equal bits. The 1 that is stuffed after 00000 is the first bit of
    the next run. Four further ones are therefore followed by another stuff bit (identifier 0x078: 0000 1111 000 after
    the start bit)."""
    assert crc15([0] * 19) == 0
    assert bits(Frame(0, b"")).nominal == 34 + 34 // 5 + 13
    before_crc = [0, *(0x078 >> k & 1 for k in reversed(range(11)))]
    assert before_crc[:9] == [0] * 5 + [1] * 4
    assert can._stuffed(before_crc[:9]) == 2


def test_crc_of_a_known_frame():
    """CRC-15/CAN of "123456789" is 0x059E (reveng's catalogue of parametrised CRC algorithms)."""
    text = b"123456789"
    assert crc15([byte >> k & 1 for byte in text for k in reversed(range(8))]) == 0x059E


def test_a_faster_data_phase_takes_less_time():
    classic = bits(Frame(1, bytes(range(8)))).seconds(1e6)
    fast = bits(Frame(1, bytes(range(8)), fd=True)).seconds(1e6, 5e6)
    assert 40e-6 < fast < 0.5 * classic


@pytest.mark.parametrize("size", [0, 8, 16, 64])
def test_no_fd_frame_is_longer_than_the_bound(size):
    chance, most = random.Random(2), most_bits(size, fd=True)
    for _ in range(200):
        found = bits(Frame(chance.randrange(1 << 11), chance.randbytes(size), fd=True))
        assert found.nominal <= most.nominal and found.data <= most.data
