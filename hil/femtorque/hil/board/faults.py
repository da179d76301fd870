"""Faults by name, as `femtorque hil run --fault NAME` brings them about on the board in mid-motion."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from femtorque.codegen.common.errors import BadInput
from femtorque.hil.board.drv8301 import FETHA_OC, FETLB_OC
from femtorque.hil.board.virtual import BoardUnderTest, VirtualBoard, VirtualClock
from femtorque.hil.bus.frame import Frame
from femtorque.hil.bus.half_duplex import OneWire
from femtorque.hil.bus.intruder import Intruder
from femtorque.hil.chip.stm32.chip import SRAM_START
from femtorque.hil.chip.stm32.supply import NOMINAL
from femtorque.hil.drives.drive import Drive
from femtorque.hil.drives.servo import Servo

Strike = Callable[[BoardUnderTest, VirtualClock], None]


@dataclass(frozen=True)
class Fault:
    """doc: one line. strike: brings the fault about. early: at power-on, not in mid-motion. settle: s from the host's
    giving up until the board is in its last state. chip: needs the virtual board itself. needs: a key of NEEDS, which
    the arm must meet; empty: nothing."""

    doc: str
    strike: Strike
    early: bool = False
    settle: float = 0.3
    chip: bool = False
    needs: str = ""


def _rated(board: BoardUnderTest) -> bool:
    motor = board.joints[0][0].motor
    return motor is not None and motor.continuous is not None


NEEDS: dict[str, Callable[[BoardUnderTest], bool]] = {
    "a first joint with drive = 'current'": lambda board: any(
        joint.motor is not None and joint.motor.drive == "current" for joint, _ in board.joints[:1]),
    "gate drivers that are set over SPI": lambda board: board.board.gate_driver is not None,
    "a first joint whose motor has continuous and thermal_s": _rated,
    "a drive on a bus": lambda board: any(joint.drive is not None for joint, _ in board.joints),
    "a drive on CAN": lambda board: any(joint.drive is not None and joint.drive.servo is None
                                       for joint, _ in board.joints),
    "an encoder of its own at the first joint": lambda board: board.joints[0][0].encoder is not None,
}
_LOOP, _DRIVERS, _RATED, _BUS, _CAN, _ENCODER = NEEDS


def _noise(board: BoardUnderTest, clock: VirtualClock) -> None:
    for line in (board.incoming, board.outgoing):
        line.flip, line.drop = 0.1, 0.1


def _duplicates(board: BoardUnderTest, clock: VirtualClock) -> None:
    board.incoming.duplicate = board.outgoing.duplicate = 0.3


def _cut(board: BoardUnderTest, clock: VirtualClock) -> None:
    board.incoming.cut = board.outgoing.cut = True


def _stuck(board: BoardUnderTest, clock: VirtualClock) -> None:
    board.encoder_faults[0].frozen = int(board.plant.counts()[0])


def _jump(board: BoardUnderTest, clock: VirtualClock) -> None:
    encoder = board.joints[0][0].encoder
    assert encoder is not None
    board.encoder_faults[0].offset += encoder.counts // 8


def _turned(board: BoardUnderTest, clock: VirtualClock) -> None:
    board.encoder_faults[0].reverse(int(board.plant.counts()[0]))


def _leaned_on(board: BoardUnderTest, clock: VirtualClock) -> None:
    """Lean on the first joint with twice the torque that its motor carries for good."""
    motor, torque = board.joints[0][0].motor, np.zeros(len(board.joints))
    assert motor is not None and motor.continuous is not None
    torque[0] = 2.0 * motor.continuous * motor.K * motor.gear
    board.plant.hand = lambda plant: torque  # type: ignore[attr-defined]


def _bus(share: float) -> Strike:
    def strike(board: BoardUnderTest, clock: VirtualClock) -> None:
        assert board.mechanism.board is not None
        board.bus_voltage = share * board.mechanism.board.bus_voltage

    return strike


def _on_chip(strike: Callable[[VirtualBoard], None]) -> Strike:
    """Strike of a fault that only the virtual board can have."""
    def on_virtual(board: BoardUnderTest, clock: VirtualClock) -> None:
        assert isinstance(board, VirtualBoard)
        strike(board)

    return on_virtual


def _heat(board: VirtualBoard) -> None:
    board.temperatures[:] = [120.0 for _ in board.temperatures]


def _no_crystal(board: VirtualBoard) -> None:
    board.chip.rcc.hse_alive = False


def _wrong_crystal(board: VirtualBoard) -> None:
    board.chip.rcc.hse_hz = 16_000_000


def _sag(board: VirtualBoard) -> None:
    board.chip.supply(2.5)
    board.at(board.seconds + 0.02, lambda: board.chip.supply(NOMINAL))


def _stack(board: VirtualBoard) -> None:
    """Overwrite the mark where the stack ends and RAM begins."""
    board.chip.core.load(SRAM_START + 16, b"\0\0\0\0")


def _sensor_backwards(board: VirtualBoard) -> None:
    board.current_sensors[0].backwards = True


def _sensor_gain(board: VirtualBoard) -> None:
    board.current_sensors[0].gain = 0.15


def _sensor_stuck(board: VirtualBoard) -> None:
    board.current_sensors[0].stuck = 0.0


def _cable(ohm: float, henry: float) -> Callable[[VirtualBoard], None]:
    """Short or cut the first motor's cable."""
    return lambda board: board.plant.motors.rewind(0, ohm, henry, 1e-9)  # type: ignore[attr-defined]


def _first(board: VirtualBoard) -> Drive | Servo:
    """The first drive or servo on a bus."""
    return next(iter(board.wiring.buses.all.values()))


def _first_on_can(board: VirtualBoard) -> Drive:
    return next(iter(board.wiring.buses.drives.values()))


def _line(board: VirtualBoard) -> OneWire | None:
    """The first half-duplex wire of an arm without any other bus."""
    buses = board.wiring.buses
    return None if buses.wires else next(iter(buses.lines.values()))


def _off_the_bus(board: VirtualBoard) -> None:
    _first(board).cut = True


def _late(board: VirtualBoard) -> None:
    _first(board).late = 1.5e-3


def _intrude(board: VirtualBoard, frame: Frame, period: float) -> None:
    drive = _first_on_can(board)
    Intruder(drive.wire, frame, period, drive.timing, drive.fast)


def _babble(board: VirtualBoard) -> None:
    """Flood the bus with the identifier of highest priority; a half-duplex wire without a pause."""
    if (line := _line(board)) is not None:
        line.babbles = True
        return
    _intrude(board, Frame(0, bytes(8)), 0.0)


def _foreign(board: VirtualBoard) -> None:
    """Send reports of the first drive with all values at the lower end of their ranges; on a half-duplex wire, connect
    a second servo of the first one's number."""
    if (line := _line(board)) is not None:
        line.servos += (next(iter(board.wiring.buses.servos.values())).twin(),)
        return
    drive = _first_on_can(board)
    _intrude(board, drive.report(bytes(7)), 2.3e-3)


def _rescale(board: VirtualBoard) -> None:
    _first_on_can(board).rescale(0.8)


def _ail(board: VirtualBoard) -> None:
    drive = _first(board)
    drive.fail(drive.hot_code)


def _short(board: VirtualBoard) -> None:
    wire = _line(board) or _first_on_can(board).wire
    wire.shorted = True
    board.at(board.seconds + 0.05, lambda: setattr(wire, "shorted", False))


def _hold(board: VirtualBoard) -> None:
    wire = _first_on_can(board).wire
    wire.hold()
    board.at(board.seconds + 0.05, wire.release)


def _unplug_terminator(board: VirtualBoard) -> None:
    _first_on_can(board).wire.terminators = 1


def _drive_restarts(board: VirtualBoard) -> None:
    """Take away the supply of the first drive for a while."""
    drive = _first(board)
    drive.supplied = False
    board.at(board.seconds + 0.2, lambda: setattr(drive, "supplied", True))


_HOST_LOST = 1.5  # s: of the failsafe in two stages, a stop on the path, then power off or hold

FAULTS = {
    "estop": Fault("the e-stop loop opens", _on_chip(lambda board: board.estop(True)), chip=True),
    "noise": Fault("10 % of all frames have a wrong bit and 10 % are lost, from power-on", _noise, early=True),
    "duplicates": Fault("30 % of all frames come twice, from power-on", _duplicates, early=True),
    "random-bytes": Fault("20 kB of random bytes on the line to the board", lambda b, c: b.incoming.inject(20_000),
                          settle=_HOST_LOST),
    "host-stall": Fault("the host does nothing for 400 ms", lambda board, clock: clock.stall(0.4), settle=_HOST_LOST),
    "host-gone": Fault("the cable is pulled", _cut, settle=_HOST_LOST),
    "reset": Fault("the reset pin is pulled low for a moment", _on_chip(lambda board: board.reset("pin")), chip=True),
    "brown-out": Fault("the supply of the chip dips", _on_chip(lambda board: board.reset("brownout")), chip=True),
    "crystal": Fault("the external oscillator stops", _on_chip(VirtualBoard.kill_crystal), chip=True),
    "dead-crystal": Fault("the external oscillator never starts", _on_chip(_no_crystal), early=True, chip=True),
    "encoder-stuck": Fault("the first joint's encoder stops counting", _stuck, needs=_ENCODER),
    "encoder-jump": Fault("the first joint's encoder jumps by an eighth of a turn", _jump,
                          needs=_ENCODER),
    "over-voltage": Fault("the motors' supply rises to one and a half of the nominal voltage", _bus(1.5), chip=True),
    "over-temperature": Fault("the drivers heat up to 120 deg C", _on_chip(_heat), chip=True),
    "supply-off": Fault("the motors' supply is switched off", _bus(0.0)),
    "encoder-reversed": Fault("the first joint's encoder counts the other way", _turned, needs=_ENCODER),
    "wrong-crystal": Fault("the external oscillator has 16 MHz", _on_chip(_wrong_crystal), early=True, chip=True),
    "supply-sag": Fault("the chip's own supply falls to 2.5 V for 20 ms", _on_chip(_sag), chip=True),
    "stack-overrun": Fault("the stack comes to its end", _on_chip(_stack), chip=True),
    "sensor-backwards": Fault("the first joint's current sensor turns round", _on_chip(_sensor_backwards), chip=True,
                              needs=_LOOP),
    "sensor-stuck": Fault("the first joint's current sensor gives 0 V", _on_chip(_sensor_stuck), chip=True,
                          needs=_LOOP),
    "sensor-gain-loss": Fault("the first joint's current sensor shows 0.15 of what flows", _on_chip(_sensor_gain),
                              chip=True, needs=_LOOP),
    "cable-shorted": Fault("the cable of the first joint's motor is shorted", _on_chip(_cable(0.05, 30e-6)), chip=True,
                           needs=_LOOP),
    "cable-off": Fault("the cable of the first joint's motor comes off", _on_chip(_cable(1e6, 1.0)), chip=True,
                       needs=_LOOP),
    "driver-forgets": Fault("the first gate driver loses its settings",
                            _on_chip(lambda board: board.gate_drivers[0].forget()), chip=True, needs=_DRIVERS),
    "phase-shorted": Fault("a phase of the first motor is shorted at its driver",
                           _on_chip(lambda board: board.over_current(0, FETHA_OC | FETLB_OC)), chip=True,
                           needs=_DRIVERS),
    "drive-silent": Fault("the first drive's cable comes off the bus", _on_chip(_off_the_bus), chip=True, needs=_BUS),
    "drive-late": Fault("the first drive answers 1.5 ms late", _on_chip(_late), chip=True, needs=_BUS),
    "drive-rescaled": Fault("the first drive is set to 0.8 of the range of velocity", _on_chip(_rescale), early=True,
                            chip=True, needs=_CAN),
    "drive-ails": Fault("the first drive gets too hot and reports it", _on_chip(_ail), chip=True, needs=_BUS),
    "drive-restarts": Fault("the first drive is without supply for 0.2 s", _on_chip(_drive_restarts), chip=True,
                            needs=_BUS),
    "bus-babble": Fault("a node floods the first bus", _on_chip(_babble), chip=True, needs=_BUS),
    "bus-foreign": Fault("another node sends under the name of the first drive", _on_chip(_foreign), chip=True,
                         needs=_BUS),
    "bus-short": Fault("the wires of the first bus touch for 50 ms", _on_chip(_short), chip=True, needs=_BUS),
    "bus-held": Fault("something holds the first bus dominant for 50 ms", _on_chip(_hold), chip=True, needs=_CAN),
    "bus-open-end": Fault("a terminator of the first bus is unplugged", _on_chip(_unplug_terminator), chip=True,
                          needs=_CAN),
    "overload": Fault("somebody leans on the first joint for longer than its motor can bear", _leaned_on, chip=True,
                      settle=_HOST_LOST, needs=_RATED),
}


def inject(name: str, board: BoardUnderTest, clock: VirtualClock, middle: float) -> None:
    """Bring about a fault of FAULTS `middle` seconds from now, or now if it is an early one. Raises BadInput if the arm
    lacks what the fault needs."""
    fault = FAULTS[name]
    if fault.needs and not NEEDS[fault.needs](board):
        possible = ", ".join(other for other, f in FAULTS.items() if not f.needs or NEEDS[f.needs](board))
        raise BadInput("command line", "--fault", name, f"needs {fault.needs}", f"of this arm: {possible}")
    board.at(board.seconds + (0.0 if fault.early else middle), lambda: fault.strike(board, clock))
