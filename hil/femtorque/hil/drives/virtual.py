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
    """Connection of a drive to a bus."""

    wire: Wire
    number: int
    reply: int | None  # identifier of its answers; None if the family fixes this identifier
    ranges: Ranges  # the drive's settings
    bitrate: float
    data_bitrate: float | None  # bit rate of CAN FD's data phase; None for classic CAN


@dataclass(frozen=True)
class Virtual:
    """A family of drives on CAN."""

    ranges: Callable[[str], Ranges]  # returns the ranges of a model, by the model's name without the prefix
    make: Callable[[Plug], Drive]  # returns a drive on a bus
    prefix: str = ""  # prefix of the models' names, if it differs from the family's name


@dataclass(frozen=True)
class ServoPlug:
    """Connection of a servo to a half-duplex bus."""

    clock: EventClock
    model: str  # the model's name without the prefix
    number: int
    bitrate: float  # bit rate of the bus
    setting: ServoSetting  # the settings that the servo stores
    supply: Callable[[], float]  # returns the present voltage, V
    ohm: float  # resistance of the motor's winding


@dataclass(frozen=True)
class VirtualServos:
    """A family of servos on a half-duplex bus."""

    framing: Framing  # framing of packets
    make: Callable[[ServoPlug], Servo]  # returns a servo without power
