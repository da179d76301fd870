"""Descriptors of a family's virtual drives."""

from collections.abc import Callable
from dataclasses import dataclass

from femtorque.codegen.mechanism import ServoSetting
from femtorque.hil.bus import Framing, Wire
from femtorque.hil.clock import EventClock
from femtorque.hil.drives.drive import Drive
from femtorque.hil.drives.fields import Ranges
from femtorque.hil.drives.servo import Servo


@dataclass(frozen=True)
class Plug:
    """Place of a drive on a wire. reply: identifier of its answers, if they have one of their own. ranges: as the drive
    is set. data_bitrate: of CAN FD's data phase, None: classic CAN."""

    wire: Wire
    number: int
    reply: int | None
    ranges: Ranges
    bitrate: float
    data_bitrate: float | None


@dataclass(frozen=True)
class Virtual:
    """Drives on CAN. ranges: of a model, by its name without the family's. make: a drive on a wire. prefix: that of
    its models' names, where it is not the family's."""

    ranges: Callable[[str], Ranges]
    make: Callable[[Plug], Drive]
    prefix: str = ""


@dataclass(frozen=True)
class ServoPlug:
    """Place of a servo on a half-duplex wire. model: its name without the family's. bitrate: of the wire. setting: as
    stored in the servo. supply: V, now. ohm: of its motor's winding."""

    clock: EventClock
    model: str
    number: int
    bitrate: float
    setting: ServoSetting
    supply: Callable[[], float]
    ohm: float


@dataclass(frozen=True)
class VirtualServos:
    """Servos on a half-duplex wire. framing: of their packets. make: a servo without power."""

    framing: Framing
    make: Callable[[ServoPlug], Servo]
