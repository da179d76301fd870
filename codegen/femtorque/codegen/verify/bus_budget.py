"""The bus load of a mechanism's drives, and its check."""

from dataclasses import dataclass

from femtorque.codegen.board import Times, adapter_times
from femtorque.codegen.drive import USABLE, Load, Wire, asked_after, bus_load
from femtorque.codegen.mechanism import Bus, Joint, Mechanism, refuse


@dataclass(frozen=True)
class BusLoad:
    """A bus: joints in tree order, bus load of one tick's frames, and time between ticks, s, and the
    times of its adapter on a PC."""

    bus: Bus
    joints: tuple[Joint, ...]
    load: Load
    period: float
    times: Times = Times()

    @property
    def fastest(self) -> float:
        """Return the fastest rate, 1/s: all answers come within a tick."""
        took = self.times.delay + self.times.jitter
        return min(self.load.fastest, 1.0 / (took + self.load.worst)) if took else self.load.fastest

    @property
    def data(self) -> dict[str, object]:
        return {"name": self.bus.name, "kind": self.bus.kind, "joints": [j.name for j in self.joints],
                "mean_s": self.load.mean, "planned_s": self.load.planned, "worst_s": self.load.worst,
                "fastest_hz": self.fastest, "command_after_s": list(self.command_after)}

    @property
    def command_after(self) -> tuple[float, float]:
        """Return the minimum and the maximum time, s, from the beginning of a tick until a drive has received its
        command.

        The board sends the command at the beginning of the next tick. The first drive receives its command after the
        minimum time, the last drive after the maximum."""
        first, last = self.load.there
        early = self.period + 0.5 * self.times.delay
        return early + first, early + 0.5 * self.times.jitter + last


def ages(mechanism: Mechanism) -> list[str]:
    """Return a line for each bus with polled drives, which gives the age of their positions in the control law."""
    said = []
    for bus in mechanism.buses:
        own = [j.drive.type for j in mechanism.moving if j.drive is not None and j.drive.bus == bus.name]
        after = asked_after(Wire(bus.kind, bus.bitrate, bus.data_bitrate), own)
        if after:
            age = 1e3 * (1.0 / mechanism.control.rate_hz - after)
            said.append(f"bus {bus.name!r}: positions are at most {age:.2f} ms old when the law has them, which "
                        "compares each with the target of its own time")
    return said


def bus_loads(mechanism: Mechanism, refused: bool = True) -> tuple[BusLoad, ...]:
    """Return every bus with drives. refused: raise BadInput if the control rate is too high for a bus."""
    found, times = [], adapter_times(mechanism)
    for bus in mechanism.buses:
        joints = tuple(j for j in mechanism.moving if j.drive is not None and j.drive.bus == bus.name)
        if joints:
            wire = Wire(bus.kind, bus.bitrate, bus.data_bitrate)
            found.append(BusLoad(bus, joints, bus_load(wire, [(j.drive.id, j.drive.type) for j in joints if j.drive]),
                                 1.0 / mechanism.control.rate_hz, times[bus.name]))
    for one in found if refused else ():
        _bears(mechanism, one)
    return tuple(found)


def _bears(mechanism: Mechanism, one: BusLoad) -> None:
    rate, t = mechanism.control.rate_hz, one.times
    if rate > one.fastest and rate <= one.load.fastest:
        refuse(mechanism, "control.rate_hz", rate,
               f"a tick lasts {1e3 / rate:.3g} ms, and on bus {one.bus.name!r} answers come after up to "
               f"{1e3 * (t.delay + t.jitter + one.load.worst):.3g} ms: the adapter's delay {1e3 * t.delay:.3g} ms and "
               f"jitter {1e3 * t.jitter:.3g} ms, and {1e3 * one.load.worst:.3g} ms on the bus",
               f"at most {int(one.fastest)} Hz; `femtorque bus latency` measures the adapter")
    if rate > one.load.fastest:
        faster = "" if one.bus.kind == "can-fd" or not all(j.drive and j.drive.type.fd for j in one.joints) else (
            ', kind = "can-fd"')
        refuse(mechanism, "control.rate_hz", rate,
               f"bus {one.bus.name!r} would be busy for {rate * one.load.planned:.0%} of the time with "
               f"{len(one.joints)} drives, {one.load.share(rate):.0%} at worst, and {USABLE:.0%} is what it bears, "
               "100% at worst",
               f"at most {int(one.fastest)} Hz, or another bus{faster}")
