"""Data of a chip family for the generator: clocks, timers, signals of pins, DMA requests, memory.

A chip family has one `Chip` in a module (`stm32f4`, `stm32g4`) and one folder in firmware/chip."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import import_module
from typing import Literal

Family = Literal["stm32f4", "stm32g4"]
PC = "linux"


@dataclass(frozen=True)
class Timer:
    """A timer. repetition: range of its repetition counter, or 0 without this counter. A timer with a repetition
    counter also has a break input and complementary outputs."""

    bits: int  # width of the counter
    clock_hz: int  # rate of its clock
    enable: str  # enable bit of its clock
    outputs: int  # compare channels
    encoder: bool = False  # true if it has encoder mode
    repetition: int = 0
    centred: bool = True  # true if it can count up and down


@dataclass(frozen=True)
class Usart:
    """A USART. dma: for 'tx' and 'rx', the streams (channels) that can serve the USART, with their request numbers."""

    clock_hz: int  # clock of the bus
    enable: str
    dma: Mapping[str, Mapping[str, int]]
    interrupt: int  # number of its interrupt
    steps: int = 1  # steps of the baud-rate divider per clock
    least: int = 16


@dataclass(frozen=True)
class Converter:
    """The converter for voltage and temperatures."""

    enable: str  # enable bit of its clock
    places: int  # number of pins per sequence
    again: int  # number of further conversions whose results are not used
    conversion_s: float  # duration of one conversion, s

    def seconds(self, pins: int) -> float:
        """Return the duration of a sequence over this number of pins, s."""
        return (pins + self.again) * self.conversion_s


@dataclass(frozen=True)
class Sampling:
    """Sampling of the motor currents: a sequence of one converter. A timer's update starts the sequence in every PWM
    period. clock_hz: the converter's clock. Durations in converter clocks: latency, the maximum time from the update to
    the first sample; window, the duration of one sample; conversion, the time from the end of a sample to the next
    sample."""

    channels: Mapping[str, int]  # the converter's channels by pin
    enable: str  # enable bit of the converter's clock
    trigger: str  # the timer that starts the sequence
    beside: tuple[str, ...]  # output timers that can count in step with the trigger
    places: int  # maximum number of conversions in the sequence
    clock_hz: float
    latency: float
    window: float
    conversion: float
    interrupt: int  # number of the interrupt at the end of a sequence

    def end_s(self, rank: int) -> float:
        """Return the time from the update to the end of a sample, s. rank: the sample's place in the sequence."""
        return (self.latency + rank * (self.window + self.conversion) + self.window) / self.clock_hz


@dataclass(frozen=True)
class BitLimits:
    """Limits of a bit's segments on a bus: prescaler, quanta before and after the sample point. compensated: largest
    data-phase prescaler with which the controller compensates the transceiver's delay."""

    prescaler: int
    before: int
    behind: int
    jump: int
    compensated: int | None = None


@dataclass(frozen=True)
class Can:
    """A CAN controller."""

    clock_hz: int  # clock of its bits
    enable: tuple[str, ...]  # enable bits of its clocks
    interrupts: tuple[int, ...]  # numbers of its interrupts
    nominal: BitLimits  # limits of its bits
    data: BitLimits | None = None  # limits in CAN FD's data phase; None without CAN FD


@dataclass(frozen=True)
class Pll:
    """VCO = hse / m * n; SYSCLK = VCO / p."""

    m: int
    n: int
    p: int
    q: int  # divider of USB's 48 MHz, or 0


@dataclass(frozen=True)
class BrownOut:
    """The brown-out reset: the chip resets below a supply voltage that the option bytes select. shift, bits: position
    of the field in the register."""

    options: int  # address of the register
    shift: int
    bits: int
    levels: Mapping[int, str]  # name of the voltage by code
    wanted: int  # the code that suits this firmware best

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
    """The boot loader in ROM.

    The loader may drive these pins or pull them up."""

    usarts: tuple[tuple[str, str, str], ...]  # name, TX and RX of its serial ports
    others: frozenset[str]  # further pins that it uses
    low: frozenset[str]  # pins that the loader pulls down

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
    """One family. Frequencies in Hz, sizes in bytes. low_volt: pins for at most 3.6 V. The remaining pins tolerate 5 V
    as inputs without a pull while the chip has power. part, signals: part number and signals of the smallest package.
    """

    name: str
    part: str
    sysclk_hz: int
    hsi_hz: int
    lsi_hz: int  # nominal frequency of the watchdog's clock
    ports: str  # letters of the ports
    systick_bits: int
    timers: Mapping[str, Timer]
    usarts: Mapping[str, Usart]
    signals: Mapping[str, Mapping[str, int]]  # {signal like 'TIM5_CH1': {pin: alternate function}}
    analogue: Mapping[str, int]  # channel of `sense` by pin
    sense: Converter  # converter for bus voltage and temperatures
    sampling: Sampling | None  # sampling of the motor currents; None without current loops
    pll: Callable[[int], Pll | None]
    crystals: str
    buses: tuple[str, ...]  # enable registers of RCC, in the order of writing
    port_enable: str
    dma_enable: Mapping[str, str]
    flash_bytes: int
    ram_bytes: int
    sectors: tuple[int, ...]  # sizes of flash sectors, in order
    wait_states: int  # wait states of flash at sysclk_hz
    rom_id: int  # the boot loader's name for the chip
    rom: Rom
    unique: int  # address of the unique 96 bits
    brown_out: BrownOut
    platformio_board: str
    interrupts: int  # interrupts of peripherals, in the vector table
    cans: Mapping[str, Can]  # CAN controllers
    low_volt: frozenset[str]
    packages: Mapping[str, Package] = field(default_factory=dict)  # larger packages by name

    def packed(self, package: str) -> Chip:
        """Return this chip in the package of this name."""
        larger = self.packages[package]
        more = {name: {**self.signals.get(name, {}), **places} for name, places in larger.signals.items()}
        return replace(self, part=larger.part, signals={**self.signals, **more})

    @property
    def folders(self) -> tuple[str, ...]:
        """Return the folders of firmware/chip that an image needs: the chip family's folder, and the common folder of
        microcontrollers."""
        return (self.name,) if self.name == PC else ("stm32", self.name)


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
    gives sysclk_hz. vco_in: range of the VCO's input, Hz. ns: allowed n."""
    vco = 2 * sysclk_hz
    for m in ms:
        if vco_in[0] <= hse_hz / m <= vco_in[1] and vco * m % hse_hz == 0 and vco * m // hse_hz in ns:
            return Pll(m, vco * m // hse_hz, 2, 0)
    return None


@cache
def family(name: str) -> Chip:
    """Return the family with this name."""
    return import_module(f"femtorque.codegen.board.{name}").CHIP
