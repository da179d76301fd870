"""Facts of a chip family for the generator: clocks, timers, signals of pins, DMA requests, memory.

A family is one `Chip` in a module of its own (`chip_stm32f4`, `chip_stm32g4`) and one folder of firmware/chip.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import import_module
from typing import Literal

Family = Literal["stm32f4", "stm32g4"]


@dataclass(frozen=True)
class Timer:
    """bits: width of the counter. clock_hz: its clock. enable: the bit that clocks it. encoder: has encoder mode.
    repetition: updates that its repetition counter can span, 0 without one; timers that have one have a break input
    and complementary outputs too. centred: counts up and down. outputs: compare channels."""

    bits: int
    clock_hz: int
    enable: str
    outputs: int
    encoder: bool = False
    repetition: int = 0
    centred: bool = True


@dataclass(frozen=True)
class Usart:
    """clock_hz: of the bus. steps: of the baud-rate divider a clock. dma: 'tx' and 'rx' to the streams (channels)
    that can serve them and the request to select there. interrupt: its number."""

    clock_hz: int
    enable: str
    dma: Mapping[str, Mapping[str, int]]
    interrupt: int
    steps: int = 1
    least: int = 16


@dataclass(frozen=True)
class Converter:
    """Converter that measures the board itself. enable: the bit that clocks it. places: pins in one sequence. again:
    further conversions, whose results stay unread. conversion_s: duration of one."""

    enable: str
    places: int
    again: int
    conversion_s: float

    def seconds(self, pins: int) -> float:
        """Duration of a sequence over so many pins, s."""
        return (pins + self.again) * self.conversion_s


@dataclass(frozen=True)
class Sampling:
    """Sampling of the motors' currents: a sequence of one converter, started by a timer's update in every PWM period.

    channels: by pin. enable: the bit that clocks it. trigger: that timer; beside: output timers that can count in step
    with it. places: of the sequence. clock_hz: the converter's. latency, window, conversion: of its clocks from the
    update to the first sample at most, of a sample, and from its end to the next one. interrupt: the number of what its
    end asks for.
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
        """From the update to the end of a sample, by its place in the sequence."""
        return (self.latency + rank * (self.window + self.conversion) + self.window) / self.clock_hz


@dataclass(frozen=True)
class BitLimits:
    """Limits of a bit's segments on a bus: prescaler, quanta before and behind the sample point. compensated: largest
    prescaler of a data phase with which the controller compensates the delay of its own bits."""

    prescaler: int
    before: int
    behind: int
    jump: int
    compensated: int | None = None


@dataclass(frozen=True)
class Can:
    """A controller of a bus. clock_hz: of its bits. enable: the bits that clock it. interrupts: the numbers of those it
    asks for. nominal, data: of its bits, the latter where it speaks CAN FD."""

    clock_hz: int
    enable: tuple[str, ...]
    interrupts: tuple[int, ...]
    nominal: BitLimits
    data: BitLimits | None = None


@dataclass(frozen=True)
class Pll:
    """VCO = hse / m * n; SYSCLK = VCO / p; q: divider of the 48 MHz of USB, 0 where there are none."""

    m: int
    n: int
    p: int
    q: int


@dataclass(frozen=True)
class BrownOut:
    """The level of the supply below which the chip resets itself, as option bytes choose it. shift, bits: where in the
    register `options`, at that address. levels: code to its name. wanted: the code that this firmware is safest with.
    """

    options: int
    shift: int
    bits: int
    levels: Mapping[int, str]
    wanted: int

    def code(self, options: int) -> int:
        return options >> self.shift & (1 << self.bits) - 1

    def told(self, options: int) -> str:
        """Which level is set."""
        return self.levels.get(self.code(options), "of no known level")

    @property
    def mask(self) -> int:
        return (1 << self.bits) - 1 << self.shift


@dataclass(frozen=True)
class Rom:
    """The boot loader in ROM. usarts: name, TX and RX of each place at which it listens. others: further pins that it
    takes, for other buses. It may drive or pull up the pins that it takes, except the pins `low`, which it pulls
    down."""

    usarts: tuple[tuple[str, str, str], ...]
    others: frozenset[str]
    low: frozenset[str]

    @property
    def pins(self) -> frozenset[str]:
        return self.others.union(*({tx, rx} for _, tx, rx in self.usarts))


@dataclass(frozen=True)
class Package:
    """A larger one: the part that is sold in it, and signals at pins that the smallest does not have."""

    part: str
    signals: Mapping[str, Mapping[str, int]]


@dataclass(frozen=True)
class Chip:
    """One family. Frequencies in Hz, sizes in bytes. signals: 'TIM5_CH1' to pin to alternate function.

    analogue: pin to channel of `sense`, the converter of bus voltage and temperatures. sampling: of the motors'
    currents; None: the firmware has no current loops. lsi_hz: nominal, of the watchdog. bank: ports are PA to P<last of
    ports>. rom_id: what its boot loader calls it. unique: where the 96 bits are that no other chip has. sectors: the
    pieces in which flash is erased, in order. wait_states: of flash at sysclk_hz. interrupts: of peripherals, in the
    vector table. buses: enable registers of RCC, in the order they are written. cans: controllers of buses. low_volt:
    pins that bear 3.6 V and no more; all others bear 5 V as inputs without a pull, while the chip has power. packages:
    larger ones by name; part and signals are those of the smallest.
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
        """Copy of this chip in a larger package."""
        larger = self.packages[package]
        more = {name: {**self.signals.get(name, {}), **places} for name, places in larger.signals.items()}
        return replace(self, part=larger.part, signals={**self.signals, **more})

    @property
    def folders(self) -> tuple[str, str]:
        """The folders of firmware/chip that make up an image: what the families share, and the family's own."""
        return "stm32", self.name


def signals(text: str) -> dict[str, dict[str, int]]:
    """A table of lines `SIGNAL PIN/af PIN/af ...`."""
    table = {}
    for line in text.split("\n"):
        if line.strip():
            name, *places = line.split()
            table[name] = {pin: int(af) for pin, _, af in (place.partition("/") for place in places)}
    return table


@cache
def family(name: str) -> Chip:
    """The family of that name, a Family."""
    return import_module(f"femtorque.codegen.board.{name}").CHIP
