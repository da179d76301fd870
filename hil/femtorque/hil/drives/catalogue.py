"""Virtual drives by their names in mechanism files. The module finds them in the folders of their families."""

import pkgutil
from collections.abc import Callable
from importlib import import_module
from typing import TypeVar

from femtorque.codegen.common import BadInput
from femtorque.codegen.drive import WIRES
from femtorque.codegen.mechanism import ServoSetting
from femtorque.hil.bus import BitTiming, Framing, Wire
from femtorque.hil.clock import EventClock
from femtorque.hil.drives import families
from femtorque.hil.drives.drive import Drive
from femtorque.hil.drives.fields import Ranges
from femtorque.hil.drives.maker import Maker
from femtorque.hil.drives.servo import Servo
from femtorque.hil.drives.virtual import Plug, ServoPlug, Virtual, VirtualServos

Kind = TypeVar("Kind", Virtual, VirtualServos)

FAMILIES: dict[str, Virtual | VirtualServos] = {
    found.name.replace("_", "-"): import_module(f"{families.__name__}.{found.name}").FAMILY
    for found in pkgutil.iter_modules(families.__path__) if found.ispkg}

MAKERS: dict[str, Maker] = {
    found.name.replace("_", "-"): import_module(f"{families.__name__}.{found.name}.maker").MAKER
    for found in pkgutil.iter_modules(families.__path__) if found.ispkg}


def _parts(name: str, kind: type[Kind]) -> tuple[Kind, str]:
    """Return the family of a drive, and the model's name without the prefix."""
    for title, family in FAMILIES.items():
        before = getattr(family, "prefix", "") or title
        if isinstance(family, kind) and (name == before or name.startswith(f"{before}-")):
            return family, name[len(before) + 1:]
    raise BadInput("hil/drives/families", name, None, "no family there has this drive", "docs/new-family.md")


def ranges(name: str) -> Ranges:
    """Return the factory ranges of a drive."""
    family, model = _parts(name, Virtual)
    return family.ranges(model)


def make(name: str, wire: Wire, number: int, reply: int | None, own: Ranges, bitrate: float,
         data_bitrate: float | None) -> Drive:
    """Return a new drive on a bus. reply: of its answers; None if the family fixes it. own: its ranges."""
    return _parts(name, Virtual)[0].make(Plug(wire, number, reply, own, bitrate, data_bitrate))


def adapter_bits(name: str, bitrate: float, data_bitrate: float | None) -> tuple[BitTiming, BitTiming | None]:
    """Return the bit timings that a host's adapter needs for a drive: arbitration phase, data phase."""
    family, _ = _parts(name, Virtual)
    maker = next(MAKERS[title] for title, found in FAMILIES.items() if found is family)
    return maker.timing(bitrate), maker.data_timing(data_bitrate) if data_bitrate else None


def framing(kind: str) -> Framing:
    """Return the framing of packets on a half-duplex bus of this family."""
    return _parts(WIRES[kind].name, VirtualServos)[0].framing


def servo(name: str, clock: EventClock, number: int, bitrate: float, setting: ServoSetting, supply: Callable[[], float],
          ohm: float) -> Servo:
    """Return a new servo without power."""
    family, model = _parts(name, VirtualServos)
    return family.make(ServoPlug(clock, model, number, bitrate, setting, supply, ohm))
