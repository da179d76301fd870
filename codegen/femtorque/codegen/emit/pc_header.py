"""ft_board.h of a PC, with tick, buses, wires, and the waiting time of the second process."""

from dataclasses import dataclass

from femtorque.codegen.board import Board, fieldbus, file_of, served, tick_cycles
from femtorque.codegen.common import BadInput, template
from femtorque.codegen.drive import WIRES
from femtorque.codegen.emit import board_rows
from femtorque.codegen.mechanism import Mechanism

GUARD_S, GUARD_TICKS = 20e-3, 3  # least time, s and ticks, without a tick until the second process acts


@dataclass(frozen=True)
class Context:
    """Context of ft_board_pc.h.j2. Sizes as in board_header."""

    name: str
    rate_hz: int
    tick_ns: int
    guard_ns: int
    bus_voltage: str
    can_count: int
    can_rows: str
    wire_count: int
    wire_rows: str
    wire_out: int
    wire_in: int


def render(mechanism: Mechanism, board: Board, pil: bool = False) -> dict[str, str]:
    """Return {file name: text}. Raises BadInput."""
    if pil:
        raise BadInput(file_of(mechanism), "board.use", board.name, "has no image for a plant at the host")
    assert mechanism.board is not None
    served(mechanism, board)
    rate_hz, buses = mechanism.control.rate_hz, list(fieldbus.used_buses(mechanism).values())
    own = {bus.name: fieldbus.on_bus(mechanism, bus) for bus in buses}
    cans, wires = [[b for b in buses if (b.kind in WIRES) == wire] for wire in (False, True)]
    tick = tick_cycles(mechanism, board)
    context = Context(
        name=mechanism.name, rate_hz=rate_hz, tick_ns=tick,
        guard_ns=max(round(1e9 * GUARD_S), GUARD_TICKS * tick),
        bus_voltage=repr(float(mechanism.board.bus_voltage)),
        can_count=len(cans),
        can_rows=board_rows.table(f'FT_CAN("{b.name}", {b.bitrate}u, {b.data_bitrate or 0}u)' for b in cans),
        wire_count=len(wires),
        wire_rows=board_rows.table(
            f'FT_WIRE_PORT("{b.name}", {b.bitrate}u, {fieldbus.wire_answers(b, own[b.name])}u)' for b in wires),
        wire_out=max((fieldbus.wire_out(b, len(own[b.name])) for b in wires), default=0),
        wire_in=2 * max((fieldbus.wire_in(b, len(own[b.name]), rate_hz) for b in wires), default=0),
    )
    return {"ft_board.h": template("ft_board_pc.h").render(vars(context))}
