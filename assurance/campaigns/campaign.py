"""The fault campaign: several hundred faults on the virtual board, each with an end state, a deadline, and safe outputs
afterwards. A case brings the board into a state as a host would, injects the fault, and compares the end state."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from operator import methodcaller
from pathlib import Path
from typing import Any

import numpy as np

from femtorque.codegen.board import Board, load_board
from femtorque.codegen.common import Refused
from femtorque.codegen.mechanism import Home, Mechanism, Park
from femtorque.codegen.mechanism.description import Brake
from femtorque.codegen.motion import Knots, from_rows, knots
from femtorque.codegen.toolchain import platformio as build
from femtorque.codegen.wire import FOLLOW_AUTO, Float, Follow, Jog, Knot, Probe, Seek, Target, flag, to_wire
from femtorque.codegen.wire.messages import TARGET_RATES
from femtorque.hil.board import VirtualBoard, VirtualClock, faults
from femtorque.hil.board.faults import Act, Part
from femtorque.hil.chip import Image
from femtorque.hil.chip.stm32 import probe as swd
from femtorque.hil.plant.rigid import Plant
from femtorque.hil.play import session_with
from femtorque.hil.play.closed_loop import Witness
from femtorque.host.link import ASK, PERIOD, Sender

BEFORE = 0.05  # time in a state before the fault, by default, s
STAY = 0.05  # time for which the end state must last, s
STATUS = 0.03  # time until a host knows a state, s: two STATUS frames, because one may be lost
SAFE = ("FAULT", "ESTOP", "DISARMED")  # states in which no motor may be driven
# duration of the motion, s. The motion has more knots than the ring holds, so the host is still sending at the fault
MOTION = 1.2
REACH = (0.9, -0.7, 0.6)  # angle of each joint, rad
MOVED = ("HOLD", "TRACK", "FOLLOW")  # states whose control law follows a motion
HELD = (*MOVED, "FLOAT", "JOG")  # all states of an armed arm with its zeros
DRIVEN = (*HELD, "HOMING", "PROBE")  # all states with driven motors
FOLLOWED = 0.25  # time of targets before the fault, so that the arm moves, s
HAND = 3.0  # torque of a hand on the first joint, N m
WARMS = 0.3  # time constant of a motor's temperature, s


@dataclass(frozen=True)
class Injection:
    """A fault to inject: `strike` injects it after `after` s in `state`. Within `within` s the board must reach one of
    `states` with one of `faults` stored, and remain there for `lasts` s."""

    kind: str
    name: str
    state: str
    strike: Callable[[Scene], None]
    states: tuple[str, ...]
    faults: tuple[str, ...] = ()
    within: float = 0.1
    after: float = BEFORE
    early: bool = False  # true if the fault is injected at power-on
    dark: bool = False  # true if no motor may be driven in any state
    amperes: float = math.inf  # maximum current in a motor or its cable
    lasts: float = STAY
    lies: tuple[float, ...] = ()  # the arm's parking pose at the end, rad


@dataclass(frozen=True)
class CaseOutcome:
    """Outcome of an injected fault."""

    injection: Injection
    state: str
    fault: str
    seconds: float  # time from the injection to the end state, s
    good: bool  # the end state was reached in time and lasted, with safe outputs and currents
    why: str
    amperes: float  # the largest current after the injection


def mechanism_of(source: Mechanism) -> Mechanism:
    """Return the campaign's arm. The first joint's zero is a stop outside its limits, the second joint's zero an index
    pulse if the board has an input for it."""
    first, second, *others = source.joints
    assert source.board is not None and first.encoder is not None
    assert second.encoder is not None and second.motor is not None
    first = replace(first, encoder=replace(first.encoder, zero="stop"), home=Home(at=-3.15, travel=6.0, speed=0.5))
    if load_board(source.board.use).channels[second.motor.channel].encoder.index:
        second = replace(second, encoder=replace(second.encoder, zero="index"),
                         home=Home(at=0.9, direction=1, travel=0.6))
    return replace(source, name=f"{source.name}-campaign", joints=(first, second, *others))


def loaded_of(source: Mechanism) -> Mechanism:
    """Return the upright arm. Motors or slow brakes bear the weight of the arm."""
    brake = Brake(release_s=0.03, engage_s=0.06)
    return replace(source, name=f"{source.name}-loaded", gravity=np.array([0.0, -9.81, 0.0]),
                   safety=replace(source.safety, brake=brake))


def held_of(source: Mechanism) -> Mechanism:
    """Return the arm whose motors hold it without a host."""
    return replace(source, name=f"{source.name}-held", safety=replace(source.safety, host="hold"))


def rated_of(source: Mechanism) -> Mechanism:
    """Return the horizontal arm with slow brakes. The first motor is rated for half of the torque of a hand."""
    first, *others = source.joints
    assert first.motor is not None
    motor = replace(first.motor, continuous=0.5 * HAND / (first.motor.K * abs(first.motor.gear)), thermal_s=WARMS)
    return replace(source, name=f"{source.name}-rated", joints=(replace(first, motor=motor), *others),
                   safety=replace(source.safety, brake=Brake(release_s=0.03, engage_s=0.06)))


LIES = (0.5, 0.3, -0.4)  # angle of each joint, rad
# time until the arm is in its parking pose, from any pose, s: 1 rad at a tenth of FOLLOW's velocity limit, and ramps
LYING_S = 6.0
ON_THE_WAY = 1.5  # time after the host was lost, s; the arm is then moving to its parking pose
LIES_NEAR = 0.03  # tolerated distance from the pose, rad: the arm falls until its position is compared
SAGGED = 0.8  # fraction of the nominal supply voltage: low, but no fault


def park_of(source: Mechanism, lies: Sequence[float]) -> Park:
    """Return the parking pose of an arm. The arm moves to it for each reason that its board can measure."""
    assert source.board is not None
    sense = load_board(source.board.use).sense
    return Park({joint.name: at for joint, at in zip(source.streamed, lies, strict=False)},
                heat=sense.temperature is not None,
                supply_v=0.9 * source.board.bus_voltage if sense.bus is not None else None)


def parked_of(source: Mechanism) -> Mechanism:
    """Return the arm that moves to a parking pose before its motors are switched off."""
    return replace(source, name=f"{source.name}-parked", safety=replace(source.safety, park=park_of(source, LIES)))


class Scene:
    """One board with its host, which brings the board into a state and stays connected."""

    def __init__(self, mechanism: Mechanism, elf: Path) -> None:
        self.mechanism = mechanism
        self.board = VirtualBoard(elf, mechanism, Plant(mechanism))
        self.board.recording = False
        self.clock = VirtualClock(self.board)
        self.witness = Witness(self.board)
        self.session = session_with(self.board, clock=self.clock)
        self.strained = False  # true if a motor was driven while the chip was outside its specification
        self.worst = 0.0  # largest current of a motor or its cable, A
        self._measure()
        self.asking: Callable[[], object] | None = None
        self._asked = 0.0
        self._followed = math.inf  # time at which FOLLOW begins, s

    def _measure(self) -> None:
        """Record the largest current in every step of the plant."""
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
        """Return the present target. The target moves to REACH during MOTION, then stays there."""
        share = min(max(self.board.seconds - self._followed, 0.0) / MOTION, 1.0)
        joints, size = self.mechanism.streamed, 0.5 - 0.5 * math.cos(math.pi * share)
        positions = np.array([j.start for j in joints]) + size * np.array(REACH[:len(joints)])
        now = round(1e6 * self.board.seconds)
        return Target(0, 0, now, 0, to_wire(positions, joints).tolist(), [0.0] * len(joints))

    def enter(self, state: str) -> None:
        """Bring the board from power-on into a state."""
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
        """Run board and host for some seconds."""
        end = self.board.seconds + seconds
        while self.board.seconds < end and not until():
            with suppress(Refused):  # the host's judgement is not used
                self.session.pump()
                if self.asking and self.board.seconds - self._asked >= ASK:
                    self.asking()
                    self._asked = self.board.seconds
            self.clock.sleep(PERIOD)


def strike(injection: Injection, mechanism: Mechanism, elf: Path) -> CaseOutcome:
    """Inject one fault on a new board, and check the result."""
    scene = Scene(mechanism, elf)
    try:
        if not injection.early:
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
        scene.close()


def _safe(scene: Scene) -> bool:
    if scene.strained:
        return False
    held = scene.mechanism.safety.brake is None or scene.board.brake_closed(scene.board.seconds)
    return scene.witness.state not in SAFE or scene.board.outputs_safe() and held


def _lies(scene: Scene, injection: Injection) -> bool:
    """Return whether an arm that must move to its parking pose is in this pose, with its motors off."""
    q = scene.board.plant.q
    near = bool(np.all(np.abs(q - np.array(injection.lies[:len(q)])) <= LIES_NEAR)) if injection.lies else True
    return near and not (injection.lies and flag(scene.witness.last, "OUTPUTS"))


# -- the faults -------------------------------------------------------------------------------------------------------


Strike = Callable[[Scene], None]


def injections(mechanism: Mechanism, elf: Path) -> list[Injection]:
    """Return all faults, in a fixed order."""
    joints = len(mechanism.streamed)
    return [*_encoders(joints), *_chip(mechanism), *_halts(mechanism), *_line(), *_host(), *_stops(),
            *_gate_drivers(mechanism), *_loaded(mechanism), *_parked(mechanism), *_held(mechanism),
            *_overloads(mechanism), *_supply(mechanism), *_overruns(), *_flips(elf), *_code_flips(elf),
            *_numbers(joints)]


def on(act: Act) -> Strike:
    """Return the injection of a fault that acts on the board."""
    return lambda scene: act(scene.board)


def each(kind: str, detail: str, states: tuple[str, ...], strike: Strike, named: str | tuple[str, ...],
         within: float, end: str = "FAULT", **more: Any) -> Iterator[Injection]:
    """Yield a fault in each of these states. The required end is a fault state, or another state."""
    named = (named,) if isinstance(named, str) else named
    for state in states:
        yield Injection(kind, f"{detail} in {state}".strip(), state, strike, (end,), named, within, **more)


def _board(mechanism: Mechanism) -> Board:
    assert mechanism.board is not None
    return load_board(mechanism.board.use)


TIMES = (0.1, 0.2, 0.3, 0.4, 0.5)  # times after the beginning of the motion, s
POWERED = ("DISARMED", *DRIVEN)


def _encoders(joints: int) -> Iterator[Injection]:
    lost = ("ENCODER", "ENCODER_STUCK", "FOLLOWING", "OVERSPEED", "POSITION")
    for j in range(joints):
        for kind, act, within in (("encoder stuck", faults.stuck(j), 0.8), ("encoder reversed", faults.turned(j), 0.4)):
            for after in TIMES[:4]:
                yield Injection(kind, f"joint {j} at {after} s", "TRACK", on(act), ("FAULT",), lost, within, after)
            yield from each(kind, f"joint {j}", ("FOLLOW",), on(act), lost, within)
        for counts in (-4096, -1024, -100, 100, 1024, 4096):
            yield from each("encoder jump", f"joint {j} by {counts}", HELD, on(faults.jump(j, counts)), "ENCODER", 0.01)
        for noise, states, named in ((1, MOVED, ()), (200, ("FAULT",), ("ENCODER", "OVERSPEED"))):
            noisy = on(faults.becomes(faults.encoder(j), noise=noise))
            for i in each("encoder noise", f"joint {j}, {noise} counts", MOVED, noisy, named, 0.1):
                yield replace(i, states=states)


WITHOUT_BREAK = {f"TIM{n}" for n in range(10, 15)}  # RM0090 18 and 19: these timers have no BDTR


def _chip(mechanism: Mechanism) -> Iterator[Injection]:
    """Yield faults of the chip's oscillator, supply and stack. The supply voltage drops for a while."""
    yield Injection("HSE dead", "from power-on", "BOOT", on(faults.becomes(faults.crystal, hse_alive=False)),
                    ("FAULT",), ("CLOCK",), 0.5, early=True)
    yield from each("HSE dead", "", POWERED, on(methodcaller("kill_crystal")), "CLOCK", 0.5)
    right = _board(mechanism).hse_hz
    for hz in (4_000_000, 8_000_000, 12_000_000, 16_000_000, 20_000_000, 25_000_000):
        if abs(hz - right) * 8 > right:  # the check cannot distinguish frequencies that are closer
            yield Injection("wrong crystal", f"{hz / 1e6:g} MHz", "BOOT", on(faults.becomes(faults.crystal, hse_hz=hz)),
                            ("FAULT",), ("CRYSTAL",), 0.5, early=True)
    for low, fall_s, stay_s in ((2.8, 0.0, 0.002), (2.5, 0.01, 0.02), (1.9, 0.05, 0.05)):
        yield from each("supply sags", f"to {low:g} V in {fall_s:g} s", POWERED, _sag(low, fall_s, stay_s), "SUPPLY",
                        0.5)
    yield from each("stack overrun", "", POWERED, on(faults.overrun_stack), "STACK", 0.01)


def _sag(low: float, fall_s: float, stay_s: float) -> Strike:
    def strike(scene: Scene) -> None:
        def look(board: VirtualBoard) -> None:
            scene.strained = scene.strained or board.chip.out_of_specification and not board.outputs_safe()

        faults.sag(low, fall_s, stay_s, look)(scene.board)

    return strike


def _halts(mechanism: Mechanism) -> Iterator[Injection]:
    """Yield halts by a debugger. Without a break input a PWM output would stop at a constant level."""
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


ON = ("FOLLOW", "HOLD")  # an arm in FOLLOW continues, or stops if targets are missing for too long


def _line() -> Iterator[Injection]:
    """Yield faults of the serial line. The worst permitted result is that the motion stops on its path."""
    def both(kind: str, detail: str, act: Act) -> Iterator[Injection]:
        yield Injection(kind, detail, "TRACK", on(act), ("HOLD",), (), 3.0)
        yield Injection(kind, f"{detail} in FOLLOW", "FOLLOW", on(act), ON, lasts=MOTION)

    for how, what, shares in (("drop", "lost", (0.05, 0.1, 0.2, 0.3)), ("flip", "corrupt", (0.05, 0.1, 0.2)),
                              ("duplicate", "duplicated", (0.2, 0.6)), ("swap", "reordered", (0.1, 0.3))):
        for share in shares:
            for seed in (1, 2, 3):
                bad = faults.every(*(_seeded(seed, way, faults.becomes(way, **{how: share}))
                                     for way in (faults.incoming, faults.outgoing)))
                yield from both(f"frames {what}", f"{share:.0%}, seed {seed}", bad)
    for late in (0.02, 0.05, 0.08, 0.15, 0.3):
        stall = on(faults.becomes(faults.incoming, late, stalled=True))
        for after in TIMES[:2]:
            yield Injection("frames late", f"{late:g} s at {after} s", "TRACK", stall, ("HOLD",), (), 3.0, after)
        yield Injection("frames late", f"{late:g} s in FOLLOW", "FOLLOW", stall, ON, lasts=MOTION)
    for seed in range(4):
        junk = _seeded(seed, faults.incoming, lambda board: board.incoming.inject(3000))
        yield from both("random bytes", f"seed {seed}", junk)


def _seeded(seed: int, part: Part, act: Act) -> Act:
    """Return the act with a seed for the random numbers of this part of the simulation."""
    def seeded(board: VirtualBoard) -> None:
        part(board)._random = np.random.default_rng(seed)
        act(board)

    return seeded


host_gone = on(faults.becomes(faults.incoming, cut=True))
low_supply = on(faults.supply(SAGGED))
estop = on(methodcaller("estop", True))
_driver_fault = on(methodcaller("driver_fault", True))
_second_jumps = on(faults.jump(1, 2000))


def hot(celsius: float = 90.0) -> Strike:
    """Return the injection that sets the first temperature."""
    def strike(scene: Scene) -> None:
        scene.board.temperatures[0] = celsius

    return strike


def on_the_way(what: Strike) -> Strike:
    """Return the injection of a fault into an arm that has lost its host, and is held or moving to its parking pose."""
    def both(scene: Scene) -> None:
        host_gone(scene)
        scene.run(ON_THE_WAY)
        what(scene)

    return both


def _host() -> Iterator[Injection]:
    for after in TIMES:
        yield Injection("host gone", f"at {after} s of the motion", "TRACK", host_gone, ("FAULT",), ("HOST_LOST",),
                        1.35, after)
    yield from each("host gone", "", ("HOLD", "FOLLOW", "FLOAT", "JOG"), host_gone, "HOST_LOST", 1.35)
    yield from each("host gone", "", ("HOMING", "PROBE"), host_gone, (), 0.15, "DISARMED")


def _stops() -> Iterator[Injection]:
    """Yield resets, the e-stop, and faults that motor drivers report."""
    for cause in ("brownout", "pin", "power"):
        yield from each("brown-out" if cause == "brownout" else f"reset by {cause}", "", POWERED,
                        on(methodcaller("reset", cause)), (), 0.3, "DISARMED")
    yield Injection("e-stop", "in BOOT", "BOOT", estop, ("ESTOP",), (), 0.5, early=True)
    for state in (*POWERED, "FAULT", "ESTOP"):
        for after in (0.02, 0.11):
            yield Injection("e-stop", f"in {state} after {after} s", state, estop, ("ESTOP",), (), 0.005, after)
    yield from each("driver fault", "", DRIVEN, _driver_fault, "DRIVER", 0.01)


def _gate_drivers(mechanism: Mechanism) -> Iterator[Injection]:
    """Yield gate drivers that lose settings, shut down or lose their supply, on boards that configure their drivers."""
    if _board(mechanism).gate_driver is None:
        return
    for which in (0, 1):
        yield from each("gate driver forgets", f"{which}", DRIVEN, on(faults.forgets(which)), "DRIVER", 0.03)
        yield from each("phase shorted", f"{which}", DRIVEN, on(faults.phase_shorted(which)), "DRIVER", 0.01)
    for volts in (5.0, 0.0):
        for lasts in (1e-3, 0.1):
            detail, dip = f"to {volts:g} V for {lasts:g} s", on(faults.becomes(faults.whole, lasts, bus_voltage=volts))
            yield from each("gate drivers' supply dips", detail, DRIVEN, dip, ("DRIVER", "UNDER_VOLTAGE"), 0.03)
            yield from each("gate drivers' supply dips", detail, ("DISARMED",), dip, (), 0.2, "DISARMED")


def _loaded(mechanism: Mechanism) -> Iterator[Injection]:
    """Yield faults of an arm with brakes. The arm must never fall."""
    if mechanism.safety.brake is None:
        return
    yield from each("loaded arm, host gone", "", HELD, host_gone, "HOST_LOST", 1.45)
    yield from each("loaded arm, e-stop", "", HELD, estop, (), 0.07, "ESTOP")
    yield from each("loaded arm, encoder jump", "", HELD, _second_jumps, "ENCODER", 0.08)
    yield from each("loaded arm, reset", "", HELD, on(methodcaller("reset", "pin")), (), 0.3, "DISARMED")


def _parked(mechanism: Mechanism) -> Iterator[Injection]:
    """Yield faults of an arm that may be switched off only in its parking pose, except for a fault of an encoder or
    driver, which switches it off immediately."""
    park = mechanism.safety.park
    if park is None:
        return
    yield from each("parked arm, host gone", "", HELD, host_gone, "HOST_LOST", 1.35 + LYING_S, lies=LIES)
    yield from each("parked arm, supply low", "", HELD, low_supply, "LOW_SUPPLY", 0.35 + LYING_S, lies=LIES)
    if park.heat:
        yield from each("parked arm, too hot", "", HELD, hot(), "OVER_TEMPERATURE", 0.35 + LYING_S, lies=LIES)
    yield from each("parked arm, encoder jump", "", HELD, _second_jumps, "ENCODER", 0.01)
    for what, strike in (("encoder jump", _second_jumps), ("driver fault", _driver_fault)):
        yield Injection(f"parked arm, {what}", "on its way", "HOLD", on_the_way(strike), ("FAULT",), ("HOST_LOST",),
                        0.01)
    yield Injection("parked arm, e-stop", "on its way", "HOLD", on_the_way(estop), ("ESTOP",), (), 0.005)


def _held(mechanism: Mechanism) -> Iterator[Injection]:
    """Yield faults of an arm that is held without a host. Some let the next host take over, others end as in HOLD."""
    if mechanism.safety.host != "hold":
        return

    def arms(scene: Scene) -> None:
        scene.board.incoming.cut, scene.asking = False, None
        scene.session.command("ARM")

    yield from each("held arm, host gone", "", HELD, host_gone, "HOST_LOST", 1.45, "HELD")
    yield from each("held arm, taken over", "", HELD, on_the_way(arms), (), 0.05, "HOLD")
    yield Injection("held arm, encoder jump", "without a host", "HOLD", on_the_way(_second_jumps), ("FAULT",),
                    ("ENCODER",), 0.01)
    yield Injection("held arm, e-stop", "without a host", "HOLD", on_the_way(estop), ("ESTOP",), (), 0.005)


def _overloads(mechanism: Mechanism) -> Iterator[Injection]:
    """Yield a hand that overloads a motor. The motors hold the arm until its brakes have closed."""
    motor = mechanism.streamed[0].motor
    if motor is None or motor.continuous is None:
        return
    lasts = -WARMS * math.log1p(-1.02 / 4.0)  # twice the current gives four times the heat; 2 % more is too much
    for push in (HAND, -HAND):
        yield from each("overload", f"a hand pushes with {push:g} N m", (*MOVED, "JOG"), on(faults.lean(push)),
                        "OVERLOAD", lasts + 0.35)


def _supply(mechanism: Mechanism) -> Iterator[Injection]:
    """Yield faults of the supply, the temperature and their converter."""
    board = _board(mechanism)
    for kind, share, fault in (("over-voltage", 1.35, "OVER_VOLTAGE"), ("over-voltage", 3.0, "OVER_VOLTAGE"),
                               ("under-voltage", 0.65, "UNDER_VOLTAGE"), ("supply off", 0.0, "UNDER_VOLTAGE")):
        # gate drivers use the same supply
        names = (fault, "DRIVER") if share == 0.0 and board.gate_driver else (fault,)
        yield from each(kind, f"{share:.0%} of the nominal", DRIVEN, on(faults.supply(share)), names, 0.005)
    for celsius in (90.0, 150.0, -200.0) if board.sense.temperature else ():
        name = f"{celsius:g} deg C" if celsius > 0.0 else "a broken wire"
        yield from each("over-temperature", name, MOVED, hot(celsius), "OVER_TEMPERATURE", 0.02)
    stopped = on(faults.becomes(faults.converter(-1), dead=True))
    yield from each("converter stops", "", DRIVEN, stopped, "UNDER_VOLTAGE", 0.01)


def _overruns() -> Iterator[Injection]:
    def slow(periods: float) -> Act:
        return lambda board: faults.becomes(
            faults.encoder(0), stall=round(periods * board.dt * board.chip.rcc.hclk))(board)

    for state in POWERED:
        for periods in (0.999, 1.5, 3.0):
            yield from each("tick overrun", f"{periods} periods", (state,), on(slow(periods)), "TICK_OVERRUN", 0.01)


def _flip(at: int, bit: int) -> Strike:
    """Return the injection that flips one bit of flash."""
    def flip(scene: Scene) -> None:
        core = scene.board.chip.core
        core.load(at, bytes([core.memory(at, 1)[0] ^ 1 << bit]))

    return flip


def _flips(elf: Path) -> Iterator[Injection]:
    """Yield flipped bits of the constants in flash, at power-on and while running."""
    random = np.random.default_rng(7)
    image = Image.load(elf, 0x0800_0000, 1 << 20)
    for table in ("ft_joint", "ft_lab_joint"):
        symbol = image.symbol(table)
        for _ in range(14):
            byte, bit = int(random.integers(symbol.size)), int(random.integers(8))
            kind, name = "bit flip in constants", f"{table} byte {byte} bit {bit}"
            flip = _flip(symbol.address + byte, bit)
            yield Injection(kind, f"{name} at power-on", "BOOT", flip, ("FAULT",), ("CONFIGURATION",), 0.5, early=True)
            if byte % 2 == 0:
                yield from each(kind, name, ("DISARMED",), flip, "CONFIGURATION", 0.15)


def _code_flips(elf: Path) -> Iterator[Injection]:
    """Yield flipped bits of code that is not executed then, because changed code may do anything. Each cycle of the
    main loop checks 64 bytes, and two passes check all."""
    random = np.random.default_rng(11)
    image = Image.load(elf, 0x0800_0000, 1 << 20)
    check = image.start + len(image.flash) - 4
    names = ("ft_vectors", "ft_crash", "overlay_allowed", "seek", "ft_telemetry")
    found = [(name, image.symbol(name)) for name in names]
    places = [*((name, s.end - 1 - int(random.integers(min(s.size, 8)))) for name, s in found), ("check word", check)]
    within = 2 * len(image.flash) / 64 * 1e-3 + 0.1
    for name, at in places:
        bit = int(random.integers(8))
        kind, name, flip = "bit flip in code", f"{name} bit {bit}", _flip(at, bit)
        yield Injection(kind, f"{name} at power-on", "BOOT", flip, ("FAULT",), ("CODE",), 0.5, early=True)
        yield from each(kind, name, ("DISARMED", "HOLD", "FLOAT"), flip, "CODE", within)


def _numbers(joints: int) -> Iterator[Injection]:
    for value in (math.nan, math.inf, -math.inf):
        for joint in range(joints):
            for field in ("rate", "acceleration"):
                def knot(scene: Scene, value: float = value, j: int = joint, field: str = field) -> None:
                    motion, session = scene.motion(), scene.session
                    assert isinstance(session.sender, Sender)
                    first, session.sender = session.sender.first, None

                    def send() -> None:
                        """Send the next expected knot, with one number changed."""
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


# -- the whole campaign ----------------------------------------------------------------------------------------------


def run(mechanism: Mechanism, out: Path,
        pick: Callable[[list[Injection]], list[Injection]] = lambda all_: all_) -> list[CaseOutcome]:
    """Build the image of the campaign, and inject the selected faults on it."""
    arm = mechanism_of(mechanism)
    elf = build.build_image(arm, out).elf
    return reported(strike(injection, arm, elf) for injection in pick(injections(arm, elf)))


def reported(outcomes: Iterable[Any]) -> list[Any]:
    """Return the outcomes. Print a failed outcome immediately, because a whole campaign takes more than an hour."""
    every = []
    for outcome in outcomes:
        every.append(outcome)
        if not outcome.good:
            print(outcome, flush=True)
    return every


def table(outcomes: Sequence[Any]) -> str:
    """Return a line for each type of fault: number, number of passes, slowest end, end states."""
    lines = [f"{'fault':24} {'done':>5} {'good':>5} {'slowest':>9}  ends in"]
    for kind in dict.fromkeys(o.injection.kind for o in outcomes):
        own = [o for o in outcomes if o.injection.kind == kind]
        ends = ", ".join(sorted({f"{o.state} {o.fault}".strip() for o in own}))
        lines.append(f"{kind:24} {len(own):5} {sum(o.good for o in own):5} {max(o.seconds for o in own):8.3f}s  {ends}")
    return "\n".join([*lines, f"{'all':24} {len(outcomes):5} {sum(o.good for o in outcomes):5}"])
