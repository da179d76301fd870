"""Board files: the tables of a file, and the board with its chip."""

import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from femtorque.codegen.board.chip import PC, Chip, Family
from femtorque.codegen.board.thermistor import Thermistor
from femtorque.codegen.mechanism import Mechanism, Table

ADC_V = 3.3  # converter's full range, V
ADC_COUNTS = 4096
SOCKET_BAUD = 10_000_000  # the host's rate on a link without a serial line


def _pin(name: str) -> str:
    if not re.fullmatch(r"P[A-I]([0-9]|1[0-5])", name):
        raise PydanticCustomError("pin", "must be a pin, such as 'PA0'")
    return name


PinName = Annotated[str, AfterValidator(_pin)]
TimerName = Annotated[str, Field(pattern=r"^TIM\d+$")]


DMA_PATTERN = r"^DMA[12]_(Stream[0-7]|Channel[1-8])$"


class LinkPin(Table):
    pin: PinName
    dma: Annotated[str, Field(pattern=DMA_PATTERN)]


class Link(Table):
    usart: Annotated[str, Field(pattern=r"^(LP)?US?ART\d$")]
    baud: Annotated[int, Field(gt=0)]
    tx: LinkPin
    rx: LinkPin


class Estop(Table):
    """A pin of the e-stop loop, low if the loop is open."""

    pin: PinName
    timer: TimerName | None = None  # the timer whose break input the pin is


class Outputs(Table):
    """The outputs of all channels. timer: on a board without channels, the timer whose updates define the ticks and
    whose break input is the e-stop. wake_us: time that bridges need to wake up after `enable` rises; the fault pin is
    low meanwhile. duty_max: maximum duty, 0 to 1. duty_max is less than 1 if bootstrap capacitors must be charged.
    continuous_a, thermal_s: continuous current of each driver, A, and its thermal time constant."""

    timer: TimerName | None = None
    enable: PinName  # pin that switches the drivers on (high)
    fault: PinName | None = None  # pin that is low if a driver has a fault
    gated: bool = False  # true if contact 2 of the e-stop cuts `enable`
    wake_us: Annotated[int, Field(ge=0, le=20_000)] = 0
    dead_ns: Annotated[int, Field(ge=0, le=1000)] = 0  # dead time of a half bridge
    duty_max: Annotated[float, Field(ge=0.5, le=1.0)] = 1.0
    continuous_a: Annotated[float, Field(gt=0.0, le=1000.0)] | None = None
    thermal_s: Annotated[float, Field(gt=0.0, le=1000.0)] | None = None
    estop: Annotated[list[Estop], Field(min_length=1)]

    def wake_ticks(self, rate_hz: int) -> int:
        """Return the number of ticks that bridges need to wake up after `enable` rises; 0 for bridges that never sleep.

        The number is rounded up. One tick is added because `enable` rises within a tick."""
        return math.ceil(1e-6 * self.wake_us * rate_hz) + 1 if self.wake_us else 0


class CanPins(Table):
    """A CAN bus with a transceiver: the chip's controller and its pins."""

    controller: Annotated[str, Field(pattern=r"^(FD)?CAN\d$")]
    tx: PinName
    rx: PinName


class Transceiver(Table):
    """A transceiver between a USART and a half-duplex bus (RS-485 or TTL)."""

    rx: PinName  # pin at the transceiver's receiver, which is always on
    enable: PinName  # pin that switches the transceiver's driver on (high) while the USART sends


class HalfDuplex(Table):
    """A half-duplex serial line on which both ends transmit.

    Without a transceiver the pin also receives, as open drain. The line then has an external pull-up to 3.3 V, or to 5
    V if the pin tolerates 5 V."""

    usart: Annotated[str, Field(pattern=r"^US?ART\d$")]
    pin: PinName  # the USART's transmitter
    tx: Annotated[str, Field(pattern=DMA_PATTERN)]
    rx: Annotated[str, Field(pattern=DMA_PATTERN)]
    transceiver: Transceiver | None = None


class BrakeOutput(Table):
    """The output of the holding brakes, which hold without power."""

    pin: PinName
    release: Literal["high", "low"] = "high"  # pin level, high or low, that releases


class Led(Table):
    """The LED that shows the state (`femtorque.codegen.emit.blink`)."""

    pin: PinName
    on: Literal["high", "low"] = "high"  # the level that lights the LED


class CutoffOutput(Table):
    """The output that switches the servos' supply by a normally open relay or a high-side switch; high is on. A
    pull-down keeps the output low in reset."""

    pin: PinName


class Encoders(Table):
    filter: Annotated[int, Field(ge=0, le=15)]


class ChannelEncoder(Table):
    """An encoder's inputs."""

    timer: TimerName
    a: PinName
    b: PinName
    index: PinName | None = None  # input of the index pulse, high once per turn, read once per tick
    pull: Literal["up", "float"] = "up"  # "float" for signals above the chip's supply, because ST forbids a pull there

    @property
    def pins(self) -> list[str]:
        return [self.a, self.b, *([self.index] if self.index else [])]


class ChannelPwm(Table):
    """A PWM output."""

    timer: TimerName
    output: Annotated[int, Field(ge=1, le=4)]
    pin: PinName
    low: PinName | None = None  # the complementary output of a half bridge


class CurrentSense(Table):
    """A current amplifier. shunt: "in-line" measures in the motor's line at all times. "low" measures below a half
    bridge while its low switch conducts. The duty is limited so that this low switch conducts during the sample."""

    pin: PinName
    volts_per_ampere: float  # change of its output per ampere, positive if a positive duty raises the output
    shunt: Literal["in-line", "low"]
    zero_v: Annotated[float, Field(gt=0.0, lt=ADC_V)] = ADC_V / 2.0  # its output without current
    headroom_v: Annotated[float, Field(ge=0.0, le=1.0)] = 0.3  # unusable range at 0 V and at the converter's full range

    @property
    def range_a(self) -> float:
        """Return the current that can be measured in both directions, A."""
        return (min(self.zero_v, ADC_V - self.zero_v) - self.headroom_v) / abs(self.volts_per_ampere)


class Channel(Table):
    """Pins of one motor: PWM and direction, or two half bridges (pwm, opposite)."""

    encoder: ChannelEncoder
    pwm: ChannelPwm
    direction: PinName | None = None
    opposite: ChannelPwm | None = None
    current: CurrentSense | None = None

    @property
    def switches(self) -> tuple[tuple[str, ChannelPwm], ...]:
        return (("pwm", self.pwm), *((("opposite", self.opposite),) if self.opposite else ()))


class GateDriver(Table):
    """Gate drivers DRV8301, set up over SPI before the outputs are enabled. trip_mv: drain-source voltage at which a
    driver shuts down and pulls the fault line low."""

    kind: Literal["drv8301"]
    spi: Literal["SPI3"]
    sck: PinName
    miso: PinName
    mosi: PinName
    selects: Annotated[list[PinName], Field(min_length=1, max_length=4)]  # one chip-select pin per driver
    gain: Literal[10, 20, 40, 80]  # gain of the amplifiers, V/V
    trip_mv: Annotated[int, Field(ge=60, le=2400)]


class BusSense(Table):
    """A divider of the bus voltage by `ratio`."""

    pin: PinName
    ratio: Annotated[float, Field(ge=1.0, le=1000.0)]


class TemperatureSense(Table):
    """Equal NTC thermistors."""

    pins: Annotated[list[PinName], Field(min_length=1, max_length=4)]
    r25: Annotated[float, Field(gt=0.0, le=1e7)]  # resistance at 25 deg C, ohm
    beta: Annotated[float, Field(ge=1000.0, le=10_000.0)]  # B constant, K
    at: Literal["supply", "ground"]  # name of the rail that the thermistor is at
    resistor: Annotated[float, Field(gt=0.0, le=1e7)]  # resistance between pin and second rail, ohm

    @property
    def thermistor(self) -> Thermistor:
        return Thermistor(self.r25, self.beta, self.resistor, self.at == "supply")


class Sense(Table):
    """The board's measurements of voltage and temperature. Without `bus` the firmware uses the nominal bus voltage.
    Without `temperature` the firmware uses 25 deg C."""

    bus: BusSense | None = None
    temperature: TemperatureSense | None = None

    @property
    def pins(self) -> list[tuple[str, str]]:
        """Return (key, pin) in the order of conversion. The bus voltage comes first."""
        found = [("sense.bus.pin", self.bus.pin)] if self.bus else []
        return found + [(f"sense.temperature.pins.{i}", pin)
                        for i, pin in enumerate(self.temperature.pins if self.temperature else ())]


class BoardFile(Table):
    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9.-]*$", max_length=15)]
    chip: Family
    package: Literal["UFBGA176"] | None = None
    hse_hz: Annotated[int, Field(ge=4_000_000, le=26_000_000)]
    lead: Annotated[int, Field(ge=0, le=2)]
    link: Link
    outputs: Outputs | None = None
    brake: BrakeOutput | None = None
    led: Led | None = None
    cutoff: CutoffOutput | None = None
    encoders: Encoders | None = None
    gate_driver: GateDriver | None = None
    sense: Sense = Sense()
    channel: list[Channel] = []
    can: dict[str, CanPins] = {}
    half_duplex: dict[str, HalfDuplex] = {}
    low: dict[str, PinName] = {}
    reserved: dict[str, PinName] = {}
    headers: dict[PinName, str] = {}


class Adapter(Table):
    """Times of an adapter for which a [[bus]] has no measured times. delay: time from sending to the answers, minus the
    time on the bus, s. jitter: the largest further delay, s."""

    delay: Annotated[float, Field(ge=0.0, le=0.1)]
    jitter: Annotated[float, Field(ge=0.0, le=0.1)]


class PcFile(Table):
    """The file of a PC. The mechanism file names the buses, and the command line names the adapters."""

    name: str
    chip: Literal["linux"]
    adapter: Adapter


@dataclass(frozen=True)
class Board:
    """A checked board. baud: bit rate of the host link, bit/s. can, half_duplex: buses by their names in mechanism
    files. adapter: times of a PC's adapters. A PC has no link and no pins."""

    name: str
    chip: Chip
    hse_hz: int
    lead: int  # time from a tick to the output of its duties, ticks
    usart: Link | None
    outputs: Outputs | None
    brake: BrakeOutput | None
    led: Led | None
    cutoff: CutoffOutput | None
    encoders: Encoders | None
    gate_driver: GateDriver | None
    sense: Sense
    channels: tuple[Channel, ...]
    can: dict[str, CanPins]
    half_duplex: dict[str, HalfDuplex]
    low: dict[str, str]  # pins that the firmware keeps low
    reserved: dict[str, str]
    headers: dict[str, str]  # printed names of pins
    source: Path
    adapter: Adapter | None = None

    @property
    def is_pc(self) -> bool:
        return self.chip.name == PC

    @property
    def baud(self) -> int:
        return SOCKET_BAUD if self.usart is None else self.usart.baud

    @property
    def link(self) -> Link:
        """Return the port of a chip's board."""
        assert self.usart is not None
        return self.usart

    @property
    def core_hz(self) -> int:
        """Return the processor clock, Hz."""
        return self.chip.sysclk_hz

    @property
    def idle_timer(self) -> str:
        """Return the timer whose updates define the ticks if no joint has a channel. The board has outputs."""
        assert self.outputs is not None
        return self.outputs.timer or self.channels[0].pwm.timer

    @property
    def tick_preload(self) -> bool:
        """Return True if the timers can load new duties once per tick. Without new duties the timers then load neutral
        duties.

        Every output timer needs a repetition counter for this preload."""
        return all(self.chip.timers[pwm.timer].repetition for c in self.channels for _, pwm in c.switches)

    def preloads(self, mechanism: Mechanism) -> bool:
        """Return True if duties are loaded once per tick. Current loops need an update every PWM period instead."""
        return self.tick_preload and not any(j.motor and j.motor.drive == "current" for j in mechanism.moving)

    @property
    def running_on(self) -> list[str]:
        """Return the output timers that continue at their last duty while a debugger halts the processor. A timer with
        a break input halts when a debugger halts the processor, and then switches its outputs off. A timer without a
        break input would halt with its outputs at a constant level, so it keeps counting instead."""
        used = dict.fromkeys(pwm.timer for c in self.channels for _, pwm in c.switches)
        return [name for name in used if not self.chip.timers[name].repetition]

    @property
    def loader_usart(self) -> str:
        """Return the serial port of the ROM boot loader at the link's pins; '' if it does not use these pins."""
        if self.usart is None:
            return ""
        pins = self.link.tx.pin, self.link.rx.pin
        return next((name for name, *at in self.chip.rom.usarts if tuple(at) == pins), "")

    @property
    def loader_safe(self) -> bool:
        """Return True if the ROM boot loader leaves drivers disabled, holding brakes engaged, servos without supply."""
        return not self.loader_pulls

    @property
    def loader_pulls(self) -> list[str]:
        """Return the pins at which the ROM boot loader would enable drivers, release brakes or supply servos."""
        rom, brake = self.chip.rom, self.brake
        enable = [self.outputs.enable] if self.outputs and self.outputs.enable in rom.pins else []
        if self.cutoff and self.cutoff.pin in rom.pins and self.cutoff.pin not in rom.low:
            enable.append(self.cutoff.pin)
        kept = brake is None or brake.pin not in rom.pins or brake.release == "high" and brake.pin in rom.low
        return enable if brake is None or kept else [*enable, brake.pin]

    def function(self, signal: str, pin: str) -> int:
        """Return the alternate function that puts a signal on a pin."""
        return self.chip.signals[signal][pin]
