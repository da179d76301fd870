"""The fault campaign: several hundred things that go wrong on the virtual board, each with the state it must end in,
how soon, and outputs safe from then on.

An injection brings the board into a state the way a host does, strikes, and looks. Late is as wrong as never.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from femtorque.codegen.board.description import Board
from femtorque.codegen.board.reader import load as load_board
from femtorque.codegen.common.errors import Refused
from femtorque.codegen.mechanism.description import Brake, Home, Mechanism, Park
from femtorque.codegen.motion.trajectory import Knots, from_rows, knots
from femtorque.codegen.toolchain import platformio as build
from femtorque.codegen.wire.messages import (
    FOLLOW_AUTO,
    TARGET_RATES,
    Float,
    Follow,
    Jog,
    Knot,
    Probe,
    Seek,
    Target,
)
from femtorque.codegen.wire.names import flag
from femtorque.codegen.wire.units import to_wire
from femtorque.hil.board.drv8301 import FETHA_OC, FETLB_OC
from femtorque.hil.board.virtual import VirtualBoard, VirtualClock
from femtorque.hil.chip.elf import Image
from femtorque.hil.chip.stm32 import probe as swd
from femtorque.hil.chip.stm32.chip import SRAM_START
from femtorque.hil.chip.stm32.supply import NOMINAL
from femtorque.hil.plant.rigid import Plant
from femtorque.hil.play.connect import session_with
from femtorque.hil.play.run import Witness
from femtorque.host.link.requests import ASK
from femtorque.host.link.retransmit import Sender
from femtorque.host.link.session import PERIOD

BEFORE = 0.05  # s in a state before the strike, where nothing else is said
STAY = 0.05  # s for which the outcome must last
STATUS = 0.03  # s until a state is seen: two STATUS frames, one of which may be lost
SAFE = ("FAULT", "ESTOP", "DISARMED")  # states in which no motor may be driven
MOTION = 1.2  # s: more knots than the ring holds, so that it is still being filled when something goes wrong
REACH = (0.9, -0.7, 0.6)  # rad, of the joints there are
MOVED = ("HOLD", "TRACK", "FOLLOW")  # states in which the law about a motion drives the motors
HELD = (*MOVED, "FLOAT", "JOG")  # and the others of an arm that has its zeros and is armed
DRIVEN = (*HELD, "HOMING", "PROBE")  # all in which motors are driven
FOLLOWED = 0.25  # s for which targets are sent first: the arm is in motion then
HAND = 3.0  # N m with which somebody leans on the first joint
WARMS = 0.3  # s: time constant of a motor's temperature


@dataclass(frozen=True)
class Injection:
    """Injected fault: `strike` in `state`, `after` s there. Required: one of `states`, with one of `faults` latched,
    within `within` s, and for `lasts` s. early: struck at power-on instead. dark: no motor may be driven in any state.
    amperes: the most that may flow in a motor or its cable. lies: where the arm must be then, rad."""

    kind: str
    name: str
    state: str
    strike: Callable[[Scene], None]
    states: tuple[str, ...]
    faults: tuple[str, ...] = ()
    within: float = 0.1
    after: float = BEFORE
    early: bool = False
    dark: bool = False
    amperes: float = math.inf
    lasts: float = STAY
    lies: tuple[float, ...] = ()


@dataclass(frozen=True)
class CaseOutcome:
    """good: the state was reached in time, stayed, outputs were safe, and no more current flowed than may.
    seconds: from the strike to it. amperes: the largest current from the strike on."""

    injection: Injection
    state: str
    fault: str
    seconds: float
    good: bool
    why: str
    amperes: float


def mechanism_of(source: Mechanism) -> Mechanism:
    """The arm of the campaign: its first joint has a stop, outside its limits, to find its zero at, its second one an
    index where the board has an input for one."""
    first, second, *others = source.joints
    assert source.board is not None and first.encoder is not None
    assert second.encoder is not None and second.motor is not None
    first = replace(first, encoder=replace(first.encoder, zero="stop"), home=Home(at=-3.15, travel=6.0, speed=0.5))
    if load_board(source.board.use).channels[second.motor.channel].encoder.index:
        second = replace(second, encoder=replace(second.encoder, zero="index"),
                         home=Home(at=0.9, direction=1, travel=0.6))
    return replace(source, name=f"{source.name}-campaign", joints=(first, second, *others))


def loaded_of(source: Mechanism) -> Mechanism:
    """The arm stood upright: it hangs on its motors, and on brakes that take their time."""
    brake = Brake(release_s=0.03, engage_s=0.06)
    return replace(source, name=f"{source.name}-loaded", gravity=np.array([0.0, -9.81, 0.0]),
                   safety=replace(source.safety, brake=brake))


def held_of(source: Mechanism) -> Mechanism:
    """The arm, whose motors hold it when its host is gone."""
    return replace(source, name=f"{source.name}-held", safety=replace(source.safety, host="hold"))


def rated_of(source: Mechanism) -> Mechanism:
    """The arm lying, with such brakes, its first motor rated for half of the torque that a hand asks of it."""
    first, *others = source.joints
    assert first.motor is not None
    motor = replace(first.motor, continuous=0.5 * HAND / (first.motor.K * abs(first.motor.gear)), thermal_s=WARMS)
    return replace(source, name=f"{source.name}-rated", joints=(replace(first, motor=motor), *others),
                   safety=replace(source.safety, brake=Brake(release_s=0.03, engage_s=0.06)))


LIES = (0.5, 0.3, -0.4)  # rad, of the joints there are
LYING_S = 6.0  # s in which the arm lies from anywhere in its motion: 1 rad at a tenth of what FOLLOW may, and ramps
ON_THE_WAY = 1.5  # s after the host was lost: the arm is moving by then
LIES_NEAR = 0.03  # rad: where it lies, but for what it falls until that is looked at
SAGGED = 0.8  # of the nominal supply: low, and not yet too low


def parked_of(source: Mechanism) -> Mechanism:
    """The arm, which goes to a pose before its motors are let go."""
    assert source.board is not None
    pose = {joint.name: at for joint, at in zip(source.streamed, LIES, strict=False)}
    park = Park(pose, heat=load_board(source.board.use).sense.temperature is not None,
                supply_v=0.9 * source.board.bus_voltage)
    return replace(source, name=f"{source.name}-parked", safety=replace(source.safety, park=park))


class Scene:
    """One board on its way into a state, with the host that brings it there and goes on being a host."""

    def __init__(self, mechanism: Mechanism, elf: Path) -> None:
        self.mechanism = mechanism
        self.board = VirtualBoard(elf, mechanism, Plant(mechanism))
        self.board.recording = False
        self.clock = VirtualClock(self.board)
        self.witness = Witness(self.board)
        self.session = session_with(self.board, clock=self.clock)
        self.strained = False  # a motor was driven while the chip ran out of its specification
        self.worst = 0.0  # A, in any motor or its cable
        self._measure()
        self.asking: Callable[[], object] | None = None
        self._asked = 0.0
        self._followed = math.inf  # s, since when the board follows

    def _measure(self) -> None:
        """Look at the currents whenever time has passed."""
        plant, drive = self.board.plant, self.board.plant.drive

        def measured(seconds: float, voltage: Any) -> None:
            drive(seconds, voltage)
            self.worst = max(self.worst, float(np.abs(plant.current).max()))

        plant.drive = measured  # type: ignore[method-assign]

    def close(self) -> None:
        self.session.close()
        self.board.close()

    def motion(self) -> Knots:
        start = np.array([j.start for j in self.mechanism.streamed])
        names = [j.name for j in self.mechanism.streamed]
        return knots(from_rows(names, [0.0, MOTION], np.array([start, start + REACH[:len(start)]])), self.mechanism)

    def target(self) -> Target:
        """The target of this moment: to REACH within MOTION, and on from there."""
        share = min(max(self.board.seconds - self._followed, 0.0) / MOTION, 1.0)
        joints, size = self.mechanism.streamed, 0.5 - 0.5 * math.cos(math.pi * share)
        positions = np.array([j.start for j in joints]) + size * np.array(REACH[:len(joints)])
        now = round(1e6 * self.board.seconds)
        return Target(0, 0, now, 0, to_wire(positions, joints).tolist(), [0.0] * len(joints))

    def enter(self, state: str) -> None:
        """From power-on to a state."""
        session = self.session
        if state in ("BOOT", "CHECK"):
            return
        session.connect()
        session.home([j.start for j in self.mechanism.streamed])
        if state in (*HELD, "FAULT"):
            session.arm()
        if state == "TRACK":
            sender = session.sender = Sender(session.link, self.motion(), session.status.ack, session.flight)
            sender.credit = session.status.credit
            session.wait(lambda: sender.acked >= min(150, len(self.motion()) - 1), 5.0, "took no knots")
            session.start()
        asks: dict[str, Jog | Float | Seek | Probe] = {
            "JOG": Jog(0, 1, 0.3), "FLOAT": Float(0, 0), "HOMING": Seek(0, 0),
            "PROBE": Probe(0, len(self.mechanism.streamed) - 1, 0.01)}
        if state in asks:
            first = asks[state]
            session.ask(replace(first, torque=0.0) if isinstance(first, Probe) else first, state)
        if state in ("JOG", "PROBE"):
            self.asking = lambda: session.tell(asks[state])
        if state == "FOLLOW":
            session.ask(Follow(0, FOLLOW_AUTO, 0), state)
            self._followed, self.asking = self.board.seconds, lambda: session.link.send(self.target())
            self.run(FOLLOWED)
        if state == "FAULT":
            self.board.encoder_faults[0].offset += 2000
        if state == "ESTOP":
            self.board.estop(True)
            self.run(0.05)
            self.board.estop(False)
        self.run(STATUS)
        if self.witness.state != state:
            raise Refused(f"the board did not come into {state}: it is in {self.witness.state}")

    def run(self, seconds: float, until: Callable[[], bool] = lambda: False) -> None:
        """Let the host go on with what it does."""
        end = self.board.seconds + seconds
        while self.board.seconds < end and not until():
            with suppress(Refused):  # what it thinks of the board is not what is looked at
                self.session.pump()
                if self.asking and self.board.seconds - self._asked >= ASK:
                    self.asking()
                    self._asked = self.board.seconds
            self.clock.sleep(PERIOD)


def strike(injection: Injection, mechanism: Mechanism, elf: Path,
           watch: Callable[[VirtualBoard, Injection], Callable[[], None]] = lambda board,
           injection: lambda: None) -> CaseOutcome:
    """Do one injection and look. watch: is shown the board before it runs; what it returns is called at the end."""
    scene = Scene(mechanism, elf)
    done = watch(scene.board, injection)
    try:
        if injection.early:
            injection.strike(scene)
            struck = scene.board.seconds
        else:
            scene.enter(injection.state)
            scene.run(injection.after)
            scene.worst = 0.0
            injection.strike(scene)
            struck = scene.board.seconds

        def there() -> bool:
            fault = scene.witness.faults[-1] if scene.witness.faults and scene.witness.last.fault else ""
            known = not injection.faults or fault in injection.faults
            dark = not injection.dark or scene.board.outputs_safe()
            return scene.witness.state in injection.states and known and dark and _safe(scene) and _lies(
                scene, injection)

        scene.run(injection.within + STATUS, there)
        seconds = scene.board.seconds - struck
        arrived = there()
        scene.run(injection.lasts)
        stayed = there()
        why = "not in time" if not arrived else "did not stay" if not stayed else (
            f"{scene.worst:.1f} A" if scene.worst > injection.amperes else "")
        fault = scene.witness.faults[-1] if scene.witness.faults else ""
        return CaseOutcome(injection, scene.witness.state, fault, seconds, not why, why, scene.worst)
    finally:
        done()
        scene.close()


def _safe(scene: Scene) -> bool:
    if scene.strained:
        return False
    held = scene.mechanism.safety.brake is None or scene.board.brake_closed(scene.board.seconds)
    return scene.witness.state not in SAFE or scene.board.outputs_safe() and held


def _lies(scene: Scene, injection: Injection) -> bool:
    """Motors are off where the arm lies, if it is to."""
    q = scene.board.plant.q
    near = bool(np.all(np.abs(q - np.array(injection.lies[:len(q)])) <= LIES_NEAR)) if injection.lies else True
    return near and not (injection.lies and flag(scene.witness.last, "OUTPUTS"))


# -- what goes wrong
# ----------------------------------------------------------------------------------------------------


def injections(mechanism: Mechanism, elf: Path) -> list[Injection]:
    """All of them, in a fixed order."""
    joints = len(mechanism.streamed)
    return [*_encoders(joints), *_clock(), *_crystals(mechanism), *_sags(), *_halts(mechanism), *_overrun_stack(),
            *_line(), *_host(), *_resets(), *_estops(), *_drivers(), *_gate_drivers(mechanism), *_loaded(mechanism),
            *_parked(mechanism), *_held(mechanism), *_overloads(mechanism), *_supply(mechanism), *_overruns(),
            *_flips(mechanism, elf), *_code_flips(elf), *_numbers(joints)]


def _board(mechanism: Mechanism) -> Board:
    assert mechanism.board is not None
    return load_board(mechanism.board.use)


TIMES = (0.1, 0.2, 0.3, 0.4, 0.5)  # s into the motion


def _encoders(joints: int) -> Iterator[Injection]:
    lost = ("ENCODER", "ENCODER_STUCK", "FOLLOWING", "OVERSPEED", "POSITION")
    for joint in range(joints):
        def frozen(scene: Scene, j: int = joint) -> None:
            scene.board.encoder_faults[j].frozen = int(scene.board.plant.counts()[j])

        def reversed_(scene: Scene, j: int = joint) -> None:
            scene.board.encoder_faults[j].reverse(int(scene.board.plant.counts()[j]))

        for after in TIMES[:4]:
            yield Injection("encoder stuck", f"joint {joint} at {after} s", "TRACK", frozen, ("FAULT",), lost, 0.8,
                            after)
            yield Injection("encoder reversed", f"joint {joint} at {after} s", "TRACK", reversed_, ("FAULT",), lost,
                            0.4, after)
        yield Injection("encoder stuck", f"joint {joint} in FOLLOW", "FOLLOW", frozen, ("FAULT",), lost, 0.8)
        yield Injection("encoder reversed", f"joint {joint} in FOLLOW", "FOLLOW", reversed_, ("FAULT",), lost, 0.4)
        for counts in (-4096, -1024, -100, 100, 1024, 4096):
            def jump(scene: Scene, j: int = joint, n: int = counts) -> None:
                scene.board.encoder_faults[j].offset += n

            for state in HELD:
                yield Injection("encoder jump", f"joint {joint} by {counts} in {state}", state, jump, ("FAULT",),
                                ("ENCODER",), 0.01)
        for noise, states, faults in ((1, MOVED, ()), (200, ("FAULT",), ("ENCODER", "OVERSPEED"))):
            def noisy(scene: Scene, j: int = joint, n: int = noise) -> None:
                scene.board.encoder_faults[j].noise = n

            for state in MOVED:
                yield Injection("encoder noise", f"joint {joint}, {noise} counts in {state}", state, noisy, states,
                                faults, 0.1)


def _clock() -> Iterator[Injection]:
    def dead(scene: Scene) -> None:
        scene.board.chip.rcc.hse_alive = False

    yield Injection("HSE dead", "from power-on", "BOOT", dead, ("FAULT",), ("CLOCK",), 0.5, early=True)
    for state in ("DISARMED", *DRIVEN):
        yield Injection("HSE dead", f"in {state}", state, lambda scene: scene.board.kill_crystal(), ("FAULT",),
                        ("CLOCK",),
                        0.5)


def _crystals(mechanism: Mechanism) -> Iterator[Injection]:
    """Another crystal than the board file's, from power-on."""
    right = _board(mechanism).hse_hz
    for hz in (4_000_000, 8_000_000, 12_000_000, 16_000_000, 20_000_000, 25_000_000):
        if abs(hz - right) * 8 > right:  # nearer ones are not distinguished
            def wrong(scene: Scene, hz: int = hz) -> None:
                scene.board.chip.rcc.hse_hz = hz

            yield Injection("wrong crystal", f"{hz / 1e6:g} MHz", "BOOT", wrong, ("FAULT",), ("CRYSTAL",), 0.5,
                            early=True)


SAG_STEP = 2e-4  # s
WITHOUT_BREAK = {f"TIM{n}" for n in range(10, 15)}  # RM0090 18 and 19: they have no BDTR


def _sags() -> Iterator[Injection]:
    """The chip's own supply falls, stays low for a while, and comes back."""
    for low, fall_s, stay_s in ((2.8, 0.0, 0.002), (2.5, 0.01, 0.02), (1.9, 0.05, 0.05)):
        def sag(scene: Scene, low: float = low, fall_s: float = fall_s, stay_s: float = stay_s) -> None:
            chip, began = scene.board.chip, scene.board.seconds

            def fall(volts: float) -> None:
                chip.supply(volts)
                scene.strained = scene.strained or chip.out_of_specification and not scene.board.outputs_safe()

            steps = max(round(fall_s / SAG_STEP), 1)
            for i in range(steps):
                volts = NOMINAL + (low - NOMINAL) * (i + 1) / steps
                scene.board.at(began + i * SAG_STEP, partial(fall, volts))
            scene.board.at(began + fall_s + stay_s, lambda: chip.supply(NOMINAL))

        for state in ("DISARMED", *DRIVEN):
            yield Injection("supply sags", f"to {low:g} V in {fall_s:g} s in {state}", state, sag, ("FAULT",),
                            ("SUPPLY",), 0.5)


def _halts(mechanism: Mechanism) -> Iterator[Injection]:
    """A debugger comes and halts the processor. If PWM comes from timers without a break, which would stop at a level,
    the board file asks not to do this, and nothing can be promised."""
    if any(pwm.timer in WITHOUT_BREAK for channel in _board(mechanism).channels for _, pwm in channel.switches):
        return

    def halt(scene: Scene) -> None:
        probe = swd.Probe(scene.board.chip)
        probe.attach()
        probe.halt()

    for state in DRIVEN:
        for after in (BEFORE, BEFORE + 0.0003, BEFORE + 0.0007):
            yield Injection("debugger halts", f"in {state} after {after:g} s", state, halt, (state,), (), 0.001, after,
                            dark=True)


def _overrun_stack() -> Iterator[Injection]:
    """The stack, which ends where RAM begins, comes to its last words, which hold a mark."""
    def overrun(scene: Scene) -> None:
        scene.board.chip.core.load(SRAM_START + 16, b"\0\0\0\0")

    for state in ("DISARMED", *DRIVEN):
        yield Injection("stack overrun", f"in {state}", state, overrun, ("FAULT",), ("STACK",), 0.01)


ON = ("FOLLOW", "HOLD")  # an arm that follows goes on, or rests where targets stay away for too long


def _line() -> Iterator[Injection]:
    """A bad line changes nothing but, at its worst, the motion's being stopped on its path."""
    for how, shares in (("drop", (0.05, 0.1, 0.2, 0.3)), ("flip", (0.05, 0.1, 0.2)), ("duplicate", (0.2, 0.6)),
                        ("swap", (0.1, 0.3))):
        for share in shares:
            for seed in (1, 2, 3):
                def bad(scene: Scene, how: str = how, share: float = share, seed: int = seed) -> None:
                    for line in (scene.board.incoming, scene.board.outgoing):
                        line._random = np.random.default_rng(seed)
                        setattr(line, how, share)

                kind = {"drop": "frames lost", "flip": "frames corrupt", "duplicate": "frames duplicated",
                        "swap": "frames reordered"}[how]
                yield Injection(kind, f"{share:.0%}, seed {seed}", "TRACK", bad, ("HOLD",), (), 3.0)
                yield Injection(kind, f"{share:.0%}, seed {seed} in FOLLOW", "FOLLOW", bad, ON, lasts=MOTION)
    for late in (0.02, 0.05, 0.08, 0.15, 0.3):
        def stall(scene: Scene, late: float = late) -> None:
            scene.board.incoming.stalled = True
            scene.board.at(scene.board.seconds + late, lambda: setattr(scene.board.incoming, "stalled", False))

        for after in TIMES[:2]:
            yield Injection("frames late", f"{late:g} s at {after} s", "TRACK", stall, ("HOLD",), (), 3.0, after)
        yield Injection("frames late", f"{late:g} s in FOLLOW", "FOLLOW", stall, ON, lasts=MOTION)
    for seed in range(4):
        def junk(scene: Scene, seed: int = seed) -> None:
            scene.board.incoming._random = np.random.default_rng(seed)
            scene.board.incoming.inject(3000)

        yield Injection("random bytes", f"seed {seed}", "TRACK", junk, ("HOLD",), (), 3.0)
        yield Injection("random bytes", f"seed {seed} in FOLLOW", "FOLLOW", junk, ON, lasts=MOTION)


def host_gone(scene: Scene) -> None:
    scene.board.incoming.cut = True


def sags(scene: Scene) -> None:
    """The supply is low."""
    assert scene.mechanism.board is not None
    scene.board.bus_voltage = SAGGED * scene.mechanism.board.bus_voltage


def too_hot(scene: Scene) -> None:
    scene.board.temperatures[0] = 90.0


def on_the_way(what: Callable[[Scene], None]) -> Callable[[Scene], None]:
    """Do something to an arm that is held, or on its way to where it lies, as its host is gone."""
    def both(scene: Scene) -> None:
        host_gone(scene)
        scene.run(ON_THE_WAY)
        what(scene)

    return both


def _host() -> Iterator[Injection]:
    for after in TIMES:
        yield Injection("host gone", f"at {after} s of the motion", "TRACK", host_gone, ("FAULT",), ("HOST_LOST",),
                        1.35, after)
    for state in ("HOLD", "FOLLOW", "FLOAT", "JOG"):
        yield Injection("host gone", f"in {state}", state, host_gone, ("FAULT",), ("HOST_LOST",), 1.35)
    for state in ("HOMING", "PROBE"):
        yield Injection("host gone", f"in {state}", state, host_gone, ("DISARMED",), (), 0.15)


def _resets() -> Iterator[Injection]:
    for cause in ("brownout", "pin", "power"):
        def reset(scene: Scene, cause: str = cause) -> None:
            scene.board.reset(cause)

        for state in ("DISARMED", *DRIVEN):
            yield Injection("brown-out" if cause == "brownout" else f"reset by {cause}", f"in {state}", state,
                            reset, ("DISARMED",), (), 0.3)


def _estops() -> Iterator[Injection]:
    def open_(scene: Scene) -> None:
        scene.board.estop(True)

    yield Injection("e-stop", "in BOOT", "BOOT", open_, ("ESTOP",), (), 0.5, early=True)
    for state in ("DISARMED", *DRIVEN, "FAULT", "ESTOP"):
        for after in (0.02, 0.11):
            yield Injection("e-stop", f"in {state} after {after} s", state, open_, ("ESTOP",), (), 0.005, after)


def _drivers() -> Iterator[Injection]:
    for state in DRIVEN:
        yield Injection("driver fault", f"in {state}", state, lambda scene: scene.board.driver_fault(True), ("FAULT",),
                        ("DRIVER",), 0.01)


def _gate_drivers(mechanism: Mechanism) -> Iterator[Injection]:
    """Drivers that forget, shut down or lose their supply for a moment, on boards that configure their drivers."""
    if _board(mechanism).gate_driver is None:
        return
    for which in (0, 1):
        def forgets(scene: Scene, which: int = which) -> None:
            scene.board.gate_drivers[which].forget()

        def shorted(scene: Scene, which: int = which) -> None:
            scene.board.over_current(which, FETHA_OC | FETLB_OC)

        for state in DRIVEN:
            yield Injection("gate driver forgets", f"{which} in {state}", state, forgets, ("FAULT",), ("DRIVER",), 0.03)
            yield Injection("phase shorted", f"{which} in {state}", state, shorted, ("FAULT",), ("DRIVER",), 0.01)
    for volts in (5.0, 0.0):
        for lasts in (1e-3, 0.1):
            def dip(scene: Scene, volts: float = volts, lasts: float = lasts) -> None:
                before, scene.board.bus_voltage = scene.board.bus_voltage, volts
                scene.board.at(scene.board.seconds + lasts, lambda: setattr(scene.board, "bus_voltage", before))

            for state in DRIVEN:
                yield Injection("gate drivers' supply dips", f"to {volts:g} V for {lasts:g} s in {state}", state, dip,
                                ("FAULT",), ("DRIVER", "UNDER_VOLTAGE"), 0.03)
            yield Injection("gate drivers' supply dips", f"to {volts:g} V for {lasts:g} s in DISARMED", "DISARMED", dip,
                            ("DISARMED",), (), 0.2)


def _loaded(mechanism: Mechanism) -> Iterator[Injection]:
    """An arm with brakes: nothing is left hanging in the air."""
    if mechanism.safety.brake is None:
        return

    def jump(scene: Scene) -> None:
        scene.board.encoder_faults[1].offset += 2000

    for state in HELD:
        yield Injection("loaded arm, host gone", f"in {state}", state, host_gone, ("FAULT",), ("HOST_LOST",), 1.45)
        yield Injection("loaded arm, e-stop", f"in {state}", state, lambda scene: scene.board.estop(True), ("ESTOP",),
                        (), 0.07)
        yield Injection("loaded arm, encoder jump", f"in {state}", state, jump, ("FAULT",), ("ENCODER",), 0.08)
        yield Injection("loaded arm, reset", f"in {state}", state, lambda scene: scene.board.reset("pin"),
                        ("DISARMED",), (),
                        0.3)


def _parked(mechanism: Mechanism) -> Iterator[Injection]:
    """An arm with a pose to lie in: its motors are let go there, and nowhere else; but what blinds or weakens it lets
    it go at once, though it is on its way."""
    park = mechanism.safety.park
    if park is None:
        return

    def jump(scene: Scene) -> None:
        scene.board.encoder_faults[1].offset += 2000

    def fails(scene: Scene) -> None:
        scene.board.driver_fault(True)

    for state in HELD:
        yield Injection("parked arm, host gone", f"in {state}", state, host_gone, ("FAULT",), ("HOST_LOST",),
                        1.35 + LYING_S, lies=LIES)
        yield Injection("parked arm, supply low", f"in {state}", state, sags, ("FAULT",), ("LOW_SUPPLY",),
                        0.35 + LYING_S, lies=LIES)
        if park.heat:
            yield Injection("parked arm, too hot", f"in {state}", state, too_hot, ("FAULT",), ("OVER_TEMPERATURE",),
                            0.35 + LYING_S, lies=LIES)
        yield Injection("parked arm, encoder jump", f"in {state}", state, jump, ("FAULT",), ("ENCODER",), 0.01)
    for name, what in (("encoder jump", jump), ("driver fault", fails)):
        yield Injection(f"parked arm, {name}", "on its way", "HOLD", on_the_way(what), ("FAULT",), ("HOST_LOST",), 0.01)
    yield Injection("parked arm, e-stop", "on its way", "HOLD", on_the_way(lambda scene: scene.board.estop(True)),
                    ("ESTOP",), (), 0.005)


def _held(mechanism: Mechanism) -> Iterator[Injection]:
    """An arm that is held when its host is gone: the next one takes it over, and other faults end as in HOLD."""
    if mechanism.safety.host != "hold":
        return

    def arms(scene: Scene) -> None:
        scene.board.incoming.cut, scene.asking = False, None
        scene.session.command("ARM")

    def jump(scene: Scene) -> None:
        scene.board.encoder_faults[1].offset += 2000

    for state in HELD:
        yield Injection("held arm, host gone", f"in {state}", state, host_gone, ("HELD",), ("HOST_LOST",), 1.45)
        yield Injection("held arm, taken over", f"in {state}", state, on_the_way(arms), ("HOLD",), (), 0.05)
    yield Injection("held arm, encoder jump", "without a host", "HOLD", on_the_way(jump), ("FAULT",), ("ENCODER",),
                    0.01)
    yield Injection("held arm, e-stop", "without a host", "HOLD", on_the_way(lambda scene: scene.board.estop(True)),
                    ("ESTOP",), (), 0.005)


def _overloads(mechanism: Mechanism) -> Iterator[Injection]:
    """Somebody leans on a joint for longer than its motor can carry that: it stops, is held until its brakes have
    closed, and no longer."""
    motor = mechanism.streamed[0].motor
    if motor is None or motor.continuous is None:
        return

    for push in (HAND, -HAND):
        def lean(scene: Scene, push: float = push) -> None:
            torque = np.zeros(len(scene.mechanism.streamed))
            torque[0] = push
            scene.board.plant.hand = lambda plant: torque  # type: ignore[attr-defined]

        lasts = -WARMS * math.log1p(-1.02 / 4.0)  # twice the current, four times the heat; 2 % over is too much
        for state in (*MOVED, "JOG"):
            yield Injection("overload", f"a hand pushes with {push:g} N m in {state}", state, lean, ("FAULT",),
                            ("OVERLOAD",), lasts + 0.35)


def _supply(mechanism: Mechanism) -> Iterator[Injection]:
    """Through divider, thermistor and converter."""
    board = _board(mechanism)
    for kind, share, fault in (("over-voltage", 1.35, "OVER_VOLTAGE"), ("over-voltage", 3.0, "OVER_VOLTAGE"),
                               ("under-voltage", 0.65, "UNDER_VOLTAGE"), ("supply off", 0.0, "UNDER_VOLTAGE")):
        def bus(scene: Scene, share: float = share) -> None:
            assert scene.mechanism.board is not None
            scene.board.bus_voltage = share * scene.mechanism.board.bus_voltage

        for state in DRIVEN:
            names = (fault, "DRIVER") if share == 0.0 and board.gate_driver else (fault,)  # whose supply it is too
            yield Injection(kind, f"{share:.0%} of the nominal in {state}", state, bus, ("FAULT",), names, 0.005)
    for celsius in (90.0, 150.0, -200.0) if board.sense.temperature else ():
        def hot(scene: Scene, celsius: float = celsius) -> None:
            scene.board.temperatures[0] = celsius

        name = f"{celsius:g} deg C" if celsius > 0.0 else "a broken wire"
        for state in MOVED:
            yield Injection("over-temperature", f"{name} in {state}", state, too_hot, ("FAULT",), ("OVER_TEMPERATURE",),
                            0.02)

    def stopped(scene: Scene) -> None:
        scene.board.chip.converters[-1].dead = True

    for state in DRIVEN:
        yield Injection("converter stops", f"in {state}", state, stopped, ("FAULT",), ("UNDER_VOLTAGE",), 0.01)


def _overruns() -> Iterator[Injection]:
    for state in ("DISARMED", *DRIVEN):
        for periods in (0.999, 1.5, 3.0):
            def slow(scene: Scene, periods: float = periods) -> None:
                cycles = periods * scene.board.dt * scene.board.chip.rcc.hclk
                scene.board.encoder_faults[0].stall = round(cycles)

            yield Injection("tick overrun", f"{periods} periods in {state}", state, slow, ("FAULT",), ("TICK_OVERRUN",),
                            0.01)


def _flips(mechanism: Mechanism, elf: Path) -> Iterator[Injection]:
    """One bit of the constants in flash, at power-on and while running."""
    random = np.random.default_rng(7)
    image = Image.load(elf, 0x0800_0000, 1 << 20)
    for table in ("ft_joint", "ft_lab_joint"):
        symbol = image.symbol(table)
        for _ in range(14):
            byte, bit = int(random.integers(symbol.size)), int(random.integers(8))

            def flip(scene: Scene, at: int = symbol.address + byte, bit: int = bit) -> None:
                core = scene.board.chip.core
                core.load(at, bytes([core.memory(at, 1)[0] ^ 1 << bit]))

            name = f"{table} byte {byte} bit {bit}"
            yield Injection("bit flip in constants", f"{name} at power-on", "BOOT", flip, ("FAULT",),
                            ("CONFIGURATION",), 0.5,
                            early=True)
            if byte % 2 == 0:
                yield Injection("bit flip in constants", f"{name} in DISARMED", "DISARMED", flip, ("FAULT",),
                                ("CONFIGURATION",), 0.15)


def _code_flips(elf: Path) -> Iterator[Injection]:
    """One bit of the image beside the tables, in what nobody executes then: what changed code does when it runs is
    anybody's guess. A round of the main loop looks at 64 bytes, so all of them are looked at within two passes."""
    random = np.random.default_rng(11)
    image = Image.load(elf, 0x0800_0000, 1 << 20)
    check = image.start + len(image.flash) - 4
    names = ("ft_vectors", "ft_crash", "overlay_allowed", "seek", "ft_telemetry")
    found = [(name, image.symbol(name)) for name in names]
    places = [*((name, s.end - 1 - int(random.integers(min(s.size, 8)))) for name, s in found), ("check word", check)]
    within = 2 * len(image.flash) / 64 * 1e-3 + 0.1
    for name, at in places:
        bit = int(random.integers(8))

        def flip(scene: Scene, at: int = at, bit: int = bit) -> None:
            core = scene.board.chip.core
            core.load(at, bytes([core.memory(at, 1)[0] ^ 1 << bit]))

        kind, name = "bit flip in code", f"{name} bit {bit}"
        yield Injection(kind, f"{name} at power-on", "BOOT", flip, ("FAULT",), ("CODE",), 0.5, early=True)
        for state in ("DISARMED", "HOLD", "FLOAT"):
            yield Injection(kind, f"{name} in {state}", state, flip, ("FAULT",), ("CODE",), within)


def _numbers(joints: int) -> Iterator[Injection]:
    for value in (math.nan, math.inf, -math.inf):
        for joint in range(joints):
            for field in ("rate", "acceleration"):
                def knot(scene: Scene, value: float = value, j: int = joint, field: str = field) -> None:
                    motion, session = scene.motion(), scene.session
                    assert isinstance(session.sender, Sender)
                    first, session.sender = session.sender.first, None

                    def send() -> None:
                        """The very knot that the board wants next, but for one number."""
                        ack = session.status.ack
                        i = ack - first & 0xFFFF
                        parts = {"rate": motion.rate[i].tolist(), "acceleration": motion.acceleration[i].tolist()}
                        parts[field][j] = value
                        session.link.send(Knot(0, motion.position[i].tolist(), **parts), seq=ack)

                    scene.asking = send

                yield Injection("not a number", f"knot's {field} {value} at joint {joint}", "TRACK", knot, ("FAULT",),
                                ("KNOT",),
                                1.0)
        def target(scene: Scene, value: float = value) -> None:
            def send() -> None:
                wanted = scene.target()
                scene.session.link.send(replace(wanted, flags=TARGET_RATES, rate=[value] * len(wanted.rate)))

            scene.asking = send

        yield Injection("not a number", f"targets' velocities {value}", "FOLLOW", target, ON, lasts=MOTION)
        messages: tuple[tuple[str, Jog | Probe], ...] = (("HOLD", Jog(0, 0, value)), ("DISARMED", Probe(0, 0, value)))
        for state, message in messages:
            def ask(scene: Scene, message: Jog | Probe = message) -> None:
                scene.asking = lambda: scene.session.tell(message)

            yield Injection("not a number", f"{type(message).__name__} {value}", state, ask, (state,), (), 0.1)


# -- the whole
# ----------------------------------------------------------------------------------------------------------


def run(mechanism: Mechanism, out: Path, pick: Callable[[list[Injection]], list[Injection]] = lambda all_: all_,
        on_outcome: Callable[[CaseOutcome], None] = lambda outcome: None,
        watch: Callable[[VirtualBoard, Injection], Callable[[], None]] = lambda board, injection: lambda: None,
        ) -> list[CaseOutcome]:
    """Build the image of the campaign and do what is picked of it. watch: see strike."""
    arm = mechanism_of(mechanism)
    elf = build.build(arm, out).elf
    outcomes = []
    for injection in pick(injections(arm, elf)):
        outcomes.append(strike(injection, arm, elf, watch))
        on_outcome(outcomes[-1])
    return outcomes


def table(outcomes: list[CaseOutcome]) -> str:
    """A line a kind: how many, how many good, where they ended, the slowest against the time allowed, the largest
    current."""
    lines = [f"{'what goes wrong':24} {'done':>5} {'good':>5} {'slowest':>9} {'allowed':>9} {'worst':>8}  ends in"]
    for kind in dict.fromkeys(o.injection.kind for o in outcomes):
        own = [o for o in outcomes if o.injection.kind == kind]
        slowest = max(own, key=lambda o: o.seconds / o.injection.within)
        worst = max(o.amperes for o in own)
        ends = sorted({f"{o.state} {o.fault}".strip() if o.state == "FAULT" else o.state for o in own})
        lines.append(f"{kind:24} {len(own):5} {sum(o.good for o in own):5} {slowest.seconds:8.3f}s "
                     f"{slowest.injection.within + STATUS:8.3f}s {worst:6.1f} A  {', '.join(ends)}")
    lines.append(f"{'all':24} {len(outcomes):5} {sum(o.good for o in outcomes):5}")
    return "\n".join(lines)
