"""The components at the pins of a virtual board's chip. A component connects itself by `Gpio.drive`, `Gpio.sources`,
`Gpio.hear`, `Timer.counts`, `Timer.set_break`, a converter's `volts`, `Spi.exchange` or a CAN controller's `plug`, and
the chip calls it. The coupler (femtorque.hil.board.coupler) calls brakes and drives, which move joints too. A new kind
of component needs a module in this room and a line here."""

from femtorque.codegen.board import Board, served
from femtorque.codegen.mechanism import Mechanism
from femtorque.hil.board.analogue_inputs import Senses
from femtorque.hil.board.buses import Buses, plugs
from femtorque.hil.board.encoders import Encoders
from femtorque.hil.board.holding_brakes import HoldingBrakes
from femtorque.hil.board.led import Led
from femtorque.hil.board.power_stage import PowerStage
from femtorque.hil.board.supply_relay import SupplyRelay
from femtorque.hil.chip import Stm32
from femtorque.hil.plant import Driven


class Wiring:
    """joints: the streamed joints, each with its board channel or None."""

    def __init__(self, board: Board, chip: Stm32, mechanism: Mechanism, plant: Driven) -> None:
        assert mechanism.board is not None
        self.joints = served(mechanism, board)
        self.power = PowerStage(board, chip, self.joints, mechanism.board.bus_voltage)
        self.encoders = Encoders(board, chip, self.joints, plant)
        self.senses = Senses(board, chip, self.joints, plant, self.power)
        self.relay = SupplyRelay(board, chip, mechanism)
        self.buses = Buses(chip.clock, mechanism, self.joints, plant, lambda: self.power.bus_voltage,
                           plugs(board, chip), lambda: self.relay.closed)
        self.brakes = HoldingBrakes(board, chip, mechanism)
        self.led = Led(board, chip)
