"""Faults of a board, its arm and its link: actions that change a virtual board immediately, and the named faults of
`femtorque hil run --fault`. Campaigns perform the same actions with other numbers and in other states."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from operator import attrgetter, methodcaller
from typing import Any, cast

import numpy as np

from femtorque.codegen.common import BadInput
from femtorque.hil.board.drv8301 import FETHA_OC, FETLB_OC
from femtorque.hil.board.virtual import BoardUnderTest, VirtualBoard, VirtualClock
from femtorque.hil.bus import Frame, Intruder, OneWire, Wire
from femtorque.hil.chip import NOMINAL, SRAM_START
from femtorque.hil.drives import Drive

Act = Callable[[VirtualBoard], None]
Part = Callable[[VirtualBoard], Any]
SAG_STEP = 2e-4  # s
SHORTED_CABLE = (0.05, 30e-6, 1e-9)  # ohm, henry, and the fraction of turns that carry current

# ---- parts


def first(board: VirtualBoard) -> Any:
    """Return the first drive or servo on a bus."""
    return next(iter(board.wiring.buses.all.values()))


def _on_can(board: VirtualBoard) -> Drive:
    return next(iter(board.wiring.buses.drives.values()))


def line(board: VirtualBoard) -> OneWire | None:
    """Return the first half-duplex bus of an arm that has only such buses, or None."""
    buses = board.wiring.buses
    return None if buses.wires else next(iter(buses.lines.values()))


def wire(board: VirtualBoard) -> OneWire | Wire:
    """Return the bus of the first drive or servo."""
    return line(board) or _on_can(board).wire


def whole(board: VirtualBoard) -> VirtualBoard:
    return board


def encoder(j: int) -> Part:
    return lambda board: board.encoder_faults[j]


def sensor(j: int) -> Part:
    return lambda board: board.current_sensors[j]


def converter(number: int) -> Part:
    return lambda board: board.chip.converters[number]


incoming, outgoing, crystal = attrgetter("incoming"), attrgetter("outgoing"), attrgetter("chip.rcc")

# ---- acts


def becomes(part: Part, seconds: float | None = None, **values: object) -> Act:
    """Set attributes of an object, permanently or for a number of seconds."""
    def put(one: Any, these: dict[str, object]) -> None:
        for name, value in these.items():
            setattr(one, name, value)

    def act(board: VirtualBoard) -> None:
        one = part(board)
        before = {name: getattr(one, name) for name in values}
        put(one, values)
        if seconds is not None:
            board.at(board.seconds + seconds, lambda: put(one, before))

    return act


def every(*acts: Act) -> Act:
    """Do several acts at once."""
    def act(board: VirtualBoard) -> None:
        for one in acts:
            one(board)

    return act


def stuck(j: int) -> Act:
    """Freeze the count of an encoder."""
    return lambda board: becomes(encoder(j), frozen=int(board.plant.counts()[j]))(board)


def turned(j: int) -> Act:
    """Reverse the counting direction of an encoder."""
    return lambda board: board.encoder_faults[j].reverse(int(board.plant.counts()[j]))


def jump(j: int, counts: int) -> Act:
    """Let an encoder jump."""
    def act(board: VirtualBoard) -> None:
        board.encoder_faults[j].offset += counts

    return act


def _eighth(board: VirtualBoard) -> None:
    own = board.joints[0][0].encoder
    assert own is not None
    jump(0, own.counts // 8)(board)


def lean(torque: float) -> Act:
    """Apply an external torque to the first joint, N m."""
    def act(board: VirtualBoard) -> None:
        push = np.zeros(len(board.joints))
        push[0] = torque
        board.plant.hand = lambda plant: push  # type: ignore[attr-defined]

    return act


def _overload(board: VirtualBoard) -> None:
    """Apply to the first joint twice the continuous torque of its motor."""
    motor = board.joints[0][0].motor
    assert motor is not None and motor.continuous is not None
    lean(2.0 * motor.continuous * motor.K * motor.gear)(board)


def supply(share: float) -> Act:
    """Set the motors' supply to a fraction of the nominal voltage."""
    def act(board: VirtualBoard) -> None:
        assert board.mechanism.board is not None
        board.bus_voltage = share * board.mechanism.board.bus_voltage

    return act


def _heat(board: VirtualBoard) -> None:
    board.temperatures[:] = [120.0 for _ in board.temperatures]


def sag(low: float, fall_s: float, stay_s: float, look: Act = lambda board: None) -> Act:
    """Let the chip's supply drop, stay low for a while, and recover. look: called after each step."""
    def act(board: VirtualBoard) -> None:
        chip, began = board.chip, board.seconds

        def fall(volts: float) -> None:
            chip.supply(volts)
            look(board)

        steps = max(round(fall_s / SAG_STEP), 1)
        for i in range(steps):
            board.at(began + i * SAG_STEP, partial(fall, NOMINAL + (low - NOMINAL) * (i + 1) / steps))
        board.at(began + fall_s + stay_s, lambda: chip.supply(NOMINAL))

    return act


def overrun_stack(board: VirtualBoard) -> None:
    """Overwrite the guard word at the boundary between the stack and RAM."""
    board.chip.core.load(SRAM_START + 16, b"\0\0\0\0")


def rewind(j: int, winding: tuple[float, float, float]) -> Act:
    """Change the winding or the cable of a motor. winding: values as in SHORTED_CABLE."""
    return lambda board: board.plant.motors.rewind(j, *winding)  # type: ignore[attr-defined]


def forgets(which: int) -> Act:
    """Reset the settings of a gate driver."""
    return lambda board: board.gate_drivers[which].forget()


def phase_shorted(which: int) -> Act:
    return methodcaller("over_current", which, FETHA_OC | FETLB_OC)


def intruder(number: int | None, period: float) -> Act:
    """Send frames with this identifier. None: reports of the first drive, with minimal values."""
    def act(board: VirtualBoard) -> None:
        drive = _on_can(board)
        frame = drive.report(bytes(7)) if number is None else Frame(number, bytes(8))
        Intruder(drive.wire, frame, period, drive.timing, drive.fast)

    return act


def _babble(board: VirtualBoard) -> None:
    """Flood the bus with frames of the highest priority, or a half-duplex bus with bytes."""
    (intruder(0, 0.0) if line(board) is None else becomes(line, babbles=True))(board)


def _foreign(board: VirtualBoard) -> None:
    """Send frames with the first drive's identifier; on a half-duplex bus, connect a servo with the first number."""
    if (own := line(board)) is not None:
        own.servos += (first(board).twin(),)
        return
    intruder(None, 2.3e-3)(board)


def rescale(share: float) -> Act:
    """Set the velocity of the first drive to a fraction of its range."""
    return lambda board: _on_can(board).rescale(share)


def _ail(board: VirtualBoard) -> None:
    first(board).fail(first(board).hot_code)


def held(seconds: float) -> Act:
    """Hold the first bus dominant for a number of seconds."""
    def act(board: VirtualBoard) -> None:
        own = _on_can(board).wire
        own.hold()
        board.at(board.seconds + seconds, own.release)

    return act


# ---- faults by name


@dataclass(frozen=True)
class Fault:
    """A named fault."""

    doc: str  # description in one line
    act: Act  # injects the fault
    early: bool = False  # true if the fault is present from power-on; otherwise it begins in mid-motion
    settle: float = 0.3  # time from the end of the host's attempt until the board is in its last state, s
    chip: bool = False  # true if the fault needs the virtual chip; the other faults also work with a real board
    needs: str = ""  # a key of NEEDS; empty if the fault works with every arm
    stall: float = 0.0  # time for which the host does nothing, s


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


_HOST_LOST = 1.5  # time of the two failsafe stages, s: a stop on the path, then power off or hold

_chip = partial(Fault, chip=True)
_loop, _drivers = partial(_chip, needs=_LOOP), partial(_chip, needs=_DRIVERS)
_bus, _can = partial(_chip, needs=_BUS), partial(_chip, needs=_CAN)
FAULTS = {
    "estop": _chip("the e-stop loop opens", methodcaller("estop", True)),
    "noise": Fault("10 % of all frames have a wrong bit and 10 % are lost, from power-on",
                   every(*(becomes(way, flip=0.1, drop=0.1) for way in (incoming, outgoing))), early=True),
    "duplicates": Fault("30 % of all frames come twice, from power-on",
                        every(*(becomes(way, duplicate=0.3) for way in (incoming, outgoing))), early=True),
    "random-bytes": Fault("20 kB of random bytes on the line to the board",
                          lambda board: board.incoming.inject(20_000), settle=_HOST_LOST),
    "host-stall": Fault("the host does nothing for 400 ms", every(), settle=_HOST_LOST, stall=0.4),
    "host-gone": Fault("the cable is pulled", every(becomes(incoming, cut=True), becomes(outgoing, cut=True)),
                       settle=_HOST_LOST),
    "reset": _chip("the reset pin is pulled low for a moment", methodcaller("reset", "pin")),
    "brown-out": _chip("the supply of the chip dips", methodcaller("reset", "brownout")),
    "crystal": _chip("the external oscillator stops", methodcaller("kill_crystal")),
    "dead-crystal": _chip("the external oscillator never starts", becomes(crystal, hse_alive=False), early=True),
    "encoder-stuck": Fault("the first joint's encoder stops counting", stuck(0), needs=_ENCODER),
    "encoder-jump": Fault("the first joint's encoder jumps by an eighth of a turn", _eighth, needs=_ENCODER),
    "over-voltage": _chip("the motors' supply rises to one and a half of the nominal voltage", supply(1.5)),
    "over-temperature": _chip("the drivers heat up to 120 deg C", _heat),
    "supply-off": Fault("the motors' supply is switched off", supply(0.0)),
    "encoder-reversed": Fault("the first joint's encoder counts the other way", turned(0), needs=_ENCODER),
    "wrong-crystal": _chip("the external oscillator has 16 MHz", becomes(crystal, hse_hz=16_000_000), early=True),
    "supply-sag": _chip("the chip's own supply falls to 2.5 V for 20 ms", sag(2.5, 0.0, 0.02)),
    "stack-overrun": _chip("the stack comes to its end", overrun_stack),
    "sensor-backwards": _loop("the first joint's current sensor turns round", becomes(sensor(0), backwards=True)),
    "sensor-stuck": _loop("the first joint's current sensor gives 0 V", becomes(sensor(0), stuck=0.0)),
    "sensor-gain-loss": _loop("the first joint's current sensor shows 0.15 of what flows",
                              becomes(sensor(0), gain=0.15)),
    "cable-shorted": _loop("the cable of the first joint's motor is shorted", rewind(0, SHORTED_CABLE)),
    "cable-off": _loop("the cable of the first joint's motor comes off", rewind(0, (1e6, 1.0, 1e-9))),
    "driver-forgets": _drivers("the first gate driver loses its settings", forgets(0)),
    "phase-shorted": _drivers("a phase of the first motor is shorted at its driver", phase_shorted(0)),
    "drive-silent": _bus("the first drive's cable comes off the bus", becomes(first, cut=True)),
    "drive-late": _bus("the first drive answers 1.5 ms late", becomes(first, late=1.5e-3)),
    "drive-rescaled": _can("the first drive is set to 0.8 of the range of velocity", rescale(0.8), early=True),
    "drive-ails": _bus("the first drive gets too hot and reports it", _ail),
    "drive-restarts": _bus("the first drive is without supply for 0.2 s", becomes(first, 0.2, supplied=False)),
    "bus-babble": _bus("a node floods the first bus", _babble),
    "bus-foreign": _bus("another node sends under the name of the first drive", _foreign),
    "bus-short": _bus("the wires of the first bus touch for 50 ms", becomes(wire, 0.05, shorted=True)),
    "bus-held": _can("something holds the first bus dominant for 50 ms", held(0.05)),
    "bus-open-end": _can("a terminator of the first bus is unplugged", becomes(wire, terminators=1)),
    "overload": _chip("somebody leans on the first joint for longer than its motor can bear", _overload,
                      settle=_HOST_LOST, needs=_RATED),
}


def inject(name: str, board: BoardUnderTest, clock: VirtualClock, middle: float) -> None:
    """Inject a fault of FAULTS after `middle` seconds or early. Raises BadInput if the arm lacks its need."""
    fault = FAULTS[name]
    if fault.needs and not NEEDS[fault.needs](board):
        possible = ", ".join(other for other, f in FAULTS.items() if not f.needs or NEEDS[f.needs](board))
        raise BadInput("command line", "--fault", name, f"needs {fault.needs}", f"of this arm: {possible}")

    def strike() -> None:
        fault.act(cast(VirtualBoard, board))
        if fault.stall:
            clock.stall(fault.stall)

    board.at(board.seconds + (0.0 if fault.early else middle), strike)
