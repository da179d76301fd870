"""The used resources of a board's chip: pins, timers, timer outputs and DMA streams. Each has a user and clock enables.

This list gives the conflicts (`femtorque.codegen.board.checks`), the table of pins and the enabled clocks
(`femtorque.codegen.emit.board_header`)."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from femtorque.codegen.board.description import Board, Channel, ChannelPwm, HalfDuplex, Transceiver

Mode = Literal["alternate", "open_drain", "input", "output", "output_high", "analogue"]
Pull = Literal["up", "down", "float"]


@dataclass(frozen=True)
class Use:
    """One resource of the chip and its user. pull: pull towards the safe level of the pin. The pull acts until the
    firmware drives the output."""

    key: str  # the user's key in the board file
    resource: str  # the exclusive resource
    label: str = ""  # purpose of a pin; '' if the resource is no pin
    mode: Mode = "alternate"
    pull: Pull = "down"
    signal: str = ""  # the peripheral's signal at the pin
    clocks: tuple[str, ...] = ()  # enable bits in RCC
    channel: int | None = None  # channel that uses the resource; None if the board itself uses the resource
    moves: bool = False  # true if the pin could cause motion
    shared: str = ""  # type of the users that may share the resource; '' if no user may share the resource

    @property
    def is_pin(self) -> bool:
        return bool(self.label)


def uses(board: Board) -> Iterator[Use]:
    """Yield every use, in the order in which an image sets up pins. The board's timers and ports must exist."""
    yield from _link(board)
    for name, pin in board.low.items():
        yield Use(f"low.{name}", pin, f"{name}: held low", "output", moves=True)
    yield from _outputs(board)
    for key, pin in board.sense.pins:
        yield Use(key, pin, key.split(".")[1], "analogue", "float", clocks=(board.chip.sense.enable,))
    yield from _gate_driver(board)
    for i, channel in enumerate(board.channels):
        yield from _channel(board, i, channel)
    yield from _buses(board)
    yield from _half_duplex(board)
    if board.led:
        yield Use("led.pin", board.led.pin, "state LED", "output" if board.led.on == "high" else "output_high",
                  "down" if board.led.on == "high" else "up")
    if board.cutoff:
        yield Use("cutoff.pin", board.cutoff.pin, "servos' supply", "output", moves=True)
    if board.brake:
        closed: Mode = "output_high" if board.brake.release == "low" else "output"
        yield Use("brake.pin", board.brake.pin, "holding brakes", closed, "up" if closed == "output_high" else "down")


def _link(board: Board) -> Iterator[Use]:
    link, chip = board.link, board.chip
    yield Use("link.usart", link.usart, clocks=(chip.usarts[link.usart].enable,))
    for side, does in (("tx", "transmit"), ("rx", "receive")):
        yield Use(f"link.{side}.pin", getattr(link, side).pin, f"{link.usart} {does}", pull="up",
                  signal=f"{link.usart}_{side.upper()}", clocks=(chip.usarts[link.usart].enable,))
    for side in ("tx", "rx"):
        stream = getattr(link, side).dma
        yield Use(f"link.{side}.dma", stream, clocks=(chip.dma_enable[stream[:4]],))


def _buses(board: Board) -> Iterator[Use]:
    """Yield the uses of the drives' buses. An idle bus is recessive: its lines are pulled up."""
    for name, pins in board.can.items():
        clocks = board.chip.cans[pins.controller].enable
        yield Use(f"can.{name}.controller", pins.controller, clocks=clocks)
        for side, does in (("tx", "transmit"), ("rx", "receive")):
            yield Use(f"can.{name}.{side}", getattr(pins, side), f"{pins.controller} {does}", pull="up",
                      signal=f"{pins.controller}_{side.upper()}", clocks=clocks)


def _half_duplex(board: Board) -> Iterator[Use]:
    """Yield the uses of pins, USARTs and DMA streams by half-duplex buses.

    An external resistor pulls an idle half-duplex bus up. The resistor may pull to 5 V, and ST then forbids the chip's
    internal pull."""
    for name, wire in board.half_duplex.items():
        key, clocks = f"half_duplex.{name}", (board.chip.usarts[wire.usart].enable,)
        yield Use(f"{key}.usart", wire.usart, clocks=clocks)
        if wire.transceiver is None:
            yield Use(f"{key}.pin", wire.pin, f"{wire.usart} both ways", "open_drain", "float", f"{wire.usart}_TX",
                      clocks)
        else:
            yield from _transceiver(key, wire, wire.transceiver, clocks)
        for side in ("tx", "rx"):
            stream = getattr(wire, side)
            yield Use(f"{key}.{side}", stream, clocks=(board.chip.dma_enable[stream[:4]],))


def _transceiver(key: str, wire: HalfDuplex, between: Transceiver, clocks: tuple[str, ...]) -> Iterator[Use]:
    """Yield the uses of a transceiver's pins. The transceiver's driver is off until the USART sends."""
    rows: tuple[tuple[str, str, str, str, Pull], ...] = (
        ("pin", wire.pin, "transmit", "TX", "up"), ("transceiver.rx", between.rx, "receive", "RX", "up"),
        ("transceiver.enable", between.enable, "sends: the transceiver's driver", "DE", "down"))
    for name, pin, does, signal, pull in rows:
        yield Use(f"{key}.{name}", pin, f"{wire.usart} {does}", pull=pull, signal=f"{wire.usart}_{signal}",
                  clocks=clocks)


def _outputs(board: Board) -> Iterator[Use]:
    """Yield the common uses of all channels' outputs.

    The break input of a timer adds no clock enable, because the timer is enabled for its outputs."""
    if board.outputs is None:
        return
    for i, loop in enumerate(board.outputs.estop):
        key = f"outputs.estop.{i}.pin"
        label = "e-stop contact 1"
        yield (Use(key, loop.pin, f"{loop.timer} break: {label}", signal=f"{loop.timer}_BKIN") if loop.timer else
               Use(key, loop.pin, label, "input"))
    if board.outputs.timer:
        yield Use("outputs.timer", board.outputs.timer, clocks=(board.chip.timers[board.outputs.timer].enable,))
    yield Use("outputs.enable", board.outputs.enable, "driver enable", "output", moves=True)
    if board.outputs.fault:
        yield Use("outputs.fault", board.outputs.fault, "driver fault", "input", "up")


def _gate_driver(board: Board) -> Iterator[Use]:
    driver = board.gate_driver
    if driver is None:
        return
    for line in ("sck", "miso", "mosi"):
        yield Use(f"gate_driver.{line}", getattr(driver, line), f"gate drivers {line}",
                  signal=f"{driver.spi}_{line.upper()}", clocks=(f"APB1ENR_{driver.spi}EN",))
    for i, pin in enumerate(driver.selects):
        yield Use(f"gate_driver.selects.{i}", pin, "gate driver select", "output_high", "up")


def _channel(board: Board, i: int, channel: Channel) -> Iterator[Use]:
    """Yield the encoder, switches, current sensor and direction pin of one channel."""
    encoder, key, sampling = channel.encoder, f"channel.{i}", board.chip.sampling
    counts = (board.chip.timers[encoder.timer].enable,)
    yield Use(f"{key}.encoder.timer", encoder.timer, channel=i)
    for side, number in (("a", 1), ("b", 2)):
        yield Use(f"{key}.encoder.{side}", getattr(encoder, side), f"encoder {side.upper()}, {encoder.timer}",
                  pull=encoder.pull, signal=f"{encoder.timer}_CH{number}", clocks=counts, channel=i)
    if encoder.index:
        yield Use(f"{key}.encoder.index", encoder.index, "encoder index", "input",
                  "down" if encoder.pull == "up" else "float", channel=i)
    for part, pwm in channel.switches:
        yield from _switch(board, i, f"{key}.{part}", pwm)
    if channel.current:
        samples = (sampling.enable, board.chip.timers[sampling.trigger].enable) if sampling else ()
        yield Use(f"{key}.current.pin", channel.current.pin, "current", "analogue", "float", clocks=samples, channel=i)
    if channel.direction:
        yield Use(f"{key}.direction", channel.direction, "direction", "output", channel=i, moves=True)


def _switch(board: Board, i: int, key: str, pwm: ChannelPwm) -> Iterator[Use]:
    """Yield one output of a timer with its one or two pins. Several outputs may share one timer."""
    signal, output = f"{pwm.timer}_CH{pwm.output}", f"{pwm.timer} output {pwm.output}"
    yield Use(f"{key}.timer", pwm.timer, clocks=(board.chip.timers[pwm.timer].enable,), channel=i, shared="PWM")
    yield Use(f"{key}.output", output, channel=i)
    yield Use(f"{key}.pin", pwm.pin, f"PWM, {output}", signal=signal, channel=i, moves=True)
    if pwm.low:
        yield Use(f"{key}.low", pwm.low, "its low switch", signal=f"{signal}N", channel=i, moves=True)
