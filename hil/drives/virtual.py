"""The descriptor of a family's virtual drives: ranges as they come, and how one is made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from femtorque.hil.bus.wire import Wire
from femtorque.hil.drives.drive import Drive
from femtorque.hil.drives.fields import Ranges


@dataclass(frozen=True)
class Plug:
    """Place of a drive on a wire. reply: identifier of its answers, where the drive has one of its own. ranges: as it
    is set. data_bitrate: of CAN FD's data phase, None: classic CAN."""

    wire: Wire
    number: int
    reply: int | None
    ranges: Ranges
    bitrate: float
    data_bitrate: float | None


@dataclass(frozen=True)
class Virtual:
    """ranges: of a model, by its name without the family's. make: a drive on a wire."""

    ranges: Callable[[str], Ranges]
    make: Callable[[Plug], Drive]
