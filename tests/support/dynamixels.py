"""Virtual Dynamixel X servos on the half-duplex serial bus of the application. Variables replace the registers of the
chip."""

from typing import Any

from femtorque.codegen.common import MECHANISMS
from femtorque.codegen.mechanism import Drive, Mechanism, load_mechanism
from femtorque.hil.drives.families.dynamixel import FAMILY
from femtorque.hil.drives.families.dynamixel.servo import MODELS, Dynamixel
from tests.support.servos import Served

RATE = 2e6


def aloha() -> Mechanism:
    return load_mechanism(MECHANISMS / "aloha_like.toml")


class Wired(Served):
    """The application with its Dynamixel servos."""

    byte, framing = 10.0 / RATE, FAMILY.framing

    def __init__(self, mechanism: Mechanism | None = None, **how: Any) -> None:
        super().__init__(mechanism or aloha(), **how)

    def made(self, drive: Drive) -> Dynamixel:
        assert drive.servo is not None
        model = MODELS[drive.type.name.partition("-")[2]]
        return Dynamixel(self.clock, drive.id, model, RATE, 0.0, lambda: self.volts)

    def goal(self, name: str) -> int:
        """Return a servo's goal current in units of its register."""
        return int(self.servos[name].get(102, 2, signed=True))
