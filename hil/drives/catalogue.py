"""Virtual drives by the names that mechanism files have for them, as their families' folders have them."""

from __future__ import annotations

import pkgutil
from importlib import import_module

from femtorque.codegen.common.errors import BadInput
from femtorque.hil.bus.wire import Wire
from femtorque.hil.drives import families
from femtorque.hil.drives.drive import Drive
from femtorque.hil.drives.fields import Ranges
from femtorque.hil.drives.virtual import Plug, Virtual

FAMILIES: dict[str, Virtual] = {
    found.name.replace("_", "-"): import_module(f"{families.__name__}.{found.name}").FAMILY
    for found in pkgutil.iter_modules(families.__path__) if found.ispkg}


def _parts(name: str) -> tuple[Virtual, str]:
    """Family of a drive, and its model."""
    family = next((family for family in FAMILIES if name == family or name.startswith(f"{family}-")), None)
    if family is None:
        raise BadInput("hil/drives/families", name, None, "no family there has this drive", "docs/new-family.md")
    return FAMILIES[family], name[len(family) + 1:]


def ranges(name: str) -> Ranges:
    """Ranges of a drive as it comes."""
    family, model = _parts(name)
    return family.ranges(model)


def make(name: str, wire: Wire, number: int, reply: int | None, own: Ranges, bitrate: float,
         data_bitrate: float | None) -> Drive:
    """A drive on a wire. reply: identifier of its answers, where it has one of its own. own: as it is set."""
    return _parts(name)[0].make(Plug(wire, number, reply, own, bitrate, data_bitrate))
