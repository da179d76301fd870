"""The tables of ft_board.h, with one macro call per row. The macros are defined in the chip's folder."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from femtorque.codegen.board import Channel, Chip, GateDriver, Line, Outputs, Wired
from femtorque.codegen.drive import BitTiming
from femtorque.codegen.emit.pwm import CurrentLoop, Drive, PwmTimer
from femtorque.codegen.mechanism import Joint

Served = Sequence[tuple[Joint, Channel | None]]


@dataclass(frozen=True)
class Place:
    """A pin: index of its port, and its number in the port."""

    port: int
    pin: int


def table(rows: Iterable[str], separator: str = "") -> str:
    """Return the rows as lines of a macro's body."""
    return f"{separator} \\\n".join(f"    {row}" for row in rows)


def place(chip: Chip, pin: str) -> Place:
    return Place(chip.ports.index(pin[1]), int(pin[2:]))


def at(chip: Chip, pin: str) -> str:
    """Return the macro arguments that name a pin."""
    found = place(chip, pin)
    return f"{found.port}, {found.pin}"


def encoders(chip: Chip, joints: Served) -> str:
    """Return rows for the joints' encoders; 0 for a joint without an encoder."""
    ranges = {32: "0xFFFFFFFFu", 16: "0xFFFFu"}
    return table(f"FT_ENCODER({c.encoder.timer}, {ranges[chip.timers[c.encoder.timer].bits]}) /* {joint.name} */" if c
                 else f"FT_ENCODER(0, 0) /* {joint.name} */" for joint, c in joints)


def indexes(chip: Chip, joints: Served) -> str:
    return table(f"FT_INDEX({at(chip, c.encoder.index) if c and c.encoder.index else '0, FT_NO_INDEX'}) "
                 f"/* {joint.name} */" for joint, c in joints)


def timers(found: Iterable[PwmTimer]) -> str:
    return table(
        f"FT_PWM_TIMER({t.name}, {'FT_CENTRED' if t.centred else 'FT_EDGE'}, "
        f"{'FT_LOW_FIRST' if t.low_first else 'FT_HIGH_FIRST'}, {t.top}, {t.start}, {t.repetition}, {t.mask}, "
        f"{t.protection}, {_boolean(t.complementary)})" for t in found)


def drives(chip: Chip, joints: Served, found: Iterable[Drive]) -> str:
    return table(
        f"FT_STAGE({d.kind}, {d.compare}, {d.opposite}, {d.neutral}, {d.span}, {at(chip, d.direction)}, "
        f"{_boolean(d.looped)}) /* {joint.name} */" for (joint, _), d in zip(joints, found, strict=True))


def currents(loops: Iterable[CurrentLoop]) -> str:
    return table(
        f"FT_CURRENT({c.joint}, {c.zero}, {c.off}, {c.amperes}f, {c.full}f, {c.proportional}f, {c.integral}f, "
        f"{c.bound}f, {c.pulse}f, {c.rise}f, {c.jump}f, {c.patience}, {c.stall}f, {c.emf}f) /* {c.name} */"
        for c in loops)


def estops(chip: Chip, outputs: Outputs) -> str:
    return table(f"FT_ESTOP({at(chip, loop.pin)})" for loop in outputs.estop)


def selects(chip: Chip, driver: GateDriver) -> str:
    return table(f"FT_SELECT({at(chip, pin)})" for pin in driver.selects)


def celsius(degrees: Sequence[float]) -> str:
    """Return the temperatures in rows of eight numbers."""
    return table((", ".join(f"{value}f" for value in degrees[i:i + 8]) for i in range(0, len(degrees), 8)), ",")


def buses(wired: Iterable[Wired]) -> str:
    """Return rows of buses. In classic CAN the data-phase values are 0."""
    rows = [(w, (w.nominal, w.data or BitTiming(0, 0, 0, 0))) for w in wired]
    return table("FT_BUS({}, {}) /* {} */".format(
        w.pins.controller, ", ".join(f"{n}u" for t in both for n in (t.prescaler, t.before, t.behind, t.jump)),
        w.bus.name) for w, both in rows)


def stream(name: str) -> tuple[str, int]:
    """Return unit and index of a DMA stream. Names count channels from 1 and streams from 0, the index from 0."""
    return name[:4], int(name[-1]) - ("Channel" in name)


def wires(chip: Chip, lines: Iterable[Line]) -> str:
    rows = []
    for line in lines:
        sides = [(*stream(name), chip.usarts[line.wire.usart].dma[side][name])
                 for side, name in (("tx", line.wire.tx), ("rx", line.wire.rx))]
        how = "FT_TRANSCEIVER" if line.wire.transceiver else "FT_ONE_PIN"
        rows.append(f"FT_WIRE({line.wire.usart}, {how}, {line.divider}u, {line.divider_hsi}u, "
                    + ", ".join(f"{unit}, {number}u, {request}u" for unit, number, request in sides)
                    + f") /* {line.bus.name} */")
    return table(rows)


def _boolean(value: bool) -> str:
    return "true" if value else "false"
