"""What goes wrong with motors on current loops: cables, windings, sensors, the converter; with the current that flows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress

import numpy as np

from codegen.common.errors import Refused
from codegen.mechanism.description import Mechanism
from hil.scenarios.campaign import Injection, Scene

SHORTED_CABLE = (0.05, 30e-6, 1e-9)  # ohm, henry, share of the turns that the current goes through
SHORTED_WINDING = (0.2, 0.1e-3, 0.2)
LOW_RESISTANCE = (0.3, 0.6e-3, 1.0)
CABLE_OFF = (1e6, 1.0, 1.0)
NOISE = 4e-3  # V, of a Hall sensor at full bandwidth (ACS725: some 2 mV rms)
PUSH = 3.0  # N m of a hand on the first joint, for which its motor needs most of what it may have
LOST = ("CURRENT_LOOP", "FOLLOWING", "OVERSPEED", "POSITION", "ENCODER_STUCK", "CURRENT_SIGN", "OVER_CURRENT")

Strike = Callable[[Scene], None]


def injections(mechanism: Mechanism) -> Iterator[Injection]:
    """All of them; none for an arm without current loops."""
    if any(joint.motor and joint.motor.drive == "current" for joint in mechanism.streamed):
        for part in (_shorts, _sensors, _silence, _pushes):
            yield from part()


def _rewound(j: int, winding: tuple[float, float, float]) -> Strike:
    def strike(scene: Scene) -> None:
        scene.board.plant.motors.rewind(j, *winding)  # type: ignore[attr-defined]

    return strike


def _then_armed(strike: Strike) -> Strike:
    """What is wrong before anything is armed."""
    def armed(scene: Scene) -> None:
        strike(scene)
        scene.run(0.02)
        with suppress(Refused):
            scene.session.arm()

    return armed


def _shorts() -> Iterator[Injection]:
    for kind, winding, worst, late in (("shorted cable", SHORTED_CABLE, 60.0, 110.0),
                                       ("partly shorted winding", SHORTED_WINDING, 40.0, 40.0)):
        for j in range(2):
            strike = _rewound(j, winding)
            yield Injection(kind, f"joint {j} when armed", "DISARMED", _then_armed(strike), ("FAULT",), ("OVER_CURRENT",), 0.1,
                            amperes=worst)
            for state in ("TRACK", "HOLD", "JOG", "PROBE"):
                yield Injection(kind, f"joint {j} in {state}", state, strike, ("FAULT",), ("OVER_CURRENT", "CURRENT_LOOP"), 0.8,
                                0.2, amperes=late)
    for j in range(2):
        off = _rewound(j, CABLE_OFF)
        yield Injection("cable off", f"joint {j} when armed", "DISARMED", _then_armed(off), ("FAULT",), ("CURRENT_LOOP",), 0.1,
                        amperes=16.0)
        yield Injection("cable off", f"joint {j} in TRACK", "TRACK", off, ("FAULT",), LOST, 0.8, 0.2, amperes=16.0)


def _sensors() -> Iterator[Injection]:
    for j in range(2):
        def backwards(scene: Scene, j: int = j) -> None:
            scene.board.current_sensors[j].backwards = True
            scene.board.current_sensors[j].noise = NOISE  # without any a loop at rest would stay so

        yield Injection("sensor backwards", f"joint {j} when armed", "DISARMED", _then_armed(backwards), ("FAULT",),
                        ("CURRENT_SIGN",), 0.1, amperes=2.0)
        for state in ("HOLD", "TRACK", "FLOAT", "JOG"):
            yield Injection("sensor backwards", f"joint {j}, turned round in {state}", state, backwards, ("FAULT",),
                            ("CURRENT_SIGN", "OVER_CURRENT"), 0.2, amperes=16.0)
        for volts in (0.0, 0.3, 3.0, 3.3):
            def stuck(scene: Scene, j: int = j, volts: float = volts) -> None:
                scene.board.current_sensors[j].stuck = volts

            for state in ("HOLD", "TRACK", "PROBE"):
                yield Injection("amplifier saturated", f"joint {j}, {volts:g} V in {state}", state, stuck, ("FAULT",),
                                ("OVER_CURRENT",), 0.01, amperes=16.0)

        def blind(scene: Scene, j: int = j) -> None:
            scene.board.current_sensors[j].stuck = 1.65

        yield Injection("sensor shows nothing", f"joint {j} when armed", "DISARMED", _then_armed(blind), ("FAULT",),
                        ("CURRENT_LOOP",), 0.1, amperes=2.0)
        yield Injection("sensor shows nothing", f"joint {j} in TRACK", "TRACK", blind, ("FAULT",), LOST, 0.8, amperes=16.0)

        def off_zero(scene: Scene, j: int = j) -> None:
            scene.board.current_sensors[j].stuck = 2.2

        yield Injection("sensor off its zero", f"joint {j}", "DISARMED", _then_armed(off_zero), ("DISARMED",), (), 0.1, amperes=0.1)


def _silence() -> Iterator[Injection]:
    def stopped(scene: Scene) -> None:
        scene.board.chip.converters[0].dead = True

    for state in ("HOLD", "TRACK", "FLOAT", "JOG", "HOMING", "PROBE"):
        yield Injection("converter of currents", f"stops in {state}", state, stopped, ("FAULT",), ("CURRENT_SENSOR",), 0.01,
                        amperes=16.0)


def _pushes() -> Iterator[Injection]:
    """Nothing is wrong: a motor of low resistance is asked for much, in both directions."""
    for push in (PUSH, -PUSH):
        def pushed(scene: Scene, push: float = push) -> None:
            plant = scene.board.plant
            plant.motors.rewind(0, *LOW_RESISTANCE)  # type: ignore[attr-defined]
            ramp = plant.time  # type: ignore[attr-defined]

            def hand(p: object) -> np.ndarray:
                torque = np.zeros(plant.n)  # type: ignore[attr-defined]
                torque[0] = push * min((plant.time - ramp) / 0.3, 1.0)  # type: ignore[attr-defined]
                return torque

            plant.hand = hand  # type: ignore[attr-defined]
            scene.run(0.5)

        yield Injection("much asked, low R", f"a hand pushes with {push:g} N m", "HOLD", pushed, ("HOLD",), (), 0.1, amperes=12.0)
