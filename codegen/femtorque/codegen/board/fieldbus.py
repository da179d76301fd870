"""Buses of a mechanism on its board: controllers, bit timing and drives."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from femtorque.codegen.board.chip import Can, Usart
from femtorque.codegen.board.description import Board, CanPins, HalfDuplex
from femtorque.codegen.common import BadInput, hint
from femtorque.codegen.drive import (
    BITRATES, BITS_A_BYTE, DATA_BITRATES, FAMILIES, WIRES, BitTiming, Family, family_of, timings)
from femtorque.codegen.mechanism import Bus, Drive, Joint, Mechanism, refuse

LINE_ERROR = 0.005  # largest relative error of a half-duplex bus's bit rate, as for the host link
UNCUT = ("nothing cuts the supply of servos that the board does not reach: {joints} would go on with the last duty "
         "when a wire breaks; [safety.cutoff] lets the board do it")


@dataclass(frozen=True)
class Wired:
    """A CAN bus on its board."""

    bus: Bus
    pins: CanPins
    controller: Can
    nominal: BitTiming
    data: BitTiming | None  # limits of a bit in the data phase; None for classic CAN
    drives: tuple[tuple[int, Joint, Drive], ...]  # for each drive: number of its joint, joint, drive


@dataclass(frozen=True)
class Line:
    """A half-duplex bus on its board, with the clocks per bit on the crystal and on the fall-back oscillator."""

    bus: Bus
    wire: HalfDuplex
    divider: int
    divider_hsi: int
    drives: tuple[tuple[int, Joint, Drive], ...]


def drives(mechanism: Mechanism) -> list[tuple[int, Joint, Drive]]:
    """Return the streamed joints with a drive, with their numbers."""
    return [(i, j, j.drive) for i, j in enumerate(mechanism.streamed) if j.drive is not None]


def families(mechanism: Mechanism) -> list[Family]:
    """Return the families of the drives, in the order of FT_FAMILY_."""
    own = {drive.type.family for _, _, drive in drives(mechanism)}
    return [family for name, family in FAMILIES.items() if name in own]


def used_buses(mechanism: Mechanism) -> dict[str, Bus]:
    """Return the buses with drives by name, in the order of their numbers.

    CAN buses come before half-duplex buses. Buses of one type have the order of their first joints."""
    by_name = {bus.name: bus for bus in mechanism.buses}
    found = {drive.bus: by_name[drive.bus] for _, _, drive in drives(mechanism)}
    return dict(sorted(found.items(), key=lambda item: item[1].kind in WIRES))


def wired(mechanism: Mechanism, board: Board) -> tuple[Wired, ...]:
    """Return every CAN bus with drives. Raise BadInput if the board lacks the bus, or a joint lacks limits."""
    return tuple(_wired(mechanism, board, bus, on_bus(mechanism, bus))
                 for bus in used_buses(mechanism).values() if bus.kind not in WIRES)


def lines(mechanism: Mechanism, board: Board) -> tuple[Line, ...]:
    """Return every half-duplex bus with servos. Raise BadInput if the board lacks the bus, or a joint lacks limits."""
    return tuple(_line(mechanism, board, bus, on_bus(mechanism, bus))
                 for bus in used_buses(mechanism).values() if bus.kind in WIRES)


def on_bus(mechanism: Mechanism, bus: Bus) -> tuple[tuple[int, Joint, Drive], ...]:
    """Return the drives on one bus."""
    own = tuple(d for d in drives(mechanism) if d[2].bus == bus.name)
    for _, joint, _ in own:
        if joint.type == "continuous" or not math.isfinite(joint.limits.upper - joint.limits.lower):
            raise BadInput(mechanism.source or mechanism.name, f"joint.{joint.name}.limits", None,
                           "a drive's position ends at its range: the joint needs limits",
                           "give limits.lower and limits.upper")
    return own


def _line(mechanism: Mechanism, board: Board, bus: Bus, own: tuple[tuple[int, Joint, Drive], ...]) -> Line:
    file, key = mechanism.source or mechanism.name, f"bus.{bus.name}"
    if bus.name not in board.half_duplex:
        raise BadInput(file, f"{key}.name", bus.name, f"board {board.name!r} has no half-duplex wire of that name",
                       hint(bus.name, list(board.half_duplex), "wires") if board.half_duplex else
                       "choose another board")
    wire = board.half_duplex[bus.name]
    usart = board.chip.usarts[wire.usart]
    dividers: list[int] = []
    for clock_hz in (usart.clock_hz, board.chip.hsi_hz):
        divider = line_divider(usart, clock_hz, bus.bitrate)
        if divider is None and dividers and not WIRES[bus.kind].alone:
            divider = usart.least  # no servo understands the board at this rate, so the servos' watchdogs stop them
        if divider is None:
            raise BadInput(file, f"{key}.bitrate", bus.bitrate,
                           f"cannot be made within {LINE_ERROR:.1%} from {clock_hz / 1e6:g} MHz")
        dividers.append(divider)
    return Line(bus, wire, dividers[0], dividers[1], own)


def line_divider(usart: Usart, clock_hz: int, bitrate: int) -> int | None:
    """Return the clocks per bit of a half-duplex bus; None if the clock cannot make the bit rate."""
    divider = round(usart.steps * clock_hz / bitrate)
    good = divider >= usart.least and abs(usart.steps * clock_hz / divider / bitrate - 1.0) <= LINE_ERROR
    return divider if good else None


def _wired(mechanism: Mechanism, board: Board, bus: Bus, own: tuple[tuple[int, Joint, Drive], ...]) -> Wired:
    file, key = mechanism.source or mechanism.name, f"bus.{bus.name}"
    if bus.name not in board.can:
        raise BadInput(file, f"{key}.name", bus.name, f"board {board.name!r} has no bus of that name",
                       hint(bus.name, list(board.can), "buses") if board.can else "choose another board")
    pins = board.can[bus.name]
    controller = board.chip.cans[pins.controller]
    latest = _samples(file, key, own) if bus.data_bitrate is not None else None
    nominal = _bits(mechanism, f"{key}.bitrate", controller, bus.bitrate, False, latest and latest[0])
    data = None
    if bus.data_bitrate is not None:
        if controller.data is None:
            raise BadInput(file, f"{key}.kind", bus.kind, f"{board.chip.part} of board {board.name!r} speaks classic "
                           "CAN alone", 'kind = "can"')
        data = _bits(mechanism, f"{key}.data_bitrate", controller, bus.data_bitrate, True, latest and latest[1])
    return Wired(bus, pins, controller, nominal, data, own)


def _samples(file: Path | str, key: str, own: tuple[tuple[int, Joint, Drive], ...]) -> tuple[float, float] | None:
    """Return the sample points, nominal and data phase, that a bus's drives need for CAN FD.

    Raise BadInput if two families need different sample points, because a node switches the bit rate at its sample
    point."""
    asked = {family_of(drive.type).title: family_of(drive.type).samples for _, _, drive in own}
    if len(set(asked.values())) > 1:
        raise BadInput(file, key, " and ".join(asked), "they sample the bits of CAN FD at different points, at which "
                       "each changes the rate: they do not hear each other", "give each family a bus of its own")
    return next(iter(asked.values()), None)


def bits(controller: Can, bitrate: int, data: bool = False, latest: float | None = None) -> BitTiming | None:
    """Return the controller's best bit timing for a bit rate. latest: maximum sample point; None: CiA's sample point.

    Return None if no timing is possible."""
    most = controller.data if data else controller.nominal
    found = [] if most is None else timings(controller.clock_hz, bitrate, most.prescaler, most.before, most.behind,
                                            most.jump, most.compensated, latest)
    return found[0] if found else None


def _bits(mechanism: Mechanism, key: str, controller: Can, bitrate: int, data: bool,
          latest: float | None) -> BitTiming:
    found = bits(controller, bitrate, data, latest)
    if found is None:
        near = [rate for rate in (DATA_BITRATES if data else BITRATES) if bits(controller, rate, data, latest)]
        refuse(mechanism, key, bitrate, f"cannot be made exactly of {controller.clock_hz // 10**6} MHz",
               f"nearest: {min(near, key=lambda rate: abs(rate - bitrate))}")
    return found


def told_late(mechanism: Mechanism) -> int:
    """Return the delay of measured positions, ticks: 1 if the board closes position loops over a bus, else 0."""
    return int(any(drive.pd == "board" for _, _, drive in drives(mechanism)))


def left_alone(mechanism: Mechanism) -> list[str]:
    """Return one line per family whose drives keep running without commands from the board and have no watchdog."""
    cutoff, said = mechanism.safety.cutoff, []
    for family in families(mechanism):
        alone = family.cut.format(within=cutoff.within_s) if family.cut and cutoff is not None else family.alone
        own = [joint.name for _, joint, drive in drives(mechanism)
               if drive.type.family == family.name and not held(joint)]
        if alone and own:
            said.append(f"{', '.join(own)}: {alone}")
    return said


def set_by_owner(mechanism: Mechanism) -> list[str]:
    """Return one line per family with settings that the owner of the drives must make. The board cannot read whether
    the owner made these settings."""
    said = [f"{family.title}, set by its owner, and not to be asked for: {family.setup}"
            for family in families(mechanism) if family.setup]
    for family in families(mechanism):
        own = [joint.name for _, joint, drive in drives(mechanism)
               if drive.type.family == family.name and family.configuration and not drive.configured]
        if own:
            said.append(f"{', '.join(own)}: what is configured in it is not held by the file: `bringup --settings`")
    return said


def endless(mechanism: Mechanism) -> list[str]:
    """Return the joints whose drives may continue to run for ever while the board sends nothing."""
    return [joint.name for _, joint, drive in drives(mechanism) if family_of(drive.type).alone and not held(joint)]


def held(joint: Joint) -> bool:
    """Return True if a servo holds the joint at its last goal while the board sends nothing."""
    return joint.drive is not None and joint.drive.type.servo is not None and joint.drive.type.servo.holds


def off_supply(mechanism: Mechanism) -> list[str]:
    """Return a warning per type of servo whose nominal voltage differs from the supply voltage by more than 10 %."""
    said = list[str]()
    for kind, volts in dict.fromkeys((drive.type, joint.supply(mechanism.board.bus_voltage))
                                     for _, joint, drive in drives(mechanism) if mechanism.board and drive.type.servo):
        assert kind.servo is not None
        if abs(volts - kind.servo.volts) > 0.1 * kind.servo.volts:
            said.append(f"board.bus_voltage = {volts:g}: {kind.name} is made for {kind.servo.volts:g} V, for which its "
                        "velocity and torque are given")
    return said


def uncut(mechanism: Mechanism) -> list[str]:
    """Return a warning about servos without a watchdog whose supply only the e-stop switches off."""
    going = endless(mechanism)
    servos = [joint.name for _, joint, drive in drives(mechanism) if drive.servo is not None and joint.name in going]
    return [UNCUT.format(joints=", ".join(servos))] if servos and mechanism.safety.cutoff is None else []


def wires(mechanism: Mechanism) -> list[Bus]:
    """Return the half-duplex buses with servos."""
    return [bus for bus in used_buses(mechanism).values() if bus.kind in WIRES]


def wire_most(mechanism: Mechanism) -> int:
    """Return the maximum number of servos on one half-duplex bus."""
    return max((sum(d.bus == bus.name for _, _, d in drives(mechanism)) for bus in wires(mechanism)), default=0)


def wire_out(bus: Bus, servos: int) -> int:
    """Return the maximum number of bytes that the board sends on a bus in one tick."""
    wire = WIRES[bus.kind].wire
    assert wire is not None
    return wire.out(servos)


def wire_in(bus: Bus, servos: int, rate_hz: int) -> int:
    """Return the size of a bus's receive buffer, bytes: a power of two that is larger than the traffic of one tick."""
    return 1 << math.ceil(math.log2(1.1 * bus.bitrate / BITS_A_BYTE / rate_hz + wire_out(bus, servos)))


def wire_answers(bus: Bus, own: Sequence[tuple[int, Joint, Drive]]) -> int:
    """Return the bytes of the answers with which all servos report their state."""
    wire = WIRES[bus.kind].wire
    assert wire is not None
    return wire.packets([drive.type for _, _, drive in own]).answers


def frames_a_tick(own: Sequence[tuple[int, Joint, Drive]]) -> int:
    """Return the frames that a tick sends to these drives: a command, and a question if the family has one."""
    return sum(1 + (family_of(d.type).poll is not None) for _, _, d in own)


