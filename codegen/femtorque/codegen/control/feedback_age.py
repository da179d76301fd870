"""Constants for the delay of positions that a bus delivers (firmware/src/control/ft_law.c): one row per joint."""

from dataclasses import dataclass

from femtorque.codegen.board import adapter_times
from femtorque.codegen.control.table import REAL, STEPS_PER, member
from femtorque.codegen.drive import Wire, measured_after
from femtorque.codegen.mechanism import Joint, Mechanism
from femtorque.codegen.wire import position_unit


@dataclass(frozen=True)
class AgeConstants:
    """The row of one joint in ft_age_joint. u is a half increment of the target in a tick."""

    steps: float = member(STEPS_PER, "position steps per rad of u since the measurement: 2 age/dt")
    ticks: float = member(REAL, "ticks since the measurement: age/dt")


def ages(mechanism: Mechanism) -> dict[str, float]:
    """Return {joint: age of its measured position when the control law runs, s} for drives on buses.

    The bus traffic takes place at the end of a tick. A PC's adapter passes the commands on after half of its delay."""
    found: dict[str, float] = {}
    times = adapter_times(mechanism)
    for bus in mechanism.buses:
        own = [(j.name, j.drive) for j in mechanism.moving if j.drive is not None and j.drive.bus == bus.name]
        wire = Wire(bus.kind, bus.bitrate, bus.data_bitrate)
        after = measured_after(wire, [(d.id, d.type) for _, d in own]) if own else []
        passed = 1.0 / mechanism.control.rate_hz - 0.5 * times[bus.name].delay
        found |= {name: passed - s for (name, _), s in zip(own, after, strict=True)}
    return found


def aging(mechanism: Mechanism) -> list[AgeConstants]:
    """Return a row for each streamed joint. Return no rows if the drives close all position loops."""
    if not any(map(_closed_here, mechanism.streamed)):
        return []
    old = ages(mechanism)
    ticks = [old[j.name] * mechanism.control.rate_hz if _closed_here(j) else 0.0 for j in mechanism.streamed]
    return [AgeConstants(2.0 * n / position_unit(j), n) for n, j in zip(ticks, mechanism.streamed, strict=True)]


def _closed_here(joint: Joint) -> bool:
    return joint.drive is not None and joint.drive.pd == "board"
