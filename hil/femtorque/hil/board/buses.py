"""The buses of a virtual board: the chip's controllers, the buses behind their transceivers, and the drives."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from femtorque.codegen.board import Board, CanPins, HalfDuplex
from femtorque.codegen.common import Array
from femtorque.codegen.drive import DRIVES, WIRES
from femtorque.codegen.mechanism import Bus, Drive, Mechanism
from femtorque.hil.board.bridges import Served, pin_of
from femtorque.hil.board.bus_steps import BusSteps
from femtorque.hil.bus import BitTiming, OneWire, Wire
from femtorque.hil.chip import Stm32
from femtorque.hil.clock import EventClock
from femtorque.hil.drives import Drive as VirtualDrive, Ranges, Servo, catalogue
from femtorque.hil.plant import Driven

# alternate functions of the pins: DS8626 table 9 (CAN1, CAN2), DS12288 table 13 (FDCAN1 to FDCAN3)
CAN_FUNCTION = {"CAN1": 9, "CAN2": 9, "FDCAN1": 9, "FDCAN2": 9, "FDCAN3": 11}
USART_FUNCTION = 7  # alternate function of USART1 to USART3: DS8626 table 9, DS12288 table 13
STEP = 100e-6  # s over which the plant receives the mean torque of a drive; the drive's inner loop has shorter steps


Plug = Callable[[str, Wire | OneWire], None]


def plugs(board: Board, chip: Stm32) -> Plug:
    """Return a function that connects a chip to a bus."""
    def plug(name: str, wire: Wire | OneWire) -> None:
        if isinstance(wire, Wire):
            _plug(board.can[name], chip, wire)
        else:
            _plug_line(board.half_duplex[name], chip, wire)

    return plug


def _plug(pins: CanPins, chip: Stm32, wire: Wire) -> None:
    function = CAN_FUNCTION[pins.controller]
    chip.cans[pins.controller].plug(wire, *((*pin_of(chip, name), function) for name in (pins.tx, pins.rx)))


def _plug_line(wire: HalfDuplex, chip: Stm32, line: OneWire) -> None:
    """Connect a USART to a half-duplex bus, directly or with a transceiver."""
    usart, pins = chip.usarts[wire.usart], [pin_of(chip, wire.pin)]
    between = wire.transceiver
    if between:
        pins += [pin_of(chip, between.enable), pin_of(chip, between.rx)]
    usart.plug(line, *((port, pin, USART_FUNCTION) for port, pin in pins))


class Buses:
    """wires, lines: CAN buses and half-duplex buses, by name. drives, servos, all: devices by the number of their
    joint. signs, gears (J,): direction of a drive's output, and turns of the output per turn of the joint. zeros (J,):
    angle of the output at the joint's zero, rad. clock: creates the clock of a bus. plug: connects the other nodes to a
    bus. supplied: returns true while the servos have power."""

    def __init__(self, clock: Callable[[], EventClock], mechanism: Mechanism, joints: Served, plant: Driven,
                 supply: Callable[[], float], plug: Plug, supplied: Callable[[], bool] = lambda: True) -> None:
        self._plant, self._supply, self._supplied = plant, supply, supplied
        self.wires: dict[str, Wire] = {}
        self.drives: dict[int, VirtualDrive] = {}
        self.lines: dict[str, OneWire] = {}
        self.servos: dict[int, Servo] = {}
        used = {joint.drive.bus for joint, _ in joints if joint.drive}
        buses = {bus.name: bus for bus in mechanism.buses if bus.name in used}
        for number, (name, bus) in enumerate(buses.items()):
            if bus.kind in WIRES:
                self.lines[name] = OneWire(clock(), bus.bitrate, catalogue.framing(bus.kind), seed=number)
                plug(name, self.lines[name])
            else:
                self.wires[name] = Wire(clock(), seed=number)
                plug(name, self.wires[name])
        self.zeros = np.array([joint.drive.zero if joint.drive else 0.0 for joint, _ in joints])
        self.signs = np.array([joint.drive.sign if joint.drive else 1 for joint, _ in joints], float)
        self.gears = np.array([joint.drive.gear if joint.drive else 1.0 for joint, _ in joints])
        for j, (joint, _) in enumerate(joints):
            if joint.drive and joint.drive.servo:
                assert joint.motor is not None
                self.servos[j] = catalogue.servo(joint.drive.type.name, clock(), joint.drive.id,
                                                 buses[joint.drive.bus].bitrate, joint.drive.servo, supply,
                                                 joint.motor.R)
                self.servos[j].converter = joint.drive.servo.supply or math.inf
                self.servos[j].power_up(self._angle(j))
                self.lines[joint.drive.bus].servos += (self.servos[j],)
            elif joint.drive:
                self.drives[j] = made(joint.drive, buses[joint.drive.bus], self.wires[joint.drive.bus])
                self.drives[j].power_up(self._angle(j))
        self.all: dict[int, VirtualDrive | Servo] = {**self.drives, **self.servos}
        self.on_change: Callable[[], None] = lambda: None
        self.steps = self._steps()

    def turn_round(self, j: int) -> None:
        """Mount the drive of a joint in the opposite direction."""
        self.signs[j] *= -1.0
        self.steps = self._steps()
        self.on_change()

    def _steps(self) -> BusSteps:
        return BusSteps(self.servos, self.drives, self.signs, self.gears, self.zeros, self._plant, STEP)

    @property
    def in_c(self) -> bool:
        """True if servos and drives turn all joints, and both they and the plant are in C."""
        return self.steps.line is not None and len(self.all) == len(self.signs)

    def _angle(self, j: int) -> float:
        """Return the angle of a drive's output, rad."""
        return float(self.signs[j] * self.gears[j] * self._plant.q[j] + self.zeros[j])

    @property
    def driving(self) -> bool:
        return any(drive.driving for drive in self.all.values())

    @property
    def limp(self) -> bool:
        """True if no drive acts on its joint: each drive is off, or is enabled with zero gains and zero torque."""
        return not any(servo.driving for servo in self.servos.values()) and all(
            drive.limp for drive in self.drives.values())

    @property
    def at_work(self) -> list[int]:
        """Joints to which a drive or servo gives torque. A drive that is off or braking gives no torque."""
        motors = {j: drive.motor for j, drive in self.drives.items() if drive.driving}
        on = {j for j, m in motors.items() if m.command.kp or m.command.torque or m.standing}
        return sorted(on | {j for j, servo in self.servos.items() if servo.turning})

    def idle(self, since: float, until: float) -> None:
        """Let time pass for enabled drives while the plant does not move."""
        self._switch()
        if not self.driving:
            return
        count = max(1, round((until - since) / STEP))
        h = (until - since) / count
        for i in range(count):
            self._torques(h, since + i * h)

    def move(self, since: float, until: float, voltage: Array) -> None:
        """Simulate the plant from one time to another, s, with motor voltages (J,) and the drives' torques."""
        if self.steps.line:
            self._switch()
            self.steps.move(since, until, voltage, self._supply())
            return
        count = max(1, round((until - since) / STEP))
        h = (until - since) / count
        for i in range(count):
            self._switch()
            self._plant.move(h, self._voltages(since + i * h, voltage), self._torques(h, since + i * h))

    def _voltages(self, now: float, voltage: Array) -> Array:
        """Return the voltages (J,) at the bridges and at the servos' motors."""
        if not self.servos:
            return voltage
        volts, q, v, current = np.array(voltage, float), self._plant.q, self._plant.v, self._plant.current
        for j, servo in self.servos.items():
            sign, turns = self.signs[j], self.signs[j] * self.gears[j]
            volts[j] = sign * servo.terminal(now, float(turns * q[j]), float(turns * v[j]), float(current[j]))
        return volts

    def _switch(self) -> None:
        """Switch servos and drives on or off when their supply changes."""
        for j, on in self._to_switch():
            self.all[j].power_up(self._angle(j)) if on else self.all[j].power_off()

    def _to_switch(self) -> list[tuple[int, bool]]:
        """Return the joints whose servo or drive must be switched, each with true for on."""
        volts, supplied = self._supply(), self._supplied()
        due = [(j, volts > one.least_supply and one.supplied and (supplied or j in self.drives))
               for j, one in self.all.items()]
        return [(j, on) for j, on in due if on != self.all[j].powered]

    def describe(self) -> Any:
        """Return all servos and drives in C until `on_change` is called, or None while one may be switched."""
        if not self.in_c or self._to_switch():
            return None
        self.steps.supply(self._supply())
        return self.steps.line

    def _torques(self, h: float, now: float) -> Array:
        torques, q, v = np.zeros(len(self.signs)), self._plant.q, self._plant.v
        for j, drive in self.drives.items():
            turns = self.signs[j] * self.gears[j]
            torques[j] = turns * drive.step(h, now, float(turns * q[j] + self.zeros[j]), float(turns * v[j]))
        return torques


def adapter_bits(mechanism: Mechanism, bus: Bus) -> tuple[BitTiming, BitTiming | None]:
    """Return the bit timings that a host's adapter needs for the drives of a bus."""
    own = next(j.drive for j in mechanism.streamed if j.drive is not None and j.drive.bus == bus.name)
    return catalogue.adapter_bits(own.type.name, bus.bitrate, bus.data_bitrate)


def made(drive: Drive, bus: Bus, wire: Wire) -> VirtualDrive:
    """Create a drive with its factory settings. The user may change the ranges in the mechanism file."""
    own, wanted, listed = catalogue.ranges(drive.type.name), drive.type, DRIVES[drive.type.name]
    if wanted != listed:
        own = Ranges(wanted.position, wanted.velocity, wanted.torque, wanted.kp, wanted.kd)
    return catalogue.make(wanted.name, wire, drive.id, drive.reply, own, bus.bitrate, bus.data_bitrate)
