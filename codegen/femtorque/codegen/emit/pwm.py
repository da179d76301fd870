"""Output timers of one mechanism: periods, updates, duties and current loops."""

import math
from dataclasses import dataclass
from typing import Literal

from femtorque.codegen.board import (
    ADC_COUNTS, ADC_V, CURRENT_LOOP, CURRENT_TRIP, CURRENT_ZERO, FOLLOW_PERIODS, FOLLOW_S, LOWEST_BOUND, Board, Channel,
    ChannelPwm, current_bound, current_range, fieldbus, file_of, has_current_loops)
from femtorque.codegen.common import BadInput, exp
from femtorque.codegen.control import joint_constants
from femtorque.codegen.mechanism import Joint, Mechanism

COUNTER_MAX = 0xFFFF  # output timers have 16 bits
PULSE_S = 2e-3  # duration of the pulse that tests the sensor's sign before a loop is closed, s
PULSE_MOST = 0.1  # maximum duty of this pulse
PULSE_MEAN = 0.4  # fraction of the pulse, at its end, in which the mean reading is tested
PULSE_COUNTS = 16, 8  # converter counts that the pulse should reach, and minimum counts
JUMP, JUMP_LEAST = 3.0, 0.1  # factor on the largest current step of an intact winding; least fraction of the range
AHEAD_S = 2.5e-6  # time from a tick to the update that loads this tick's writes, if every period has an update, s


@dataclass(frozen=True)
class PwmTimer:
    """Set-up of one output timer in the image."""

    name: str
    centred: bool
    low_first: bool  # true for PWM mode 2
    top: int  # largest count (auto-reload)
    start: int  # first count
    repetition: int  # value of the repetition counter
    outputs: tuple[int, ...]  # indices of the used compare channels, 0 to 3
    protection: Literal["FT_BREAK", "FT_NO_BREAK", "FT_PLAIN"]  # type of its break input
    complementary: bool

    @property
    def mask(self) -> str:
        """Return the output channels as a bit mask."""
        return f"0x{sum(1 << n for n in self.outputs):X}u"

    @property
    def counts(self) -> int:
        """Return the number of timer counts at a duty of 1."""
        return self.top if self.centred else self.top + 1


@dataclass(frozen=True)
class Drive:
    """The output stage of one joint: compare value = neutral + span * x, where x is the duty or its magnitude.
    opposite: 'timer, index' of the second half bridge. The compare value of the second half bridge is 2 neutral minus
    the first compare value."""

    kind: Literal["FT_NO_STAGE", "FT_SIGN_MAGNITUDE", "FT_ANTIPHASE", "FT_HALF_BRIDGES"]
    compare: str
    opposite: str
    neutral: int
    span: int
    direction: str
    looped: bool = False  # true if a current loop drives the joint; a duty is then a current setpoint


@dataclass(frozen=True)
class CurrentLoop:
    """The current loop of one joint."""

    joint: int  # index of the joint
    name: str
    channel: int  # channel of the converter
    zero: int  # counts at zero current
    off: int  # tolerance of `zero`, counts
    amperes: float  # current per count, A
    full: float  # current at a duty of 1, A
    proportional: float  # duty per ampere of error
    integral: float  # duty per ampere and PWM period
    bound: float  # maximum duty
    pulse: float  # duty of the test pulse before the loop is closed
    rise: float  # expected mean current in the test pulse, A
    jump: float  # change from one PWM period to the next that cannot occur in an intact winding, A
    patience: int  # PWM periods within which the current must reach its setpoint
    stall: float  # current at the nominal voltage and at rest, A
    emf: float  # back-EMF divided by this voltage, per encoder count per tick, with the sign of duties


@dataclass(frozen=True)
class Currents:
    """Current loops."""

    loops: list[CurrentLoop]
    bandwidth_hz: int
    channels: str  # channels of the converter, in the order of conversion
    trigger: str  # timer
    interrupt: int  # number of the converter's interrupt
    trip: str  # maximum current divided by the current at a duty of 1
    pulse_periods: int
    mean_periods: int


@dataclass(frozen=True)
class Pwm:
    """Output timers."""

    hz: int
    timers: list[PwmTimer]
    drives: list[Drive]  # one per joint
    currents: Currents | None
    tick_preload: int  # 1 if the hardware makes one update per tick
    ahead: int  # processor cycles from a tick to its update
    stop_by_software: int  # 1 if at least one timer has no break input
    duty_max: str
    dead_time: int
    freezes: str  # bit mask of the timers that halt while a debugger halts the processor
    halt_stops: int  # 1 if all output timers halt with the processor, and each drive on a bus has a watchdog


def output_timers(mechanism: Mechanism, board: Board, joints: list[tuple[Joint, Channel | None]]) -> Pwm:
    """Return the output timers, and the compare values for each joint's duty.

    A centred counter counts up and down, with 2 top counts per period. A counter that is not centred restarts after
    top. With repetition counters the update comes once per tick. Centred timers make it at the top. A tick therefore
    lasts a whole number of PWM periods. Timers that are not centred start in the middle of their period, so that their
    updates coincide with those of the centred timers. A timer without a repetition counter makes an update in every
    period."""
    assert mechanism.board is not None and board.outputs is not None
    rate_hz, pwm_hz = mechanism.control.rate_hz, mechanism.board.pwm_hz
    used: dict[str, set[int]] = {}
    for _, c in joints:
        for _, pwm in c.switches if c else ():
            used.setdefault(pwm.timer, set()).add(pwm.output - 1)
    idle = not used
    used = used or {board.idle_timer: set()}  # no joint has an output stage: all are passive or on a bus
    if has_current_loops(joints) and board.chip.sampling:
        used.setdefault(board.chip.sampling.trigger, set())
    timers = {name: board.chip.timers[name] for name in used}
    slowest = min(t.clock_hz for t in timers.values())
    periods = min((t.repetition // 2 if t.centred else t.repetition for t in timers.values()), default=1)
    preload = board.preloads(mechanism)
    most = periods if preload else 2**16

    def fits(hz: int) -> bool:
        return (hz % rate_hz == 0 and hz // rate_hz <= most and slowest % (2 * hz) == 0
                and all(t.clock_hz // (2 * hz) <= COUNTER_MAX // (1 if t.centred else 2) for t in timers.values()))

    fitting = () if fits(pwm_hz) else [n * rate_hz for n in range(1, min(most, 1024) + 1) if fits(n * rate_hz)]
    if fitting and idle:
        pwm_hz = min(fitting, key=lambda hz: abs(hz - pwm_hz))  # this timer only defines the ticks
    elif not fits(pwm_hz):
        widest = max(t.clock_hz // (1 if t.centred else 2) for t in timers.values())
        rule = (f"must be 1 to {most} times rate_hz = {rate_hz}, a divisor of "
                f"{slowest // 2_000_000} MHz, and at least {-(-widest // 2 // COUNTER_MAX)}")
        near = f"nearest: {min(fitting, key=lambda hz: abs(hz - pwm_hz))}" if fitting else "choose another rate_hz"
        raise BadInput(file_of(mechanism), "board.pwm_hz", pwm_hz, rule, near)
    broken = {e.timer for e in board.outputs.estop}
    found = {name: _pwm_timer(board, name, preload, pwm_hz, rate_hz, tuple(sorted(outputs)), name in broken)
             for name, outputs in sorted(used.items())}
    driving = [t for t in found.values() if t.outputs] or list(found.values())
    return Pwm(
        hz=pwm_hz,
        timers=list(found.values()),
        drives=[_drive(joint, c, found) for joint, c in joints],
        currents=_currents(mechanism, board, joints),
        tick_preload=int(preload),
        ahead=0 if preload else round(AHEAD_S * board.chip.sysclk_hz),
        stop_by_software=int(any(t.protection != "FT_BREAK" for t in driving)),
        duty_max=repr(board.outputs.duty_max),
        dead_time=_dead_time(board),
        freezes=" | ".join(f"DBGMCU_APB2FZ_DBG_{t.name}_STOP" for t in found.values() if t.protection != "FT_PLAIN")
        or "0u",
        halt_stops=int(all(t.protection != "FT_PLAIN" for t in found.values()) and not fieldbus.endless(mechanism)),
    )


def _pwm_timer(board: Board, name: str, preload: bool, pwm_hz: int, rate_hz: int, outputs: tuple[int, ...],
               broken: bool) -> PwmTimer:
    timer = board.chip.timers[name]
    half = timer.clock_hz // (2 * pwm_hz)
    periods = pwm_hz // rate_hz if preload else 1
    complementary = any(pwm.timer == name and pwm.low for c in board.channels for _, pwm in c.switches)
    return PwmTimer(
        name, timer.centred, preload and not timer.centred,
        top=half if timer.centred else 2 * half - 1,
        start=half if preload and not timer.centred else 0,
        repetition=2 * periods - 1 if timer.centred else periods - 1,
        outputs=outputs,
        protection="FT_PLAIN" if not timer.repetition else "FT_BREAK" if broken else "FT_NO_BREAK",
        complementary=complementary)


_UNDRIVEN = Drive("FT_NO_STAGE", "0", "0", 0, 0, "PA0")


def _drive(joint: Joint, channel: Channel | None, timers: dict[str, PwmTimer]) -> Drive:
    if channel is None or joint.motor is None:
        return _UNDRIVEN
    timer = timers[channel.pwm.timer]

    def register(pwm: ChannelPwm | None) -> str:
        return f"&{pwm.timer}->CCR[{pwm.output - 1}]" if pwm else "0"

    sign, looped = -1 if timer.low_first else 1, joint.motor.drive == "current"
    compare, opposite = register(channel.pwm), register(channel.opposite)
    if channel.opposite or joint.motor.drive == "antiphase":
        half = timer.counts // 2
        return Drive("FT_HALF_BRIDGES" if channel.opposite else "FT_ANTIPHASE", compare, opposite, half, sign * half,
                     channel.direction or "PA0", looped)
    assert channel.direction is not None
    neutral = timer.counts if timer.low_first else 0
    return Drive("FT_SIGN_MAGNITUDE", compare, opposite, neutral, sign * timer.counts, channel.direction, looped)


def _currents(mechanism: Mechanism, board: Board, joints: list[tuple[Joint, Channel | None]]) -> Currents | None:
    """Return the current loops; None if no joint has a current loop."""
    assert mechanism.board is not None
    looped = [(i, joint) for i, (joint, c) in enumerate(joints) if c and joint.motor and joint.motor.drive == "current"]
    sampling = board.chip.sampling
    if not looped or sampling is None:
        return None
    if len(looped) > sampling.places:
        raise BadInput(file_of(mechanism), f"joint.{looped[sampling.places][1].name}.motor.drive", "current",
                       f"the converter's sequence has {sampling.places} places")
    loops = [_current_loop(mechanism, board, i, joint, rank) for rank, (i, joint) in enumerate(looped)]
    periods, judging = _pulse_periods(mechanism)
    return Currents(
        loops=loops, channels=", ".join(str(loop.channel) for loop in loops), trigger=sampling.trigger,
        interrupt=sampling.interrupt, trip=repr(CURRENT_TRIP), pulse_periods=periods, mean_periods=judging,
        bandwidth_hz=mechanism.board.pwm_hz // CURRENT_LOOP)


def _current_loop(mechanism: Mechanism, board: Board, index: int, joint: Joint, rank: int) -> CurrentLoop:
    """Return one loop. The controller's zero cancels the pole of the winding, and the closed loop has the bandwidth f.
    duty = (2 pi f L e + 2 pi f R integral of e) / bus voltage. f is a thirtieth of the PWM frequency. The delay from a
    sample to the middle of its effect is one and a half periods. The delay costs 18 degrees of phase and leaves a phase
    margin of 72 degrees."""
    assert mechanism.board is not None and joint.motor is not None and board.chip.sampling is not None
    motor, sense = joint.motor, board.channels[joint.motor.channel].current
    assert sense is not None
    bus, pwm_hz = mechanism.board.bus_voltage, mechanism.board.pwm_hz
    bandwidth = 2.0 * math.pi * pwm_hz / CURRENT_LOOP
    bound = current_bound(mechanism, board, joint, rank)
    if bound < LOWEST_BOUND:
        most = math.floor((1.0 - LOWEST_BOUND) * pwm_hz / (1.0 - bound))
        raise BadInput(file_of(mechanism), "board.pwm_hz", pwm_hz,
                       f"leaves the loop of joint {joint.name!r} {max(bound, 0.0):.0%} "
                       "of the bus voltage: beyond that its shunt is blind when it is sampled", f"at most {most}")
    amperes = ADC_V / ADC_COUNTS / sense.volts_per_ampere
    pulse, rise = _pulse(mechanism, joint, abs(amperes))
    return CurrentLoop(
        index, joint.name, board.chip.sampling.channels[sense.pin], round(sense.zero_v / ADC_V * ADC_COUNTS),
        round(CURRENT_ZERO * sense.range_a / abs(amperes)), amperes, current_range(board, joint),
        bandwidth * motor.L / bus,
        bandwidth * motor.R / bus / pwm_hz, bound, pulse, rise,
        _jump(mechanism, joint, current_range(board, joint)),
        math.ceil(max(FOLLOW_S, FOLLOW_PERIODS * motor.L / motor.R) * pwm_hz), bus / motor.R,
        motor.K * motor.gear * motor.sign * joint_constants(mechanism, joint).count * mechanism.control.rate_hz / bus)


def _jump(mechanism: Mechanism, joint: Joint, full: float) -> float:
    """Return a current step from one PWM period to the next, A, that cannot occur in an intact winding. full: current
    at a duty of 1, A. The bus voltage and an equal back-EMF together give the fastest change. The limit is three times
    this change, because at 20 kHz or in saturation the inductance is less than in the file. The limit is at least the
    sensor's noise."""
    assert mechanism.board is not None and joint.motor is not None
    sound = 2.0 * mechanism.board.bus_voltage / joint.motor.L / mechanism.board.pwm_hz
    return max(JUMP * sound, JUMP_LEAST * full)


def _pulse_periods(mechanism: Mechanism) -> tuple[int, int]:
    """Return the number of PWM periods of the pulse, and the number of last readings whose mean is tested."""
    assert mechanism.board is not None
    periods = round(PULSE_S * mechanism.board.pwm_hz)
    return periods, max(1, round(PULSE_MEAN * periods))


def _pulse(mechanism: Mechanism, joint: Joint, count: float) -> tuple[float, float]:
    """Return duty and current, A, of the pulse that tests a sensor's sign and gain at rest. count: current per count,
    A.

    The current is the mean of the readings that the test of the pulse uses. A duty takes effect at the update that
    follows the reading at which the firmware wrote it."""
    assert mechanism.board is not None and joint.motor is not None
    motor, pwm_hz = joint.motor, mechanism.board.pwm_hz
    periods, judging = _pulse_periods(mechanism)
    rises = [1.0 - exp(-max(periods - 2 - i, 0) / pwm_hz * motor.R / motor.L) for i in range(judging)]
    whole = mechanism.board.bus_voltage / motor.R * sum(rises) / judging  # at a duty of 1
    wanted, least = PULSE_COUNTS
    duty = min(wanted * count / whole, PULSE_MOST)
    if duty * whole < least * count:
        raise BadInput(file_of(mechanism), f"joint.{joint.name}.motor.drive", "current",
                       f"{PULSE_MOST:.0%} of the bus voltage for "
                       f"{PULSE_S * 1e3:g} ms bring {duty * whole:.2g} A, less than {least} counts of the board's "
                       f"sensor: too coarse to see its sign", "write 'voltage'")
    return duty, duty * whole


def _dead_time(board: Board) -> int:
    """Return the register field DTG: the dead time in timer clocks, exact up to 127; 0 without half bridges."""
    assert board.outputs is not None
    clocks = -(-board.outputs.dead_ns * board.chip.sysclk_hz // 10**9)
    if clocks > 127:
        raise BadInput(board.source.name, "outputs.dead_ns", board.outputs.dead_ns,
                       f"must be at most {127 * 10**9 // board.chip.sysclk_hz}")
    return clocks
