"""Tests of the bit timing of a CAN bus, by arithmetic of clocks."""

from dataclasses import replace

import pytest

from femtorque.codegen.board import load_board
from femtorque.codegen.board.chip import Can
from femtorque.codegen.board.fieldbus import bits, wired
from femtorque.codegen.common import BadInput
from femtorque.codegen.drive.bit_timing import DATA_BITRATES, BitTiming, timings
from femtorque.codegen.drive.catalogue import DRIVES, FAMILIES
from tests.support.bus_arm import described

SLOWEST_LOOP = 255e-9  # maximum loop delay of a transceiver for CAN FD, s: ISO 11898-2:2016


def controller(board: str) -> Can:
    return next(iter(load_board(board).chip.cans.values()))


@pytest.mark.parametrize(("rate", "made"), [
    # 85 clocks = 5 x 17; with smaller quanta the segments would be too long for the registers
    (2_000_000, BitTiming(5, 12, 4, 4)),
    # 68 = 2 x 34 has smaller quanta, although 17 x 4 has a sample point nearer to 0.75
    (2_500_000, BitTiming(2, 25, 8, 8)),
    (5_000_000, BitTiming(1, 25, 8, 8)),
    (3_200_000, None), (4_000_000, None), (8_000_000, None),  # 53.125, 42.5, 21.25 clocks per bit are no whole numbers
])
def test_data_phases_of_170_mhz(rate, made):
    assert bits(controller("nucleo-g474re-6"), rate, data=True) == made


def test_a_data_phase_that_is_not_compensated_is_sampled_after_the_slowest_loop():
    """M_CAN compensates only with a prescaler of 1 or 2 (user's manual 3.3, DBTP)."""
    g4 = controller("nucleo-g474re-6")
    for rate in range(100_000, 8_000_001, 100_000):
        if (made := bits(g4, rate, data=True)) is None:
            continue
        assert made.prescaler * made.quanta * rate == g4.clock_hz and made.quanta >= 8
        assert made.prescaler <= 2 or (1 + made.before) * made.prescaler / g4.clock_hz > SLOWEST_LOOP
        compensated = [p for p in (1, 2) if g4.clock_hz % (p * rate) == 0 and 8 <= g4.clock_hz // (p * rate) <= 49]
        assert not compensated or made.prescaler in compensated


def test_a_bit_that_is_neither_compensated_nor_sampled_late_enough_is_none():
    """4 Mbit/s from 96 MHz are 24 clocks = 3 x 8. The sample point at 6 quanta is 187.5 ns after the bit's start."""
    limits = {"prescaler": 32, "before": 6, "behind": 3, "jump": 3}
    assert timings(96_000_000, 4_000_000, **limits, compensated=3) == [BitTiming(3, 5, 2, 2)]
    assert timings(96_000_000, 4_000_000, **limits, compensated=2) == []


@pytest.mark.parametrize("board", ["f405rg-4", "nucleo-g474re-6"])
@pytest.mark.parametrize("rate", [125_000, 250_000, 500_000, 1_000_000])
def test_usual_rates_are_made_near_the_sample_point_of_cia(board, rate):
    can = controller(board)
    made = bits(can, rate)
    assert made.prescaler * made.quanta * rate == can.clock_hz and 8 <= made.quanta
    assert made.sample_point == pytest.approx(0.75 if rate == 1_000_000 else 0.875, abs=0.02)


@pytest.mark.parametrize(("family", "nominal", "data"), [
    ("moteus", BitTiming(1, 113, 56, 56), BitTiming(1, 23, 10, 10)),  # sample points at 57 of 85 and 12 of 17
    ("damiao", BitTiming(1, 126, 43, 43), BitTiming(1, 24, 9, 9))])  # the sample point is at most at 0.75
def test_bits_of_can_fd_are_sampled_where_the_family_asks_for_it(family, nominal, data):
    g4, (first, second) = controller("nucleo-g474re-6"), FAMILIES[family].samples
    assert bits(g4, 1_000_000, False, first) == nominal and bits(g4, 5_000_000, True, second) == data


def test_families_that_sample_at_different_points_share_no_bus_of_can_fd():
    mechanism = described("moteus")
    mixed = replace(mechanism, joints=tuple(
        replace(joint, drive=replace(joint.drive, type=DRIVES["damiao-4310"], reply=0x13)) if joint.name == "wrist"
        else joint for joint in mechanism.joints))
    with pytest.raises(BadInput, match="(?s)moteus and Damiao.*a bus of its own"):
        wired(mixed, load_board(mixed.board.use))


def test_a_controller_of_classic_can_makes_no_data_phase():
    assert all(bits(controller("f405rg-4"), rate, data=True) is None for rate in DATA_BITRATES)
