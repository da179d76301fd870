"""Descriptors of families of virtual drives."""

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
    """Place of a drive on a wire. reply: identifier of its answers, None if the family fixes it. ranges: the drive's
    settings. data_bitrate: rate of CAN FD's data phase; None for classic CAN."""

    wire: Wire
    number: int
    reply: int | None
    ranges: Ranges
    bitrate: float
    data_bitrate: float | None


@dataclass(frozen=True)
class Virtual:
    """A family of drives on CAN. ranges: returns the ranges of a model, by the name without the prefix. make: returns a
    drive on a wire. prefix: prefix of the models' names, if it is not the family's name."""

    ranges: Callable[[str], Ranges]
    make: Callable[[Plug], Drive]
    prefix: str = ""


@dataclass(frozen=True)
class ServoPlug:
    """Place of a servo on a half-duplex wire. model: its name without the prefix. bitrate: rate of the wire. setting:
    the settings stored in the servo. supply: returns the present voltage, V. ohm: resistance of the motor's winding."""

    clock: EventClock
    model: str
    number: int
    bitrate: float
    setting: ServoSetting
    supply: Callable[[], float]
    ohm: float


@dataclass(frozen=True)
class VirtualServos:
    """A family of servos on a half-duplex wire. framing: framing of packets. make: returns a servo without power."""

    framing: Framing
    make: Callable[[ServoPlug], Servo]
