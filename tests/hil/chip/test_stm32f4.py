"""The STM32F405's peripherals, controlled by register writes, agree with the reference manual (RM0090)."""

import numpy as np
import pytest

from femtorque.hil.chip.registers import Unmodelled
from tests.support.bare_chip import F4, Bare

RCC, TIM1, TIM3, USART2, PORT_B = 0x40023800, 0x40010000, 0x40000400, 0x40004400, 0x40020400
CR1, SMCR, SR, EGR, CCMR1, CCER, CNT, ARR, RCR, BDTR = 0x00, 0x08, 0x10, 0x14, 0x18, 0x20, 0x24, 0x2C, 0x30, 0x44


def gated(register: int, bit: int) -> Bare:
    """Return a chip at 168 MHz on which only the tested peripheral has a clock."""
    chip = Bare(F4)
    chip.at_full_speed()
    chip.write(RCC + register, chip.read(RCC + register) | 1 << bit)
    return chip


def test_the_clock_tree_reaches_168_mhz_and_time_stays_seconds():
    chip = Bare(F4)
    chip.at_full_speed()
    rcc = chip.chip.rcc
    assert (rcc.hclk, rcc.apb1, rcc.apb2, rcc.timer_hz(False)) == (168_000_000, 42_000_000, 84_000_000, 84_000_000)
    before = chip.chip.core.now
    chip.run(0.1)
    assert chip.chip.core.now - before == pytest.approx(0.1 * 168e6, abs=100)


def test_update_comes_once_in_repetition_plus_one_half_periods():
    chip, updates = gated(0x44, 0), []
    chip.writes(TIM1, (CR1, 0xA0), (ARR, 4200), (EGR, 1), (RCR, 39))
    chip.chip.timers["TIM1"].on_update = lambda: updates.append((chip.chip.core.now, chip.read(TIM1 + CNT)))
    chip.write(TIM1 + CR1, 0xA1)
    chip.run(5e-3)
    assert np.diff([cycle for cycle, _ in updates[1:]]) == pytest.approx(168_000, abs=40)
    assert len(updates) == 5 and all(4100 < count <= 4200 for _, count in updates[1:])  # at the top


def test_a_locked_break_configuration_cannot_be_undone():
    chip = gated(0x44, 0)
    chip.writes(TIM1, (CCMR1, 0x6868), (BDTR, 0x1F00), (BDTR, 1 << 15), (CCMR1, 0))
    assert (chip.read(TIM1 + BDTR), chip.read(TIM1 + CCMR1)) == (0x9F00, 0x6868)


def test_pins_read_what_is_wired_and_drive_what_is_set():
    """PB12 is an output, PB10 is pulled up, and PB9 is wired to a signal."""
    chip = gated(0x30, 1)
    for at, bits in ((0x00, 1 << 24), (0x0C, 1 << 20), (0x18, 1 << 12)):
        chip.write(PORT_B + at, chip.read(PORT_B + at) | bits)
    chip.chip.gpio["B"].drive(9, True)
    read = 1 << 12 | 1 << 10 | 1 << 9
    assert chip.read(PORT_B + 0x10) & read == read
    chip.write(PORT_B + 0x18, 1 << 28)
    assert chip.read(PORT_B + 0x10) & read == 1 << 10 | 1 << 9


@pytest.mark.parametrize("name, base, bit, width", [("TIM3", TIM3, 1, 16), ("TIM2", 0x40000000, 0, 32)])
def test_an_encoder_counts_from_its_start_and_wraps_at_its_width(name, base, bit, width):
    chip, place = gated(0x40, bit), 1000
    chip.chip.timers[name].counts = lambda: place
    chip.writes(base, (ARR, 2**width - 1), (CCMR1, 0x6161), (SMCR, 3), (CNT, 0), (CR1, 1))
    for place in (1000, 1005, 998, 71_000):
        assert chip.read(base + CNT) == (place - 1000) % 2**width


def test_an_encoder_range_that_loses_counts_is_refused():
    chip = gated(0x40, 1)
    chip.writes(TIM3, (ARR, 8191), (CCMR1, 0x0101), (SMCR, 3))
    with pytest.raises(Unmodelled, match="loses counts"):
        chip.write(TIM3 + CR1, 1)


def test_polled_bytes_overrun_when_nobody_reads():
    chip = gated(0x40, 17)
    chip.writes(USART2, (0x08, 42), (0x0C, 0x200C))
    usart = chip.chip.usarts["USART2"]
    usart.line_in(b"xy")
    chip.run(1e-3)
    assert chip.read(USART2) & 0x28 == 0x28  # RXNE, ORE
    assert chip.read(USART2 + 4) == ord("x") and chip.read(USART2) & 0x28 == 0
    for byte in b"abc":
        assert chip.read(USART2) & 0x80
        chip.write(USART2 + 4, byte)
        chip.run(1e-4)
    assert chip.read(USART2) & 0x40 and usart.line_out() == b"abc"
