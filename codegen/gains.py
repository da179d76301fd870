"""How stiff the sampled loop may be: the PD law, the observer, the motors and the latency as one discrete system.

Plant: M(q) qdd = f at a fixed pose, rotors included. Motor: L dI/dt = V - R I - K N qd, V held over a tick, so that
with f = N K I the force follows its command with R/L and back-EMF damps. Law: f* = -Ku y - Kv qd^ with y the encoder's
position and qd^ the rate of the tracking observer (the back-EMF that the law makes up for is the target's, which is
none of the loop's). What is computed at t_k is applied over [t_k + lead dt, t_k + (lead + 1) dt]. Friction, which only
damps, and gravity's stiffness are left out.

The stated rule of `stiffest_gains`: Ku = m w^2, Kv = 2 damping m w, with m the joint's smallest apparent inertia over
its range and the largest w for which the loop is still stable at every pose with all gains multiplied by `margin`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import expm
from scipy.stats import qmc

from codegen.mass_matrix import mass_matrix
from codegen.mechanism import Gains
from codegen.model import Model
from codegen.observer import observer_gains

Array = NDArray[np.float64]

MARGIN = 2.0  # all gains may grow by this factor before the loop becomes unstable: 6 dB
DAMPING = 1.0  # ratio Kv / (2 sqrt(Ku m))
POSES = 48  # fewer for more joints than six: their eigenvalues cost the cube
UNLIMITED = {True: 0.5, False: np.pi}  # range taken where a joint has no limits: m (prismatic), rad


@dataclass(frozen=True)
class Stability:
    """Worst pose of a sampled loop. radius: of its eigenvalues, stable below 1; rate_gain: of Kv M^-1 dt."""

    radius: float
    rate_gain: float
    pose: Array

    @property
    def stable(self) -> bool:
        return self.radius <= 1.0 + 1e-9


def sample_poses(model: Model) -> Array:
    """Poses (P, n) over the joints' ranges, always the same: start, straight, then a Halton sequence."""
    count = max(8, POSES * 6 // max(model.n, 6))
    lower, upper, start = np.empty((3, model.n))
    for i, body in enumerate(model.bodies):
        reach, limits = UNLIMITED[body.prismatic], body.joint.limits
        lower[i] = limits.lower if np.isfinite(limits.lower) else min(-reach, limits.upper - 2 * reach)
        upper[i] = limits.upper if np.isfinite(limits.upper) else max(reach, lower[i] + 2 * reach)
        start[i] = body.joint.start
    straight = np.clip(0.0, lower, upper)
    scattered = qmc.Halton(model.n, scramble=False).random(count - 2)
    return np.vstack([start, straight, lower + (upper - lower) * scattered])


def apparent_inertia(masses: Array) -> Array:
    """Smallest inertia (n,) a joint shows over the poses when the others are free: 1 / (M^-1)_jj; masses (P, n, n)."""
    return 1.0 / np.max(np.diagonal(np.linalg.inv(masses), axis1=-2, axis2=-1), axis=0)


@dataclass(frozen=True)
class SampledLoop:
    """Everything of the loop but its gains. A (P, 3n, 3n), B (P, 3n, n): q, qd, f over one tick, at P poses."""

    poses: Array
    masses: Array
    A: Array
    B: Array
    observer: tuple[float, float]
    lead: int
    dt: float

    @staticmethod
    def of(model: Model, lead: int, poses: Array | None = None) -> SampledLoop:
        poses = sample_poses(model) if poses is None else poses
        masses = mass_matrix(model, poses)
        n, dt = model.n, model.dt
        lag, back_emf = _motors(model)
        A, B = [], []
        for M in masses:
            a = np.zeros((4 * n, 4 * n))
            a[:n, n:2 * n] = np.eye(n)
            a[n:2 * n, 2 * n:3 * n] = np.linalg.inv(M)
            a[2 * n:3 * n, n:2 * n] = -np.diag(lag * back_emf)
            a[2 * n:3 * n, 2 * n:3 * n] = -np.diag(lag)
            a[2 * n:3 * n, 3 * n:] = np.diag(lag)
            step = expm(a * dt)
            A.append(step[:3 * n, :3 * n])
            B.append(step[:3 * n, 3 * n:])
        observer = observer_gains(model.mechanism.control.observer_hz, dt)
        return SampledLoop(poses, masses, np.array(A), np.array(B), observer, lead, dt)

    def radii(self, ku: Array, kv: Array, at: Sequence[int] | None = None) -> Array:
        """Spectral radius of the closed loop at all poses (P,) or those numbered `at`.

        State: q, qd, f; predicted position, rate; `lead` commands.
        """
        A, B = (self.A, self.B) if at is None else (self.A[list(at)], self.B[list(at)])
        n, (l1, l2), dt = len(ku), self.observer, self.dt
        one = np.eye(n)
        size = (5 + self.lead) * n
        rate = np.zeros((n, size))  # of the observer, this tick
        rate[:, :n], rate[:, 3 * n:4 * n], rate[:, 4 * n:5 * n] = one * l2 / dt, -one * l2 / dt, one
        position = np.zeros((n, size))  # of the encoder
        position[:, :n] = one
        predicted = np.zeros((n, size))
        predicted[:, :n], predicted[:, 3 * n:4 * n] = one * l1, one * (1.0 - l1)
        command = -np.diag(ku) @ position - np.diag(kv) @ rate
        step = np.zeros((len(A), size, size))
        step[:, :3 * n, :3 * n] = A
        if self.lead:
            step[:, :3 * n, 5 * n:6 * n] += B
            for k in range(self.lead - 1):
                step[:, (5 + k) * n:(6 + k) * n, (6 + k) * n:(7 + k) * n] = one
            step[:, -n:, :] = command
        else:
            step[:, :3 * n, :] += B @ command
        step[:, 3 * n:4 * n, :] = predicted + dt * rate
        step[:, 4 * n:5 * n, :] = rate
        return np.max(np.abs(np.linalg.eigvals(step)), axis=-1)


def _motors(model: Model) -> tuple[Array, Array]:
    """R/L (n,) 1/s and (N K)^2/R (n,) N m s/rad. An ideal joint follows its command within a hundredth of a tick."""
    lag, back_emf = np.full(model.n, 100.0 / model.dt), np.zeros(model.n)
    for i, body in enumerate(model.bodies):
        if motor := body.joint.motor:
            lag[i] = min(motor.R / motor.L, lag[i])
            back_emf[i] = (motor.gear * motor.K) ** 2 / motor.R
    return lag, back_emf


def loop_stability(model: Model, lead: int, gains: Mapping[str, Gains] | None = None) -> Stability:
    """The worst pose with the mechanism's own gains, or those given by joint name."""
    loop = SampledLoop.of(model, lead)
    chosen = [(gains or {}).get(b.joint.name, b.joint.gains) for b in model.bodies]
    ku, kv = np.array([g.ku for g in chosen]), np.array([g.kv for g in chosen])
    radii = loop.radii(ku, kv)
    rate_gain = np.max(np.abs(np.linalg.eigvals(np.linalg.solve(loop.masses, np.diag(kv)[None]))), axis=-1) * loop.dt
    worst = int(np.argmax(radii))
    return Stability(float(radii[worst]), float(np.max(rate_gain)), loop.poses[worst])


def stiffest_gains(model: Model, lead: int, margin: float = MARGIN, damping: float = DAMPING) -> dict[str, Gains]:
    """The stated rule: as stiff as the sampled loop allows with a gain margin. {joint: Gains}, three digits."""
    loop = SampledLoop.of(model, lead)
    m = apparent_inertia(loop.masses)

    def radii(w: float, at: Sequence[int] | None = None) -> Array:
        return loop.radii(margin * m * w**2, margin * 2.0 * damping * m * w, at)

    critical: list[int] = []  # few poses limit w: bisect with those alone, and look at the others afterwards
    w, worst = 1.0 / loop.dt, 0
    while worst not in critical:
        critical.append(worst)
        w = _largest(lambda w: bool(np.all(radii(w, critical) < 1.0)), 1.0 / loop.dt)
        everywhere = radii(w)
        worst = int(np.argmax(everywhere))
        if everywhere[worst] < 1.0:
            break
    return {body.joint.name: Gains(ku=_digits(m[i] * w**2), kv=_digits(2.0 * damping * m[i] * w))
            for i, body in enumerate(model.bodies)}


def _largest(stable: Callable[[float], bool], top: float) -> float:
    """Largest w below `top` that is stable, by bisection of its logarithm; the loop is stable for slow w."""
    low, high = top * 1e-4, top
    for _ in range(18):
        middle = float(np.sqrt(low * high))
        low, high = (middle, high) if stable(middle) else (low, middle)
    return low


def _digits(value: float) -> float:
    """Rounded down to three significant digits."""
    scale = 10.0 ** (np.floor(np.log10(value)) - 2.0)
    return float(f"{np.floor(value / scale) * scale:.3g}")
