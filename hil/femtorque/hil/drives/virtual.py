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
    """Connection of a drive to a bus. reply: identifier of its answers, None if the family fixes it. ranges: the
    drive's settings. data_bitrate: bit rate of CAN FD's data phase; None for classic CAN."""

    wire: Wire
    number: int
    reply: int | None
    ranges: Ranges
    bitrate: float
    data_bitrate: float | None


@dataclass(frozen=True)
class Virtual:
    """A family of drives on CAN. ranges: returns the ranges of a model, by the model's name without the prefix. make:
    returns a drive on a bus. prefix: prefix of the models' names, if it differs from the family's name."""

    ranges: Callable[[str], Ranges]
    make: Callable[[Plug], Drive]
    prefix: str = ""


@dataclass(frozen=True)
class ServoPlug:
    """Connection of a servo to a half-duplex bus. model: the model's name without the prefix. bitrate: bit rate of the
    bus. setting: the settings that the servo stores. supply: returns the present voltage, V. ohm: resistance of the
    motor's winding."""

    clock: EventClock
    model: str
    number: int
    bitrate: float
    setting: ServoSetting
    supply: Callable[[], float]
    ohm: float


@dataclass(frozen=True)
class VirtualServos:
    """A family of servos on a half-duplex bus. framing: framing of packets. make: returns a servo without power."""

    framing: Framing
    make: Callable[[ServoPlug], Servo]
