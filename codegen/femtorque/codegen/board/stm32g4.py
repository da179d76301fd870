"""The STM32G474: clocks, timers and DMA requests (RM0440), and signals of the LQFP64's pins (data sheet, table 13)."""

from femtorque.codegen.board.chip import (
    BitLimits, BrownOut, Can, Chip, Converter, Rom, Sampling, Timer, Usart, pll, signals)

_SYSCLK_HZ = 170_000_000  # clock of AHB, of both APBs and of every timer

_TIMERS = {
    "TIM1": Timer(16, _SYSCLK_HZ, "APB2ENR_TIM1EN", 4, encoder=True, repetition=65536),
    "TIM2": Timer(32, _SYSCLK_HZ, "APB1ENR1_TIM2EN", 4, encoder=True),
    "TIM3": Timer(16, _SYSCLK_HZ, "APB1ENR1_TIM3EN", 4, encoder=True),
    "TIM4": Timer(16, _SYSCLK_HZ, "APB1ENR1_TIM4EN", 4, encoder=True),
    "TIM5": Timer(32, _SYSCLK_HZ, "APB1ENR1_TIM5EN", 4, encoder=True),
    "TIM8": Timer(16, _SYSCLK_HZ, "APB2ENR_TIM8EN", 4, encoder=True, repetition=65536),
    "TIM15": Timer(16, _SYSCLK_HZ, "APB2ENR_TIM15EN", 2, repetition=256, centred=False),
    "TIM20": Timer(16, _SYSCLK_HZ, "APB2ENR_TIM20EN", 4, encoder=True, repetition=65536),
}

_CHANNELS = tuple(f"DMA{unit}_Channel{i}" for unit in (1, 2) for i in range(1, 9))


def _any_channel(receive: int) -> dict[str, dict[str, int]]:
    """Return the requests of a USART for every channel, since the multiplexer can connect any.

    The request number of the transmitter is one more than the request number of the receiver."""
    return {"rx": dict.fromkeys(_CHANNELS, receive), "tx": dict.fromkeys(_CHANNELS, receive + 1)}


_USARTS = {  # requests: RM0440 table 91
    "USART1": Usart(_SYSCLK_HZ, "APB2ENR_USART1EN", _any_channel(24), 37),
    "USART2": Usart(_SYSCLK_HZ, "APB1ENR1_USART2EN", _any_channel(26), 38),
    "USART3": Usart(_SYSCLK_HZ, "APB1ENR1_USART3EN", _any_channel(28), 39),
    "LPUART1": Usart(_SYSCLK_HZ, "APB1ENR2_LPUART1EN", _any_channel(34), 91, steps=256, least=0x300),
}

_CAN_BITS = (BitLimits(prescaler=512, before=256, behind=128, jump=128),  # RM0440 section 44.4
             BitLimits(prescaler=32, before=32, behind=16, jump=16, compensated=2))
_CANS = {name: Can(_SYSCLK_HZ, ("APB1ENR1_FDCANEN",), (interrupt,), *_CAN_BITS)
         for name, interrupt in (("FDCAN1", 21), ("FDCAN2", 86), ("FDCAN3", 88))}

_SIGNALS = """
FDCAN1_RX PA11/9 PB8/9
FDCAN1_TX PA12/9 PB9/9
FDCAN2_RX PB5/9 PB12/9
FDCAN2_TX PB6/9 PB13/9
FDCAN3_RX PA8/11 PB3/11
FDCAN3_TX PA15/11 PB4/11
LPUART1_RX PA3/12 PB10/8 PC0/8
LPUART1_TX PA2/12 PB11/8 PC1/8
TIM1_BKIN PA6/6 PA14/6 PA15/9 PB8/12 PB10/12 PB12/6 PC13/2
TIM1_CH1 PA8/6 PC0/2
TIM1_CH1N PA7/6 PA11/6 PB13/6 PC13/4
TIM1_CH2 PA9/6 PC1/2
TIM1_CH2N PA12/6 PB0/6 PB14/6
TIM1_CH3 PA10/6 PC2/2
TIM1_CH3N PB1/6 PB9/12 PB15/4 PF0/6
TIM1_CH4 PA11/11 PC3/2
TIM1_CH4N PC5/6
TIM2_CH1 PA0/1 PA5/1 PA15/1
TIM2_CH2 PA1/1 PB3/1
TIM2_CH3 PA2/1 PA9/10 PB10/1
TIM2_CH4 PA3/1 PA10/10 PB11/1
TIM3_CH1 PA6/2 PB4/2 PC6/2
TIM3_CH2 PA4/2 PA7/2 PB5/2 PC7/2
TIM3_CH3 PB0/2 PC8/2
TIM3_CH4 PB1/2 PB7/10 PC9/2
TIM4_CH1 PA11/10 PB6/2
TIM4_CH2 PA12/10 PB7/2
TIM4_CH3 PA13/10 PB8/2
TIM4_CH4 PB9/2
TIM5_CH1 PA0/2 PB2/2
TIM5_CH2 PA1/2 PC12/1
TIM5_CH3 PA2/2
TIM5_CH4 PA3/2
TIM8_BKIN PA0/9 PA6/4 PA10/11 PB7/5 PD2/4
TIM8_CH1 PA15/2 PB6/5 PC6/4
TIM8_CH1N PA7/4 PB3/4 PC10/4
TIM8_CH2 PA14/5 PB8/10 PC7/4
TIM8_CH2N PB0/4 PB4/4 PC11/4
TIM8_CH3 PB9/10 PC8/4
TIM8_CH3N PB1/4 PB5/3 PC12/4
TIM8_CH4 PC9/4
TIM8_CH4N PC13/6
TIM15_BKIN PA9/9 PC5/2
TIM15_CH1 PA2/9 PB14/1
TIM15_CH1N PA1/9 PB15/2
TIM15_CH2 PA3/9 PB15/1
TIM20_CH1 PB2/3
TIM20_CH2 PC2/6
TIM20_CH3 PC8/6
USART1_DE PA12/7
USART1_RX PA10/7 PB7/7 PC5/7
USART1_TX PA9/7 PB6/7 PC4/7
USART2_DE PA1/7
USART2_RX PA3/7 PA15/7 PB4/7
USART2_TX PA2/7 PA14/7 PB3/7
USART3_DE PB14/7
USART3_RX PB8/7 PB11/7 PC11/7
USART3_TX PB9/7 PB10/7 PC10/7
"""


_ANALOGUE = {  # of ADC1
    "PA0": 1, "PA1": 2, "PA2": 3, "PA3": 4, "PB14": 5, "PC0": 6, "PC1": 7, "PC2": 8, "PC3": 9, "PF0": 10, "PB12": 11,
    "PB1": 12, "PB11": 14, "PB0": 15,
}

_ANALOGUE_2 = {  # of ADC2
    "PA0": 1, "PA1": 2, "PA6": 3, "PA7": 4, "PC4": 5, "PC0": 6, "PC1": 7, "PC2": 8, "PC3": 9, "PF1": 10, "PC5": 11,
    "PB2": 12, "PA5": 13, "PB11": 14, "PB15": 15, "PA4": 17,
}


# The 3.6 V pins, of type TT_a in the pin table of DS12288. TT_a pins connect to operational amplifiers, comparators and
# DACs. The list comes from two public copies of the table. Neither copy lists PC0 to PC3. This list counts these pins
# as TT_a. Neither copy lists PC7, PC8, PC9 and PC12, and only one lists PD2. ST's pin data lists no analogue function
# for these pins, but lists one for every 3.6 V pin.
_LOW_VOLT = """
PA0 PA1 PA3 PA4 PA5 PA6 PA7 PB0 PB1 PB2 PB10 PB11 PB12 PB13 PB14 PB15 PC5 PC0 PC1 PC2 PC3
""".split()


CHIP = Chip(
    name="stm32g4",
    part="STM32G474",
    sysclk_hz=_SYSCLK_HZ,
    hsi_hz=16_000_000,  # the baud rates of every bus can be made from this fall-back clock
    lsi_hz=32_000,  # 29.5 to 34 kHz over parts and temperature
    ports="ABCDEFG",
    systick_bits=24,
    timers=_TIMERS,
    usarts=_USARTS,
    signals=signals(_SIGNALS),
    analogue=_ANALOGUE,
    # three of the four conversions are usable, because the first pin is converted twice
    sense=Converter("AHB2ENR_ADC12EN", places=3, again=1, conversion_s=(92.5 + 12.5) / 42.5e6),
    sampling=Sampling(_ANALOGUE_2, "AHB2ENR_ADC12EN", "TIM1", ("TIM1", "TIM8", "TIM20"), places=4, clock_hz=42.5e6,
                      latency=3.125, window=24.5, conversion=12.5, interrupt=18),
    # the lowest VCO input
    pll=lambda hse_hz: pll(hse_hz, _SYSCLK_HZ, range(16, 0, -1), (2_660_000, 16_000_000), range(8, 128)),
    crystals="4, 8, 16, 20, 24 and 25 MHz can",
    buses=("AHB1ENR", "AHB2ENR", "APB1ENR1", "APB1ENR2", "APB2ENR"),
    port_enable="AHB2ENR",
    dma_enable={"DMA1": "AHB1ENR_DMA1EN | RCC_AHB1ENR_DMAMUX1EN", "DMA2": "AHB1ENR_DMA2EN | RCC_AHB1ENR_DMAMUX1EN"},
    flash_bytes=512 * 1024,
    ram_bytes=128 * 1024,
    sectors=256 * (2 << 10,),
    wait_states=4,
    rom_id=0x469,
    rom=Rom((("USART1", "PA9", "PA10"), ("USART2", "PA2", "PA3"), ("USART3", "PC10", "PC11")),
            # AN2606, STM32G47xxx: USB, I2C2 to I2C4, SPI1, SPI2; it drives MISO (PA6, PB14) high
            frozenset("PA11 PA12 PC4 PA8 PC8 PC9 PC6 PC7 PA4 PA5 PA6 PA7 PB12 PB13 PB14 PB15".split()),
            low=frozenset("PA4 PA5 PA7 PB12 PB13 PB15".split())),
    unique=0x1FFF7590,  # RM0440 section 48.1
    brown_out=BrownOut(0x40022020, 8, 3, {0: "level 0 (1.7 V)", 1: "level 1 (2.0 V)", 2: "level 2 (2.2 V)",
                                          # RM0440 section 3.4.1
                                          3: "level 3 (2.47 to 2.57 V)", 4: "level 4 (2.8 V)"}, wanted=3),
    interrupts=102,
    cans=_CANS,
    low_volt=frozenset(_LOW_VOLT),
    platformio_board="nucleo_g474re",
)
