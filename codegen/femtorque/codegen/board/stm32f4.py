"""The STM32F405/F407: clocks, timers and DMA requests (RM0090), and signals of the LQFP64's pins (data sheet, table 9).
"""

from dataclasses import replace

from femtorque.codegen.board.chip import (
    BitLimits, BrownOut, Can, Chip, Converter, Package, Pll, Rom, Sampling, Timer, Usart, pll, signals)

_APB1_HZ, _APB2_HZ, _SYSCLK_HZ = 42_000_000, 84_000_000, 168_000_000
_SLOW, _FAST = 2 * _APB1_HZ, 2 * _APB2_HZ  # timer clocks of the buses APB1 and APB2

_TIMERS = {  # TIM9 and TIM12 have no encoder mode
    "TIM1": Timer(16, _FAST, "APB2ENR_TIM1EN", 4, encoder=True, repetition=256),
    "TIM2": Timer(32, _SLOW, "APB1ENR_TIM2EN", 4, encoder=True),
    "TIM3": Timer(16, _SLOW, "APB1ENR_TIM3EN", 4, encoder=True),
    "TIM4": Timer(16, _SLOW, "APB1ENR_TIM4EN", 4, encoder=True),
    "TIM5": Timer(32, _SLOW, "APB1ENR_TIM5EN", 4, encoder=True),
    "TIM8": Timer(16, _FAST, "APB2ENR_TIM8EN", 4, encoder=True, repetition=256),
    "TIM9": Timer(16, _FAST, "APB2ENR_TIM9EN", 2, centred=False),
    "TIM10": Timer(16, _FAST, "APB2ENR_TIM10EN", 1, centred=False),
    "TIM11": Timer(16, _FAST, "APB2ENR_TIM11EN", 1, centred=False),
    "TIM12": Timer(16, _SLOW, "APB1ENR_TIM12EN", 2, centred=False),
    "TIM13": Timer(16, _SLOW, "APB1ENR_TIM13EN", 1, centred=False),
    "TIM14": Timer(16, _SLOW, "APB1ENR_TIM14EN", 1, centred=False),
}

_USARTS = {  # streams and channels: RM0090 tables 42 and 43
    "USART1": Usart(_APB2_HZ, "APB2ENR_USART1EN",
                    {"tx": {"DMA2_Stream7": 4}, "rx": {"DMA2_Stream2": 4, "DMA2_Stream5": 4}}, 37),
    "USART2": Usart(_APB1_HZ, "APB1ENR_USART2EN", {"tx": {"DMA1_Stream6": 4}, "rx": {"DMA1_Stream5": 4}}, 38),
    "USART3": Usart(_APB1_HZ, "APB1ENR_USART3EN",
                    {"tx": {"DMA1_Stream3": 4, "DMA1_Stream4": 7}, "rx": {"DMA1_Stream1": 4}}, 39),
    "UART4": Usart(_APB1_HZ, "APB1ENR_UART4EN", {"tx": {"DMA1_Stream4": 4}, "rx": {"DMA1_Stream2": 4}}, 52),
    "USART6": Usart(_APB2_HZ, "APB2ENR_USART6EN",
                    {"tx": {"DMA2_Stream6": 5, "DMA2_Stream7": 5}, "rx": {"DMA2_Stream1": 5, "DMA2_Stream2": 5}}, 71),
}

_CAN_BITS = BitLimits(prescaler=1024, before=16, behind=8, jump=4)  # RM0090 section 32.7.7
_CANS = {  # CAN2 shares the acceptance filters of CAN1, so it needs CAN1's clock
    "CAN1": Can(_APB1_HZ, ("APB1ENR_CAN1EN",), (19, 20), _CAN_BITS),
    "CAN2": Can(_APB1_HZ, ("APB1ENR_CAN1EN", "APB1ENR_CAN2EN"), (63, 64), _CAN_BITS),
}

_SIGNALS = """
CAN1_RX PA11/9 PB8/9
CAN1_TX PA12/9 PB9/9
CAN2_RX PB5/9 PB12/9
CAN2_TX PB6/9 PB13/9
SPI3_MISO PB4/6 PC11/6
SPI3_MOSI PB5/6 PC12/6
SPI3_SCK PB3/6 PC10/6
TIM1_BKIN PA6/1 PB12/1
TIM1_CH1 PA8/1
TIM1_CH1N PA7/1 PB13/1
TIM1_CH2 PA9/1
TIM1_CH2N PB0/1 PB14/1
TIM1_CH3 PA10/1
TIM1_CH3N PB1/1 PB15/1
TIM1_CH4 PA11/1
TIM2_CH1 PA0/1 PA5/1 PA15/1
TIM2_CH2 PA1/1 PB3/1
TIM2_CH3 PA2/1 PB10/1
TIM2_CH4 PA3/1 PB11/1
TIM3_CH1 PA6/2 PB4/2 PC6/2
TIM3_CH2 PA7/2 PB5/2 PC7/2
TIM3_CH3 PB0/2 PC8/2
TIM3_CH4 PB1/2 PC9/2
TIM4_CH1 PB6/2
TIM4_CH2 PB7/2
TIM4_CH3 PB8/2
TIM4_CH4 PB9/2
TIM5_CH1 PA0/2
TIM5_CH2 PA1/2
TIM5_CH3 PA2/2
TIM5_CH4 PA3/2
TIM8_BKIN PA6/3
TIM8_CH1 PC6/3
TIM8_CH1N PA5/3 PA7/3
TIM8_CH2 PC7/3
TIM8_CH2N PB0/3 PB14/3
TIM8_CH3 PC8/3
TIM8_CH3N PB1/3 PB15/3
TIM8_CH4 PC9/3
TIM9_CH1 PA2/3
TIM9_CH2 PA3/3
TIM10_CH1 PB8/3
TIM11_CH1 PB9/3
TIM12_CH1 PB14/9
TIM12_CH2 PB15/9
TIM13_CH1 PA6/9
TIM14_CH1 PA7/9
UART4_RX PA1/8 PC11/8
UART4_TX PA0/8 PC10/8
USART1_RX PA10/7 PB7/7
USART1_TX PA9/7 PB6/7
USART2_RX PA3/7
USART2_TX PA2/7
USART3_RX PB11/7 PC11/7
USART3_TX PB10/7 PC10/7
USART6_RX PC7/8
USART6_TX PC6/8
"""

_LARGE = """
CAN1_RX PD0/9
CAN1_TX PD1/9
USART6_RX PG9/8
USART6_TX PG14/8
"""  # only the pins that the supported boards use; DS8626 table 9

# the channel numbers are equal for ADC1 and ADC2
_ANALOGUE = {f"PA{i}": i for i in range(8)} | {"PB0": 8, "PB1": 9} | {f"PC{i}": 10 + i for i in range(6)}


def _pll(hse_hz: int) -> Pll | None:
    """Return the PLL divisors with the highest VCO input frequency, for the least jitter."""
    found = pll(hse_hz, _SYSCLK_HZ, range(2, 64), (1_000_000, 2_000_000), range(50, 433))
    return found and replace(found, q=2 * _SYSCLK_HZ // 48_000_000)


CHIP = Chip(
    name="stm32f4",
    part="STM32F405",
    sysclk_hz=_SYSCLK_HZ,
    hsi_hz=16_000_000,  # the baud rates of every bus can be made from this fall-back clock
    lsi_hz=32_000,  # 17 to 47 kHz over parts and temperature
    ports="ABCDEFGHI",
    systick_bits=24,
    timers=_TIMERS,
    usarts=_USARTS,
    signals=signals(_SIGNALS),
    analogue=_ANALOGUE,
    sense=Converter("APB2ENR_ADC2EN", places=4, again=0, conversion_s=(84 + 12) / 21e6),
    sampling=Sampling(_ANALOGUE, "APB2ENR_ADC1EN", "TIM1", ("TIM1", "TIM8"), places=4, clock_hz=21e6, latency=3,
                      window=15,
                      conversion=12, interrupt=18),
    pll=_pll,
    crystals="8, 12, 16 and 25 MHz can",
    buses=("AHB1ENR", "APB1ENR", "APB2ENR"),
    port_enable="AHB1ENR",
    dma_enable={"DMA1": "AHB1ENR_DMA1EN", "DMA2": "AHB1ENR_DMA2EN"},
    flash_bytes=1024 * 1024,
    ram_bytes=128 * 1024,
    sectors=(*4 * (16 << 10,), 64 << 10, *7 * (128 << 10,)),
    wait_states=5,
    rom_id=0x413,
    rom=Rom((("USART1", "PA9", "PA10"), ("USART3", "PB10", "PB11"), ("USART3", "PC10", "PC11")),
            # AN2606, STM32F40xxx V9: CAN2, USB, I2C, SPI. Older versions of the boot loader use no further pins. SDA of
            # I2C1 is PB7 here, and PB9 in the F42x.
            frozenset("PB5 PB13 PA11 PA12 PB6 PB7 PB9 PA8 PC9 PA4 PA5 PA6 PA7".split()),
            low=frozenset("PA4 PA5 PA7".split())),  # SPI, but for MISO
    unique=0x1FFF7A10,  # RM0090 section 39.1
    brown_out=BrownOut(0x40023C14, 2, 2, {3: "off", 2: "level 1 (2.1 V)", 1: "level 2 (2.4 V)",
                                          # RM0090 section 3.9.5; threshold for falling voltage, data sheet table 19
                                          0: "level 3 (2.75 to 2.88 V)"}, wanted=0),
    interrupts=82,
    cans=_CANS,
    low_volt=frozenset(("PA4", "PA5")),  # TTa of the data sheet's pin table; all other pins are FT
    packages={"UFBGA176": Package("STM32F407", signals(_LARGE))},
    platformio_board="genericSTM32F405RG",
)
