"""Boards: a file of firmware/boards says which pins and timers serve which channel; here it is read, checked and,
for one mechanism, rendered to ft_board.h with every number that the chip's registers need.

A board file holds `name`, `chip` (a folder of firmware/chip), `hse_hz`, `lead` (ticks from a tick to the interval in
which its duty is held), `[link]`, and, where it drives motors, `[outputs]`, `[encoders]` and one `[[channel]]` a
motor: encoder timer with its two pins, PWM output, direction pin or the second half bridge. `[reserved]` names the
pins that are wired to something else. Alternate functions are the chip's business (`codegen.board.chip`).
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from codegen.board import chip as chips
from codegen.board import thermistor
from codegen.board.chip import Chip, Timer
from codegen.board.thermistor import Thermistor
from codegen.common.errors import BadInput
from codegen.common.firmware import FIRMWARE
from codegen.common.nearest import hint, nearest
from codegen.common.templating import template
from codegen.emit.messages import longest_on_the_wire
from codegen.mechanism.description import Joint, Mechanism

BOARDS = FIRMWARE / "boards"
DEFAULT = "f405rg-4"

COUNTER_MAX = 0xFFFF  # output timers have 16 bits
SEND_MIN = 1024  # bytes to the host that can wait, at least; more where a frame is longer
WATCHDOG_S = 0.1  # at LSI's nominal rate; 68 ms on the fastest part
PIL_HZ = 4000  # SysTick's interrupts a second, at least, where ticks are granted by the host
WATCHDOG_TICKS = 10  # and never fewer ticks than this
BAUD_ERROR = 0.005  # that both sides together can live with many times over
ADC_V = 3.3  # what the converter's full range stands for
ADC_COUNTS = 4096
CURRENT_SHARE = 0.7  # of what a sensor can tell: the most that is asked for
CURRENT_TRIP = 1.2  # of the most that is asked for: beyond it the outputs are dropped
CURRENT_ZERO = 0.1  # of what a sensor can tell, by which its zero may be off: trip and zero together stay within its range
CURRENT_LOOP = 30  # PWM periods a cycle of the current loop's bandwidth
PULSE_S = 2e-3  # of voltage before a loop is closed, which shows the sensor's sign
PULSE_MOST = 0.1  # of the bus voltage, for that
PULSE_COUNTS = 16, 8  # counts of the converter that it is to bring; and at least
FOLLOW_S, FOLLOW_PERIODS = 5e-3, 5.0  # s, and electrical time constants, after which a current must have followed
LOWEST_BOUND = 0.5  # a loop that may use less of the bus voltage than this is refused
AHEAD_S = 2.5e-6  # by which a tick begins before the update that takes its writes over, where every period has one


class Table(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


PinName = Annotated[str, Field(pattern=r"^P[A-I]([0-9]|1[0-5])$")]
TimerName = Annotated[str, Field(pattern=r"^TIM\d+$")]


class LinkPin(Table):
    pin: PinName
    dma: Annotated[str, Field(pattern=r"^DMA[12]_(Stream[0-7]|Channel[1-8])$")]


class Link(Table):
    usart: Annotated[str, Field(pattern=r"^(LP)?US?ART\d$")]
    baud: Annotated[int, Field(gt=0)]
    tx: LinkPin
    rx: LinkPin


class Estop(Table):
    """A pin of the e-stop loop, low when it is open. timer: it is that timer's break input."""

    pin: PinName
    timer: TimerName | None = None


class Outputs(Table):
    """enable: high lets the drivers on. fault: low when a driver has one. gated: the loop cuts `enable` by itself.
    dead_ns: between the two switches of a half bridge. duty_max: the largest share of the bus voltage that a bridge is
    asked for, less than 1 where its upper switches live on bootstrap capacitors that need a time with it low. continuous_a,
    thermal_s: A that each motor's driver carries for good, and the time constant with which it gets warm."""

    enable: PinName
    fault: PinName | None = None
    gated: bool = False
    dead_ns: Annotated[int, Field(ge=0, le=1000)] = 0
    duty_max: Annotated[float, Field(ge=0.5, le=1.0)] = 1.0
    continuous_a: Annotated[float, Field(gt=0.0, le=1000.0)] | None = None
    thermal_s: Annotated[float, Field(gt=0.0, le=1000.0)] | None = None
    estop: Annotated[list[Estop], Field(min_length=1)]


class BrakeOutput(Table):
    """What switches holding brakes, closed without power. release: the level that opens them."""

    pin: PinName
    release: Literal["high", "low"] = "high"


class Encoders(Table):
    filter: Annotated[int, Field(ge=0, le=15)]


class ChannelEncoder(Table):
    """index: input of the index pulse, high once a turn; looked at once a tick."""

    timer: TimerName
    a: PinName
    b: PinName
    index: PinName | None = None


class ChannelPwm(Table):
    """low: the complementary output, where the channel drives a half bridge's two switches."""

    timer: TimerName
    output: Annotated[int, Field(ge=1, le=4)]
    pin: PinName
    low: PinName | None = None


class CurrentSense(Table):
    """An amplifier that gives zero_v at no current and volts_per_ampere more, signed, for each ampere that a positive duty
    drives through the motor. headroom_v: before 0 V and before the converter's full range, where its output ends.

    shunt: "in-line" measures in the motor's line at all times; "low" below a half bridge, where current flows while its
    low switch conducts, and the duty is bounded so that it does when it is sampled.
    """

    pin: PinName
    volts_per_ampere: float
    shunt: Literal["in-line", "low"]
    zero_v: Annotated[float, Field(gt=0.0, lt=ADC_V)] = ADC_V / 2.0
    headroom_v: Annotated[float, Field(ge=0.0, le=1.0)] = 0.3

    @property
    def range_a(self) -> float:
        """Amperes that can be told in both directions."""
        return (min(self.zero_v, ADC_V - self.zero_v) - self.headroom_v) / abs(self.volts_per_ampere)


class Channel(Table):
    """What serves one motor: PWM and a direction pin, or two half bridges (pwm, opposite)."""

    encoder: ChannelEncoder
    pwm: ChannelPwm
    direction: PinName | None = None
    opposite: ChannelPwm | None = None
    current: CurrentSense | None = None

    @property
    def switches(self) -> tuple[tuple[str, ChannelPwm], ...]:
        return (("pwm", self.pwm), *((("opposite", self.opposite),) if self.opposite else ()))


class GateDriver(Table):
    """A DRV8301 behind each of `selects`, set up over SPI before the drivers are enabled. gain: of its amplifiers, V/V.
    trip_mv: drain-source voltage at which it shuts down, and says so on the fault line."""

    kind: Literal["drv8301"]
    spi: Literal["SPI3"]
    sck: PinName
    miso: PinName
    mosi: PinName
    selects: Annotated[list[PinName], Field(min_length=1, max_length=4)]
    gain: Literal[10, 20, 40, 80]
    trip_mv: Annotated[int, Field(ge=60, le=2400)]


class BusSense(Table):
    """A divider that gives the `ratio`th part of the bus voltage."""

    pin: PinName
    ratio: Annotated[float, Field(ge=1.0, le=1000.0)]


class TemperatureSense(Table):
    """Thermistors with a negative coefficient, all alike. r25: ohm at 25 deg C. beta: K. at: the rail they are at;
    resistor: ohm between the pin and the other one."""

    pins: Annotated[list[PinName], Field(min_length=1, max_length=4)]
    r25: Annotated[float, Field(gt=0.0, le=1e7)]
    beta: Annotated[float, Field(ge=1000.0, le=10_000.0)]
    at: Literal["supply", "ground"]
    resistor: Annotated[float, Field(gt=0.0, le=1e7)]

    @property
    def thermistor(self) -> Thermistor:
        return Thermistor(self.r25, self.beta, self.resistor, self.at == "supply")


class Sense(Table):
    """What the board measures of itself. Without `bus` the nominal voltage stands in for it, without `temperature` 25
    deg C."""

    bus: BusSense | None = None
    temperature: TemperatureSense | None = None

    @property
    def pins(self) -> list[tuple[str, str]]:
        """(key, pin) in the order of conversion, the bus first."""
        found = [("sense.bus.pin", self.bus.pin)] if self.bus else []
        return found + [(f"sense.temperature.pins.{i}", pin)
                        for i, pin in enumerate(self.temperature.pins if self.temperature else ())]


class BoardFile(Table):
    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9.-]*$", max_length=15)]
    chip: chips.Family
    hse_hz: Annotated[int, Field(ge=4_000_000, le=26_000_000)]
    lead: Annotated[int, Field(ge=0, le=2)]
    link: Link
    outputs: Outputs | None = None
    brake: BrakeOutput | None = None
    encoders: Encoders | None = None
    gate_driver: GateDriver | None = None
    sense: Sense = Sense()
    channel: list[Channel] = []
    low: dict[str, PinName] = {}
    reserved: dict[str, PinName] = {}


@dataclass(frozen=True)
class Board:
    """A checked board. lead: ticks. baud: of the host link. low: pins that are held low for good."""

    name: str
    chip: Chip
    hse_hz: int
    lead: int
    link: Link
    outputs: Outputs | None
    brake: BrakeOutput | None
    encoders: Encoders | None
    gate_driver: GateDriver | None
    sense: Sense
    channels: tuple[Channel, ...]
    low: dict[str, str]
    reserved: dict[str, str]
    source: Path

    @property
    def baud(self) -> int:
        return self.link.baud

    @property
    def core_hz(self) -> int:
        """Cycles a second, as the control tick's cost is counted."""
        return self.chip.sysclk_hz

    @property
    def tick_preload(self) -> bool:
        """Whether the hardware can take duties over once a tick, and neutral where none came: all its output timers
        have a repetition counter."""
        return all(self.chip.timers[pwm.timer].repetition for c in self.channels for _, pwm in c.switches)

    def preloads(self, mechanism: Mechanism) -> bool:
        """Whether it does so for this mechanism: current loops need an update every PWM period."""
        return self.tick_preload and not any(j.motor and j.motor.drive == "current" for j in mechanism.moving)

    @property
    def loader_usart(self) -> str:
        """The port of the boot loader in ROM that is at the link's pins, '' where it does not hear the link."""
        pins = self.link.tx.pin, self.link.rx.pin
        return next((name for name, *at in self.chip.rom.usarts if tuple(at) == pins), "")

    @property
    def loader_safe(self) -> bool:
        """Whether that boot loader leaves the pin alone that enables the drivers."""
        return self.outputs is None or self.outputs.enable not in self.chip.rom.pins

    def function(self, signal: str, pin: str) -> int:
        """The alternate function that puts a signal on a pin."""
        return self.chip.signals[signal][pin]


# ---------------------------------------------------------------- reading


def names() -> list[str]:
    """Every board there is."""
    return sorted(path.stem for path in BOARDS.glob("*.toml"))


@cache
def load(name: str, asked_by: object = "mechanism file") -> Board:
    """The board of that name. Raises BadInput, with the nearest name, if there is none or its file is wrong."""
    if name not in names():
        raise BadInput(asked_by, "board.use", name, "no such board", hint(name, names(), "boards"))
    return read(BOARDS / f"{name}.toml")


def read(path: Path) -> Board:
    """Read and check one board file. Raises BadInput."""
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadInput(path.name, "file", None, f"is not TOML: {error}") from None
    try:
        file = BoardFile.model_validate(raw)
    except ValidationError as error:
        raise _bad_key(path, error) from None
    board = Board(file.name, chips.family(file.chip), file.hse_hz, file.lead, file.link, file.outputs, file.brake, file.encoders,
                  file.gate_driver, file.sense, tuple(file.channel), file.low, file.reserved, path)
    if file.name != path.stem:
        raise BadInput(path.name, "name", file.name, "must be the file's name", f"write name = {path.stem!r}")
    _check_sections(board)
    _check_peripherals(board)
    _check_claims(board)
    _check_pins(board)
    _check_link(board)
    if board.chip.pll(board.hse_hz) is None:
        raise BadInput(path.name, "hse_hz", board.hse_hz, f"cannot make {board.chip.sysclk_hz // 10**6} MHz",
                       board.chip.crystals)
    return board


def _bad_key(path: Path, error: ValidationError) -> BadInput:
    """The finding to mend first, as one line."""
    findings = error.errors(include_url=False)
    finding = next((f for f in findings if f["type"] == "extra_forbidden"), findings[0])
    where = list(finding["loc"])
    key = ".".join(str(step) for step in where)
    if finding["type"] == "extra_forbidden":
        known = _keys_at(where[:-1])
        return BadInput(path.name, key, finding["input"], "unknown key", hint(str(where[-1]), known, "keys here"))
    if finding["type"] == "missing":
        return BadInput(path.name, key, None, "is required")
    rule = finding["msg"][0].lower() + finding["msg"][1:]
    near = ""
    if finding["type"] == "literal_error":
        choices = [c.strip(" '") for c in str(finding["ctx"]["expected"]).replace(" or ", ",").split(",")]
        found = nearest(str(finding["input"]), choices)
        near = f"did you mean {found!r}?" if found else ""
    if finding["type"] == "string_pattern_mismatch" and "P[A-I]" in finding["ctx"]["pattern"]:
        rule, near = "must be a pin", "such as 'PA0'"
    return BadInput(path.name, key, finding["input"], rule, near)


def _keys_at(where: list[str | int]) -> list[str]:
    tables: dict[str, type[Table]] = {
        "brake": BrakeOutput, "link": Link, "tx": LinkPin, "rx": LinkPin, "outputs": Outputs, "estop": Estop, "encoders": Encoders,
        "channel": Channel, "encoder": ChannelEncoder, "pwm": ChannelPwm, "opposite": ChannelPwm, "current": CurrentSense,
        "gate_driver": GateDriver, "sense": Sense, "bus": BusSense, "temperature": TemperatureSense}
    last = next((str(step) for step in reversed(where) if isinstance(step, str)), "")
    return list(tables.get(last, BoardFile).model_fields)


# ---------------------------------------------------------------- what keys say together


def _check_sections(board: Board) -> None:
    """A board with channels needs outputs and encoders, and a lead of a tick: a duty is taken over by the next one."""
    file = board.source.name
    for key, there in (("outputs", board.outputs), ("encoders", board.encoders)):
        if bool(board.channels) != (there is not None):
            rule = "is required by the channels" if board.channels else "has no use without a [[channel]]"
            raise BadInput(file, key, None, rule)
    if board.outputs is None:
        for key, useless in (("sense", bool(board.sense.pins)), ("brake", board.brake is not None)):
            if useless:
                raise BadInput(file, key, None, "has no use without a [[channel]]")
        return
    if len(board.sense.pins) > board.chip.sense.places:
        raise BadInput(file, "sense", None, f"names {len(board.sense.pins)} pins, and {board.chip.part} measures "
                       f"{board.chip.sense.places}")
    if board.lead != 1:
        raise BadInput(file, "lead", board.lead, "must be 1: a duty is taken over at the tick after the one that "
                       "computed it")
    for i, c in enumerate(board.channels):
        if (c.direction is None) == (c.opposite is None):
            raise BadInput(file, f"channel.{i}", None, "needs either direction or opposite, the second half bridge")
        if c.opposite and not (c.pwm.low and c.opposite.low):
            raise BadInput(file, f"channel.{i}.opposite", None, "half bridges need their low switch's pin, low")
        if c.pwm.low and c.opposite is None:
            raise BadInput(file, f"channel.{i}.pwm.low", c.pwm.low, "has no use without opposite")
    if (board.outputs.continuous_a is None) != (board.outputs.thermal_s is None):
        raise BadInput(file, "outputs.continuous_a", board.outputs.continuous_a, "goes with thermal_s: give both or neither")
    if any(c.opposite for c in board.channels) and not board.outputs.dead_ns:
        raise BadInput(file, "outputs.dead_ns", None, "is required by half bridges")
    broken = {e.timer for e in board.outputs.estop}
    for i, c in enumerate(board.channels):
        if c.direction and c.pwm.timer not in broken and not board.outputs.gated:
            raise BadInput(file, f"channel.{i}.pwm.timer", c.pwm.timer, "has no break input in outputs.estop: nothing "
                           "but software would stop it", "let the loop cut the enable pin and write gated = true")


def _timer(board: Board, key: str, name: str) -> Timer:
    """The chip's timer of that name."""
    timers = board.chip.timers
    if name not in timers:
        raise BadInput(board.source.name, key, name, f"{board.chip.part} has no such timer, or none of use here",
                       hint(name, list(timers), "timers"))
    return timers[name]


def _check_peripherals(board: Board) -> None:
    """Every timer, and the link, must exist and be able to do what is asked of it."""
    file = board.source.name
    if board.link.usart not in board.chip.usarts:
        raise BadInput(file, "link.usart", board.link.usart, f"{board.chip.part} has no such link",
                       hint(board.link.usart, list(board.chip.usarts), "links"))
    for i, c in enumerate(board.channels):
        key = f"channel.{i}.encoder.timer"
        if not _timer(board, key, c.encoder.timer).encoder:
            able = [name for name, timer in board.chip.timers.items() if timer.encoder]
            raise BadInput(file, key, c.encoder.timer, "has no encoder mode", "these have: " + ", ".join(able))
        for part, pwm in c.switches:
            timer = _timer(board, f"channel.{i}.{part}.timer", pwm.timer)
            if pwm.output > timer.outputs:
                raise BadInput(file, f"channel.{i}.{part}.output", pwm.output,
                               f"{pwm.timer} has {timer.outputs} output{'s' * (timer.outputs > 1)}")
    for i, e in enumerate(board.outputs.estop if board.outputs else ()):
        if e.timer and not _timer(board, f"outputs.estop.{i}.timer", e.timer).repetition:
            raise BadInput(file, f"outputs.estop.{i}.timer", e.timer, "has no break input")


def _signals(board: Board) -> Iterator[tuple[str, str, str]]:
    """(key, signal, pin) of every pin that a peripheral uses."""
    for side in ("tx", "rx"):
        yield f"link.{side}.pin", f"{board.link.usart}_{side.upper()}", getattr(board.link, side).pin
    for i, e in enumerate(board.outputs.estop if board.outputs else ()):
        if e.timer:
            yield f"outputs.estop.{i}.pin", f"{e.timer}_BKIN", e.pin
    for i, c in enumerate(board.channels):
        for side, number in (("a", 1), ("b", 2)):
            yield f"channel.{i}.encoder.{side}", f"{c.encoder.timer}_CH{number}", getattr(c.encoder, side)
        for part, pwm in c.switches:
            yield f"channel.{i}.{part}.pin", f"{pwm.timer}_CH{pwm.output}", pwm.pin
            if pwm.low:
                yield f"channel.{i}.{part}.low", f"{pwm.timer}_CH{pwm.output}N", pwm.low
    if board.gate_driver:
        for line in ("sck", "miso", "mosi"):
            yield f"gate_driver.{line}", f"{board.gate_driver.spi}_{line.upper()}", getattr(board.gate_driver, line)


def _check_pins(board: Board) -> None:
    """Every signal must be on its pin."""
    for i, c in enumerate(board.channels):
        if c.current:
            _check_current_sense(board, f"channel.{i}.current", c, c.current)
    for key, pin in board.sense.pins:
        _check_analogue(board, key, pin, board.chip.analogue)
    for key, signal, pin in _signals(board):
        places = board.chip.signals.get(signal, {})
        if pin not in places:
            where = " or ".join(places) if places else "nowhere on this package"
            raise BadInput(board.source.name, key, pin, f"{board.chip.part} has no {signal} there", f"it is on {where}")


def _check_analogue(board: Board, key: str, pin: str, channels: Mapping[str, int]) -> None:
    """The pin must be one that the converter can measure."""
    if pin not in channels:
        raise BadInput(board.source.name, key, pin, f"{board.chip.part} cannot measure there",
                       f"it can on {' or '.join(channels)}")


def _check_current_sense(board: Board, key: str, channel: Channel, sense: CurrentSense) -> None:
    """The pin must be a converter's, the sensor have a range, and a shunt a half bridge that it is below."""
    file, sampling = board.source.name, board.chip.sampling
    if sampling is None:
        raise BadInput(file, key, sense.pin, f"there are no current loops for {board.chip.part} in this firmware")
    _check_analogue(board, f"{key}.pin", sense.pin, sampling.channels)
    if sense.volts_per_ampere == 0.0:
        raise BadInput(file, f"{key}.volts_per_ampere", 0.0, "must not be 0: its sign is that of the sensor as it is wired")
    if sense.range_a <= 0.0:
        raise BadInput(file, f"{key}.headroom_v", sense.headroom_v, "leaves nothing between zero_v and the amplifier's ends")
    if sense.shunt == "low" and channel.opposite is None:
        raise BadInput(file, f"{key}.shunt", "low", "has its place below a half bridge, and this channel names none",
                       "write 'in-line' for a sensor in the motor's line")


def _check_claims(board: Board) -> None:
    """No pin, timer, timer output or DMA stream may have two users."""
    claims: list[tuple[str, str]] = []  # resource, user
    claims += [(pin, f"reserved.{name}") for name, pin in board.reserved.items()]
    claims += [(pin, f"low.{name}") for name, pin in board.low.items()]
    claims += [(pin, key) for key, _, pin in _signals(board)]
    claims += [(pin, key) for key, pin in board.sense.pins]
    claims += [(getattr(board.link, side).dma, f"link.{side}.dma") for side in ("tx", "rx")]
    if board.outputs:
        claims.append((board.outputs.enable, "outputs.enable"))
        claims += [(board.brake.pin, "brake.pin")] if board.brake else []
        claims += [(board.outputs.fault, "outputs.fault")] if board.outputs.fault else []
        claims += [(e.pin, f"outputs.estop.{i}.pin") for i, e in enumerate(board.outputs.estop) if not e.timer]
    driving = {pwm.timer: f"channel.{i}.{part}.timer" for i, c in reversed(list(enumerate(board.channels)))
               for part, pwm in reversed(c.switches)}
    claims += list(driving.items())
    for i, c in enumerate(board.channels):
        key = f"channel.{i}"
        claims.append((c.encoder.timer, f"{key}.encoder.timer"))
        if c.encoder.index:
            claims.append((c.encoder.index, f"{key}.encoder.index"))
        claims += [(f"{pwm.timer} output {pwm.output}", f"{key}.{part}.output") for part, pwm in c.switches]
        claims += [(c.direction, f"{key}.direction")] if c.direction else []
        claims += [(c.current.pin, f"{key}.current.pin")] if c.current else []
    if board.gate_driver:
        claims += [(pin, f"gate_driver.selects.{i}") for i, pin in enumerate(board.gate_driver.selects)]
    users: dict[str, str] = {}
    for resource, user in claims:
        if resource in users:
            raise BadInput(board.source.name, user, resource, f"is already used by {users[resource]}")
        users[resource] = user


def _check_link(board: Board) -> None:
    """The DMA streams must be able to serve the USART; the baud rate must be exact on both clock trees."""
    link, usart = board.link, board.chip.usarts[board.link.usart]
    for side in ("tx", "rx"):
        stream = getattr(link, side).dma
        if stream not in usart.dma[side]:
            raise BadInput(board.source.name, f"link.{side}.dma", stream, f"does not serve {link.usart} {side}",
                           "use " + " or ".join(usart.dma[side]))
    for clock_hz in (usart.clock_hz, board.chip.hsi_hz):
        divider = round(usart.steps * clock_hz / link.baud)
        if divider < usart.least or abs(usart.steps * clock_hz / divider / link.baud - 1.0) > BAUD_ERROR:
            fitting = [clock_hz // d for d in range(16, 400) if all(
                c % (clock_hz // d) == 0 for c in (usart.clock_hz, board.chip.hsi_hz)) and clock_hz % d == 0]
            near = min(fitting, key=lambda b: abs(b - link.baud))
            raise BadInput(board.source.name, "link.baud", link.baud,
                           f"cannot be made within 0.5 % from {clock_hz / 1e6:g} MHz", f"nearest: {near}")



# ---------------------------------------------------------------- rendering


def render(mechanism: Mechanism, board: Board, pil: bool = False) -> dict[str, str]:
    """ft_board.h of one mechanism on one board: {file name: text}. Raises BadInput.

    pil: with the plant at the host; every pin that could move something is then held low for good.
    """
    for joint, channel in served(mechanism, board) if pil else ():
        if channel and joint.motor and joint.motor.drive == "current":
            raise BadInput(_file(mechanism), f"joint.{joint.name}.motor.drive", "current", "a plant at the host takes "
                           "duties for voltages, and the board has no current to control", "write 'voltage'")
    return {"ft_board.h": template("ft_board.h").render(_context(mechanism, board, pil))}


def open_loop(mechanism: Mechanism) -> list[str]:
    """The driven joints whose encoders the mechanism's board does not read: feed-forward moves them, alone."""
    if mechanism.board is None:
        return []
    return [joint.name for joint, channel in served(mechanism, load(mechanism.board.use))
            if joint.actuated and channel is None]


def served(mechanism: Mechanism, board: Board) -> list[tuple[Joint, Channel | None]]:
    """Every moving joint with the channel that serves it, None for passive joints and on a board without channels.

    Raises BadInput naming all joints that lack what the board needs to drive them.
    """
    if not board.channels:
        return [(joint, None) for joint in mechanism.streamed]
    driven = [j for j in mechanism.streamed if j.actuated]
    for part in ("motor", "encoder"):
        lacking = [j.name for j in driven if getattr(j, part) is None]
        if lacking:
            raise BadInput(_file(mechanism), f"joint.{lacking[0]}.{part}", None, f"is required by board {board.name!r}",
                           f"joints without: {', '.join(lacking)}")
    users: dict[int, str] = {}
    for joint in driven:
        assert joint.motor is not None
        channel, key = joint.motor.channel, f"joint.{joint.name}.motor.channel"
        if channel >= len(board.channels):
            raise BadInput(_file(mechanism), key, channel, f"board {board.name!r} has channels 0 to "
                           f"{len(board.channels) - 1}")
        if channel in users:
            raise BadInput(_file(mechanism), key, channel, f"is already used by joint {users[channel]!r}")
        users[channel] = joint.name
        _check_drive(mechanism, board, joint, board.channels[channel])
    for j in driven:
        assert j.motor is not None and j.encoder is not None
        if j.encoder.zero == "index" and board.channels[j.motor.channel].encoder.index is None:
            raise BadInput(_file(mechanism), f"joint.{j.name}.encoder.zero", "index", f"board {board.name!r} has no index "
                           f"input at channel {j.motor.channel}", 'use "stop", "absolute" or "start"')
    return [(j, board.channels[j.motor.channel] if j.motor and j.actuated else None) for j in mechanism.streamed]


def _check_drive(mechanism: Mechanism, board: Board, joint: Joint, channel: Channel) -> None:
    """The channel must be able to drive as the motor asks. In antiphase a low PWM pin is full voltage backwards, so
    what stops the outputs in hardware must cut the bridge."""
    assert joint.motor is not None and board.outputs is not None
    key = f"joint.{joint.name}.motor.drive"
    if joint.motor.drive == "current":
        _check_current(mechanism, board, joint, channel)
    if joint.motor.drive != "antiphase":
        return
    if channel.opposite:
        raise BadInput(_file(mechanism), key, "antiphase", f"board {board.name!r} has half bridges there: no need",
                       "write 'voltage'")
    if not board.outputs.gated:
        raise BadInput(_file(mechanism), key, "antiphase", f"the e-stop loop of board {board.name!r} stops the PWM, "
                       "not the bridge, and no PWM would be full voltage backwards", "write 'voltage'")


def _check_current(mechanism: Mechanism, board: Board, joint: Joint, channel: Channel) -> None:
    """The current must be measured and the motor slow enough for a loop at the rate of the PWM."""
    assert joint.motor is not None and mechanism.board is not None
    key = f"joint.{joint.name}.motor"
    if channel.current is None:
        raise BadInput(_file(mechanism), f"{key}.drive", "current", f"board {board.name!r} does not measure the current of "
                       f"channel {joint.motor.channel}", "write 'voltage'")
    _check_trigger(mechanism, board, f"{key}.drive", channel)
    periods = joint.motor.L / joint.motor.R * mechanism.board.pwm_hz
    if periods < 2.0:
        raise BadInput(_file(mechanism), f"{key}.L", joint.motor.L, f"L/R is {periods:.2g} PWM periods: too fast for a loop "
                       "at their rate", "write drive = 'voltage'")


def _check_trigger(mechanism: Mechanism, board: Board, key: str, channel: Channel) -> None:
    """Currents are sampled in the middle of the channel's low time, by the update of a timer that is free for it."""
    sampling = board.chip.sampling
    assert sampling is not None
    for _, pwm in channel.switches:
        if pwm.timer not in sampling.beside:
            raise BadInput(_file(mechanism), key, "current", f"{pwm.timer} does not count in step with {sampling.trigger}, which "
                           "has currents sampled", "use a channel of " + " or ".join(sampling.beside))
    if any(c.encoder.timer == sampling.trigger for c in board.channels):
        raise BadInput(_file(mechanism), key, "current", f"{sampling.trigger}, which has currents sampled, is an encoder's on "
                       f"board {board.name!r}", "write 'voltage'")


def current_bound(mechanism: Mechanism, board: Board, joint: Joint, rank: int) -> float:
    """Share of the bus voltage that a current loop may use. rank: its place in the converter's sequence.

    A low shunt sees nothing unless its low switch conducts until the end of the sample, a time t after the counter's top.
    With the duty x the switch of the half bridge that is high most conducts for (1 - |x|) / 4 of a period on each side of
    the top, so that |x| is at most 1 - 4 t pwm_hz.
    """
    assert mechanism.board is not None and joint.motor is not None and board.outputs is not None
    sense, sampling = board.channels[joint.motor.channel].current, board.chip.sampling
    assert sense is not None and sampling is not None
    if sense.shunt == "in-line":
        return board.outputs.duty_max
    after_top = sampling.end_s(rank) + 1e-9 * board.outputs.dead_ns
    return min(board.outputs.duty_max, 1.0 - 4.0 * after_top * mechanism.board.pwm_hz)


def usable_share(mechanism: Mechanism, joint: Joint) -> float:
    """Share of the bus voltage that a motor can be given; 1 without a board that drives it."""
    if mechanism.board is None or joint.motor is None:
        return 1.0
    board = load(mechanism.board.use)
    if board.outputs is None:
        return 1.0
    looped = [j.name for j in mechanism.streamed if j.actuated and j.motor and j.motor.drive == "current"]
    if joint.name not in looped:
        return board.outputs.duty_max
    return current_bound(mechanism, board, joint, looped.index(joint.name))


def current_range(board: Board, joint: Joint) -> float:
    """Amperes that a duty of 1 asks for, of a joint whose drive is 'current'."""
    assert joint.motor is not None
    sense = board.channels[joint.motor.channel].current
    assert sense is not None
    return CURRENT_SHARE * sense.range_a


def _file(mechanism: Mechanism) -> object:
    return mechanism.source or mechanism.name


def _context(mechanism: Mechanism, board: Board, pil: bool) -> dict[str, Any]:
    """Everything the template lays out."""
    assert mechanism.board is not None
    rate_hz, chip = mechanism.control.rate_hz, board.chip
    joints = served(mechanism, board)
    brake = _brake(mechanism, board)
    prescaler, reload = _watchdog(board, rate_hz)
    usart = chip.usarts[board.link.usart]
    return {
        "board": board,
        "joints": joints,
        "pll": chip.pll(board.hse_hz),
        "sysclk_hz": chip.sysclk_hz,
        "rate_hz": rate_hz,
        "tick_cycles": _tick_cycles(mechanism, board),
        "tick_cycles_hsi": chip.hsi_hz // rate_hz,
        "pil": int(pil),
        "wakes": -(-PIL_HZ // rate_hz) if pil else 1,
        "bus_voltage": repr(float(mechanism.board.bus_voltage)),
        "brake": None if pil else brake,
        "pins": _held_low(board, _pins(board, joints)) if pil else _pins(board, joints) + _brake_pins(brake),
        "clocks": _clocks(board, joints),
        "ranges": {name: "0xFFFFFFFFu" if t.bits == 32 else "0xFFFFu" for name, t in chip.timers.items()},
        "pwm": _pwm(mechanism, board, joints) if board.outputs and not pil else None,
        "port": lambda pin: chip.ports.index(pin[1]),
        "bit": lambda pin: int(pin[2:]),
        "brr": round(usart.steps * usart.clock_hz / board.baud),
        "brr_hsi": round(usart.steps * chip.hsi_hz / board.baud),
        "interrupt": usart.interrupt,
        "loader": int(board.loader_safe),
        "vectors": _vectors(board, not pil and _has_loops(joints)),
        "dma": {side: _stream(board, side) for side in ("tx", "rx")},
        "send_size": max(SEND_MIN, 1 << (longest_on_the_wire("host", len(joints)) - 1).bit_length()),
        "celsius_step": thermistor.STEP,
        "watchdog_prescaler": prescaler,
        "watchdog_reload": reload,
    }


def _brake(mechanism: Mechanism, board: Board) -> BrakeOutput | None:
    """The output of the arm's brakes; None: it has none. A board without channels moves nothing that could fall."""
    if mechanism.safety.brake is None or not board.channels:
        return None
    if board.brake is None:
        raise BadInput(_file(mechanism), "safety.brake", None, f"board {board.name!r} has no output for brakes",
                       "write [brake] with a pin into a board file of your own")
    return board.brake


def _brake_pins(brake: BrakeOutput | None) -> list[Pin]:
    """Closed and pulled there from the first moment on."""
    if brake is None:
        return []
    high = brake.release == "low"
    return [Pin(brake.pin, "FT_OUTPUT_HIGH" if high else "FT_OUTPUT", "FT_UP" if high else "FT_DOWN", 0, "holding brakes")]


def _has_loops(joints: list[tuple[Joint, Channel | None]]) -> bool:
    """Whether a joint is driven by a current loop."""
    return any(c and j.motor and j.motor.drive == "current" for j, c in joints)


def _vectors(board: Board, loops: bool) -> list[str]:
    """The handlers of all interrupts of peripherals, as rows of four. One that nothing asked for is a fault."""
    used = {board.chip.usarts[board.link.usart].interrupt: "ft_link_interrupt"}
    if loops and board.chip.sampling:
        used[board.chip.sampling.interrupt] = "ft_current_interrupt"
    names = [used.get(n, "ft_crash_entry") for n in range(board.chip.interrupts)]
    return [", ".join(names[i:i + 4]) for i in range(0, len(names), 4)]


def _tick_cycles(mechanism: Mechanism, board: Board) -> int:
    """Processor cycles a tick: whole, and within SysTick's 24 bits."""
    rate_hz, sysclk_hz, bits = mechanism.control.rate_hz, board.chip.sysclk_hz, board.chip.systick_bits

    def fits(rate: int) -> bool:
        return sysclk_hz % rate == 0 and sysclk_hz // rate <= 2**bits

    if not fits(rate_hz):
        near = min((r for r in range(11, 100_001) if fits(r)), key=lambda r: abs(r - rate_hz))
        raise BadInput(_file(mechanism), "control.rate_hz", rate_hz,
                       f"a tick must be a whole number of the {sysclk_hz // 10**6} MHz clock's cycles, at most "
                       f"2^{bits}", f"nearest: {near}")
    return sysclk_hz // rate_hz


# ---------------------------------------------------------------- PWM


@dataclass(frozen=True)
class PwmTimer:
    """One output timer as the image sets it up. top: its largest count (auto-reload). start: the count it begins at.
    repetition: of its repetition counter. outputs: of its compare channels 0 to 3. low_first: PWM mode 2.
    protection: what its break register is for."""

    name: str
    centred: bool
    low_first: bool
    top: int
    start: int
    repetition: int
    outputs: tuple[int, ...]
    protection: Literal["FT_BREAK", "FT_NO_BREAK", "FT_PLAIN"]
    complementary: bool

    @property
    def mask(self) -> str:
        """The outputs as bits."""
        return f"0x{sum(1 << n for n in self.outputs):X}u"

    @property
    def counts(self) -> int:
        """Counts that a duty of 1 stands for."""
        return self.top if self.centred else self.top + 1


def _pwm(mechanism: Mechanism, board: Board, joints: list[tuple[Joint, Channel | None]]) -> dict[str, Any]:
    """The output timers and, a joint, what its duty means to them.

    A centred counter runs up and down, 2 top counts a period; the others begin anew after top. With repetition
    counters the update comes once a tick, for centred timers always at the top, so a tick holds a whole number of
    PWM periods; the others start in the middle of their period to come at the same time. Without them every period
    has its update.
    """
    assert mechanism.board is not None and board.outputs is not None
    rate_hz, pwm_hz = mechanism.control.rate_hz, mechanism.board.pwm_hz
    used: dict[str, set[int]] = {}
    for _, c in joints:
        for _, pwm in c.switches if c else ():
            used.setdefault(pwm.timer, set()).add(pwm.output - 1)
    used = used or {board.channels[0].pwm.timer: set()}  # every joint passive
    if _has_loops(joints) and board.chip.sampling:
        used.setdefault(board.chip.sampling.trigger, set())
    timers = {name: board.chip.timers[name] for name in used}
    slowest = min(t.clock_hz for t in timers.values())
    periods = min((t.repetition // 2 if t.centred else t.repetition for t in timers.values()), default=1)
    preload = board.preloads(mechanism)
    most = periods if preload else 2**16

    def fits(hz: int) -> bool:
        return (hz % rate_hz == 0 and hz // rate_hz <= most and slowest % (2 * hz) == 0
                and all(t.clock_hz // (2 * hz) <= COUNTER_MAX // (1 if t.centred else 2) for t in timers.values()))

    if not fits(pwm_hz):
        fitting = [n * rate_hz for n in range(1, min(most, 1024) + 1) if fits(n * rate_hz)]
        widest = max(t.clock_hz // (1 if t.centred else 2) for t in timers.values())
        rule = (f"must be 1 to {most} times rate_hz = {rate_hz}, a divisor of "
                f"{slowest // 2_000_000} MHz, and at least {-(-widest // 2 // COUNTER_MAX)}")
        near = f"nearest: {min(fitting, key=lambda hz: abs(hz - pwm_hz))}" if fitting else "choose another rate_hz"
        raise BadInput(_file(mechanism), "board.pwm_hz", pwm_hz, rule, near)
    broken = {e.timer for e in board.outputs.estop}
    found = {name: _pwm_timer(board, name, preload, pwm_hz, rate_hz, tuple(sorted(outputs)), name in broken)
             for name, outputs in sorted(used.items())}
    driving = [t for t in found.values() if t.outputs] or list(found.values())
    return {
        "hz": pwm_hz,
        "timers": list(found.values()),
        "drives": [_drive(joint, c, found) for joint, c in joints],
        "tick_preload": int(preload),
        "currents": _currents(mechanism, board, joints),
        "ahead": 0 if preload else round(AHEAD_S * board.chip.sysclk_hz),
        "stop_by_software": int(any(t.protection != "FT_BREAK" for t in driving)),
        "duty_max": repr(board.outputs.duty_max),
        "dead_time": _dead_time(board),
        "freezes": " | ".join(f"DBGMCU_APB2FZ_DBG_{t.name}_STOP" for t in found.values() if t.protection != "FT_PLAIN") or "0u",
        "gate_driver": _gate_driver(board),
        "sense": _sense(mechanism, board),
    }


def _pwm_timer(board: Board, name: str, preload: bool, pwm_hz: int, rate_hz: int, outputs: tuple[int, ...],
               broken: bool) -> PwmTimer:
    timer = board.chip.timers[name]
    half = timer.clock_hz // (2 * pwm_hz)
    periods = pwm_hz // rate_hz if preload else 1
    complementary = any(pwm.timer == name and pwm.low for c in board.channels for _, pwm in c.switches)
    return PwmTimer(
        name, timer.centred, preload and not timer.centred,
        top=half if timer.centred else 2 * half - 1,
        start=half if preload and not timer.centred else 0,
        repetition=2 * periods - 1 if timer.centred else periods - 1,
        outputs=outputs,
        protection="FT_PLAIN" if not timer.repetition else "FT_BREAK" if broken else "FT_NO_BREAK",
        complementary=complementary)


@dataclass(frozen=True)
class Drive:
    """One joint's drive: compare value = neutral + span * x, x its duty or that without sign. opposite: 'timer,
    index' of the second half bridge, whose compare value is what remains of twice the neutral one. looped: a current loop
    drives it, and duties are currents."""

    kind: Literal["FT_NO_DRIVE", "FT_SIGN_MAGNITUDE", "FT_ANTIPHASE", "FT_HALF_BRIDGES"]
    compare: str
    opposite: str
    neutral: int
    span: int
    direction: str
    looped: bool = False


_UNDRIVEN = Drive("FT_NO_DRIVE", "0", "0", 0, 0, "PA0")


def _drive(joint: Joint, channel: Channel | None, timers: dict[str, PwmTimer]) -> Drive:
    if channel is None or joint.motor is None:
        return _UNDRIVEN
    timer = timers[channel.pwm.timer]

    def register(pwm: ChannelPwm | None) -> str:
        return f"&{pwm.timer}->CCR[{pwm.output - 1}]" if pwm else "0"

    sign, looped = -1 if timer.low_first else 1, joint.motor.drive == "current"
    compare, opposite = register(channel.pwm), register(channel.opposite)
    if channel.opposite or joint.motor.drive == "antiphase":
        half = timer.counts // 2
        return Drive("FT_HALF_BRIDGES" if channel.opposite else "FT_ANTIPHASE", compare, opposite, half, sign * half,
                     channel.direction or "PA0", looped)
    assert channel.direction is not None
    neutral = timer.counts if timer.low_first else 0
    return Drive("FT_SIGN_MAGNITUDE", compare, opposite, neutral, sign * timer.counts, channel.direction, looped)


@dataclass(frozen=True)
class CurrentLoop:
    """One joint's loop. joint: index. channel: of the converter. zero: counts at no current. off: counts by which it may
    differ. amperes: a count. full: A at a duty of 1. proportional: duty an ampere of error. integral: duty an ampere and PWM period.
    bound: of the duty. pulse: duty before the loop is closed; rise: A that it brings. patience: PWM periods in which a
    current must follow."""

    joint: int
    name: str
    channel: int
    zero: int
    off: int
    amperes: float
    full: float
    proportional: float
    integral: float
    bound: float
    pulse: float
    rise: float
    patience: int


def _currents(mechanism: Mechanism, board: Board, joints: list[tuple[Joint, Channel | None]]) -> dict[str, Any] | None:
    """The current loops, None if there are none."""
    assert mechanism.board is not None
    looped = [(i, joint) for i, (joint, c) in enumerate(joints) if c and joint.motor and joint.motor.drive == "current"]
    sampling = board.chip.sampling
    if not looped or sampling is None:
        return None
    if len(looped) > sampling.places:
        raise BadInput(_file(mechanism), f"joint.{looped[sampling.places][1].name}.motor.drive", "current",
                       f"the converter's sequence has {sampling.places} places")
    return {"loops": [_current_loop(mechanism, board, i, joint, rank) for rank, (i, joint) in enumerate(looped)],
            "trigger": sampling.trigger, "interrupt": sampling.interrupt, "trip": repr(CURRENT_TRIP),
            "pulse_periods": round(PULSE_S * mechanism.board.pwm_hz),
            "bandwidth_hz": mechanism.board.pwm_hz // CURRENT_LOOP}


def _current_loop(mechanism: Mechanism, board: Board, index: int, joint: Joint, rank: int) -> CurrentLoop:
    """The controller's zero cancels the winding's pole,

        duty = (2 pi f L e + 2 pi f R integral of e) / bus voltage,

    and the closed loop has the bandwidth f, a thirtieth of the PWM frequency: there the one and a half periods from a
    sample to the middle of what it brings about cost 18 degrees of phase and leave a margin of 72."""
    assert mechanism.board is not None and joint.motor is not None and board.chip.sampling is not None
    motor, sense = joint.motor, board.channels[joint.motor.channel].current
    assert sense is not None
    bus, pwm_hz = mechanism.board.bus_voltage, mechanism.board.pwm_hz
    bandwidth = 2.0 * math.pi * pwm_hz / CURRENT_LOOP
    bound = current_bound(mechanism, board, joint, rank)
    if bound < LOWEST_BOUND:
        most = math.floor((1.0 - LOWEST_BOUND) * pwm_hz / (1.0 - bound))
        raise BadInput(_file(mechanism), "board.pwm_hz", pwm_hz, f"leaves the loop of joint {joint.name!r} {max(bound, 0.0):.0%} "
                       "of the bus voltage: beyond that its shunt is blind when it is sampled", f"at most {most}")
    amperes = ADC_V / ADC_COUNTS / sense.volts_per_ampere
    pulse, rise = _pulse(mechanism, joint, abs(amperes))
    return CurrentLoop(
        index, joint.name, board.chip.sampling.channels[sense.pin], round(sense.zero_v / ADC_V * ADC_COUNTS),
        round(CURRENT_ZERO * sense.range_a / abs(amperes)), amperes, current_range(board, joint), bandwidth * motor.L / bus,
        bandwidth * motor.R / bus / pwm_hz, bound, pulse, rise,
        math.ceil(max(FOLLOW_S, FOLLOW_PERIODS * motor.L / motor.R) * pwm_hz))


def _pulse(mechanism: Mechanism, joint: Joint, count: float) -> tuple[float, float]:
    """(duty, A) of the pulse that shows a sensor's sign: what it brings by its end, a motor at rest. count: A."""
    assert mechanism.board is not None and joint.motor is not None
    motor = joint.motor
    whole = mechanism.board.bus_voltage / motor.R * (1.0 - math.exp(-PULSE_S * motor.R / motor.L))  # at a duty of 1
    wanted, least = PULSE_COUNTS
    duty = min(wanted * count / whole, PULSE_MOST)
    if duty * whole < least * count:
        raise BadInput(_file(mechanism), f"joint.{joint.name}.motor.drive", "current", f"{PULSE_MOST:.0%} of the bus voltage for "
                       f"{PULSE_S * 1e3:g} ms bring {duty * whole:.2g} A, less than {least} counts of the board's sensor: too "
                       "coarse to see its sign", "write 'voltage'")
    return duty, duty * whole


def _dead_time(board: Board) -> int:
    """DTG: timer clocks of dead time, exact up to 127; 0 without half bridges."""
    assert board.outputs is not None
    clocks = -(-board.outputs.dead_ns * board.chip.sysclk_hz // 10**9)
    if clocks > 127:
        raise BadInput(board.source.name, "outputs.dead_ns", board.outputs.dead_ns,
                       f"must be at most {127 * 10**9 // board.chip.sysclk_hz}")
    return clocks


# ---------------------------------------------------------------- gate driver

_TRIP_MV = (60, 68, 76, 86, 97, 109, 123, 138, 155, 175, 197, 222, 250, 282, 317, 358, 403, 454, 511, 576, 648, 730,
            822, 926, 1043, 1175, 1324, 1491, 1679, 1892, 2131, 2400)  # OC_ADJ_SET, DRV8301 data sheet table 13


def _gate_driver(board: Board) -> dict[str, int] | None:
    """Control registers of the DRV8301: six PWM inputs, latched shutdown at the next lower trip voltage, 1.7 A gate
    current; amplifier gain."""
    driver = board.gate_driver
    if driver is None:
        return None
    trip = max(i for i, mv in enumerate(_TRIP_MV) if mv <= driver.trip_mv)
    return {"control_1": trip << 6 | 1 << 4, "control_2": (10, 20, 40, 80).index(driver.gain) << 2}


# ---------------------------------------------------------------- bus voltage, temperatures


def _sense(mechanism: Mechanism, board: Board) -> dict[str, Any] | None:
    """Channels in the order of conversion, V of the bus a count, and what counts mean of a thermistor; None: the board
    measures nothing of itself."""
    sense = board.sense
    if not sense.pins:
        return None
    most = math.floor(1.0 / board.chip.sense.seconds(len(sense.pins)))
    if mechanism.control.rate_hz > most:
        raise BadInput(_file(mechanism), "control.rate_hz", mechanism.control.rate_hz, f"what board {board.name!r} measures of "
                       f"itself takes longer than that", f"at most {most}")
    return {"channels": [board.chip.analogue[pin] for _, pin in sense.pins],
            "volts": sense.bus.ratio * ADC_V / ADC_COUNTS if sense.bus else None,
            "celsius": thermistor.table(sense.temperature.thermistor) if sense.temperature else None}


def bus_most(board: Board) -> float:
    """V of the bus that a board can tell; infinite where it does not measure it."""
    return board.sense.bus.ratio * ADC_V * (1.0 - thermistor.RAIL / ADC_COUNTS) if board.sense.bus else math.inf


# ---------------------------------------------------------------- watchdog, pins, clocks


def _watchdog(board: Board, rate_hz: int) -> tuple[int, int]:
    """(prescaler code, reload) of the independent watchdog: 4 << code LSI cycles a count, 12 bits."""
    cycles = max(WATCHDOG_S, WATCHDOG_TICKS / rate_hz) * board.chip.lsi_hz
    code = next(c for c in range(7) if cycles / (4 << c) <= 4096)
    return code, round(cycles / (4 << code)) - 1


@dataclass(frozen=True)
class Pin:
    """One row of the pin table."""

    pin: str
    mode: str
    pull: str
    function: int
    use: str


def _pins(board: Board, joints: list[tuple[Joint, Channel | None]]) -> list[Pin]:
    """Every pin that this image uses. Inputs are pulled to their safe side; so are outputs until they are driven."""
    link, outputs, driver = board.link, board.outputs, board.gate_driver

    def alternate(pin: str, signal: str, pull: str, use: str) -> Pin:
        return Pin(pin, "FT_ALTERNATE", pull, board.function(signal, pin), use)

    pins = [alternate(link.tx.pin, f"{link.usart}_TX", "FT_UP", f"{link.usart} transmit"),
            alternate(link.rx.pin, f"{link.usart}_RX", "FT_UP", f"{link.usart} receive")]
    pins += [Pin(pin, "FT_OUTPUT", "FT_DOWN", 0, f"{name}: held low") for name, pin in board.low.items()]
    if outputs is None:
        return pins
    for loop in outputs.estop:
        pins.append(alternate(loop.pin, f"{loop.timer}_BKIN", "FT_DOWN", f"{loop.timer} break: e-stop loop") if loop.timer else
                    Pin(loop.pin, "FT_INPUT", "FT_DOWN", 0, "e-stop loop"))
    pins.append(Pin(outputs.enable, "FT_OUTPUT", "FT_DOWN", 0, "driver enable"))
    if outputs.fault:
        pins.append(Pin(outputs.fault, "FT_INPUT", "FT_UP", 0, "driver fault"))
    pins += [Pin(pin, "FT_ANALOGUE", "FT_FLOAT", 0, key.split(".")[1]) for key, pin in board.sense.pins]
    if driver:
        pins += [alternate(getattr(driver, line), f"{driver.spi}_{line.upper()}", "FT_DOWN", f"gate drivers {line}")
                 for line in ("sck", "miso", "mosi")]
        pins += [Pin(pin, "FT_OUTPUT_HIGH", "FT_UP", 0, "gate driver select") for pin in driver.selects]
    for joint, c in joints:
        if c is None:
            continue
        e = c.encoder
        for side, number in (("a", 1), ("b", 2)):
            pins.append(alternate(getattr(e, side), f"{e.timer}_CH{number}", "FT_UP",
                                  f"{joint.name}: encoder {side.upper()}, {e.timer}"))
        if e.index:
            pins.append(Pin(e.index, "FT_INPUT", "FT_DOWN", 0, f"{joint.name}: encoder index"))
        for _, pwm in c.switches:
            signal = f"{pwm.timer}_CH{pwm.output}"
            pins.append(alternate(pwm.pin, signal, "FT_DOWN", f"{joint.name}: PWM, {pwm.timer} output {pwm.output}"))
            if pwm.low:
                pins.append(alternate(pwm.low, f"{signal}N", "FT_DOWN", f"{joint.name}: its low switch"))
        if c.current and joint.motor and joint.motor.drive == "current":
            pins.append(Pin(c.current.pin, "FT_ANALOGUE", "FT_FLOAT", 0, f"{joint.name}: current"))
        if c.direction:
            use = "bridge enable" if joint.motor and joint.motor.drive == "antiphase" else "direction"
            pins.append(Pin(c.direction, "FT_OUTPUT", "FT_DOWN", 0, f"{joint.name}: {use}"))
    return pins


def _held_low(board: Board, pins: list[Pin]) -> list[Pin]:
    """Of these pins the link's, and as plain outputs all that could move something."""
    live = {pin for c in board.channels for _, pwm in c.switches for pin in (pwm.pin, pwm.low)}
    live |= {c.direction for c in board.channels} | set(board.low.values())
    live |= {board.outputs.enable} if board.outputs else set()
    return pins[:2] + [replace(p, mode="FT_OUTPUT", function=0, use=p.use.removesuffix(": held low") + ": held low")
                       for p in pins[2:] if p.pin in live]


def _clocks(board: Board, joints: list[tuple[Joint, Channel | None]]) -> dict[str, str]:
    """Enable bits a bus: every peripheral that this image uses, but for the ports."""
    chip = board.chip
    enables = {chip.usarts[board.link.usart].enable}
    enables |= {chip.dma_enable[getattr(board.link, side).dma[:4]] for side in ("tx", "rx")}
    for _, c in joints:
        enables |= {chip.timers[name].enable for name in (c.encoder.timer, *(p.timer for _, p in c.switches))} if c else set()
    if board.gate_driver:
        enables.add("APB1ENR_SPI3EN")
    if board.sense.pins:
        enables.add(chip.sense.enable)
    if _has_loops(joints) and chip.sampling:
        enables |= {chip.sampling.enable, chip.timers[chip.sampling.trigger].enable}
    found = {bus: " | ".join(f"RCC_{e}" for e in sorted(enables) if e.startswith(f"{bus}_")) for bus in chip.buses}
    return {bus: bits for bus, bits in found.items() if bits}


def _stream(board: Board, side: str) -> dict[str, Any]:
    """Unit, index within it and request of a DMA stream; channels are numbered from 1, streams from 0."""
    name = getattr(board.link, side).dma
    number = int(name[-1]) - ("Channel" in name)
    return {"unit": name[:4], "stream": number, "request": board.chip.usarts[board.link.usart].dma[side][name]}
