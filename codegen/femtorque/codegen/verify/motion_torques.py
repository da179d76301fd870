"""The feed-forward torques of a whole motion, for `femtorque torque`.

The torques come from the float64 reference, from the emitted C on this computer, or from the image's code on the
emulated chip. The caller passes the torques of the C as a function: `CompiledStep.torque` of
femtorque.codegen.toolchain.step_library, or `torque` of femtorque.hil.cost.chip_step. The caller also passes the
function for the torque that balances an external wrench: `torque` of femtorque.codegen.toolchain.wrench_library or of
femtorque.hil.cost.chip_wrench."""

import csv
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from femtorque.codegen.common import Array, BadInput, Refused, replacing
from femtorque.codegen.mechanism import Mechanism
from femtorque.codegen.model import DrivenFriction, Model, assemble, has_modes, schedule
from femtorque.codegen.motion import Trajectory
from femtorque.codegen.reference import (
    LOST, STEEPEST, Bent, Flexible, Wrench, bending, bends, recursion, schemes, wrench_torque)
from femtorque.codegen.toolchain import CompiledStep

SAG = 0.2  # maximum slope at the tip of a flexible link
SMALL = "the deflection is not small: the torque is right to second order in it, some tenths of its square"
BEYOND = 1e3  # multiple of the joint's effort; a larger torque means that the computation has diverged

Step = Callable[..., Array]
"""The emitted step of a model over a motion: positions (N + 2, n) at s_-1 .. s_N, rad or m, and where it leads through
several modes their `schedule`, to torques (N, n) at s_0 .. s_N-1."""

Held = Callable[[Model, Array, Wrench], Array]
"""What holds against a wrench, by the emitted C: positions (N, n), rad or m, to torques (N, n)."""


@dataclass(frozen=True)
class Torque:
    """Torques of a motion."""

    joints: tuple[str, ...]  # names (n,) of the joints
    t: Array  # (N,): middles of the ticks, s
    tau: Array  # torques (N, n), N m or N
    warnings: tuple[str, ...]  # lines of text
    inverse: Array  # (N, n): tau_ID, the component of tau that is compared
    newton_euler: Callable[[], Array]  # function that computes tau_ID without increments
    beside: Array  # (N, n): the remaining components of tau, which `exact` also includes

    def __repr__(self) -> str:
        return f"<Torque: {', '.join(self.joints)}; {len(self.t)} ticks>"

    @cached_property
    def _compared(self) -> Array:
        return self.newton_euler()

    @property
    def exact(self) -> Array:
        """Return tau (N, n) by Newton-Euler, without increments. The first use computes it.

        With flexible links this takes seconds, because the float64 integration has finer ticks."""
        return self._compared + self.beside

    @property
    def error(self) -> float:
        """Return the error of tau_ID, divided by its peak."""
        peak = max(np.max(np.abs(self._compared)), np.finfo(float).tiny)
        return float(np.max(np.abs(self.inverse - self._compared)) / peak)

    def summary(self) -> dict[str, object]:
        """Return the content of `--json` without the error. The name of the error depends on the precision."""
        return {
            "ticks": len(self.t),
            "peak": dict(zip(self.joints, np.max(np.abs(self.tau), axis=0).tolist(), strict=True)),
        }

    def write(self, path: Path) -> None:
        """Write CSV: t and one column per joint, with enough digits to read every number back exactly."""
        with replacing(path) as part, part.open("w", newline="", encoding="utf-8") as file:
            table = csv.writer(file, lineterminator="\n")
            table.writerow(["t", *self.joints])
            for t, row in zip(self.t.tolist(), self.tau.tolist(), strict=True):
                table.writerow([repr(round(t, 12)), *map(repr, row)])


def torque(mechanism: Mechanism, trajectory: Trajectory, step: Step | None = None, total: bool = False,
           wrench: Wrench | None = None, held: Held = wrench_torque) -> Torque:
    """Return the torques of every control tick of a motion, computed by the float64 reference or by the emitted `step`.
    total: add the motors' torque (Eq. 19). wrench: add the torque that balances this wrench, computed by `held`. Raise
    BadInput if the motion is shorter than a tick."""
    if wrench is not None and mechanism.flexible:
        raise BadInput("femtorque torque", "--wrench", wrench.link, "is not computed with flexible links",
                       "make them rigid")
    model = Model.of(mechanism)
    ticks = round(trajectory.duration * mechanism.control.rate_hz)
    if ticks < 1:
        raise BadInput(trajectory.source or "trajectory", "duration", trajectory.duration,
                       f"is shorter than one control tick, {model.dt:g} s")
    warnings: tuple[str, ...] = ()
    if mechanism.flexible:
        _at_rest(trajectory)
        found = bending(model, trajectory, ticks) if step is None else bends(
            Flexible(model), CompiledStep(model).bent(samples(model, trajectory, ticks)))
        _within_theory(found)
        warnings = tuple(steep(found, trajectory))
    if has_modes(mechanism) and wrench is not None:
        raise BadInput("femtorque torque", "--wrench", wrench.link, "is not computed across modes",
                       "name one with --mode")
    if step is None:
        t, tau = schemes.torque(model, trajectory, ticks, recursion)
    else:
        given = (schedule(mechanism, trajectory.modes, ticks),) if has_modes(mechanism) else ()
        t = (np.arange(ticks, dtype=float) + 0.5) * model.dt
        tau = np.asarray(step(model, samples(model, trajectory, ticks), *given), float)
    _believable(mechanism, trajectory, t, tau)
    q, qd, qdd = trajectory.at(t)
    inverse, beside = tau, np.zeros_like(tau)
    if wrench is not None:
        tau, beside = tau + _held(model, q, wrench, held), beside + _held(model, q, wrench, wrench_torque)
    if total:
        motors = motor_torque(mechanism, qd, qdd, tau)
        tau, beside = tau + motors, beside + motors
    return Torque(tuple(j.name for j in mechanism.streamed), t, tau, warnings, inverse,
                  lambda: schemes.exact(model, trajectory, t), beside)


def steep(found: list[Bent], trajectory: Trajectory) -> list[str]:
    """Return a line for each flexible link whose slope is large in a motion."""
    source = trajectory.source.name if trajectory.source else "the motion"
    return [f"{source}: {bent.key} has a slope of {bent.most:.2g} at its tip at t = {bent.at:.3f} s; beyond {SAG:g} "
            f"{SMALL}" for bent in found if bent.key.startswith("link.") and SAG < bent.most <= STEEPEST]


def _within_theory(found: list[Bent]) -> None:
    """Raise Refused if a link or spring bends farther than the theory allows."""
    worst = max(found, key=lambda bent: bent.most, default=None)
    if worst is not None and worst.most > STEEPEST:
        what = "come off its equations" if worst.most >= LOST else f"bent by {worst.most:.3g} rad"
        raise Refused(f"{worst.key}: {what} at t = {worst.at:.3f} s of the motion, and bends are computed up to "
                      f"{STEEPEST:.3g} rad: a slower motion, or a stiffer link")


def _believable(mechanism: Mechanism, trajectory: Trajectory, t: Array, tau: Array) -> None:
    """Raise Refused if a torque is so large that the computation must have diverged."""
    efforts = np.array([joint.limits.effort for joint in mechanism.streamed])
    wrong = ~np.isfinite(tau) | (mechanism.flexible & (np.abs(tau) > BEYOND * efforts))
    if wrong.any():
        k, j = np.argwhere(wrong)[0]
        joint = mechanism.streamed[j]
        raise Refused(f"joint.{joint.name}: {tau[k, j]:.3g} N m (N) at t = {t[k]:.3f} s of the motion is beyond any "
                      f"limit of the mechanism (effort = {joint.limits.effort:g}): what is computed has come off its "
                      f"equations")


def _held(model: Model, q: Array, wrench: Wrench, held: Held) -> Array:
    """Return torques (N, J) of the streamed joints that balance a wrench at positions q (N, J)."""
    if not model.mechanism.constrained:
        return held(model, q, wrench)
    assembly = assemble(model)
    q = assembly.follow(q)
    return assembly.allocate(q, held(model, q, wrench))[:, list(assembly.actuated)]


def samples(model: Model, trajectory: Trajectory, ticks: int) -> Array:
    """Return positions (ticks + 2, n) at the middles s_-1 .. s_N of the ticks, of one tick before them and of one tick
    after them.

    Raise BadInput if a motion of a mechanism with flexible links starts with a velocity."""
    if model.mechanism.flexible:
        _at_rest(trajectory)
    return trajectory.middles(ticks, model.dt)


def _at_rest(trajectory: Trajectory) -> None:
    """Raise BadInput if a motion does not start at rest."""
    if trajectory.starts_at_rest:
        return
    j = int(np.argmax(np.abs(trajectory.velocities[0])))
    raise BadInput(trajectory.source or "trajectory", f"{trajectory.joints[j]}.vel at t = 0 s",
                   float(trajectory.velocities[0, j]), "flexible links start at rest", "lead into the motion")


def motor_torque(mechanism: Mechanism, qd: Array, qdd: Array, tau: Array) -> Array:
    """Return the motor torques that come in addition to tau_ID (Eq. 19, corrected): J qdd + friction, each (samples,
    n).

    J is the rotor's inertia times gear^2. Friction acts at the joint. Friction may increase with tau, which is tau_ID
    (femtorque.codegen.model.driven_friction)."""
    J = np.array([j.rotor for j in mechanism.streamed])
    return J * qdd + DrivenFriction.of(mechanism.streamed).torque(qd, tau)
