"""The virtual chip refuses each item of STRICTER."""

import pytest

from femtorque.hil.chip.refused_mistakes import STRICTER
from femtorque.hil.chip.registers import Unmodelled
from tests.support.bare_chip import F4, G4, Bare

RCC4, TIM1, USART3, DMA1, ADC1, FLASH4 = 0x40023800, 0x40010000, 0x40004800, 0x40026000, 0x40012000, 0x40023C00
RCC2, CAN, RAM, ADC2 = 0x40021000, 0x40006400, 0x4000A400, 0x50000100
CR1, CNT, ARR, CCMR1, CCER, BDTR, CCR1 = 0x00, 0x24, 0x2C, 0x18, 0x20, 0x44, 0x34
SENDS = 4 << 25 | 1 << 10 | 1 << 6 | 1  # bits of a stream's control register


def made(kind, *writes: tuple[int, int]) -> Bare:
    chip = Bare(kind)
    chip.writes(0, *writes)
    return chip


def fast() -> Bare:
    chip = Bare(F4)
    chip.at_full_speed()
    return chip


def timer() -> Bare:
    return made(F4, (RCC4 + 0x44, 1), (TIM1 + ARR, 1000), (TIM1 + CR1, 1))


def stream() -> Bare:
    """Return a chip whose USART3 sends by a DMA stream."""
    return made(F4, (RCC4 + 0x30, 1 << 21), (RCC4 + 0x40, 1 << 18), (USART3 + 0x08, 16), (USART3 + 0x14, 1 << 7),
                (USART3 + 0x0C, 1 << 13 | 1 << 3), (DMA1 + 0x5C, 4), (DMA1 + 0x60, USART3 + 4),
                (DMA1 + 0x64, 0x20000000), (DMA1 + 0x58, SENDS))


def ended_stream() -> Bare:
    chip = stream()
    chip.run(0.01)
    assert chip.read(DMA1) >> 27 & 1  # TCIF3
    return chip


def fdcan() -> Bare:
    chip = made(G4, (RCC2 + 0x88, 2 << 24), (RCC2 + 0x58, 1 << 25))
    chip.wire()
    return chip


# name: the chip, the register writes, and the message of the refusal. APB1 runs at 84 MHz, above its limit. The
# converter runs at half of APB2's 84 MHz.
CASES = {
    "clock off": (lambda: Bare(F4), [(TIM1, 0)], "while its clock is off"),
    "reserved bits": (timer, [(TIM1 + CR1, 1 << 15)], "bits 0x8000 written to TIM1.CR1"),
    "clock limit": (fast, [(RCC4 + 0x08, 2 | 4 << 10 | 4 << 13)], "APB1 at 84000000 Hz, above its limit"),
    "wait states": (fast, [(FLASH4, 0), (RCC4 + 0x08, 2 | 5 << 10 | 4 << 13)],
                    "with flash wait states for 30000000 Hz"),
    "timer running": (timer, [(TIM1 + CNT, 5)], "CNT written while the timer runs"),
    "ARR at once": (timer, [(TIM1 + ARR, 500)], "ARR changed without preload while the timer runs"),
    "dead time": (timer, [(TIM1 + CCMR1, 0x60), (TIM1 + CCER, 5), (TIM1 + CCR1, 10), (TIM1 + BDTR, 1 << 15)],
                  "a half bridge without dead time"),
    "DMA running": (stream, [(DMA1 + 0x5C, 2)], "written while the stream runs"),
    "DMA flags": (ended_stream, [(DMA1 + 0x5C, 4), (DMA1 + 0x58, SENDS)], "enabled with its flags not cleared"),
    "ADC order": (lambda: made(G4, (RCC2 + 0x4C, 1 << 13)),
                  [(ADC2 + 0x08, value) for value in (0, 1 << 28, 1 << 28 | 1 << 31)],
                  "calibrated while it is on, or before its regulator is there"),
    "ADC speed": (fast, [(RCC4 + 0x44, 1 << 8), (ADC1 + 0x08, 1), (ADC1 + 0x08, 1 | 1 << 22)],
                  "clocked faster than 36 MHz"),
    "FDCAN delay": (fdcan, [(CAN + at, value) for at, value in (
        (0x18, 1), (0x18, 3), (0x18, 3 | 3 << 8), (0x0C, 1 << 23 | 2 << 16 | 0xA33), (0x18, 3 << 8))],
        "delay compensation with a prescaler above 2"),
    "FDCAN acknowledge": (fdcan, [(CAN + 0x94, 0)], "the FIFO has 0 from 0 on"),
    "FDCAN words": (fdcan, [(RAM, 1, 1)], "write of 1 bytes"),
}


@pytest.mark.parametrize("name", CASES)
def test_what_the_virtual_chip_is_stricter_about_is_refused(name):
    """In the last two steps a bridge reads its timer, and time passes."""
    make, writes, said = CASES[name]
    chip = make()
    with pytest.raises(Unmodelled, match=said):
        for write in writes:
            chip.write(*write)
        chip.chip.timers["TIM1"].halves_on(1)
        chip.run(1e-3)


def test_a_store_to_locked_flash_is_a_bus_fault_and_no_other_item_is_left():
    """The code is 'str r1, [r0]', where r0 is the first address of flash."""
    chip = Bare(F4, bytes.fromhex("4ff00060 0160 fee7"))
    chip.run(1e-4)
    assert chip.chip.core.nvic.active or chip.chip.core.locked_up
    assert {*CASES, "flash locked"} == set(STRICTER)
