"""Parts that are connected to the pins of a virtual board's chip.

A part is one thing outside the chip. It is made with the chip and connects itself to the pins: `Gpio.drive`, `sources`
and `on_output`, `Timer.counts` and `set_break`, a converter's `volts`, `Spi.exchange`, a CAN controller's `plug`. The
chip calls a part when it needs it; parts that move joints beside the bridges are called by the coupler
(femtorque.hil.board.coupler). A new kind of part is a module beside these and a line here.
"""

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
    """joints: the streamed ones, each with the board's channel, or None."""

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
