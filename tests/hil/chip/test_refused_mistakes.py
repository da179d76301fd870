"""Every item of STRICTER is refused by the virtual chip."""

import pytest

from femtorque.hil.chip.refused_mistakes import STRICTER
from femtorque.hil.chip.registers import Unmodelled
from tests.support.bare_chip import F4, G4, Bare

RCC4, TIM1, USART3, DMA1, ADC1, FLASH4 = 0x40023800, 0x40010000, 0x40004800, 0x40026000, 0x40012000, 0x40023C00
RCC2, CAN, RAM, ADC2 = 0x40021000, 0x40006400, 0x4000A400, 0x50000100
CR1, CNT, ARR, CCMR1, CCER, BDTR, CCR1 = 0x00, 0x24, 0x2C, 0x18, 0x20, 0x44, 0x34


def timer() -> Bare:
    chip = Bare(F4)
    chip.write(RCC4 + 0x44, 1)
    chip.write(TIM1 + ARR, 1000)
    chip.write(TIM1 + CR1, 1)
    return chip


def stream() -> Bare:
    """A stream of USART3 that sends."""
    chip = Bare(F4)
    chip.write(RCC4 + 0x30, 1 << 21)
    chip.write(RCC4 + 0x40, 1 << 18)
    for at, value in ((0x08, 16), (0x14, 1 << 7), (0x0C, 1 << 13 | 1 << 3)):
        chip.write(USART3 + at, value)
    for at, value in ((0x5C, 4), (0x60, USART3 + 4), (0x64, 0x20000000), (0x58, 4 << 25 | 1 << 10 | 1 << 6 | 1)):
        chip.write(DMA1 + at, value)
    return chip


def fdcan() -> Bare:
    chip = Bare(G4)
    chip.write(RCC2 + 0x88, 2 << 24)
    chip.write(RCC2 + 0x58, 1 << 25)
    return chip


def clock_off() -> None:
    Bare(F4).read(TIM1)


def reserved_bits() -> None:
    timer().write(TIM1 + CR1, 1 << 15)


def clock_limit() -> None:
    """Run APB1 at 84 MHz."""
    chip = Bare(F4)
    chip.at_full_speed()
    chip.write(RCC4 + 0x08, 2 | 4 << 10 | 4 << 13)


def wait_states() -> None:
    chip = Bare(F4)
    chip.at_full_speed()
    chip.write(FLASH4, 0)
    chip.write(RCC4 + 0x08, 2 | 5 << 10 | 4 << 13)


def timer_running() -> None:
    timer().write(TIM1 + CNT, 5)


def arr_at_once() -> None:
    timer().write(TIM1 + ARR, 500)


def dead_time() -> None:
    chip = timer()
    for at, value in ((CCMR1, 0x60), (CCER, 5), (CCR1, 10), (BDTR, 1 << 15)):
        chip.write(TIM1 + at, value)
    chip.chip.timers["TIM1"].halves_on(1)


def dma_running() -> None:
    stream().write(DMA1 + 0x5C, 2)


def dma_flags() -> None:
    chip = stream()
    chip.run(0.01)
    assert chip.read(DMA1) >> 27 & 1  # TCIF3
    chip.write(DMA1 + 0x5C, 4)
    chip.write(DMA1 + 0x58, 4 << 25 | 1 << 10 | 1 << 6 | 1)


def adc_order() -> None:
    chip = Bare(G4)
    chip.write(RCC2 + 0x4C, 1 << 13)
    for value in (0, 1 << 28, 1 << 28 | 1 << 31):
        chip.write(ADC2 + 0x08, value)


def adc_speed() -> None:
    """Run the converters from APB2 at 84 MHz by two."""
    chip = Bare(F4)
    chip.at_full_speed()
    chip.write(RCC4 + 0x44, 1 << 8)
    chip.write(ADC1 + 0x08, 1)
    chip.write(ADC1 + 0x08, 1 | 1 << 22)


def fdcan_delay() -> None:
    chip = fdcan()
    chip.wire()
    for at, value in ((0x18, 1), (0x18, 3), (0x18, 3 | 3 << 8), (0x0C, 1 << 23 | 2 << 16 | 0xA33), (0x18, 3 << 8)):
        chip.write(CAN + at, value)
    chip.run(1e-3)


def fdcan_acknowledge() -> None:
    fdcan().write(CAN + 0x94, 0)


def fdcan_words() -> None:
    fdcan().write(RAM, 1, size=1)


def flash_locked() -> None:
    """Run code that stores to flash: 'str r1, [r0]' with r0 at its beginning."""
    chip = Bare(F4, bytes.fromhex("4ff00060 0160 fee7".replace(" ", "")))
    chip.run(1e-4)
    assert chip.chip.core.nvic.active or chip.chip.core.locked_up
    raise Unmodelled("a bus fault")


# name: the action, and the expected message
CASES = {
    "clock off": (clock_off, "while its clock is off"),
    "reserved bits": (reserved_bits, "bits 0x8000 written to TIM1.CR1"),
    "clock limit": (clock_limit, "APB1 at 84000000 Hz, above its limit"),
    "wait states": (wait_states, "with flash wait states for 30000000 Hz"),
    "timer running": (timer_running, "CNT written while the timer runs"),
    "ARR at once": (arr_at_once, "ARR changed without preload while the timer runs"),
    "dead time": (dead_time, "a half bridge without dead time"),
    "DMA running": (dma_running, "written while the stream runs"),
    "DMA flags": (dma_flags, "enabled with its flags not cleared"),
    "ADC order": (adc_order, "calibrated while it is on, or before its regulator is there"),
    "ADC speed": (adc_speed, "clocked faster than 36 MHz"),
    "FDCAN delay": (fdcan_delay, "delay compensation with a prescaler above 2"),
    "FDCAN acknowledge": (fdcan_acknowledge, "the FIFO has 0 from 0 on"),
    "FDCAN words": (fdcan_words, "write of 1 bytes"),
    "flash locked": (flash_locked, "a bus fault"),
}


def test_every_one_has_its_case():
    assert set(CASES) == set(STRICTER)


@pytest.mark.parametrize("name", CASES)
def test_what_the_virtual_chip_is_stricter_about_is_refused(name):
    case, said = CASES[name]
    with pytest.raises(Unmodelled, match=said):
        case()
