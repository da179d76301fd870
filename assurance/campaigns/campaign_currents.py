"""Faults of motors on current loops, with a maximum current: cables, windings, sensors, the converter."""

from collections.abc import Iterator
from contextlib import suppress

import numpy as np

from assurance.campaigns.campaign import BEFORE, DRIVEN, HELD, MOVED, Injection, Scene, Strike, each, on
from femtorque.codegen.common import Refused
from femtorque.codegen.mechanism import Mechanism
from femtorque.hil.board import faults
from femtorque.hil.board.faults import SHORTED_CABLE

SHORTED_WINDING = (0.2, 0.1e-3, 0.2)  # resistance, ohm; inductance, henry; fraction of the turns with current
LOW_RESISTANCE = (0.3, 0.6e-3, 1.0)
CABLE_OFF = (1e6, 1.0, 1.0)
NOISE = 4e-3  # noise of a Hall sensor at full bandwidth, V (ACS725: some 2 mV rms)
MOST = 16.0  # limit slightly above the current that the bus voltage drives through a motor at rest, A
PUSH = 3.0  # torque of a hand on the first joint, N m; against this torque the motor needs most of its current
LOST = ("CURRENT_LOOP", "FOLLOWING", "OVERSPEED", "POSITION", "ENCODER_STUCK", "CURRENT_SIGN", "OVER_CURRENT")


def injections(mechanism: Mechanism) -> Iterator[Injection]:
    """Yield all faults, or nothing for an arm without current loops."""
    if any(joint.motor and joint.motor.drive == "current" for joint in mechanism.streamed):
        for part in (_shorts, _sensors, _silence, _pushes):
            yield from part()


def _then_armed(strike: Strike) -> Strike:
    """Return the function that injects a fault before the arm is armed."""
    def armed(scene: Scene) -> None:
        strike(scene)
        scene.run(0.02)
        with suppress(Refused):
            scene.session.arm()

    return armed


def _faulted(kind: str, name: str, state: str, strike: Strike, named: tuple[str, ...], amperes: float,
             within: float = 0.1, after: float = BEFORE) -> Injection:
    """Return a fault whose required end is a fault state."""
    return Injection(kind, name, state, strike, ("FAULT",), named, within, after, amperes=amperes)


def _shorts() -> Iterator[Injection]:
    for kind, winding, before, later in (("shorted cable", SHORTED_CABLE, 60.0, 110.0),
                                         ("partly shorted winding", SHORTED_WINDING, 40.0, 40.0)):
        for j in range(2):
            strike = on(faults.rewind(j, winding))
            yield _faulted(kind, f"joint {j} when armed", "DISARMED", _then_armed(strike), ("OVER_CURRENT",), before)
            yield from each(kind, f"joint {j}", ("TRACK", "HOLD", "JOG", "PROBE"), strike,
                            ("OVER_CURRENT", "CURRENT_LOOP"), 0.8, after=0.2, amperes=later)
    for j in range(2):
        off = on(faults.rewind(j, CABLE_OFF))
        yield _faulted("cable off", f"joint {j} when armed", "DISARMED", _then_armed(off), ("CURRENT_LOOP",), MOST)
        yield _faulted("cable off", f"joint {j} in TRACK", "TRACK", off, LOST, MOST, 0.8, 0.2)


def _sensors() -> Iterator[Injection]:
    for j in range(2):
        backwards = _sensor(j, backwards=True, noise=NOISE)  # noise moves a loop out of its rest
        kind, named = "sensor backwards", ("CURRENT_SIGN", "OVER_CURRENT")
        yield _faulted(kind, f"joint {j} when armed", "DISARMED", _then_armed(backwards), ("CURRENT_SIGN",), 2.0)
        yield from each(kind, f"joint {j}, turned round", HELD, backwards, named, 0.2, amperes=MOST)
        for volts in (0.0, 0.3, 3.0, 3.3):
            yield from each("amplifier saturated", f"joint {j}, {volts:g} V", (*MOVED, "PROBE"),
                            _sensor(j, stuck=volts), "OVER_CURRENT", 0.01, amperes=MOST)
        kind, blind = "sensor shows nothing", _sensor(j, stuck=1.65)
        yield _faulted(kind, f"joint {j} when armed", "DISARMED", _then_armed(blind), ("CURRENT_LOOP",), 2.0)
        yield _faulted(kind, f"joint {j} in TRACK", "TRACK", blind, LOST, MOST, 0.8)
        for gain in (0.15, 0.5):
            yield _faulted("sensor gain lost", f"joint {j}, {gain:g} left when armed", "DISARMED",
                           _then_armed(_sensor(j, gain=gain)), ("CURRENT_LOOP",), 2.0)
        yield Injection("sensor off its zero", f"joint {j}", "DISARMED", _then_armed(_sensor(j, stuck=2.2)),
                        ("DISARMED",), amperes=0.1)


def _sensor(j: int, **values: object) -> Strike:
    return on(faults.becomes(faults.sensor(j), None, **values))


def _silence() -> Iterator[Injection]:
    stopped = on(faults.becomes(faults.converter(0), dead=True))
    yield from each("converter of currents", "stops", DRIVEN, stopped, "CURRENT_SENSOR", 0.01, amperes=MOST)


def _pushes() -> Iterator[Injection]:
    """Yield large torques in both directions, of a motor with low resistance, without any fault."""
    for push in (PUSH, -PUSH):
        def pushed(scene: Scene, push: float = push) -> None:
            faults.rewind(0, LOW_RESISTANCE)(scene.board)
            _lean(scene, push)

        yield Injection("much asked, low R", f"a hand pushes with {push:g} N m", "HOLD", pushed, ("HOLD",), (), 0.1,
                        amperes=12.0)

    def weakened(scene: Scene) -> None:
        _lean(scene, PUSH)
        _sensor(0, gain=0.15)(scene)

    yield _faulted("sensor gain lost", f"joint 0, 0.15 left, {PUSH:g} N m on it", "HOLD", weakened, ("CURRENT_LOOP",),
                   MOST)


def _lean(scene: Scene, push: float) -> None:
    """Push the first joint, with a ramp of 0.3 s."""
    plant = scene.board.plant
    since = plant.time  # type: ignore[attr-defined]

    def hand(p: object) -> np.ndarray:
        torque = np.zeros(plant.n)  # type: ignore[attr-defined]
        torque[0] = push * min((plant.time - since) / 0.3, 1.0)  # type: ignore[attr-defined]
        return torque

    plant.hand = hand  # type: ignore[attr-defined]
    scene.run(0.5)
