"""Finds contact thresholds from motions without contact.

The arm touches nothing in these motions. So any estimated external torque r is caused by a model error, by static
friction, or by encoder quantisation. The board computed r with the file's parameters x0. With the identified numbers x
the same motion needs another torque. This torque difference is filtered in the same way as r. H is the observer's
filter, and M is the filter of the mean.

    off = (r - mean) + (1 - M) H Y (x - x0)

When a joint stops or reverses, its estimated external torque may reach its dry friction, first in one direction and
then in the other direction. Near a
stop, only the part of |off| beyond twice the dry friction f counts as an error. A joint's threshold is torque +
velocity |qd| + acceleration |qdd| of its target. The threshold rises immediately and falls slowly
(firmware/src/control/ft_contact.c). Among all thresholds that are never below f plus MARGIN times the error, `propose`
finds the threshold with the lowest mean.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import maximum_filter1d, minimum_filter1d
from scipy.optimize import linprog
from scipy.signal import lfilter, savgol_filter

from femtorque.codegen.common import Array
from femtorque.codegen.control import SLOW_HZ, Motors, hidden
from femtorque.codegen.mechanism import COULOMB_VELOCITY, Contact, Mechanism
from femtorque.codegen.wire import Felt, Status, from_wire
from femtorque.host.lab.inertial.recording import ORDER, RESTING, WINDOW
from femtorque.host.lab.inertial.regressor import OF_JOINT, Unknowns
from femtorque.host.link import PERIOD, Session

MARGIN = 1.5  # a report shows only one tick in twenty, and the errors differ between motions
TURN = 0.15  # time before and after a sample with motion in one direction, s; friction and the filter need this time
SETTLED, REST = 1.5, 4.0  # time until the mean has settled, s; time of rest at the end, which shows the noise, s
LEAST = 1e-3  # fraction of the effort: minimum threshold


@dataclass(frozen=True)
class Watched:
    """STATUS and FELT messages of a board, in order of time."""

    statuses: list[Status] = field(default_factory=list)
    felt: list[Felt] = field(default_factory=list)


@contextmanager
def watching(session: Session) -> Iterator[Watched]:
    """Record every STATUS and FELT while the context is open."""
    seen = Watched()
    session.listeners.append(seen.statuses.append)
    session.felt_listeners.append(seen.felt.append)
    try:
        yield seen
    finally:
        session.listeners.remove(seen.statuses.append)
        session.felt_listeners.remove(seen.felt.append)


def rest(session: Session) -> None:
    """Wait for REST s while the arm is at rest."""
    until = session.clock.now() + REST
    while session.clock.now() < until:
        session.pump()
        session.clock.sleep(PERIOD)


@dataclass(frozen=True)
class Touch:
    """Largest deviation of a joint's external torque from its mean, N m or N, and the proposed threshold."""

    joint: str
    before: float  # threshold with the file's numbers
    after: float  # threshold with the new numbers
    contact: Contact


def propose(unknowns: Unknowns, values: Array, seen: Watched) -> tuple[Touch, ...]:
    """Return contact thresholds of all joints, computed from motions without contact. values (P,): the numbers that the
    file will have. Empty without [feel]."""
    mechanism = unknowns.space.whole
    if mechanism.feel is None or len(seen.felt) < 2 or len(seen.statuses) < 2:
        return ()
    t, q, rates = _motion(mechanism, seen.statuses)
    when = _seconds(mechanism, [report.tick for report in seen.felt], seen.statuses[0].tick)
    known = (when >= t[0]) & (when <= t[-1])
    change = _change(unknowns, values, t, q)
    step = t[1] - t[0]
    moves = np.abs([rates, np.gradient(rates, step, axis=0)])
    was = np.array([np.subtract(report.external, report.mean) for report in seen.felt])
    found = []
    found_arm = unknowns.mechanism(values)
    efforts = Motors.of(found_arm).effort.tolist()
    for j, (joint, becomes) in enumerate(zip(mechanism.streamed, found_arm.streamed, strict=True)):
        before = np.abs(was[known, j])
        after = np.abs(was[known, j] + np.interp(when[known], t, change[:, j]))
        dry = hidden(becomes, efforts[j])
        steady = np.interp(when[known], t, _steady(moves[0, :, j], step)) == 1.0
        error = np.where(steady, after, np.maximum(after - dry, 0.0))
        wanted = dry + MARGIN * np.maximum(error, LEAST * efforts[j])
        contact = threshold(when[known], wanted, t, moves[:, :, j])
        found.append(Touch(joint.name, float(before.max()), float(after.max()), contact))
    return tuple(found)


def _steady(speed: Array, step: float) -> NDArray[np.bool_]:
    """Return (T,): True where the joint moves in one direction or is at rest, away from a change between these states.
    speed (T,): absolute velocities."""
    slow = RESTING * speed.max()
    moved = minimum_filter1d(speed, 2 * round(TURN / step) + 1) > slow
    return np.asarray(moved | (maximum_filter1d(speed, 2 * round(SETTLED / step) + 1) == 0.0))


def threshold(when: Array, wanted: Array, t: Array, moves: Array) -> Contact:
    """Return the threshold with the lowest mean, among thresholds that are at least `wanted` (N,) at the times `when`
    (N,). moves (2, T): absolute velocities and accelerations at equidistant times t (T,)."""
    step = t[1] - t[0]
    rows = np.column_stack([np.ones(len(wanted)), *(np.interp(when, t, _falling(x, step)) for x in moves)])
    size = np.maximum(rows.max(axis=0), 1e-9)  # scale factors, because the solver needs numbers near 1
    found = linprog((rows / size).mean(axis=0), A_ub=-rows / size, b_ub=-wanted,
                    bounds=[(wanted.min(), None), (0.0, None), (0.0, None)], method="highs")
    assert found.x is not None  # a solution exists, since a large constant threshold satisfies all constraints
    parts = np.maximum(found.x / size, 0.0)
    board = np.interp(when, t, _falling(parts @ np.vstack([np.ones(len(t)), moves]), step))  # rise and fall of the sum
    return Contact(*map(float, parts * max(1.0, float(np.max(wanted / board)))))


def _seconds(mechanism: Mechanism, ticks: Sequence[int], first: int) -> Array:
    """Return the seconds (N,) since a tick. The tick counter may have wrapped."""
    return (np.subtract(ticks, first) + 2**31) % 2**32 / mechanism.control.rate_hz - 2**31 / mechanism.control.rate_hz


def _motion(mechanism: Mechanism, statuses: Sequence[Status]) -> tuple[Array, Array, Array]:
    """Return equidistant times (N,) s, measured positions and target velocities (N, J)."""
    when = _seconds(mechanism, [s.tick for s in statuses], statuses[0].tick)
    step = float(np.median(np.diff(when)))
    t = np.arange(0.0, when[-1], step)
    q = from_wire([s.position for s in statuses], mechanism.streamed)
    rates = np.array([s.target_rate for s in statuses], float)
    q, rates = (np.column_stack([np.interp(t, when, x) for x in rows.T]) for rows in (q, rates))
    return t, q, rates


def _change(unknowns: Unknowns, values: Array, t: Array, q: Array) -> Array:
    """Return the change (N, J) of the estimated external torque if the file had these numbers."""
    space, step, mechanism = unknowns.space, t[1] - t[0], unknowns.space.whole
    assert mechanism.feel is not None
    width = 2 * round(0.5 * WINDOW / step) + 1
    if len(t) < width or not np.any(values != unknowns.prior):
        return np.zeros_like(q)
    moves = space.motion(space.start, *(space.unstreamed(savgol_filter(q, width, ORDER, deriv=n, delta=step, axis=0))
                                        for n in range(3)))
    matrix, v = unknowns.matrix(moves), space.streamed(moves[1])
    first = 10 * len(unknowns.solids) + OF_JOINT.index("coulomb")
    for k, j in enumerate(unknowns.joints):  # as the board has it
        slow = COULOMB_VELOCITY[mechanism.streamed[j].type == "prismatic"]
        matrix[:, j, first + len(OF_JOINT) * k] = np.clip(v[:, j] / slow, -1.0, 1.0)
    for k, term in enumerate(unknowns.terms, unknowns.plain):
        slow = COULOMB_VELOCITY[mechanism.streamed[term.joint].type == "prismatic"]
        matrix[:, term.joint, k] *= np.minimum(np.abs(v[:, term.joint]) / slow, 1.0)
    felt = _filtered(matrix @ (values - unknowns.prior), mechanism.feel.bandwidth_hz, step)
    return felt - _filtered(felt, SLOW_HZ, step)


def _filtered(x: Array, hz: float, step: float) -> Array:
    """Low-pass filter x (N, J), of first order and initially at rest at the first row."""
    kept = np.exp(-2.0 * np.pi * hz * step)
    return np.asarray(lfilter([1.0 - kept], [1.0, -kept], x - x[0], axis=0)) + x[0]


def _falling(x: Array, step: float) -> Array:
    """Return a signal (T,) that follows rises of x immediately and falls of x slowly."""
    kept, held = np.exp(-2.0 * np.pi * SLOW_HZ * step), x.copy()
    for k in range(1, len(x)):
        held[k] = max(x[k], x[k] + kept * (held[k - 1] - x[k]))
    return held
