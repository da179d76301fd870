"""Boards: a file of firmware/boards says which pins and timers serve which channel; here it is read, checked and,
for one mechanism, rendered to ft_board.h with every number that the chip's registers need.

A board file holds `name`, `chip` (a folder of firmware/chip), `hse_hz`, `lead` (ticks from a tick to the interval in
which its duty is held), `[link]`, and, where it drives motors, `[outputs]`, `[encoders]` and one `[[channel]]` a
motor: encoder timer with its two pins, PWM output of the output timer, direction pin. `[reserved]` names the pins
that are wired to something else. `af` is the pin's alternate function.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

from jinja2 import Environment, PackageLoader, StrictUndefined
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from codegen import chip_stm32f4 as chip
from codegen.errors import BadInput
from codegen.mechanism import Joint, Mechanism
from codegen.message_source import longest_on_the_wire
from codegen.nearest import hint, nearest

BOARDS = Path(__file__).resolve().parent.parent / "firmware" / "boards"

UPDATES_MAX = 256  # the repetition counter has 8 bits
COUNTER_MAX = 0xFFFF  # the output timer has 16 bits
SEND_MIN = 1024  # bytes to the host that can wait, at least; more where a frame is longer
WATCHDOG_S = 0.1  # at LSI's nominal rate; 68 ms on the fastest part
PIL_HZ = 4000  # SysTick's interrupts a second, at least, where ticks are granted by the host
WATCHDOG_TICKS = 10  # and never fewer ticks than this


class Table(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


PinName = Annotated[str, Field(pattern=r"^P[A-I]([0-9]|1[0-5])$")]
Function = Annotated[int, Field(ge=0, le=15)]


class AlternatePin(Table):
    pin: PinName
    af: Function


class LinkPin(AlternatePin):
    dma: Annotated[str, Field(pattern=r"^DMA[12]_Stream[0-7]$")]


class Link(Table):
    usart: Literal["USART1", "USART2", "USART3", "USART6"]
    baud: Annotated[int, Field(gt=0)]
    tx: LinkPin
    rx: LinkPin


class Outputs(Table):
    timer: Literal["TIM1", "TIM8"]
    enable: PinName
    break_: Annotated[AlternatePin, Field(alias="break")]


class Encoders(Table):
    filter: Annotated[int, Field(ge=0, le=15)]


class ChannelEncoder(Table):
    timer: Literal["TIM1", "TIM2", "TIM3", "TIM4", "TIM5", "TIM8"]
    a: PinName
    b: PinName
    af: Function


class ChannelPwm(AlternatePin):
    output: Annotated[int, Field(ge=1, le=4)]


class Channel(Table):
    """What serves one motor."""

    encoder: ChannelEncoder
    pwm: ChannelPwm
    direction: PinName


class BoardFile(Table):
    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9.-]*$", max_length=15)]
    chip: Literal["stm32f4"]
    hse_hz: Annotated[int, Field(ge=4_000_000, le=26_000_000)]
    lead: Annotated[int, Field(ge=0, le=2)]
    link: Link
    outputs: Outputs | None = None
    encoders: Encoders | None = None
    channel: list[Channel] = []
    reserved: dict[str, PinName] = {}


@dataclass(frozen=True)
class Board:
    """A checked board. lead: ticks. baud: of the host link."""

    name: str
    chip: str
    hse_hz: int
    lead: int
    link: Link
    outputs: Outputs | None
    encoders: Encoders | None
    channels: tuple[Channel, ...]
    source: Path

    @property
    def baud(self) -> int:
        return self.link.baud

    @property
    def core_hz(self) -> int:
        """Cycles a second, as the control tick's cost is counted."""
        return chip.SYSCLK_HZ


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
    board = Board(file.name, file.chip, file.hse_hz, file.lead, file.link, file.outputs, file.encoders,
                  tuple(file.channel), path)
    if file.name != path.stem:
        raise BadInput(path.name, "name", file.name, "must be the file's name", f"write name = {path.stem!r}")
    _check_sections(board)
    _check_functions(board)
    _check_claims(board, file.reserved)
    _check_link(board)
    if chip.pll(board.hse_hz) is None:
        raise BadInput(path.name, "hse_hz", board.hse_hz, f"cannot make {chip.SYSCLK_HZ // 10**6} MHz",
                       "8, 12, 16 and 25 MHz can")
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
        "link": Link, "tx": LinkPin, "rx": LinkPin, "outputs": Outputs, "break": AlternatePin, "encoders": Encoders,
        "channel": Channel, "encoder": ChannelEncoder, "pwm": ChannelPwm}
    last = next((str(step) for step in reversed(where) if isinstance(step, str)), "")
    fields = tables.get(last, BoardFile).model_fields
    return [f.alias or name for name, f in fields.items()]


# ---------------------------------------------------------------- what keys say together


def _check_sections(board: Board) -> None:
    """A board with channels needs outputs and encoders, and a lead of a tick: duties are preloaded."""
    for key, there in (("outputs", board.outputs), ("encoders", board.encoders)):
        if bool(board.channels) != (there is not None):
            rule = "is required by the channels" if board.channels else "has no use without a [[channel]]"
            raise BadInput(board.source.name, key, None, rule)
    if board.channels and board.lead != 1:
        raise BadInput(board.source.name, "lead", board.lead, "must be 1: the output timer takes a duty over at the "
                       "update after the tick that computed it")


def _check_functions(board: Board) -> None:
    """Every alternate function must be the one on which the chip has that peripheral."""
    uses: list[tuple[str, str, int, int]] = []  # key, peripheral, af given, af right
    usart = chip.USARTS[board.link.usart]
    uses += [(f"link.{side}.af", board.link.usart, getattr(board.link, side).af, usart.af) for side in ("tx", "rx")]
    if board.outputs:
        timer = board.outputs.timer
        right = chip.OUTPUT_TIMERS[timer].af
        uses.append(("outputs.break.af", timer, board.outputs.break_.af, right))
        uses += [(f"channel.{i}.pwm.af", timer, c.pwm.af, right) for i, c in enumerate(board.channels)]
    uses += [(f"channel.{i}.encoder.af", c.encoder.timer, c.encoder.af, chip.ENCODER_TIMERS[c.encoder.timer].af)
             for i, c in enumerate(board.channels)]
    for key, peripheral, given, right in uses:
        if given != right:
            raise BadInput(board.source.name, key, given, f"{peripheral} is alternate function {right}")


def _check_claims(board: Board, reserved: dict[str, str]) -> None:
    """No pin, timer, timer output or DMA stream may have two users."""
    claims: list[tuple[str, str]] = []  # resource, user
    claims += [(pin, f"reserved.{name}") for name, pin in reserved.items()]
    for side in ("tx", "rx"):
        wired: LinkPin = getattr(board.link, side)
        claims += [(wired.pin, f"link.{side}.pin"), (wired.dma, f"link.{side}.dma")]
    if board.outputs:
        claims += [(board.outputs.timer, "outputs.timer"), (board.outputs.enable, "outputs.enable"),
                   (board.outputs.break_.pin, "outputs.break.pin")]
        for i, c in enumerate(board.channels):
            key = f"channel.{i}"
            claims += [(c.encoder.timer, f"{key}.encoder.timer"), (c.encoder.a, f"{key}.encoder.a"),
                       (c.encoder.b, f"{key}.encoder.b"), (c.pwm.pin, f"{key}.pwm.pin"),
                       (f"{board.outputs.timer} output {c.pwm.output}", f"{key}.pwm.output"),
                       (c.direction, f"{key}.direction")]
    users: dict[str, str] = {}
    for resource, user in claims:
        if resource in users:
            raise BadInput(board.source.name, user, resource, f"is already used by {users[resource]}")
        users[resource] = user


def _check_link(board: Board) -> None:
    """The DMA streams must be able to serve the USART; the baud rate must be exact on both clock trees."""
    usart = chip.USARTS[board.link.usart]
    for side in ("tx", "rx"):
        stream = getattr(board.link, side).dma
        if stream not in usart.dma[side]:
            raise BadInput(board.source.name, f"link.{side}.dma", stream, f"does not serve {board.link.usart} {side}",
                           "use " + " or ".join(usart.dma[side]))
    baud = board.link.baud
    for clock_hz in (usart.clock_hz, chip.HSI_HZ):
        divider = round(clock_hz / baud)
        if divider < 16 or abs(clock_hz / divider / baud - 1.0) > 0.005:
            fitting = [clock_hz // d for d in range(16, 400) if all(
                c % (clock_hz // d) == 0 for c in (usart.clock_hz, chip.HSI_HZ)) and clock_hz % d == 0]
            near = min(fitting, key=lambda b: abs(b - baud))
            raise BadInput(board.source.name, "link.baud", baud,
                           f"cannot be made within 0.5 % from {clock_hz / 1e6:g} MHz", f"nearest: {near}")


# ---------------------------------------------------------------- rendering


def render(mechanism: Mechanism, board: Board, pil: bool = False) -> dict[str, str]:
    """ft_board.h of one mechanism on one board: {file name: text}. Raises BadInput.

    pil: with the plant at the host; every pin that could move something is then held low for good.
    """
    env = Environment(loader=PackageLoader("codegen"), undefined=StrictUndefined, keep_trailing_newline=True,
                      trim_blocks=True, lstrip_blocks=True)
    return {"ft_board.h": env.get_template("ft_board.h.j2").render(_context(mechanism, board, pil))}


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
        return [(joint, None) for joint in mechanism.moving]
    driven = [j for j in mechanism.moving if j.actuated]
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
    return [(j, board.channels[j.motor.channel] if j.motor and j.actuated else None) for j in mechanism.moving]


def _file(mechanism: Mechanism) -> object:
    return mechanism.source or mechanism.name


def _context(mechanism: Mechanism, board: Board, pil: bool) -> dict[str, Any]:
    """Everything the template lays out."""
    assert mechanism.board is not None
    rate_hz = mechanism.control.rate_hz
    joints = served(mechanism, board)
    tick_cycles = _tick_cycles(mechanism)
    prescaler, reload = _watchdog(rate_hz)
    usart = chip.USARTS[board.link.usart]
    return {
        "board": board,
        "joints": joints,
        "pll": chip.pll(board.hse_hz),
        "sysclk_hz": chip.SYSCLK_HZ,
        "rate_hz": rate_hz,
        "tick_cycles": tick_cycles,
        "tick_cycles_hsi": chip.HSI_HZ // rate_hz,
        "pil": int(pil),
        "wakes": -(-PIL_HZ // rate_hz) if pil else 1,
        "bus_voltage": repr(float(mechanism.board.bus_voltage)),
        "pins": _held_low(board, _pins(board, joints)) if pil else _pins(board, joints),
        "clocks": _clocks(board, joints),
        "ranges": {name: "0xFFFFFFFFu" if t.bits == 32 else "0xFFFFu" for name, t in chip.ENCODER_TIMERS.items()},
        "pwm": _pwm(mechanism, board, joints) if board.outputs and not pil else None,
        "port": lambda pin: chip.PORTS.index(pin[1]),
        "bit": lambda pin: int(pin[2:]),
        "brr": round(usart.clock_hz / board.baud),
        "brr_hsi": round(chip.HSI_HZ / board.baud),
        "dma": {side: _stream(board, side) for side in ("tx", "rx")},
        "send_size": max(SEND_MIN, 1 << (longest_on_the_wire("host", len(joints)) - 1).bit_length()),
        "watchdog_prescaler": prescaler,
        "watchdog_reload": reload,
    }


def _tick_cycles(mechanism: Mechanism) -> int:
    """Processor cycles a tick: whole, and within SysTick's 24 bits."""
    rate_hz = mechanism.control.rate_hz

    def fits(rate: int) -> bool:
        return chip.SYSCLK_HZ % rate == 0 and chip.SYSCLK_HZ // rate <= 2**chip.SYSTICK_BITS

    if not fits(rate_hz):
        near = min((r for r in range(11, 100_001) if fits(r)), key=lambda r: abs(r - rate_hz))
        raise BadInput(_file(mechanism), "control.rate_hz", rate_hz,
                       f"a tick must be a whole number of the {chip.SYSCLK_HZ // 10**6} MHz clock's cycles, at most "
                       f"2^{chip.SYSTICK_BITS}", f"nearest: {near}")
    return chip.SYSCLK_HZ // rate_hz


def _pwm(mechanism: Mechanism, board: Board, joints: list[tuple[Joint, Channel | None]]) -> dict[str, Any]:
    """Top, repetition and output enables of the output timer.

    The counter runs up and down, 2 top cycles a period. Its update comes every `repetition + 1` turning points and
    must come once a tick and always at the top, so a tick holds a whole number of PWM periods.
    """
    assert mechanism.board is not None
    rate_hz, pwm_hz = mechanism.control.rate_hz, mechanism.board.pwm_hz

    def fits(hz: int) -> bool:
        return (hz % rate_hz == 0 and 2 * hz // rate_hz <= UPDATES_MAX and chip.SYSCLK_HZ % (2 * hz) == 0
                and chip.SYSCLK_HZ // (2 * hz) <= COUNTER_MAX)

    if not fits(pwm_hz):
        fitting = [n * rate_hz for n in range(1, UPDATES_MAX // 2 + 1) if fits(n * rate_hz)]
        rule = (f"must be 1 to {UPDATES_MAX // 2} times rate_hz = {rate_hz}, a divisor of "
                f"{chip.SYSCLK_HZ // 2_000_000} MHz, and at least {-(-chip.SYSCLK_HZ // 2 // COUNTER_MAX)}")
        near = f"nearest: {min(fitting, key=lambda hz: abs(hz - pwm_hz))}" if fitting else "choose another rate_hz"
        raise BadInput(_file(mechanism), "board.pwm_hz", pwm_hz, rule, near)
    outputs = [c.pwm.output for _, c in joints if c]
    return {
        "hz": pwm_hz,
        "top": chip.SYSCLK_HZ // (2 * pwm_hz),
        "repetition": 2 * pwm_hz // rate_hz - 1,
        "ccer": " | ".join(f"1u << {4 * (n - 1)}" for n in sorted(outputs)),
    }


def _watchdog(rate_hz: int) -> tuple[int, int]:
    """(prescaler code, reload) of the independent watchdog: 4 << code LSI cycles a count, 12 bits."""
    cycles = max(WATCHDOG_S, WATCHDOG_TICKS / rate_hz) * chip.LSI_HZ
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
    link = board.link
    pins = [Pin(link.tx.pin, "FT_ALTERNATE", "FT_UP", link.tx.af, f"{link.usart} transmit"),
            Pin(link.rx.pin, "FT_ALTERNATE", "FT_UP", link.rx.af, f"{link.usart} receive")]
    if board.outputs:
        stop = board.outputs.break_
        pins += [Pin(stop.pin, "FT_ALTERNATE", "FT_DOWN", stop.af, f"{board.outputs.timer} break: e-stop loop"),
                 Pin(board.outputs.enable, "FT_OUTPUT", "FT_DOWN", 0, "driver enable")]
    for joint, c in joints:
        if c is None or board.outputs is None:
            continue
        e = c.encoder
        pins += [Pin(e.a, "FT_ALTERNATE", "FT_UP", e.af, f"{joint.name}: encoder A, {e.timer}"),
                 Pin(e.b, "FT_ALTERNATE", "FT_UP", e.af, f"{joint.name}: encoder B, {e.timer}"),
                 Pin(c.pwm.pin, "FT_ALTERNATE", "FT_DOWN", c.pwm.af,
                     f"{joint.name}: PWM, {board.outputs.timer} output {c.pwm.output}"),
                 Pin(c.direction, "FT_OUTPUT", "FT_DOWN", 0, f"{joint.name}: direction")]
    return pins


def _held_low(board: Board, pins: list[Pin]) -> list[Pin]:
    """Of these pins the link's, and as plain outputs all that could move something."""
    live = {pin for c in board.channels for pin in (c.pwm.pin, c.direction)}
    live |= {board.outputs.enable} if board.outputs else set()
    return pins[:2] + [replace(p, mode="FT_OUTPUT", function=0, use=f"{p.use}: held low")
                       for p in pins if p.pin in live]


def _clocks(board: Board, joints: list[tuple[Joint, Channel | None]]) -> dict[str, str]:
    """Enable bits a bus: every peripheral that this image uses."""
    enables = {chip.USARTS[board.link.usart].enable}
    enables |= {f"AHB1ENR_{getattr(board.link, side).dma[:4]}EN" for side in ("tx", "rx")}
    enables |= {chip.ENCODER_TIMERS[c.encoder.timer].enable for _, c in joints if c}
    if board.outputs:
        enables.add(chip.OUTPUT_TIMERS[board.outputs.timer].enable)
    buses = ("AHB1ENR", "APB1ENR", "APB2ENR")
    return {bus: " | ".join(f"RCC_{e}" for e in sorted(enables) if e.startswith(bus)) or "0u" for bus in buses}


def _stream(board: Board, side: str) -> dict[str, Any]:
    name = getattr(board.link, side).dma
    return {"unit": name[:4], "stream": int(name[-1]), "channel": chip.USARTS[board.link.usart].dma[side][name]}
