"""Recordings of an arm's motions, and their equations of motion.

STATUS has the positions of all joints and the bus voltage, a hundred times a second. One recording on the board has the
duties and torques of up to four joints, so the motion is repeated until all joints are recorded. The board's memory
holds 1024 samples. In a motion of ten seconds the board stores one sample in about ten ticks. The interval between
samples, in ticks, and the interval between two STATUS have no common factor. If a servo measures asynchronously, its
duties may alternate from tick to tick. Samples of every second tick would then show only one of the two alternating
duties.

Local polynomials (Savitzky and Golay, Analytical Chemistry 36(8), 1964) smooth the positions and give velocities and
accelerations. The polynomials cause no delay, and do not change motions that are slower than WINDOW. Torques and the
sign of the velocity change suddenly, so these signals are filtered like the positions. All other columns of the
regressor change slowly and need no filter.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, gcd

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicHermiteSpline
from scipy.ndimage import maximum_filter1d
from scipy.signal import savgol_filter

from femtorque.codegen.common import Array, Refused, Stopped
from femtorque.codegen.control import current_range
from femtorque.codegen.mechanism import Joint, Mechanism
from femtorque.codegen.motion import Trajectory
from femtorque.codegen.wire import STATUS_HZ, Status, from_wire
from femtorque.host.board import Board
from femtorque.host.lab.inertial.regressor import OF_JOINT, Unknowns
from femtorque.host.lab.joint_identification import delay, gains_of_drive, moved_on
from femtorque.host.link import COLUMNS, Column, Recorder, Recording as Captured
from femtorque.host.stream import Interrupts

WINDOW, ORDER = 0.5, 5  # width of a local polynomial, s; order of the polynomial
RESTING = 0.04  # fraction of a joint's maximum velocity: a slower joint may be held by friction
SAMPLES = 1000  # maximum number of samples in one recording of the board


@dataclass(frozen=True)
class Recording:
    """Measurements during one motion. given: times (T,) on the clock of `t`, s, and equidistant duties (T,), by joint
    number. Drives in torque mode have torques in place of duties, N m or N."""

    t: Array  # equidistant times (S,), s
    positions: Array  # positions (S, J), rad or m
    volts: Array  # bus voltage (S,), V
    given: dict[int, tuple[Array, Array]]


@dataclass(frozen=True)
class Stops:
    """Handling of the user's requests to stop. hold: time for which the arm is held after a stop, s. Within this time
    the user may resume the motion, or disarm the arm by a second stop."""

    interrupts: Interrupts | None = None  # None if there is no user
    hold: float = 0.0


@dataclass(frozen=True)
class Equations:
    """Linear equations of all joints for the unknowns x: matrix x = side. matrix (N, J, P), side (N, J)."""

    matrix: Array
    side: Array
    late: Array  # (N, J): derivative of `side` with respect to the delay of a command, per s
    counts: NDArray[np.bool_]  # (N, J): False if a joint hardly moved or was not recorded
    positions: Array  # (N, J), rad or m
    period: float  # time between rows, s

    def errors(self, values: Array, late: Array) -> Array:
        """Return residuals (N, J), N m or N, of unknowns (P,) and delays (J,) s."""
        return self.side - self.matrix @ values - self.late * late

    def of_joint(self, unknowns: Unknowns, joint: int, part: str) -> Array:
        """Return the column (N,) of a joint's number `part`, one of OF_JOINT."""
        at = 10 * len(unknowns.solids) + len(OF_JOINT) * unknowns.joints.index(joint) + OF_JOINT.index(part)
        return self.matrix[:, joint, at]


# -- on the board ------------------------------------------------------------------------------------------------------


def play(board: Board, motion: Trajectory, stops: Stops, speed: float = 1.0) -> None:
    """Play a motion from its start. Raises the same Refused as `Board.stream`, and if the user stopped the arm."""
    outcome = board.stream(motion, speed=speed, interrupts=stops.interrupts, hold_after_stop=stops.hold)
    if outcome.ended != "done":
        raise Stopped(f"{board.session.link.port}: the motion was {outcome.ended}: nothing was identified")


def approach(board: Board, position: Array, stops: Stops) -> None:
    """Move slowly to a position (J,). Raises the same Refused as `play`."""
    if not board.approach(position, interrupts=stops.interrupts, hold_after_stop=stops.hold):
        raise Stopped(f"{board.session.link.port}: the arm was stopped on its way: nothing was identified")


def record(board: Board, mechanism: Mechanism, motion: Trajectory, stops: Stops, wanted: Sequence[int] | None = None
           ) -> list[Recording]:
    """Repeat a motion until every wanted joint has been recorded. By default all joints are wanted. Raises the same
    Refused as `play`."""
    joints = range(len(board.session.configuration.joints)) if wanted is None else wanted
    takes: list[Recording] = []
    for first in range(0, len(joints), COLUMNS):
        seen: list[Status] = []
        recorder = Recorder(board.session)
        columns = [Column("torque" if board.session.configuration.joints[j].takes_torque else "duty", j)
                   for j in joints[first:first + COLUMNS]]
        approach(board, motion.positions[0], stops)
        recorder.start(columns, every(board.session.configuration.rate_hz, motion.duration), "RING")
        board.session.listeners.append(seen.append)
        try:
            play(board, motion, stops)
        finally:
            board.session.listeners.remove(seen.append)
        recorder.stop()
        takes += recordings(seen, recorder.read(), mechanism)
    return takes


def every(rate_hz: int, seconds: float) -> int:
    """Return the ticks between samples for a recording of this duration."""
    ticks = max(1, ceil(seconds * rate_hz / SAMPLES))
    while gcd(ticks, 2 * ceil(rate_hz / STATUS_HZ)) != 1:
        ticks += 1
    return ticks


def recordings(statuses: Sequence[Status], captured: Captured, mechanism: Mechanism) -> list[Recording]:
    """Return one recording for each section of a STATUS sequence that has no gap."""
    if len(statuses) < 2 or len(captured.tick) < 2:
        return []
    joints, rate = mechanism.streamed, mechanism.control.rate_hz
    ticks = np.unwrap([float(s.tick) for s in statuses], period=2.0**32)
    begun = ticks[-1] - float((statuses[-1].tick - int(captured.tick[-1]) + 2**31) % 2**32 - 2**31)
    told = (begun - captured.tick[-1] + captured.tick) / rate
    given = {c.joint: (told, captured.values[:, k]) for k, c in enumerate(captured.columns)}
    period = float(np.median(np.diff(ticks)))
    ends = [0, *(np.flatnonzero(np.abs(np.diff(ticks) - period) > 0.5) + 1).tolist(), len(ticks)]
    positions = from_wire([s.position for s in statuses], joints)
    volts = np.array([s.bus_mv * 1e-3 for s in statuses])
    return [Recording(ticks[a:b] / rate, positions[a:b], volts[a:b], given)
            for a, b in zip(ends[:-1], ends[1:], strict=True)]


# -- afterwards --------------------------------------------------------------------------------------------------------


def equations(unknowns: Unknowns, takes: Sequence[Recording]) -> Equations:
    """Return the equations of all recordings, in order. Raises Refused if every recording is too short."""
    parts = [found for take in takes if (found := _equations(unknowns, take)) is not None]
    if not parts:
        raise Refused(f"{unknowns.space.whole.name}: no part of the recordings is longer than {3.0 * WINDOW:g} s: too "
                      "many STATUS were lost")
    return Equations(np.concatenate([p.matrix for p in parts]), np.concatenate([p.side for p in parts]),
                     np.concatenate([p.late for p in parts]), np.concatenate([p.counts for p in parts]),
                     np.concatenate([p.positions for p in parts]), parts[0].period)


def _equations(unknowns: Unknowns, take: Recording) -> Equations | None:
    period = float(take.t[1] - take.t[0]) if len(take.t) > 1 else 0.0
    width = _width(period) if period else 0
    if len(take.t) < max(3 * width, 4):
        return None
    space, inner = unknowns.space, slice(width, -width)
    whole, joints = space.whole, space.whole.streamed
    q, qd, qdd = (_smooth(take.positions, period, n) for n in range(3))
    moves = space.motion(space.start, *(space.unstreamed(x[inner]) for x in (q, qd, qdd)))
    v, a, t = space.streamed(moves[1]), space.streamed(moves[2]), take.t[inner]
    matrix, known = unknowns.matrix(moves), unknowns.known(moves)
    side, late = np.zeros_like(v), np.zeros_like(v)
    moving = ~maximum_filter1d(np.abs(qd) <= RESTING * np.max(np.abs(qd), axis=0), width, axis=0)[inner]
    first = 10 * len(unknowns.solids) + OF_JOINT.index("coulomb")
    for k, j in enumerate(unknowns.joints):
        matrix[:, j, first + len(OF_JOINT) * k] = _smooth(np.sign(qd[:, j]), period)[inner]
    for k, term in enumerate(unknowns.terms):
        if term.slow:
            shape = term.shape(qd[:, term.joint], qd[:, term.joint])
            matrix[:, term.joint, unknowns.plain + k] = _smooth(shape, period)[inner]
    for j, joint in enumerate(joints):
        if j not in take.given:
            moving[:, j] = False
            continue
        when, given = take.given[j]
        told = told_torque(whole, joint, given, np.interp(when, take.t, take.volts))
        behind = inductive(whole, joint)
        ku, kv = gains_of_drive(joint)
        held = (delay(whole, joint) + 0.5) / whole.control.rate_hz
        step = float(when[1] - when[0])
        torque = CubicHermiteSpline(when, _smooth(told, step), _smooth(told, step, 1))
        moved = ku * v[:, j] + kv * a[:, j]  # the drive's own loop measures the position later than the board does
        late[:, j] = torque(t - held - behind, 1) + moved
        side[:, j] = (torque(t - held - behind) - moved_on(whole, joint) * moved - known[:, j]
                      - damping(whole, joint) * (v[:, j] - behind * a[:, j]))
        moving[:, j] &= (t - held > when[0] + WINDOW) & (t < when[-1] - WINDOW)
    return Equations(matrix, side, late, moving, space.streamed(moves[0]), period)


def _width(period: float) -> int:
    """Return the number of samples in a window, which is odd."""
    return 2 * round(0.5 * WINDOW / period) + 1


def _smooth(x: Array, period: float, derivative: int = 0) -> Array:
    width = min(_width(period), 2 * ((len(x) - 1) // 2) + 1)
    return np.asarray(savgol_filter(x, width, ORDER, deriv=derivative, delta=period, axis=0))


def told_torque(mechanism: Mechanism, joint: Joint, given: Array, volts: Array) -> Array:
    """Return the torque at the joint (S,), N m or N, that a duty or torque (S,) commands. The back-EMF is not
    included."""
    motor, use = joint.motor, mechanism.board
    if motor is None or joint.takes_torque:
        return given
    assert use is not None
    constant, duty = motor.K * motor.gear, given * motor.sign
    if full := current_range(mechanism, joint):
        return constant * full * volts / use.bus_voltage * duty
    return constant * volts * duty / motor.R


def damping(mechanism: Mechanism, joint: Joint) -> float:
    """Return the damping by the back-EMF at the joint, (K N)^2 / R, N m s/rad or N s/m."""
    motor = joint.motor
    if motor is None or joint.takes_torque or current_range(mechanism, joint):
        return 0.0
    return (motor.K * motor.gear) ** 2 / motor.R


def inductive(mechanism: Mechanism, joint: Joint) -> float:
    """Return L / R of a voltage-driven motor, s: the lag of the current."""
    return joint.motor.L / joint.motor.R if joint.motor is not None and damping(mechanism, joint) else 0.0
