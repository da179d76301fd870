"""ft_board.h: one mechanism on its board, with all values for the chip's registers."""

import math
from dataclasses import dataclass, replace

from femtorque.codegen.board import (
    ADC_COUNTS, ADC_V, THERMISTOR_STEP, Board, BrakeOutput, Channel, CutoffOutput, Pll, Use, fieldbus, file_of,
    has_current_loops, served, thermistor_table, tick_cycles, uses)
from femtorque.codegen.common import BadInput, template
from femtorque.codegen.emit import blink, board_rows, pc_header
from femtorque.codegen.emit.board_rows import Place
from femtorque.codegen.emit.messages import longest_on_the_wire
from femtorque.codegen.emit.pwm import Pwm, output_timers
from femtorque.codegen.mechanism import Joint, Mechanism

SEND_MIN = 1024  # minimum size of the transmit buffer to the host, bytes; longer frames need a larger buffer
WATCHDOG_S = 0.1  # watchdog's time-out at the nominal rate of LSI, s; 68 ms with the fastest LSI
PIL_HZ = 4000  # minimum SysTick interrupts per second if the host grants ticks
WATCHDOG_TICKS = 10  # minimum time-out of the watchdog, ticks


@dataclass(frozen=True)
class Stream:
    """A DMA stream of the link: unit, index within the unit, request number."""

    unit: str
    stream: int
    request: int


@dataclass(frozen=True)
class Streams:
    """DMA streams of the link, for sending and receiving."""

    tx: Stream
    rx: Stream


@dataclass(frozen=True)
class Led:
    """The status LED."""

    place: Place
    on: int  # pin level that lights it
    ticks: int  # ticks per pattern step
    count: int  # patterns, one per state
    patterns: str


@dataclass(frozen=True)
class Brake:
    """The output of the holding brakes."""

    place: Place
    level: int  # the pin level that releases the brakes


@dataclass(frozen=True)
class GateDriver:
    """Control registers of the DRV8301, and the table rows of its select pins."""

    control_1: int
    control_2: int
    selects: str


@dataclass(frozen=True)
class Sense:
    """The board's measurements of voltage and temperature."""

    channels: str  # channels in the order of conversion, bus voltage first
    buses: int  # number of channels that measure the bus voltage
    volts: float  # volts per count of a bus-voltage channel
    celsius: str  # table of the thermistor; "" without a thermistor
    celsius_step: int


@dataclass(frozen=True)
class Driving:
    """Outputs, safety functions and measurements of a board that drives motors."""

    encoders: str
    indexes: str
    timers: str
    drives: str
    currents: str
    brake: Brake | None
    enable: Place
    wake_ticks: int
    estops: str
    driver_fault: Place | None
    pwm: Pwm
    gate_driver: GateDriver | None
    sense: Sense | None


@dataclass(frozen=True)
class Context:
    """Context of ft_board.h.j2.

    Names that end in _hsi refer to the fall-back clock. wire_out, wire_in: bytes of the buffers for half-duplex buses.
    """

    board: Board
    joints: int
    hse_khz: int
    pll: Pll
    sysclk_hz: int
    clock_mhz: int
    clock_mhz_hsi: int
    rate_hz: int
    tick_cycles: int
    tick_cycles_hsi: int
    pil: int  # 1 if the host simulates the plant
    wakes: int  # SysTick interrupts per tick
    bus_voltage: str
    pins: str
    clocks: str
    led: Led | None
    cutoff: Place | None
    brr: int
    brr_hsi: int
    interrupt: int
    loader: int  # 1 if the boot loader does not use the pin that enables the drivers
    bus_count: int
    bus_most: int  # maximum number of frames per tick on one bus
    bus_rows: str
    bus_interrupts: str
    wire_count: int
    wire_out: int
    wire_in: int
    wire_rows: str
    vectors: str
    dma: Streams
    send_size: int
    watchdog_prescaler: int
    watchdog_reload: int
    driving: Driving | None


def render(mechanism: Mechanism, board: Board, pil: bool = False) -> dict[str, str]:
    """Return ft_board.h of one mechanism on one board, {file name: text}.

    Raise BadInput if the board cannot do this. pil: the host simulates the plant, and every pin that could cause motion
    stays low."""
    if board.is_pc:
        return pc_header.render(mechanism, board, pil)
    for joint, channel in served(mechanism, board) if pil else ():
        if channel and joint.motor and joint.motor.drive == "current":
            raise BadInput(file_of(mechanism), f"joint.{joint.name}.motor.drive", "current",
                           "a plant at the host takes "
                           "duties for voltages, and the board has no current to control", "write 'voltage'")
    if pil and (bussed := fieldbus.drives(mechanism)):
        raise BadInput(file_of(mechanism), f"joint.{bussed[0][1].name}.drive", None,
                       "a plant at the host takes duties, and a drive on a bus has none")
    return {"ft_board.h": template("ft_board.h").render(vars(_context(mechanism, board, pil)))}


def _context(mechanism: Mechanism, board: Board, pil: bool) -> Context:
    pll = board.chip.pll(board.hse_hz)
    assert mechanism.board is not None and pll is not None
    rate_hz, chip = mechanism.control.rate_hz, board.chip
    joints = served(mechanism, board)
    brake = _brake(mechanism, board)
    wired, lines = fieldbus.wired(mechanism, board), fieldbus.lines(mechanism, board)
    cutoff = _cutoff(mechanism, board)
    outputs = {name for name, there in (("brake", brake), ("cutoff", cutoff)) if there is not None}
    used = _served_uses(board, joints, outputs, {w.bus.name for w in wired} | {w.bus.name for w in lines})
    prescaler, reload = _watchdog(board, rate_hz)
    usart = chip.usarts[board.link.usart]
    return Context(
        board=board,
        joints=len(joints),
        hse_khz=board.hse_hz // 1000,
        pll=pll,
        sysclk_hz=chip.sysclk_hz,
        clock_mhz=chip.sysclk_hz // 1_000_000,
        clock_mhz_hsi=chip.hsi_hz // 1_000_000,
        rate_hz=rate_hz,
        tick_cycles=tick_cycles(mechanism, board),
        tick_cycles_hsi=chip.hsi_hz // rate_hz,
        pil=int(pil),
        wakes=-(-PIL_HZ // rate_hz) if pil else 1,
        bus_voltage=repr(float(mechanism.board.bus_voltage)),
        pins=board_rows.table(_pin(board, use) for use in (_held_low(used) if pil else used) if use.is_pin),
        clocks=board_rows.table(f"FT_CLOCK({bus}, {bits})" for bus, bits in _clocks(board, used).items()),
        led=None if pil or board.led is None else _led(board, rate_hz),
        cutoff=board_rows.place(chip, cutoff.pin) if cutoff and not pil else None,
        brr=round(usart.steps * usart.clock_hz / board.baud),
        brr_hsi=round(usart.steps * chip.hsi_hz / board.baud),
        interrupt=usart.interrupt,
        loader=int(board.loader_safe),
        bus_count=len(wired),
        bus_most=max((fieldbus.frames_a_tick(w.drives) for w in wired), default=0),
        bus_rows=board_rows.buses(wired),
        bus_interrupts=", ".join(str(n) for w in wired for n in w.controller.interrupts),
        wire_count=len(lines),
        wire_out=max((fieldbus.wire_out(line.bus, len(line.drives)) for line in lines), default=0),
        wire_in=max((fieldbus.wire_in(line.bus, len(line.drives), rate_hz) for line in lines), default=0),
        wire_rows=board_rows.wires(chip, lines),
        vectors=board_rows.table(_vectors(board, not pil and has_current_loops(joints), wired), ","),
        dma=Streams(_stream(board, "tx"), _stream(board, "rx")),
        send_size=max(SEND_MIN, 1 << (longest_on_the_wire("host", len(joints)) - 1).bit_length()),
        watchdog_prescaler=prescaler,
        watchdog_reload=reload,
        driving=_driving(mechanism, board, joints, brake) if board.outputs and not pil else None,
    )


def _driving(mechanism: Mechanism, board: Board, joints: list[tuple[Joint, Channel | None]],
             brake: BrakeOutput | None) -> Driving:
    assert board.outputs is not None
    chip, outputs = board.chip, board.outputs
    pwm = output_timers(mechanism, board, joints)
    return Driving(
        encoders=board_rows.encoders(chip, joints),
        indexes=board_rows.indexes(chip, joints),
        timers=board_rows.timers(pwm.timers),
        drives=board_rows.drives(chip, joints, pwm.drives),
        currents=board_rows.currents(pwm.currents.loops) if pwm.currents else "",
        brake=Brake(board_rows.place(chip, brake.pin), int(brake.release == "high")) if brake else None,
        enable=board_rows.place(chip, outputs.enable),
        wake_ticks=outputs.wake_ticks(mechanism.control.rate_hz),
        estops=board_rows.estops(chip, outputs),
        driver_fault=board_rows.place(chip, outputs.fault) if outputs.fault else None,
        pwm=pwm,
        gate_driver=_gate_driver(board),
        sense=_sense(mechanism, board),
    )


def _led(board: Board, rate_hz: int) -> Led:
    assert board.led is not None
    words = [f"0x{word:04X}u" for word in blink.words()]
    return Led(
        board_rows.place(board.chip, board.led.pin), on=int(board.led.on == "high"), ticks=blink.ticks(rate_hz),
        count=len(words), patterns=board_rows.table((", ".join(words[i:i + 6]) for i in range(0, len(words), 6)), ","))


def _brake(mechanism: Mechanism, board: Board) -> BrakeOutput | None:
    """Return the output of the holding brakes, or None without brakes. A board without outputs needs no brake."""
    if mechanism.safety.brake is None or board.outputs is None:
        return None
    if board.brake is None:
        raise BadInput(file_of(mechanism), "safety.brake", None, f"board {board.name!r} has no output for brakes",
                       "write [brake] with a pin into a board file of your own")
    return board.brake


def _vectors(board: Board, loops: bool, wired: tuple[fieldbus.Wired, ...]) -> list[str]:
    """Return the handlers of all peripheral interrupts, in rows of four. An interrupt without a handler is a fault."""
    used = {board.chip.usarts[board.link.usart].interrupt: "ft_port_interrupt"}
    if loops and board.chip.sampling:
        used[board.chip.sampling.interrupt] = "ft_current_interrupt"
    for i, w in enumerate(wired):
        used |= dict.fromkeys(w.controller.interrupts, f"ft_bus_{i}_interrupt")
    names = [used.get(n, "ft_crash_entry") for n in range(board.chip.interrupts)]
    return [", ".join(names[i:i + 4]) for i in range(0, len(names), 4)]


_TRIP_MV = (60, 68, 76, 86, 97, 109, 123, 138, 155, 175, 197, 222, 250, 282, 317, 358, 403, 454, 511, 576, 648, 730,
            822, 926, 1043, 1175, 1324, 1491, 1679, 1892, 2131, 2400)  # OC_ADJ_SET, DRV8301 data sheet table 13


def _gate_driver(board: Board) -> GateDriver | None:
    """Return the control registers of the DRV8301 and its select pins.

    The register values select six PWM inputs, latched shutdown at the next lower trip voltage, 1.7 A gate current, and
    the amplifier's gain."""
    driver = board.gate_driver
    if driver is None:
        return None
    trip = max(i for i, mv in enumerate(_TRIP_MV) if mv <= driver.trip_mv)
    return GateDriver(control_1=trip << 6 | 1 << 4, control_2=(10, 20, 40, 80).index(driver.gain) << 2,
                      selects=board_rows.selects(board.chip, driver))


def _sense(mechanism: Mechanism, board: Board) -> Sense | None:
    """Return the board's measurements of voltage and temperature; None if the board measures neither."""
    sense = board.sense
    if not sense.pins:
        return None
    most = math.floor(1.0 / board.chip.sense.seconds(len(sense.pins)))
    if mechanism.control.rate_hz > most:
        raise BadInput(file_of(mechanism), "control.rate_hz", mechanism.control.rate_hz,
                       f"what board {board.name!r} measures of "
                       f"itself takes longer than that", f"at most {most}")
    return Sense(
        channels=", ".join(str(board.chip.analogue[pin]) for _, pin in sense.pins),
        buses=int(sense.bus is not None),
        volts=sense.bus.ratio * ADC_V / ADC_COUNTS if sense.bus else 0.0,
        celsius=board_rows.celsius(thermistor_table(sense.temperature.thermistor)) if sense.temperature else "",
        celsius_step=THERMISTOR_STEP)


def watchdog_s(rate_hz: int) -> float:
    """Return the watchdog's time-out, s, at the nominal rate of LSI."""
    return max(WATCHDOG_S, WATCHDOG_TICKS / rate_hz)


def _watchdog(board: Board, rate_hz: int) -> tuple[int, int]:
    """Return (prescaler code, reload) of the independent watchdog: 4 << code LSI cycles per count, 12 bits."""
    cycles = watchdog_s(rate_hz) * board.chip.lsi_hz
    code = next(c for c in range(7) if cycles / (4 << c) <= 4096)
    return code, round(cycles / (4 << code)) - 1


def _cutoff(mechanism: Mechanism, board: Board) -> CutoffOutput | None:
    """Return the output that switches the servos' supply; None if [safety.cutoff] is absent."""
    if mechanism.safety.cutoff is None:
        return None
    if board.cutoff is None:
        raise BadInput(file_of(mechanism), "safety.cutoff", None,
                       f"board {board.name!r} has no output for the servos' supply",
                       "write [cutoff] with a pin into a board file of your own")
    if not fieldbus.wires(mechanism):
        raise BadInput(file_of(mechanism), "safety.cutoff", None, "has no use without servos on a wire", "remove it")
    return board.cutoff


def _served_uses(board: Board, joints: list[tuple[Joint, Channel | None]], outputs: set[str],
                 buses: set[str]) -> list[Use]:
    """Return the board resources that the image uses.

    Uses by joints have the joints' order and names. outputs: pins of the brakes and of the servos' supply, if the
    mechanism has them."""
    unused = tuple(f"{kind}.{name}." for kind, there in (("can", board.can), ("half_duplex", board.half_duplex))
                   for name in there if name not in buses)
    found = [use for use in uses(board) if not (unused and use.key.startswith(unused))]
    served = [use for use in found if use.channel is None and use.key not in ("brake.pin", "cutoff.pin")]
    if board.channels and not any(channel for _, channel in joints):
        timer = board.idle_timer  # this timer drives no output, but defines the ticks and has the e-stop's input
        served.append(Use("channel.0.pwm.timer", timer, clocks=(board.chip.timers[timer].enable,)))
    for joint, channel in joints:
        if channel and joint.motor:
            served += [_of_joint(use, joint) for use in found if use.channel == joint.motor.channel
                       and (use.label != "current" or joint.motor.drive == "current")]
    return served + [use for use in found if use.key in {f"{name}.pin" for name in outputs}]


def _of_joint(use: Use, joint: Joint) -> Use:
    """Return a use whose label begins with the joint. An antiphase bridge has its enable on the direction pin."""
    assert joint.motor is not None
    enables = use.label == "direction" and joint.motor.drive == "antiphase"
    return replace(use, label=use.label and f"{joint.name}: {'bridge enable' if enables else use.label}")


def _pin(board: Board, use: Use) -> str:
    """Return a row of the pin table."""
    function = board.function(use.signal, use.resource) if use.signal else 0
    return (f"FT_PIN({board_rows.at(board.chip, use.resource)}, FT_{use.mode.upper()}, FT_{use.pull.upper()}, "
            f"{function}) /* {use.resource} {use.label} */")


def _held_low(used: list[Use]) -> list[Use]:
    """Return the uses of an image with low pins: the link, and as outputs all pins that could cause motion."""
    return [use if use.key.startswith("link.") else
            replace(use, mode="output", signal="", label=use.label.removesuffix(": held low") + ": held low")
            for use in used if use.moves or use.key.startswith("link.")]


def _clocks(board: Board, used: list[Use]) -> dict[str, str]:
    """Return the clock-enable bits of all peripherals in this image, by register, except for ports."""
    enables = sorted({bit for use in used for bit in use.clocks})
    found = {bus: " | ".join(f"RCC_{bit}" for bit in enables if bit.startswith(f"{bus}_")) for bus in board.chip.buses}
    return {bus: bits for bus, bits in found.items() if bits}


def _stream(board: Board, side: str) -> Stream:
    name = getattr(board.link, side).dma
    unit, number = board_rows.stream(name)
    return Stream(unit, number, board.chip.usarts[board.link.usart].dma[side][name])
