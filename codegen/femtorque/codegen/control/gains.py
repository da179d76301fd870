"""The highest gains with which the sampled loop is stable. One discrete system describes PD law, observer, motors and
latency.

Plant: M(q) qdd = f at a fixed pose, with the rotors. Motor: L dI/dt = V - R I - K N qd with V held over a tick. Let f =
N K I. f follows its command with the rate constant R/L, and the back-EMF adds damping. Law: f* = -Ku y - Kv qd^, with
the encoder's position y and the velocity qd^ of the tracking observer. The law compensates the back-EMF at the target
velocity. This compensation is not part of the loop. Commands computed at t_k act over [t_k + lead dt, t_k + (lead + 1)
dt]. Friction would add damping, so the model omits friction. The model omits the stiffness that gravity causes. Closed
loops have the independent joints q_i as coordinates, with dq = G dq_i and mass G' M G. The actuated joints' rows of G
map their torques to the independent joints, and the independent velocities to their encoders. With flexible links,
their modes join the independent coordinates, with stiffness and damping.

`stiffest_gains`: Ku = m w^2, Kv = 2 damping m w, with the joint's smallest apparent inertia m over its range. w is the
largest value for which the loop is stable at every pose with all gains multiplied by `margin`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count as counting

import numpy as np

from femtorque.codegen.common import Array, remembered
from femtorque.codegen.control.exponential import exponential
from femtorque.codegen.control.observer import observer_gains
from femtorque.codegen.mechanism import Gains
from femtorque.codegen.model import Body, Model, assemble, mass_matrix
from femtorque.codegen.reference import flexible_mass_matrix

MARGIN = 2.0  # gain margin: 6 dB
DAMPING = 1.0  # ratio Kv / (2 sqrt(Ku m))
POSES = 48  # number of poses at six joints; fewer with more joints, whose eigenvalues take more time
UNLIMITED = {True: 0.5, False: np.pi}  # assumed range of a joint without limits: m (prismatic), rad


@dataclass(frozen=True)
class Stability:
    """The least stable pose of a sampled loop."""

    radius: float  # spectral radius, stable below 1
    rate_gain: float  # gain of Kv M^-1 dt
    pose: Array

    @property
    def stable(self) -> bool:
        return self.radius <= 1.0 + 1e-9


@remembered
def sample_poses(model: Model) -> Array:
    """Return poses (P, n) within the joints' ranges: the start pose, the zero pose, then a Halton sequence. All calls
    return equal poses.

    In closed loops each pose is on the straight line from the assembled pose to its target. The pose lies as near to
    the target as the closed loops allow."""
    assembly = assemble(model)
    free = [model.bodies[i] for i in assembly.independent]
    count = max(8, POSES * 6 // max(model.n, 6))
    lower, upper = np.array([_range(body) for body in free]).T
    start, straight = np.array([body.joint.start for body in free]), np.clip(0.0, lower, upper)
    scattered = halton(count - 2, len(free))
    poses = np.vstack([start, straight, lower + (upper - lower) * scattered])
    poses = assembly.reach(poses) if assembly.dependent else poses
    poses.setflags(write=False)
    return poses


def halton(count: int, dimensions: int) -> Array:
    """Return the first points (count, dimensions) of Halton's sequence in the unit cube, in consecutive prime bases.

    SciPy offers this sequence too, but its import takes 0.4 s per command."""
    primes: list[int] = []
    while len(primes) < dimensions:
        primes.append(next(p for p in counting((primes or [1])[-1] + 1) if all(p % q for q in primes)))
    points = np.zeros((count, dimensions))
    for d, base in enumerate(primes):
        rest, digit = np.arange(count), 1.0
        while rest.any():
            digit /= base
            rest, last = np.divmod(rest, base)
            points[:, d] += last * digit
    return points


def _range(body: Body) -> tuple[float, float]:
    reach, limits = UNLIMITED[body.prismatic], body.joint.limits
    lower = limits.lower if np.isfinite(limits.lower) else min(-reach, limits.upper - 2 * reach)
    return lower, limits.upper if np.isfinite(limits.upper) else max(reach, lower + 2 * reach)


def apparent_inertia(masses: Array, moves: Array | None = None) -> Array:
    """Return the smallest apparent inertia (a,) of each driven joint over the poses, if the other joints are free: 1 /
    (G M^-1 G')_jj. masses (P, k, k): mass matrices of the independent joints. moves (P, a, k): G of the driven joints,
    by default the identity."""
    inverse = np.linalg.inv(masses)
    if moves is not None:
        inverse = moves @ inverse @ np.swapaxes(moves, -1, -2)
    return 1.0 / np.max(np.diagonal(inverse, axis1=-2, axis2=-1), axis=0)


@dataclass(frozen=True)
class SampledLoop:
    """The sampled loop before the gains are inserted, with k independent coordinates and a actuated joints (in a tree
    all joints). A (P, 2k + a, 2k + a), B (P, 2k + a, a): change of q_i, qd_i, f over one tick, at P poses.
    lead: time until a command acts, ticks. B_begin (P, 2k + a, a): the part of B from the begin of a tick until a
    command acts in this tick, if lead has a fraction."""

    joints: tuple[int, ...]
    poses: Array
    masses: Array
    moves: Array  # (P, a, k): dq_a / dq_i
    A: Array
    B: Array
    observer: tuple[float, float]
    lead: float
    dt: float
    B_begin: Array | None = None

    @staticmethod
    @remembered
    def of(model: Model, lead: float) -> SampledLoop:
        assembly, poses = assemble(model), sample_poses(model)
        masses, driven = mass_matrix(model, poses), list(assembly.actuated)
        moves = np.broadcast_to(np.eye(model.n), masses.shape)
        K = C = np.zeros(())
        if model.mechanism.flexible:
            masses, K, C = flexible_mass_matrix(model, poses)
            driven = [i for i, joint in enumerate(model.mechanism.moving) if not joint.elastic]
            moves = np.broadcast_to(np.eye(masses.shape[-1])[driven], (len(poses), len(driven), masses.shape[-1]))
        if assembly.dependent:
            G = assembly.velocity_matrix(poses)
            masses, moves = np.swapaxes(G, -1, -2) @ masses @ G, G[:, driven]
        k, n, dt = masses.shape[-1], len(driven), model.dt
        lag, back_emf = (x[driven] for x in _motors(model))
        a = np.zeros((len(poses), 2 * k + 2 * n, 2 * k + 2 * n))
        q, qd, f, command = slice(k), slice(k, 2 * k), slice(2 * k, 2 * k + n), slice(2 * k + n, None)
        a[:, q, qd] = np.eye(k)
        a[:, qd, f] = np.linalg.solve(masses, np.swapaxes(moves, -1, -2))
        a[:, qd, q] = -np.linalg.solve(masses, K + 0.0 * masses)
        a[:, qd, qd] = -np.linalg.solve(masses, C + 0.0 * masses)
        a[:, f, qd], a[:, f, f], a[:, f, command] = -np.diag(lag * back_emf) @ moves, -np.diag(lag), np.diag(lag)
        step = exponential(a * dt)[:, :2 * k + n]
        observer = observer_gains(model.mechanism.control.observer_hz, dt)
        begin = None
        if late := lead % 1.0:
            begin = step[..., command] - exponential(a * ((1.0 - late) * dt))[:, :2 * k + n, command]
        return SampledLoop(tuple(driven), poses, masses, moves, step[..., :2 * k + n], step[..., command], observer,
                           lead, dt, begin)

    def radii(self, ku: Array, kv: Array, at: Sequence[int] | None = None) -> Array:
        """Return the spectral radius of the closed loop at all poses (P,), or only at the poses with the indices `at`.
        The state vector consists of q, qd, f, predicted position, velocity and the commands that still act or wait."""
        begin = np.zeros_like(self.B) if self.B_begin is None else self.B_begin
        A, B, B_begin, G = (x if at is None else x[list(at)] for x in (self.A, self.B, begin, self.moves))
        n, k, (l1, l2), dt = len(ku), G.shape[-1], self.observer, self.dt
        one, P = np.eye(n), 2 * k + n  # P: states of the plant
        waiting = int(np.ceil(self.lead))
        size = P + (2 + waiting) * n
        predicts, velocities = slice(P, P + n), slice(P + n, P + 2 * n)
        velocity = np.zeros((len(A), n, size))  # the observer's velocity estimate in this tick, as a row of the state
        velocity[:, :, :k], velocity[:, :, predicts], velocity[:, :, velocities] = G * (l2 / dt), -one * l2 / dt, one
        position = np.zeros((len(A), n, size))  # of the encoder
        position[:, :, :k] = G
        predicted = np.zeros((len(A), n, size))
        predicted[:, :, :k], predicted[:, :, predicts] = G * l1, one * (1.0 - l1)
        command = -np.diag(ku) @ position - np.diag(kv) @ velocity
        step = np.zeros((len(A), size, size))
        step[:, :P, :P] = A
        if waiting:
            first = P + 2 * n
            for i in range(waiting - 1):
                step[:, first + i * n:first + (i + 1) * n, first + (i + 1) * n:first + (i + 2) * n] = one
            step[:, -n:, :] = command
            step[:, :P, first:first + n] += B if self.B_begin is None else B_begin
            if self.B_begin is not None:  # the next command acts in the rest of the tick
                step[:, :P, :] += (B - B_begin) @ step[:, first:first + n, :]
        else:
            step[:, :P, :] += B @ command
        step[:, predicts, :] = predicted + dt * velocity
        step[:, velocities, :] = velocity
        return np.max(np.abs(np.linalg.eigvals(step)), axis=-1)


def _motors(model: Model) -> tuple[Array, Array]:
    """Return R/L (n,) 1/s and (N K)^2/R (n,) N m s/rad.

    Ideal joints, and servos with current setpoints, follow their command within a hundredth of a tick."""
    lag, back_emf = np.full(model.n, 100.0 / model.dt), np.zeros(model.n)
    for i, body in enumerate(model.bodies):
        if (motor := body.joint.motor) and not body.joint.takes_torque:
            lag[i] = min(motor.R / motor.L, lag[i])
            back_emf[i] = (motor.gear * motor.K) ** 2 / motor.R
    return lag, back_emf


def loop_stability(model: Model, lead: float, gains: Mapping[str, Gains] | None = None) -> Stability:
    """Return the least stable pose, with the mechanism's gains or with `gains` by joint name."""
    loop = SampledLoop.of(model, lead)
    driven = [model.bodies[i].joint for i in loop.joints]
    chosen = [(gains or {}).get(joint.name, joint.gains) for joint in driven]
    ku, kv = np.array([g.ku for g in chosen]), np.array([g.kv for g in chosen])
    radii = loop.radii(ku, kv)
    damped = np.swapaxes(loop.moves, -1, -2) @ np.diag(kv) @ loop.moves
    rate_gain = np.max(np.abs(np.linalg.eigvals(np.linalg.solve(loop.masses, damped))), axis=-1) * loop.dt
    worst = int(np.argmax(radii))
    return Stability(float(radii[worst]), float(np.max(rate_gain)), loop.poses[worst])


def stiffest_gains(model: Model, lead: float, margin: float = MARGIN, damping: float = DAMPING) -> dict[str, Gains]:
    """Return {joint: Gains}: the highest stable gains of the sampled loop, less the gain margin, in three digits."""
    loop = SampledLoop.of(model, lead)
    m = apparent_inertia(loop.masses, loop.moves)

    def radii(w: float, at: Sequence[int] | None = None) -> Array:
        return loop.radii(margin * m * w**2, margin * 2.0 * damping * m * w, at)

    critical: list[int] = []  # few poses limit w: the search bisects w with these poses alone, then checks all poses
    w, worst = 1.0 / loop.dt, 0
    while worst not in critical:
        critical.append(worst)
        w = _largest(lambda w: bool(np.all(radii(w, critical) < 1.0)), 1.0 / loop.dt)
        everywhere = radii(w)
        worst = int(np.argmax(everywhere))
        if everywhere[worst] < 1.0:
            break
    return {model.bodies[j].joint.name: Gains(ku=three_digits(m[i] * w**2), kv=three_digits(2.0 * damping * m[i] * w))
            for i, j in enumerate(loop.joints)}


def _largest(stable: Callable[[float], bool], top: float) -> float:
    """Return the largest stable w below `top`, found by bisection of log w. Small w are stable."""
    low, high = top * 1e-4, top
    for _ in range(18):
        middle = float(np.sqrt(low * high))
        low, high = (middle, high) if stable(middle) else (low, middle)
    return low


def three_digits(value: float) -> float:
    """Return the value rounded down to three significant digits."""
    scale = 10.0 ** (np.floor(np.log10(value)) - 2.0)
    return float(f"{np.floor(value / scale) * scale:.3g}")
