"""Identifies friction and apparent inertia of one joint. The joint moves at constant speeds in both directions, and
with accelerations.

The recorded duty gives the motor's voltage V, and the voltage gives the torque:

    L dI/dt = V - R I - K N qd,    tau = K N I

The equation is solved tick by tick. The duty of tick k is applied during the interval `lead` ticks later. The mechanism
file gives the links' torque tau_ID. The remaining torque is due to the rotor and the friction of this joint:

    tau - tau_ID = J N^2 qdd + D qd + f_c sgn(qd)          (Isobe's Eq. 19)

This is a linear regression. The file gives the friction that falls with velocity or rises with load, and its torque is
subtracted too. This friction stays in the file. For a bus drive in torque mode, the commanded torque is recorded. The
drive's own loop reacts to motion after the command. A correction subtracts the torque of this reaction. A servo on a
serial bus is treated as a motor whose duty acts later.

The method needs no derivative of a measured signal. Every term is weighted with a smooth bump phi(t) of KERNEL_S.
Integration by parts moves the derivatives to the bump: the integral of phi qdd equals the integral of phi'' q
(modulating functions, Shinbrot, Trans. ASME 79, 1957). Neighbouring bumps overlap. So the confidence intervals use a
covariance that allows dependence within blocks as long as one bump (Liang and Zeger, Biometrika 73, 1986), and
Student's t for the number of blocks.

The encoder of a servo measures the output. While the motor crosses the play (backlash) of the gear, its speed exceeds
the output's speed by u. The residual r of the equation gives u:

    J N^2 u' + (D + K^2 N^2 / R) u = r

The range of the integral of u in one take is the play. Rows in which the motor crosses the play are outliers of the
regression, so a robust fit (Cauchy's loss) with a shorter bump gives J, D and f_c first. If
a play is seen, the rows have the weights of this fit.

An experiment at one joint cannot detect errors of the file's R, L, K, N, bus
voltage or link parameters. The confidence intervals do not include errors of these parameters.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.polynomial import Polynomial
from numpy.typing import NDArray
from scipy.ndimage import correlate1d
from scipy.optimize import least_squares
from scipy.signal import lfilter
from scipy.stats import t as student

from femtorque.codegen.board import file_of, load_board
from femtorque.codegen.common import Array, BadInput, Refused
from femtorque.codegen.control import Motors, count, current_range
from femtorque.codegen.mechanism import Joint, Mechanism
from femtorque.codegen.model import DrivenFriction, Model, mass_matrix
from femtorque.codegen.motion import Trajectory, from_rows
from femtorque.codegen.reference import newton_euler
from femtorque.host.board import Board
from femtorque.host.link import COLUMNS, Column, Recorder, joint_number
from femtorque.host.plan import effort

KERNEL_S = 0.15  # width of the bump, s
FINE = 0.3  # fraction of KERNEL_S: width of the bump that determines the direction of motion
RESTING = 0.03  # fraction of the maximum velocity in the recording: a slower joint counts as at rest
MOVING = 0.85  # fraction of a bump's duration in which the joint must move
SPEEDS = (0.2, 0.5, 1.0)  # fractions of the maximum constant speed
RAMP_S, LONGEST_S = 0.2, 0.9  # of a take
REACH = 0.6  # amplitude in each direction, if the limits permit, rad or m
EFFORT = 0.5  # fraction of the motor's torque that accelerations may use
SHORT = 0.5  # fraction of KERNEL_S: width of the bump for a servo whose gear may have play
OUTLIER = 0.1  # fraction of the rms residual: a larger residual counts less
SEEN = 2.0  # counts of the encoder, which change the range of the motor's angle even without play
LEVEL = 0.95  # confidence level of the intervals
ON_BUS = 1  # ticks by which positions from a bus are older than positions from an encoder
AHEAD = 1.5  # ticks by which the target in a drive's frame is ahead of the board's current target (ft_bus.c)
SERVO_S = 1.5e-3  # time from a duty's packet until the servo applies it, s; the servo reads its registers every ms


@dataclass(frozen=True)
class Estimate:
    """A value with half of its 95 % confidence interval."""

    value: float
    half: float

    def __str__(self) -> str:
        return f"{self.value:.4g} +- {self.half:.2g}"

    def holds(self, truth: float) -> bool:
        """Return True if the interval contains the number."""
        return abs(self.value - truth) <= self.half


@dataclass(frozen=True)
class Identified:
    """Parameters of a joint."""

    joint: str
    viscous: Estimate  # viscous friction, N m s/rad
    coulomb: Estimate  # dry friction, N m
    rotor: Estimate  # rotor inertia J N^2 at the joint, kg m^2
    apparent: Estimate  # inertia of the rotor and its load in the experiment's pose, kg m^2
    inertia: Estimate  # rotor inertia at the motor, or at a bus drive's output, kg m^2
    rms: float  # rms of the residual, N m
    samples: int  # number of used samples
    key: str = "motor"  # the file's table for `inertia`
    play: Estimate | None = None  # backlash of a servo's gear, rad; None if none is seen

    def values(self) -> dict[str, dict[str, float]]:
        """Return the keys for the mechanism file. Negative values are replaced by 0."""
        return {"friction": {"viscous": max(0.0, self.viscous.value), "coulomb": max(0.0, self.coulomb.value)},
                self.key: {"inertia": max(0.0, self.inertia.value)},
                **({"drive": {"play": self.play.value}} if self.play else {})}

    def words(self, slides: bool = False) -> str:
        length, force, mass = ("m", "N", "kg") if slides else ("rad", "N m", "kg m^2")
        return (f"{self.joint}: viscous friction {self.viscous} {force} s/{length}, Coulomb friction {self.coulomb} "
                f"{force}, apparent inertia {self.apparent} {mass}, {self.key}.inertia {self.inertia} "
                f"kg m^2{f', play {self.play} rad' if self.play else ''} (+-: 95 % interval); {self.rms:.2g} "
                f"{force} rms unexplained")

    def comment(self) -> str:
        return (f"identified: viscous +- {self.viscous.half:.1g}, coulomb +- {self.coulomb.half:.1g}, "
                f"{self.key}.inertia +- {self.inertia.half:.1g} (95 %)")

    def data(self) -> dict[str, Any]:
        names = ("viscous", "coulomb", "apparent", "inertia", *(("play",) if self.play else ()))
        return {"joint": self.joint, "rms": self.rms, "samples": self.samples,
                **{n: {"value": getattr(self, n).value, "interval": getattr(self, n).half} for n in names}}


@dataclass(frozen=True)
class Take:
    """One recording, one sample per tick."""

    q: Array  # (S, J): measured, rad or m, constant for unrecorded joints
    duty: Array  # duty (S,) of the tested joint; on a drive in torque mode its torque, N m
    bus_voltage: float  # bus voltage, V


def identify(board: Board, mechanism: Mechanism, joint: str, on_take: Callable[[str], None] = lambda what: None
             ) -> Identified:
    """Move one joint about its position while all other joints are held, and fit its parameters. Raises Refused if the
    joint has too little room to move."""
    if mechanism.constrained:
        what = "closed loops" if mechanism.loops else "mimic joints"
        raise Refused(f"{mechanism.name} has {what}: remove them, or identify its joints on a bench")
    number, model = joint_number(mechanism, joint), Model.of(mechanism)
    board.arm()
    takes, pose = [], board.session.held()
    watched = coupled(model, number, pose)
    for what, motion in experiments(model, number, pose):
        on_take(what)
        take = _record(board, motion, number, watched)
        if what != "approach":
            takes.append(take)
    assert mechanism.board is not None
    return fit(model, number, takes, delay(mechanism, mechanism.streamed[number]))


def delay(mechanism: Mechanism, joint: Joint) -> float:
    """Return the delay, in ticks, from the computation of a duty or torque to its effect on a recorded position."""
    assert mechanism.board is not None
    lead = load_board(mechanism.board.use).lead
    if joint.drive is None:
        return lead
    return lead + ON_BUS + (SERVO_S * mechanism.control.rate_hz if joint.drive.servo is not None else 0.0)


def gains_of_drive(joint: Joint) -> tuple[float, float]:
    """Return the position gain and velocity gain of a drive that closes its own control loop. Return 0 if the board
    closes the loop."""
    if joint.drive is None or joint.drive.servo is not None or joint.drive.pd != "drive":
        return 0.0, 0.0
    return joint.gains.ku, joint.gains.kv


def moved_on(mechanism: Mechanism, joint: Joint) -> float:
    """Return the mean delay, s, of the board's measured position behind the position in the drive's loop, relative to
    the target."""
    return (delay(mechanism, joint) + 0.5 - AHEAD) / mechanism.control.rate_hz


def coupled(model: Model, number: int, pose: Array) -> list[int]:
    """Return the joints on which this joint's acceleration causes the largest torques, as many as one recording can
    hold."""
    masses = np.abs(mass_matrix(model, pose[None])[0])
    share = masses[number] / np.sqrt(np.diag(masses) * masses[number, number])
    share[number] = -1.0
    order = [int(j) for j in np.argsort(-share) if j != number]
    return order[:COLUMNS - 2]


def measured(mechanism: Mechanism, number: int) -> None:
    """Raise BadInput for a joint without a motor or an encoder."""
    joint = mechanism.streamed[number]
    if joint.drive is None and (joint.motor is None or joint.encoder is None):
        raise BadInput(file_of(mechanism), f"joint.{joint.name}", None, "has no motor with an encoder, and no drive",
                       "choose another joint")


def beside(mechanism: Mechanism, joint: str) -> dict[str, dict[str, float]]:
    """Return additional keys that the file needs if the identified keys are its first: a servo's motor from the
    catalogue."""
    motor, drive = next((j.motor, j.drive) for j in mechanism.moving if j.name == joint)
    between = drive.gear if drive is not None else 1.0
    if motor is None:
        return {}
    return {"motor": {"R": motor.R, "L": motor.L, "K": motor.K, "gear": motor.gear / between}}


# -- experiments ------------------------------------------------------------------------------------------------------


def experiments(model: Model, number: int, pose: Array) -> list[tuple[str, Trajectory]]:
    """Return the experiments in order: to one side, velocities, accelerations, back. Each experiment begins at the end
    pose of the experiment before it."""
    joint = model.mechanism.moving[number]
    down, up = (min(REACH, 0.8 * abs(side - pose[number])) for side in (joint.limits.lower, joint.limits.upper))
    low, high = pose[number] - down, pose[number] + up
    if high - low < 0.05:
        raise Refused(f"{joint.name} has no room to move in about {pose[number]:.3f}; take it away from its limits")
    fastest = min((high - low) / (LONGEST_S - RAMP_S), 0.6 * joint.limits.velocity)
    here = pose[number]
    takes = [("approach", _at_speed(model, number, pose, here, low, 0.3 * fastest))]
    for share in SPEEDS:
        way = min(high - low, share * fastest * (LONGEST_S - RAMP_S))
        for there in (low + way, low):
            start = low if there > low else low + way
            takes.append((f"{share * fastest:.3g}/s", _at_speed(model, number, pose, start, there, share * fastest)))
    for hz in (2.0 / LONGEST_S, 3.0 / LONGEST_S):
        takes.append((f"accelerating at {hz:.3g} Hz", _waves(model, number, pose, low, high, hz)))
    takes.append(("approach", _at_speed(model, number, pose, low, here, 0.3 * fastest)))
    return takes


def _trajectory(model: Model, number: int, pose: Array, q: Array) -> Trajectory:
    """Return a motion in which one joint has the positions q (R,) at the knots and all other joints are at rest."""
    rows = np.tile(pose, (len(q), 1))
    rows[:, number] = q
    times = np.arange(len(q)) / model.mechanism.control.knot_hz
    return from_rows([j.name for j in model.mechanism.moving], times, rows)


def _at_speed(model: Model, number: int, pose: Array, start: float, end: float, speed: float) -> Trajectory:
    """Return a motion at a constant speed, with half-cosine ramps and rest at both ends."""
    way = abs(end - start)
    total = way / speed + RAMP_S
    count = max(8, round(total * model.mechanism.control.knot_hz)) + 1
    t = np.linspace(0.0, total, count)
    ramp = lambda x: 0.5 * (1.0 - np.cos(np.pi * np.clip(x / RAMP_S, 0.0, 1.0)))  # noqa: E731
    rate = ramp(t) * ramp(total - t)
    q = np.concatenate([[0.0], np.cumsum(0.5 * (rate[1:] + rate[:-1]))])
    return _trajectory(model, number, pose, start + (end - start) * q / q[-1])


def _waves(model: Model, number: int, pose: Array, low: float, high: float, hz: float) -> Trajectory:
    """Return a motion that oscillates upwards from the position `low`. The amplitude rises and falls, and is as large
    as range, speed and effort allow."""
    joint = model.mechanism.moving[number]
    t = np.linspace(0.0, LONGEST_S, round(LONGEST_S * model.mechanism.control.knot_hz) + 1)
    swing = 0.5 * (1.0 - np.cos(2.0 * np.pi * hz * t)) * np.sin(np.pi * t / LONGEST_S) ** 2
    wide = high - low
    for _ in range(40):
        motion = _trajectory(model, number, pose, low + wide * swing)
        if np.abs(motion.velocities[:, number]).max() < 0.7 * joint.limits.velocity and _asked(model, motion,
                                                                                          number) < EFFORT:
            return motion
        wide *= 0.85
    raise Refused(f"{joint.name} needs more than {EFFORT:.0%} of its effort to hold its pose; "
                  "move it to a pose where gravity needs less")


def _asked(model: Model, motion: Trajectory, number: int) -> float:
    """Return the largest motor torque of a motion, as a fraction of the torque that the motor can give."""
    torque = effort.wanted(model.mechanism, motion.times, motion)
    there = Motors.of(model.mechanism).torque(motion.velocities, torque)[:, number]
    return float(np.max(np.abs(torque[:, number]) / np.maximum(there, np.finfo(float).tiny)))


def _record(board: Board, motion: Trajectory, number: int, watched: Sequence[int]) -> Take:
    recorder = Recorder(board.session)
    given = "torque" if board.session.configuration.joints[number].takes_torque else "duty"
    columns = [Column(given, number), *(Column("position", j) for j in (number, *watched))]
    recorder.start(columns, 1, "RING")
    board.stream(motion)
    recorder.stop()
    seen = recorder.read()
    q = np.tile(np.asarray(board.positions), (len(seen.tick), 1))
    for j in (number, *watched):
        q[:, j] = np.unwrap(seen.column("position", j))
    return Take(q, seen.column(given, number), board.session.status.bus_mv * 1e-3)


# -- the fit ----------------------------------------------------------------------------------------------------------


def fit(model: Model, number: int, takes: Sequence[Take], lead: float) -> Identified:
    """Regress the recordings. Raises Refused if the recordings hold too little motion."""
    joint = model.mechanism.moving[number]
    matrix, side, block = _equations(model, number, takes, lead, KERNEL_S)
    if len(np.unique(block)) < 12:
        raise Refused(f"{joint.name} hardly moved: {len(side)} samples are too few to fit")
    play = None
    if joint.drive is not None and joint.drive.servo is not None and not joint.takes_torque:
        short = _equations(model, number, takes, lead, SHORT * KERNEL_S)
        weight, robust = _robust(*short[:2])
        play = _mean([_range(model, number, take, lead, robust) for take in takes], SEEN * abs(count(joint.drive)))
        play = play if play.value > play.half else None
    value, half, rms = _regress(matrix, side, block)
    if play is not None:
        plain, (value, half, rms) = value, _regress(weight[:, None] * short[0], weight * short[1], short[2])
        half += np.abs(value - plain)  # the data choose the weights
    rotor, viscous, coulomb = (Estimate(float(v), float(h)) for v, h in zip(value[:3], half[:3], strict=True))
    carried = float(mass_matrix(model, takes[-1].q[-1:], rotors=False)[0, number, number])
    gear = joint.motor.gear if joint.motor is not None else joint.drive.gear if joint.drive is not None else 1.0
    square = gear**2
    return Identified(joint.name, viscous, coulomb, rotor, Estimate(rotor.value + carried, rotor.half),
                      Estimate(rotor.value / square, rotor.half / square), rms, len(side),
                      "motor" if joint.motor is not None else "drive", play)


def _equations(model: Model, number: int, takes: Sequence[Take], lead: float, seconds: float
               ) -> tuple[Array, Array, NDArray[np.int64]]:
    """Return matrix (S, K), side (S,) and blocks (S,) of the regression. seconds: width of the bump."""
    joint, use, dt = model.mechanism.moving[number], model.mechanism.board, model.dt
    assert use is not None
    full, friction = current_range(model.mechanism, joint), DrivenFriction.of([joint])
    rows, sides = [], []
    blocks: list[NDArray[np.int64]] = []
    width = max(9, round(seconds / dt))
    for take in takes:
        q, rates, accelerations = (_weighted(take.q, width, n, dt) for n in (0, 1, 2))
        ampere = full * take.bus_voltage / use.bus_voltage if full else 0.0
        fine = _weighted(take.q[:, [number]], max(5, round(FINE * KERNEL_S / dt)), 1, dt)[:, 0]
        moving = np.abs(fine) > RESTING * np.abs(fine).max()
        terms = np.stack([_motor_torque(joint, take, fine, dt, lead, ampere), np.where(moving, np.sign(fine), 0.0),
                          moving], axis=1)
        torque, direction, share = _weighted(terms, width, 0, dt).T
        links = newton_euler(model, q, rates, accelerations)[:, number]
        own = torque - links - direction * (friction.dry(rates[:, number], links) - friction.coulomb)
        ku, kv = gains_of_drive(joint)
        own -= moved_on(model.mechanism, joint) * (ku * rates[:, number] + kv * accelerations[:, number])
        inside: NDArray[np.bool_] = share > MOVING
        inside[:width] = inside[-width:] = False
        columns = [accelerations[:, number], rates[:, number], direction]
        if joint.drive is not None:  # additional delay of the torque, since a servo does not report when it measured
            columns.append(_weighted(terms[:, :1], width, 1, dt)[:, 0])
        rows.append(np.stack(columns, axis=1)[inside])
        sides.append(own[inside])
        blocks.append(np.flatnonzero(inside) // width + sum(len(t.q) for t in takes[:len(blocks)]))
    return np.concatenate(rows), np.concatenate(sides), np.concatenate(blocks)


def _robust(matrix: Array, side: Array) -> tuple[Array, Array]:
    """Return the weights (S,) and the solution (K,) of a fit with Cauchy's loss."""
    plain = np.linalg.lstsq(matrix, side, rcond=None)[0]
    scale = OUTLIER * float(np.sqrt(np.mean((side - matrix @ plain) ** 2)))
    value = least_squares(lambda x: matrix @ x - side, plain, jac=lambda x: matrix, loss="cauchy", f_scale=scale,
                          x_scale="jac").x
    return 1.0 / np.sqrt(1.0 + ((side - matrix @ value) / scale) ** 2), value


def _range(model: Model, number: int, take: Take, lead: float, value: Array) -> float:
    """Return the range of the motor's angle over the output's, rad at the joint, in one take. value: rotor inertia,
    viscous and dry friction."""
    joint, dt = model.mechanism.moving[number], model.dt
    assert joint.motor is not None
    rotor, viscous, coulomb = value[:3]
    q, rates, accelerations = (_weighted(take.q, max(5, round(FINE * KERNEL_S / dt)), n, dt) for n in (0, 1, 2))
    v = rates[:, number]
    torque = _motor_torque(joint, take, v, dt, lead)
    left = torque - newton_euler(model, q, rates, accelerations)[:, number] - rotor * accelerations[:, number]
    left = np.where(np.abs(v) > RESTING * np.abs(v).max(), left - viscous * v - coulomb * np.sign(v), 0.0)
    damping = viscous + (joint.motor.K * joint.motor.gear) ** 2 / joint.motor.R
    kept = np.exp(-dt * damping / rotor)
    return float(np.ptp(np.cumsum(lfilter([1.0 - kept], [1.0, -kept], left / damping)) * dt))


def _mean(values: Sequence[float], doubt: float) -> Estimate:
    """Return the mean with Student's interval, which is widened by an error common to all values."""
    half = student.ppf(0.5 + 0.5 * LEVEL, len(values) - 1) * np.std(values, ddof=1) / np.sqrt(len(values))
    return Estimate(float(np.mean(values)), float(half) + doubt)


def _weighted(x: Array, width: int, derivative: int, dt: float) -> Array:
    """Convolve the n-th derivative of x (S, K) with the bump. Return one row per sample, (S, K).
    Beyond the ends of x, the first or last value is repeated. The bump (1 - s^2)^4 over -1..1 has an integral of one
    and three continuous derivatives."""
    half = 0.5 * (width + 1) * dt
    s = (np.arange(width) - 0.5 * (width - 1)) * dt / half
    bump = Polynomial([1.0, 0.0, -1.0]) ** 4
    area = (bump.integ()(1.0) - bump.integ()(-1.0)) * half
    weights = (-1.0) ** derivative * bump.deriv(derivative)(s) / half**derivative / area * dt if derivative else \
        bump(s) / bump(s).sum()
    # the exact derivative of a constant is 0; the sum would return rounding errors
    weights -= weights.mean() if derivative else 0.0
    return correlate1d(x, weights, axis=0, mode="nearest")


def _later(x: Array, ticks: float) -> Array:
    """Return x (S,), delayed by some ticks and interpolated linearly."""
    whole = int(ticks)
    late = [np.concatenate([np.repeat(x[:1], n), x])[:len(x)] for n in (whole, whole + 1)]
    return (1.0 - ticks + whole) * late[0] + (ticks - whole) * late[1]


def _motor_torque(joint: Joint, take: Take, qd: Array, dt: float, lead: float, full: float = 0.0) -> Array:
    """Return the motor's torque (S,) at the joint, N m. full: current at a duty of 1, A, for motors with a current
    loop."""
    motor = joint.motor
    held = _later(take.duty, lead)
    if motor is None or joint.takes_torque:
        return 0.5 * (held + np.insert(held[:-1], 0, held[0]))
    constant, held = motor.K * motor.gear, held * motor.sign
    if full:  # with a current loop, the duty is a commanded current
        return constant * full * 0.5 * (held + np.insert(held[:-1], 0, held[0]))
    volts = take.bus_voltage * held
    decay = np.exp(-motor.R * dt / motor.L)
    middle = 0.5 * (qd + np.append(qd[1:], qd[-1]))  # mean rate over the interval after each sample
    steady = (volts - constant * middle) / motor.R
    # weight of the current at the interval's begin in the mean current of the interval
    share = (1.0 - decay) * motor.L / (motor.R * dt)
    current, mean = steady[0], np.empty_like(steady)
    for k, goal in enumerate(steady):
        mean[k] = goal + (current - goal) * share
        current = goal + (current - goal) * decay
    return constant * 0.5 * (mean + np.insert(mean[:-1], 0, mean[0]))


def _regress(matrix: Array, side: Array, block: NDArray[np.int64]) -> tuple[Array, Array, float]:
    """Return the least-squares solution (K,) for a matrix (S, K), the half-widths (K,) of the confidence intervals, and
    the rms residual."""
    inverse = np.linalg.inv(matrix.T @ matrix)
    value = inverse @ (matrix.T @ side)
    left = side - matrix @ value
    names = np.unique(block)
    scores = np.array([matrix[block == b].T @ left[block == b] for b in names])
    count, free = len(names), len(names) - matrix.shape[1]
    covariance = inverse @ (scores.T @ scores) @ inverse * count / free
    half = student.ppf(0.5 + 0.5 * LEVEL, free) * np.sqrt(np.diag(covariance))
    return value, half, float(np.sqrt(np.mean(left**2)))
