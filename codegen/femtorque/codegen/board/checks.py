"""Checks across a whole board file: existing peripherals, and one user per pin."""

from collections.abc import Mapping

from femtorque.codegen.board.chip import Timer
from femtorque.codegen.board.description import Board, Channel, CurrentSense, Outputs
from femtorque.codegen.board.pin_uses import Use, uses
from femtorque.codegen.common import BadInput, hint

BAUD_ERROR = 0.005  # far below the baud-rate error that both ends of the link tolerate
CURRENT_ZERO = 0.1  # largest zero offset, as a fraction of the sensor's range


def check(board: Board) -> None:
    """Raise BadInput for the first fault of the board file."""
    _sections(board)
    _peripherals(board)
    _claims(board)
    _pins(board)
    _link(board)
    _headers(board)


def _sections(board: Board) -> None:
    """Check which sections the board needs.

    A board with channels needs outputs, encoders and a lead of one tick, because the timers load a duty at the next
    tick. A board with only buses needs outputs and a timer."""
    file, driving = board.source.name, bool(board.channels or board.can or board.half_duplex)
    for key, there, needed in (("outputs", board.outputs, driving), ("encoders", board.encoders,
                                                                      bool(board.channels))):
        if needed != (there is not None):
            who = "channels" if board.channels else "buses"
            raise BadInput(file, key, None, f"is required by the {who}" if needed else
                           "has no use without a [[channel]]")
    if board.outputs is None:
        for key, useless in (("sense", bool(board.sense.pins)), ("brake", board.brake is not None),
                             ("cutoff", board.cutoff is not None)):
            if useless:
                raise BadInput(file, key, None, "has no use without a [[channel]]")
        return
    if board.cutoff and not board.half_duplex:
        raise BadInput(file, "cutoff", None, "has no use without a wire of servos, [half_duplex]")
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
    _idle_timer(board, board.outputs)
    if (board.outputs.continuous_a is None) != (board.outputs.thermal_s is None):
        raise BadInput(file, "outputs.continuous_a", board.outputs.continuous_a,
                       "goes with thermal_s: give both or neither")
    if board.outputs.wake_us and (board.gate_driver or not board.channels):
        raise BadInput(file, "outputs.wake_us", board.outputs.wake_us, "has no use without a [[channel]]"
                       if not board.channels else "has no use with [gate_driver], which is awake from the start on",
                       "leave it out")
    if any(c.opposite for c in board.channels) and not board.outputs.dead_ns:
        raise BadInput(file, "outputs.dead_ns", None, "is required by half bridges")
    broken = {e.timer for e in board.outputs.estop}
    for i, c in enumerate(board.channels):
        if c.direction and c.pwm.timer not in broken and not board.outputs.gated:
            raise BadInput(file, f"channel.{i}.pwm.timer", c.pwm.timer, "has no break input in outputs.estop: nothing "
                           "but software would stop it", "let the loop cut the enable pin and write gated = true")


def _idle_timer(board: Board, outputs: Outputs) -> None:
    """Check the timer that makes the ticks of a board without channels. The timer's break must be the e-stop loop."""
    file, key = board.source.name, "outputs.timer"
    if bool(board.channels) == (outputs.timer is not None):
        raise BadInput(file, key, outputs.timer, "has no use where channels have timers" if outputs.timer else
                       "is required without a [[channel]]")
    if outputs.timer and outputs.timer not in {e.timer for e in outputs.estop}:
        raise BadInput(file, key, outputs.timer, "has no break input in outputs.estop")


def _timer(board: Board, key: str, name: str) -> Timer:
    """Return the chip's timer with this name."""
    timers = board.chip.timers
    if name not in timers:
        raise BadInput(board.source.name, key, name, f"{board.chip.part} has no such timer, or none of use here",
                       hint(name, list(timers), "timers"))
    return timers[name]


def _peripherals(board: Board) -> None:
    """Check that every timer and port exists and supports the functions that the board file asks for."""
    file = board.source.name
    if board.link.usart not in board.chip.usarts:
        raise BadInput(file, "link.usart", board.link.usart, f"{board.chip.part} has no such link",
                       hint(board.link.usart, list(board.chip.usarts), "links"))
    for name, pins in board.can.items():
        if pins.controller not in board.chip.cans:
            raise BadInput(file, f"can.{name}.controller", pins.controller, f"{board.chip.part} has no such controller",
                           hint(pins.controller, list(board.chip.cans), "controllers"))
    for name, wire in board.half_duplex.items():
        if wire.usart not in board.chip.usarts:
            raise BadInput(file, f"half_duplex.{name}.usart", wire.usart, f"{board.chip.part} has no such port",
                           hint(wire.usart, list(board.chip.usarts), "ports"))
        for side in ("tx", "rx"):
            _serves(board, f"half_duplex.{name}.{side}", getattr(wire, side), wire.usart, side)
        if wire.transceiver and f"{wire.usart}_DE" not in board.chip.signals:
            raise BadInput(file, f"half_duplex.{name}.transceiver", wire.transceiver.enable,
                           f"{wire.usart} of {board.chip.part} switches no transceiver, and software would let go "
                           "of it after a servo's answer has begun", "leave it out and take one that finds its "
                           "direction itself")
    if both := sorted({*board.can} & {*board.half_duplex}):
        raise BadInput(file, f"half_duplex.{both[0]}", None, "has the name of a bus of [can]", "choose another")
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


def _pins(board: Board) -> None:
    """Check that every signal is available on its pin."""
    for i, c in enumerate(board.channels):
        if c.current:
            _current_sense(board, f"channel.{i}.current", c, c.current)
    for key, pin in board.sense.pins:
        _analogue(board, key, pin, board.chip.analogue)
    for use in uses(board):
        places = board.chip.signals.get(use.signal, {})
        if use.signal and use.resource not in places:
            where = " or ".join(places) if places else "nowhere on this package"
            raise BadInput(board.source.name, use.key, use.resource, f"{board.chip.part} has no {use.signal} there",
                           f"it is on {where}")


def _analogue(board: Board, key: str, pin: str, channels: Mapping[str, int]) -> None:
    """Check that the converter can measure at the pin."""
    if pin not in channels:
        raise BadInput(board.source.name, key, pin, f"{board.chip.part} cannot measure there",
                       f"it can on {' or '.join(channels)}")


def _current_sense(board: Board, key: str, channel: Channel, sense: CurrentSense) -> None:
    """Check a current sensor: its pin, its range, and the half bridge above its shunt."""
    file, sampling = board.source.name, board.chip.sampling
    if sampling is None:
        raise BadInput(file, key, sense.pin, f"there are no current loops for {board.chip.part} in this firmware")
    _analogue(board, f"{key}.pin", sense.pin, sampling.channels)
    if sense.volts_per_ampere == 0.0:
        raise BadInput(file, f"{key}.volts_per_ampere", 0.0,
                       "must not be 0: its sign is that of the sensor as it is wired")
    if sense.range_a <= 0.0:
        raise BadInput(file, f"{key}.headroom_v", sense.headroom_v,
                       "leaves nothing between zero_v and the amplifier's ends")
    if sense.shunt == "low" and channel.opposite is None:
        raise BadInput(file, f"{key}.shunt", "low", "has its place below a half bridge, and this channel names none",
                       "write 'in-line' for a sensor in the motor's line")


def _claims(board: Board) -> None:
    """Refuse two users of a pin, timer, timer output or DMA stream. Several outputs may share their timer."""
    reserved = [Use(f"reserved.{name}", pin) for name, pin in board.reserved.items()]
    users: dict[str, Use] = {}
    for use in (*reserved, *uses(board)):
        other = users.setdefault(use.resource, use)
        if other is not use and not (use.shared and use.shared == other.shared):
            raise BadInput(board.source.name, use.key, use.resource, f"is already used by {other.key}")


def _headers(board: Board) -> None:
    """Refuse two pins with one printed name."""
    pins: dict[str, str] = {}
    for pin, place in board.headers.items():
        other = pins.setdefault(place, pin)
        if other != pin:
            raise BadInput(board.source.name, f"headers.{pin}", place, f"is already the place of {other}")


def _link(board: Board) -> None:
    """Check that DMA streams serve the USART, and that both clock trees make the baud rate exactly."""
    link, usart = board.link, board.chip.usarts[board.link.usart]
    for side in ("tx", "rx"):
        _serves(board, f"link.{side}.dma", getattr(link, side).dma, link.usart, side)
    for clock_hz in (usart.clock_hz, board.chip.hsi_hz):
        divider = round(usart.steps * clock_hz / link.baud)
        if divider < usart.least or abs(usart.steps * clock_hz / divider / link.baud - 1.0) > BAUD_ERROR:
            fitting = [clock_hz // d for d in range(16, 400) if all(
                c % (clock_hz // d) == 0 for c in (usart.clock_hz, board.chip.hsi_hz)) and clock_hz % d == 0]
            near = min(fitting, key=lambda b: abs(b - link.baud))
            raise BadInput(board.source.name, "link.baud", link.baud,
                           f"cannot be made within 0.5 % from {clock_hz / 1e6:g} MHz", f"nearest: {near}")


def _serves(board: Board, key: str, stream: str, usart: str, side: str) -> None:
    """Check that the DMA stream serves this side of the USART."""
    able = board.chip.usarts[usart].dma[side]
    if stream not in able:
        raise BadInput(board.source.name, key, stream, f"does not serve {usart} {side}", "use " + " or ".join(able))
