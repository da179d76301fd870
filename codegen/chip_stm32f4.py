"""What the generator must know of the STM32F405/F407: clocks, timers, alternate functions, DMA requests (RM0090)."""

from __future__ import annotations

from dataclasses import dataclass

SYSCLK_HZ = 168_000_000  # AHB, SysTick and the timers of APB2
APB1_HZ = 42_000_000
APB2_HZ = 84_000_000
HSI_HZ = 16_000_000  # every bus of the fall-back clock tree
LSI_HZ = 32_000  # 17 to 47 kHz over parts and temperature
PORTS = "ABCDEFGHI"
SYSTICK_BITS = 24


@dataclass(frozen=True)
class Timer:
    """bits: width of the counter. af: alternate function of all its pins. enable: its clock bit."""

    bits: int
    af: int
    enable: str


ENCODER_TIMERS = {  # TIM9 and TIM12 have no encoder mode
    "TIM1": Timer(16, 1, "APB2ENR_TIM1EN"),
    "TIM2": Timer(32, 1, "APB1ENR_TIM2EN"),
    "TIM3": Timer(16, 2, "APB1ENR_TIM3EN"),
    "TIM4": Timer(16, 2, "APB1ENR_TIM4EN"),
    "TIM5": Timer(32, 2, "APB1ENR_TIM5EN"),
    "TIM8": Timer(16, 3, "APB2ENR_TIM8EN"),
}
OUTPUT_TIMERS = {name: ENCODER_TIMERS[name] for name in ("TIM1", "TIM8")}  # with repetition counter and break input


@dataclass(frozen=True)
class Usart:
    """dma maps 'tx' and 'rx' to the streams that can serve them and the channel to select there (RM0090 10.3.3)."""

    clock_hz: int
    af: int
    enable: str
    dma: dict[str, dict[str, int]]


USARTS = {
    "USART1": Usart(APB2_HZ, 7, "APB2ENR_USART1EN",
                    {"tx": {"DMA2_Stream7": 4}, "rx": {"DMA2_Stream2": 4, "DMA2_Stream5": 4}}),
    "USART2": Usart(APB1_HZ, 7, "APB1ENR_USART2EN", {"tx": {"DMA1_Stream6": 4}, "rx": {"DMA1_Stream5": 4}}),
    "USART3": Usart(APB1_HZ, 7, "APB1ENR_USART3EN",
                    {"tx": {"DMA1_Stream3": 4, "DMA1_Stream4": 7}, "rx": {"DMA1_Stream1": 4}}),
    "USART6": Usart(APB2_HZ, 8, "APB2ENR_USART6EN",
                    {"tx": {"DMA2_Stream6": 5, "DMA2_Stream7": 5}, "rx": {"DMA2_Stream1": 5, "DMA2_Stream2": 5}}),
}


@dataclass(frozen=True)
class Pll:
    """VCO = hse / m * n; SYSCLK = VCO / p; the 48 MHz of USB = VCO / q."""

    m: int
    n: int
    p: int
    q: int


def pll(hse_hz: int) -> Pll | None:
    """The divisors that make SYSCLK_HZ exactly; the highest VCO input (least jitter) first. None if there are none."""
    p, vco = 2, 2 * SYSCLK_HZ
    for m in range(2, 64):
        if not 1_000_000 <= hse_hz / m <= 2_000_000 or vco * m % hse_hz:
            continue
        n = vco * m // hse_hz
        if 50 <= n <= 432:
            return Pll(m, n, p, vco // 48_000_000)
    return None
