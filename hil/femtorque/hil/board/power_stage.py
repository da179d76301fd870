"""The power stage of a board: motor voltages from bridges, pins, timers, gate drivers and the e-stop circuit."""

from collections.abc import Callable
from typing import Any

from femtorque.codegen.board import Board
from femtorque.hil.board.adjustable import Values
from femtorque.hil.board.bridges import Bridge, Served, pin_of
from femtorque.hil.board.coupled import library
from femtorque.hil.board.drv8301 import Drv8301
from femtorque.hil.board.sleeping_bridges import SleepingBridges
from femtorque.hil.chip import Stm32


class PowerStage:
    """gate_drivers: gate drivers with an SPI. sleeping: bridges that sleep while the enable line is low. motor_wires
    (J): fraction of a bridge's voltage at its motor; -1 if the two wires are swapped."""

    def __init__(self, board: Board, chip: Stm32, joints: Served,
                 bus_voltage: float) -> None:
        self._board, self._chip, self._joints = board, chip, joints
        selects = board.gate_driver.selects if board.gate_driver else ()
        self._selects = [pin_of(chip, name) for name in selects]
        self.gate_drivers = [Drv8301() for _ in selects]
        self.motor_wires = Values(1.0 for _ in joints)
        self.on_change: Callable[[], None] = lambda: None  # called after all changes except changes of duties and pins
        self.sleeping = SleepingBridges() if board.outputs and board.outputs.wake_us else None
        self._fault_pulled = self._estop_open = False
        self.bus_voltage = bus_voltage
        self._bridges = [Bridge(board, chip, joint, channel) if channel else None for joint, channel in joints]
        self._enable = pin_of(chip, board.outputs.enable) if board.outputs else None
        self.estop(False)
        if board.outputs and board.outputs.fault:
            port, pin = pin_of(chip, board.outputs.fault)
            port.sources[pin], port.steady[pin] = self._fault_line, self.settled
        if self._enable and self.gate_drivers:
            for port, pin in self._selects:
                port.asked |= 1 << pin
            self._enable[0].hear(1 << self._enable[1], self._move_enable)
        if self._enable and self.sleeping:
            self._enable[0].hear(1 << self._enable[1], self._wake)

    @property
    def bus_voltage(self) -> float:
        """V of the motors' supply."""
        return self._bus_voltage

    @bus_voltage.setter
    def bus_voltage(self, volts: float) -> None:
        self._chip.parts.announce()
        self._bus_voltage = volts
        self.changed()
        for driver in self.gate_drivers:
            driver.supply(self._chip.seconds, volts)

    def plug(self, state: Any) -> None:
        """Connect the gate drivers to the C code (coupled.c) that passes frames to them."""
        ffi, _ = library()
        for i, (driver, (port, pin)) in enumerate(zip(self.gate_drivers, self._selects, strict=True)):
            state.drivers[i], state.select[i] = ffi.cast("drv8301 *", driver.address), (port.slot, pin)

    # -- motors -------------------------------------------------------------

    def settled(self) -> bool:
        """Return true if the state of the power stage does not change with time."""
        now = self._chip.seconds
        if self.sleeping and not self.sleeping.settled(now):
            return False
        return all(driver.settled(now) for driver in self.gate_drivers)

    def describe(self, state: Any) -> None:
        """Describe the motor voltages to C (coupled.c). Until `changed` is called, only duties change the voltages."""
        state.bus = self._bus_voltage
        asleep = self.sleeping is not None and not self.sleeping.drives(self._chip.seconds)
        for port in self._chip.gpio.values():
            port.state.steered = 0
        for j, bridge in enumerate(self._bridges):
            state.wire[j] = self.motor_wires[j]
            if bridge is None or not self.on or asleep or not self._let_through(j):
                state.bridges[j].kind = library()[1].FLOATS
            else:
                bridge.describe(state.bridges[j])

    def changed(self) -> None:
        """Mark the description of the power stage as stale after a change."""
        if self._board.outputs and self._board.outputs.fault:
            pin_of(self._chip, self._board.outputs.fault)[0].forget("IDR")
        self.on_change()

    @property
    def on(self) -> bool:
        """True if the enable line allows the bridges to drive the motors."""
        outputs = self._board.outputs
        if outputs is None or self._enable is None or not self._enable[0].driven(self._enable[1]):
            return False
        return not (outputs.gated and self._estop_open)

    def _let_through(self, j: int) -> bool:
        """Return true unless a gate driver disables the bridge of a joint."""
        driver = self.gate_driver(j)
        return driver is None or driver.drives(self._chip.seconds)

    def gate_driver(self, j: int) -> Drv8301 | None:
        """Return the gate driver of a joint's bridge, or None."""
        motor = self._joints[j][0].motor
        return self.gate_drivers[motor.channel] if self.gate_drivers and motor else None

    # -- the chip's lines to the gate drivers -------------------------------

    def _fault_line(self) -> bool:
        """Return the state of the drivers' common fault line, which each driver can pull low."""
        now = self._chip.seconds
        asleep = self.sleeping is not None and self.sleeping.pulls_fault(now)
        return not (self._fault_pulled or asleep or any(driver.pulls_fault(now) for driver in self.gate_drivers))

    def _move_enable(self) -> None:
        """Pass the state of the enable line to the gate drivers."""
        assert self._enable is not None
        for driver in self.gate_drivers:
            driver.enable(self._chip.seconds, self._enable[0].driven(self._enable[1]))
        self.changed()

    def _wake(self) -> None:
        """Pass the state of the enable line to bridges that sleep."""
        if self.sleeping and self.sleeping.enable(self._chip.seconds, self.on):
            self.changed()

    # -- faults -------------------------------------------------------------

    def estop(self, pressed: bool) -> None:
        """Press the e-stop button or release it. An open circuit pulls its pins low, and on some boards the enable."""
        if not self._board.outputs:
            return
        self._chip.parts.announce()
        self._estop_open = pressed
        self._wake()
        self.changed()
        for loop in self._board.outputs.estop:
            port, pin = pin_of(self._chip, loop.pin)
            port.drive(pin, not pressed)
            if loop.timer:
                self._chip.timers[loop.timer].set_break(pressed)

    def driver_fault(self, present: bool) -> None:
        """Pull the drivers' common fault line low, or release it."""
        assert self._board.outputs is not None and self._board.outputs.fault is not None
        self._fault_pulled = present
        self.changed()

    def over_current(self, j: int, fets: int) -> None:
        """Load the transistors of a joint's bridges above the driver's limit. fets: bits of status register 1."""
        driver = self.gate_driver(j)
        assert driver is not None
        self._chip.parts.announce()
        driver.over_current(fets)
        self.changed()
