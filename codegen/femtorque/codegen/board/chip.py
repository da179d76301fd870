"""Data of a chip family for the generator: clocks, timers, signals of pins, DMA requests, memory.

A chip family has one `Chip` in a module (`stm32f4`, `stm32g4`) and one folder in firmware/chip.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import import_module
from typing import Literal

Family = Literal["stm32f4", "stm32g4"]


@dataclass(frozen=True)
class Timer:
    """A timer. bits: width of the counter. clock_hz: rate of its clock. enable: enable bit of its clock. encoder: true
    if it has encoder mode. repetition: range of its repetition counter, or 0 without this counter. A timer with a
    repetition counter also has a break input and complementary outputs. centred: true if it can count up and down.
    outputs: compare channels.
    """

    bits: int
    clock_hz: int
    enable: str
    outputs: int
    encoder: bool = False
    repetition: int = 0
    centred: bool = True


@dataclass(frozen=True)
class Usart:
    """A USART. clock_hz: clock of the bus. steps: steps of the baud-rate divider per clock. dma: for 'tx' and 'rx', the
    streams (channels) that can serve the USART, with their request numbers. interrupt: number of its interrupt.
    """

    clock_hz: int
    enable: str
    dma: Mapping[str, Mapping[str, int]]
    interrupt: int
    steps: int = 1
    least: int = 16


@dataclass(frozen=True)
class Converter:
    """The converter for voltage and temperatures. enable: enable bit of its clock. places: pins per sequence. again:
    further conversions without use. conversion_s: duration of one conversion.
    """

    enable: str
    places: int
    again: int
    conversion_s: float

    def seconds(self, pins: int) -> float:
        """Return the duration of a sequence over this number of pins, s."""
        return (pins + self.again) * self.conversion_s


@dataclass(frozen=True)
class Sampling:
    """Sampling of the motor currents: a sequence of one converter. A timer's update starts the sequence in every PWM
    period. channels: the converter's channels by pin. enable: enable bit of the converter's clock. trigger: the timer
    that starts the sequence. beside: output timers that can count in step with the trigger. places: maximum number of
    conversions in the sequence. clock_hz: the converter's clock. Durations in converter clocks: latency, the maximum
    time from the update to the first sample; window, the duration of one sample; conversion, the time from the end of a
    sample to the next sample. interrupt: number of the interrupt at the end of a sequence.
    """

    channels: Mapping[str, int]
    enable: str
    trigger: str
    beside: tuple[str, ...]
    places: int
    clock_hz: float
    latency: float
    window: float
    conversion: float
    interrupt: int

    def end_s(self, rank: int) -> float:
        """Return the time from the update to the end of a sample, s. rank: the sample's place in the sequence."""
        return (self.latency + rank * (self.window + self.conversion) + self.window) / self.clock_hz


@dataclass(frozen=True)
class BitLimits:
    """Limits of a bit's segments on a bus: prescaler, quanta before and after the sample point. compensated: largest
    data-phase prescaler with which the controller compensates the transceiver's delay.
    """

    prescaler: int
    before: int
    behind: int
    jump: int
    compensated: int | None = None


@dataclass(frozen=True)
class Can:
    """A CAN controller. clock_hz: clock of its bits. enable: enable bits of its clocks. interrupts: numbers of its
    interrupts. nominal: limits of its bits. data: limits in the data phase, or None without CAN FD.
    """

    clock_hz: int
    enable: tuple[str, ...]
    interrupts: tuple[int, ...]
    nominal: BitLimits
    data: BitLimits | None = None


@dataclass(frozen=True)
class Pll:
    """VCO = hse / m * n; SYSCLK = VCO / p. q: divider of USB's 48 MHz, or 0."""

    m: int
    n: int
    p: int
    q: int


@dataclass(frozen=True)
class BrownOut:
    """The brown-out reset: the chip resets below a supply voltage that the option bytes select. options: address of the
    register. shift, bits: position of the field in the register. levels: name of the voltage by code. wanted: the code
    that suits this firmware best.
    """

    options: int
    shift: int
    bits: int
    levels: Mapping[int, str]
    wanted: int

    def code(self, options: int) -> int:
        return options >> self.shift & (1 << self.bits) - 1

    def told(self, options: int) -> str:
        """Return the name of the brown-out voltage that the option register selects."""
        return self.levels.get(self.code(options), "of no known level")

    @property
    def mask(self) -> int:
        return (1 << self.bits) - 1 << self.shift


@dataclass(frozen=True)
class Rom:
    """The boot loader in ROM. usarts: name, TX and RX of its serial ports. others: further pins that it uses.

    The loader may drive these pins or pull them up. low: pins that the loader pulls down.
    """

    usarts: tuple[tuple[str, str, str], ...]
    others: frozenset[str]
    low: frozenset[str]

    @property
    def pins(self) -> frozenset[str]:
        return self.others.union(*({tx, rx} for _, tx, rx in self.usarts))


@dataclass(frozen=True)
class Package:
    """A larger package: the part, and signals at pins that the smallest package lacks."""

    part: str
    signals: Mapping[str, Mapping[str, int]]


@dataclass(frozen=True)
class Chip:
    """One family. Frequencies in Hz, sizes in bytes. signals: {signal like 'TIM5_CH1': {pin: alternate function}}.
    sense: converter for bus voltage and temperatures. analogue: channel of `sense` by pin. sampling: sampling of the
    motor currents; None: no current loops. lsi_hz: nominal frequency of the watchdog's clock. ports: letters of the
    ports. rom_id: the boot loader's name for the chip. unique: address of the unique 96 bits. sectors: sizes of flash
    sectors, in order. wait_states: wait states of flash at sysclk_hz. interrupts: interrupts of peripherals, in the
    vector table. buses: enable registers of RCC, in the order of writing. cans: CAN controllers. low_volt: pins for at
    most 3.6 V. The remaining pins tolerate 5 V as inputs without a pull while the chip has power. part, signals: part
    number and signals of the smallest package. packages: larger packages by name.
    """

    name: str
    part: str
    sysclk_hz: int
    hsi_hz: int
    lsi_hz: int
    ports: str
    systick_bits: int
    timers: Mapping[str, Timer]
    usarts: Mapping[str, Usart]
    signals: Mapping[str, Mapping[str, int]]
    analogue: Mapping[str, int]
    sense: Converter
    sampling: Sampling | None
    pll: Callable[[int], Pll | None]
    crystals: str
    buses: tuple[str, ...]
    port_enable: str
    dma_enable: Mapping[str, str]
    flash_bytes: int
    ram_bytes: int
    sectors: tuple[int, ...]
    wait_states: int
    rom_id: int
    rom: Rom
    unique: int
    brown_out: BrownOut
    platformio_board: str
    interrupts: int
    cans: Mapping[str, Can]
    low_volt: frozenset[str]
    packages: Mapping[str, Package] = field(default_factory=dict)

    def packed(self, package: str) -> Chip:
        """Return this chip in the package of this name."""
        larger = self.packages[package]
        more = {name: {**self.signals.get(name, {}), **places} for name, places in larger.signals.items()}
        return replace(self, part=larger.part, signals={**self.signals, **more})

    @property
    def folders(self) -> tuple[str, str]:
        """Return the folders of firmware/chip that an image needs: the common folder and the chip family's folder."""
        return "stm32", self.name


def signals(text: str) -> dict[str, dict[str, int]]:
    """Return a table from lines `SIGNAL PIN/af PIN/af ...`."""
    table = {}
    for line in text.split("\n"):
        if line.strip():
            name, *places = line.split()
            table[name] = {pin: int(af) for pin, _, af in (place.partition("/") for place in places)}
    return table


def pll(hse_hz: int, sysclk_hz: int, ms: Sequence[int], vco_in: tuple[int, int], ns: Sequence[int]) -> Pll | None:
    """Return divisors that make sysclk_hz exactly, without q, for the first possible m of `ms`. Return None if no m
    gives sysclk_hz. vco_in: range of the VCO's input, Hz. ns: allowed n.
    """
    vco = 2 * sysclk_hz
    for m in ms:
        if vco_in[0] <= hse_hz / m <= vco_in[1] and vco * m % hse_hz == 0 and vco * m // hse_hz in ns:
            return Pll(m, vco * m // hse_hz, 2, 0)
    return None


@cache
def family(name: str) -> Chip:
    """Return the family with this name."""
    return import_module(f"femtorque.codegen.board.{name}").CHIP
