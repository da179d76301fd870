"""Verification of the emitted C of one mechanism against the theory, over whole motions.

The torques of every motion, random or the user's, are computed in four ways:

    rnea            Newton-Euler by Pinocchio, or by this project's reference if Pinocchio is not installed
    reference       the incremental scheme in the paper's matrix form, float64
    discretisation  the emitted form of the scheme, without optimisation, float64
    C               the emitted C in float64 and in float32 on this computer, and in float32 on the emulated chip

`COMPARISONS` lists the pairs that must agree. The scheme's errors are of second order in the tick, and their size
depends on the motion. Bounds on the scheme's errors apply to random motions of a given size. Dry friction rises steeply
with the velocity near standstill and enlarges the error of a differenced velocity there. Errors beyond the bound must
show their second order at half the tick. Bounds on the C's errors apply to every motion."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from femtorque.codegen.board import load_board
from femtorque.codegen.common import Array, BadInput, installing
from femtorque.codegen.emit import identity, step_sources
from femtorque.codegen.mechanism import Joint, Mechanism
from femtorque.codegen.model import ClosedMotion, Model, assemble, has_modes, supported
from femtorque.codegen.motion import Trajectory, random_motion
from femtorque.codegen.reference import emitted_torque, schemes, torque, version
from femtorque.codegen.step import noise_floor
from femtorque.codegen.toolchain import CompiledStep
from femtorque.codegen.verify import object_files
from femtorque.codegen.verify.motion_torques import samples
from femtorque.codegen.verify.object_files import ChipObject, Compilation

MOTIONS = 3  # random ones
DOUBLE = 1e-10  # bound over the peak; the C in float64 differs from the same arithmetic in NumPy only by rounding
SINGLE = 1e-4  # of peak
SCHEME, SCHEME_HZ = 1e-5, 1000.0  # bound over the peak, for 1 ms ticks; grows with the square of longer ticks
FALL = 0.3  # a motion may exceed SCHEME if half the tick leaves at most this share of the error


class ChipRun(Protocol):
    """A run of the step on the chip. tau (N, J): torques, N m or N. instructions (N,): number of instructions in every
    tick."""

    @property
    def tau(self) -> NDArray[np.float32]: ...

    @property
    def instructions(self) -> NDArray[np.int64]: ...


class Chip(Protocol):
    """The step on the emulated chip, for positions (N + 2, J) at s_-1 .. s_N, with the interface of
    femtorque.codegen.verify.motion_torques.Step. sources: the C of the step."""

    def __call__(self, model: Model, positions: Array, sources: dict[str, str]) -> ChipRun: ...


@dataclass(frozen=True)
class Trial:
    """A motion with its torques from every method, (N, J), N m or N, at the middles t (N,) of its ticks."""

    name: str
    own: bool  # true for a random motion of known size, false for the user's motion
    t: Array
    rnea: Array
    reference: Array
    discretisation: Array
    double: Array
    single: NDArray[np.float32]
    chip: ChipRun | None
    floor: Array  # (J,): the noise floor of single precision in this motion
    second_order: bool  # true if the scheme's errors exceed their bound, and fall with the square of the tick

    @cached_property
    def peak(self) -> float:
        """Return the motion's largest torque over all joints. Errors are divided by it."""
        return float(np.max(np.abs(self.rnea)))

    @property
    def differing(self) -> int:
        """Return the number of torque values whose bits differ between the chip and this computer."""
        assert self.chip is not None
        return int(np.count_nonzero(self.chip.tau.view(np.uint32) != self.single.view(np.uint32)))


@dataclass(frozen=True)
class Comparison:
    """A comparison of two torques of a trial. allowed: function from trial and tick rate to the maximum difference
    (J,). If `allowed` is None, the difference has no bound and is only displayed."""

    key: str
    title: str
    bound: str
    these: Callable[[Trial], NDArray[np.floating]]
    those: Callable[[Trial], NDArray[np.floating]]
    allowed: Callable[[Trial, float], Array] | None
    own_only: bool

    def error(self, trial: Trial) -> Array:
        """Return |difference| (N, J), N m or N."""
        return np.abs(np.asarray(self.these(trial), float) - self.those(trial))


def scheme_bound(rate_hz: float) -> float:
    """Return the bound over the peak: 1e-5 at 1 kHz and above; below, it grows with the square of the tick."""
    return SCHEME * max(1.0, SCHEME_HZ / rate_hz) ** 2


def _of_peak(fraction: float, trial: Trial) -> Array:
    return np.full_like(trial.floor, fraction * trial.peak)


def _of_scheme(trial: Trial, hz: float) -> Array:
    return _of_peak(np.inf if trial.second_order else scheme_bound(hz), trial)


def comparisons(mechanism: Mechanism) -> tuple[Comparison, ...]:
    """Return the comparisons, with bounds, for a mechanism's scheme and tick rate."""
    scheme = scheme_bound(mechanism.control.rate_hz)
    # with flexible links, the error of the scheme depends on how much they vibrate
    judged = not mechanism.flexible
    of_scheme = f"{scheme:.1g} of peak, or falls with the square of the tick" if judged else "shown only"
    total = f"{SINGLE:g} of peak, or floor + {scheme:.1g} of peak" if judged else "shown only"
    return (
        Comparison("reference", "matrix form, float64, against {rnea}", of_scheme, lambda x: x.reference,
                   lambda x: x.rnea, _of_scheme if judged else None, True),
        Comparison("discretisation", "emitted form, float64, against {rnea}", of_scheme, lambda x: x.discretisation,
                   lambda x: x.rnea, _of_scheme if judged else None, True),
        Comparison("double", "C in float64 against the emitted form", f"{DOUBLE:g} of peak", lambda x: x.double,
                   lambda x: x.discretisation, lambda x, hz: _of_peak(DOUBLE, x), False),
        Comparison("single", "C in float32 against the emitted form", f"{SINGLE:g} of peak, or the noise floor",
                   lambda x: x.single, lambda x: x.discretisation,
                   lambda x, hz: np.maximum(SINGLE * x.peak, x.floor), False),
        Comparison("single_rnea", "C in float32 against {rnea}", total, lambda x: x.single, lambda x: x.rnea,
                   (lambda x, hz: np.maximum(SINGLE * x.peak, x.floor + scheme_bound(hz) * x.peak))
                   if judged else None, True),
    )


@dataclass(frozen=True)
class Worst:
    """A largest error, with its joint and time."""

    error: float  # largest error, N m or N
    of_peak: float  # over the peak torque of its motion
    joint: str
    t: float
    motion: str

    def where(self) -> str:
        return f"{self.joint} at t = {self.t:.4f} s of {self.motion}"


@dataclass(frozen=True)
class Criterion:
    """A criterion and its verdict."""

    name: str
    bound: str
    found: str
    where: str
    verdict: bool | None  # True if the error is within its bound; None if the criterion has no bound
    share: float | None = None  # error divided by the bound

    def reason(self) -> str:
        """Return the reason for a failed criterion, as one line."""
        place = f", {self.where}" if self.where else ""
        return f"{self.name}: {self.found}{place}; allowed: {self.bound}"


@dataclass(frozen=True)
class Verification:
    """All findings."""

    mechanism: Mechanism
    digest: str  # digest of the mechanism's image (femtorque.codegen.emit.sources.identity)
    pinocchio: str | None
    compilations: tuple[Compilation, ...]
    object: ChipObject
    trials: tuple[Trial, ...]

    @property
    def joints(self) -> tuple[Joint, ...]:
        return self.mechanism.streamed

    @property
    def rnea(self) -> str:
        """Return the name of the Newton-Euler implementation that is used."""
        if self.mechanism.flexible:
            return "the rule with finer ticks"
        return "rnea" if self.pinocchio else "our own Newton-Euler"

    @cached_property
    def comparisons(self) -> tuple[Comparison, ...]:
        return comparisons(self.mechanism)

    def comparison(self, key: str) -> Comparison:
        return next(c for c in self.comparisons if c.key == key)

    def judged(self, comparison: Comparison) -> list[Trial]:
        """Return the trials that a comparison uses."""
        return [trial for trial in self.trials if trial.own or not comparison.own_only] or list(self.trials)

    def worst(self, key: str, joint: int | None = None) -> Worst:
        """Return the largest error of a comparison divided by the peak, for one joint or over all joints."""
        comparison = self.comparison(key)
        found = []
        for trial in self.judged(comparison):
            error = comparison.error(trial)
            k, j = np.unravel_index(np.argmax(error), error.shape) if joint is None else (
                int(np.argmax(error[:, joint])), joint)
            found.append(Worst(float(error[k, j]), _ratio(error[k, j], trial.peak), self.joints[j].name,
                               float(trial.t[k]), trial.name))
        return max(found, key=lambda w: np.inf if np.isnan(w.of_peak) else w.of_peak)

    def share(self, comparison: Comparison) -> float | None:
        """Return the largest ratio of error to allowed error, over all joints and motions of a comparison.

        Return None if the comparison has no bound."""
        allowed = comparison.allowed
        trials = self.judged(comparison)
        if allowed is None or (comparison.own_only and not any(t.own for t in trials)):
            return None
        hz = self.mechanism.control.rate_hz
        return float(np.max([_ratio(e, a) for t in trials
                             for e, a in np.broadcast(np.max(comparison.error(t), axis=0), allowed(t, hz))]))

    def kept(self, comparison: Comparison) -> bool | None:
        """Return True if a comparison stays within its bound at every joint, in every motion that the bound applies to.
        """
        share = self.share(comparison)
        return None if share is None else share <= 1.0

    @property
    def over_floor(self) -> float:
        """Return the largest float32 error of the C, divided by the noise floor of its joint and motion."""
        comparison = self.comparison("single")
        return max(_ratio(e, f) for t in self.trials
                   for e, f in zip(np.max(comparison.error(t), axis=0), t.floor, strict=True))

    @property
    def bit_identical(self) -> bool | None:
        """Return True if chip and computer have bit-identical torques; None if the chip was not run."""
        runs = [trial for trial in self.trials if trial.chip is not None]
        return all(trial.differing == 0 for trial in runs) if runs else None

    @property
    def instructions(self) -> NDArray[np.int64] | None:
        """Return the step's number of instructions in every tick of every motion."""
        counts = [trial.chip.instructions for trial in self.trials if trial.chip is not None]
        return np.concatenate(counts) if counts else None

    @cached_property
    def criteria(self) -> tuple[Criterion, ...]:
        return (*(self._compiles(c) for c in self.compilations), self._holds(),
                *(self._agrees(c) for c in self.comparisons), self._same_bits())

    def _compiles(self, c: Compilation) -> Criterion:
        if c.compiler is None:
            return Criterion(f"compiles as {c.name}", "no warning", "not checked: no C++ compiler installed", "", None)
        return Criterion(f"compiles as {c.name}", "no warning", c.error or "no warning", "", c.error is None)

    def _holds(self) -> Criterion:
        found = ", ".join(self.object.forbidden) or (
            "none of them; asks for " + (", ".join(self.object.external) or "nothing from outside"))
        return Criterion("object for the chip", "no double routine, no heap, no libm", found, "",
                         not self.object.forbidden)

    def _agrees(self, comparison: Comparison) -> Criterion:
        worst = self.worst(comparison.key)
        found = f"{worst.of_peak:.2g} of peak"
        if comparison.key == "single":
            found += f", {self.over_floor:.2g} of the floor"
        return Criterion(comparison.title.format(rnea=self.rnea), comparison.bound, found, worst.where(),
                         self.kept(comparison), self.share(comparison))

    def _same_bits(self) -> Criterion:
        name, bound = "C in float32 on the chip against this computer", "every bit the same"
        runs = [trial for trial in self.trials if trial.chip is not None]
        if not runs:
            return Criterion(name, bound, f"not run: {installing('hil')}", "", False)
        words, off = sum(t.single.size for t in runs), sum(t.differing for t in runs)
        where = ", ".join(t.name for t in runs if t.differing)
        return Criterion(name, bound, f"{off} of {words} torques differ", where, off == 0)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Return the reasons for a failed verification; an empty tuple if it passed."""
        return tuple(c.reason() for c in self.criteria if c.verdict is False)

    @property
    def good(self) -> bool:
        return not self.reasons

    def data(self) -> dict[str, Any]:
        """Return the JSON object of `femtorque verify`."""
        counts = self.instructions
        worst = {c.key: self.worst(c.key) for c in self.comparisons}
        return {
            "name": self.mechanism.name, "good": self.good, "reasons": self.reasons,
            **{f"max_error_{key}": w.of_peak for key, w in worst.items()},
            "max_error_over_floor": self.over_floor,
            "worst": {key: vars(w) for key, w in worst.items()},
            "bit_identical": self.bit_identical,
            "instructions_step": None if counts is None else int(counts.max()),
            "instructions_step_mean": None if counts is None else float(counts.mean()),
            "flash_bytes": self.object.flash_bytes, "stack_bytes": self.object.stack_bytes, "digest": self.digest,
            "pinocchio": self.pinocchio or "not installed",
            "ticks": sum(len(t.t) for t in self.trials),
            "motions": [{"name": t.name, "ticks": len(t.t), "peak": t.peak} for t in self.trials],
            "joints": [self._joint(j) for j in range(len(self.joints))],
            "criteria": [vars(c) for c in self.criteria],
        }

    def _joint(self, j: int) -> dict[str, Any]:
        return {
            "name": self.joints[j].name, "peak": max(float(np.max(np.abs(t.rnea[:, j]))) for t in self.trials),
            "noise_floor": max(float(t.floor[j]) for t in self.trials),
            **{f"error_{c.key}": vars(self.worst(c.key, j)) for c in self.comparisons},
        }


def _ratio(error: float, scale: float) -> float:
    """Return error / scale, and 0 for 0 / 0."""
    return 0.0 if error == 0.0 else float(np.divide(error, scale)) if scale else np.inf


# ---- doing it


def verify(mechanism: Mechanism, trajectories: Sequence[Trajectory] = (), chip: Chip | None = None,
           motions: int = MOTIONS, seed: int = 0) -> Verification:
    """Compute the torques of random motions and of the user's motions with every method, and return the findings.

    Without a `chip` the verification fails. Raise BadInput for a mechanism from which no C can be emitted. Raise
    Refused if a compiler is missing or rejects correct C."""
    supported(mechanism)
    if has_modes(mechanism):
        names = ", ".join(mode.name for mode in mechanism.modes)
        raise BadInput("femtorque verify", "--mode", None, "is needed: the mechanism has several modes",
                       f"one of {names}")
    model = Model.of(mechanism)
    sources = step_sources(model)
    compiled = object_files.compilations(sources)
    single, double = (CompiledStep(model, precision, sources=sources) for precision in ("single", "double"))
    played = [(f"random motion {i + 1}", True, random_motion(mechanism, np.random.default_rng([seed, i])))
              for i in range(motions)]
    played += [(f"motion {i + 1}, {t.source.name}" if t.source else f"motion {i + 1}", False, t)
               for i, t in enumerate(trajectories)]
    on_chip = (lambda positions: chip(model, positions, sources)) if chip else None
    trials = tuple(_trial(model, name, own, motion, single, double, on_chip) for name, own, motion in played)
    return Verification(mechanism, _digest(mechanism, sources), version(), compiled,
                        object_files.examine(sources), trials)


def _trial(model: Model, name: str, own: bool, motion: Trajectory, single: CompiledStep, double: CompiledStep,
           chip: Callable[[Array], ChipRun] | None) -> Trial:
    ticks = round(motion.duration / model.dt)
    if ticks < 1:
        raise BadInput(motion.source or name, "duration", motion.duration,
                       f"is shorter than one control tick, {model.dt:g} s")
    positions = samples(model, motion, ticks)
    t, matrix = schemes.torque(model, motion, ticks)
    plain = emitted_torque(model, positions)
    rnea = _rnea(model, motion, t)
    second_order = own and not model.mechanism.flexible and _second_order(model, motion, (matrix, plain), rnea)
    return Trial(name, own, t, rnea, matrix, plain, double.torque(positions),
                 single.torque(positions), chip(positions) if chip else None, _floor(model, positions),
                 second_order)


def _rnea(model: Model, motion: Trajectory, t: Array) -> Array:
    own = model.mechanism.flexible or not version()
    return schemes.exact(model, motion, t) if own else _pinocchio(model, motion, t)


def _second_order(model: Model, motion: Trajectory, forms: Sequence[Array], rnea: Array) -> bool:
    """Return True if an error of the forms exceeds the scheme's usual bound, and half the tick leaves at most FALL of
    every form's error."""
    errors = np.array([np.max(np.abs(tau - rnea)) for tau in forms])
    control = model.mechanism.control
    if np.max(errors) <= scheme_bound(control.rate_hz) * np.max(np.abs(rnea)):
        return False
    half = Model.of(replace(model.mechanism, control=replace(control, rate_hz=2 * control.rate_hz)))
    ticks = 2 * len(rnea)
    t, matrix = schemes.torque(half, motion, ticks)
    exact = _rnea(half, motion, t)
    finer = [np.max(np.abs(tau - exact)) for tau in (matrix, emitted_torque(half, samples(half, motion, ticks)))]
    return bool(np.all(finer <= FALL * errors))


def _pinocchio(model: Model, motion: Trajectory, t: Array) -> Array:
    """Return the torques `rnea` of the streamed joints at times t (N,).

    In closed mechanisms the loops determine how the actuated joints share the open tree's torques."""
    mechanism = model.mechanism
    if not mechanism.constrained:
        return torque(mechanism, *motion.at(t))
    assembly = assemble(model)
    q, qd, qdd = ClosedMotion(assembly, motion).at(t)
    tau = torque(mechanism, q, qd, qdd)
    shared = tau if mechanism.control.allocation == "partition" else assembly.allocate(q, tau)
    return shared[:, list(assembly.actuated)]


def _floor(model: Model, positions: Array) -> Array:
    """Return the noise floor of the streamed joints, computed with springs at rest and straight flexible links."""
    if not model.mechanism.flexible:
        return noise_floor(model, positions)
    driven = [not joint.elastic for joint in model.mechanism.moving]
    every = np.empty((len(positions), model.n))
    every[:] = [joint.rest for joint in model.mechanism.moving]
    every[:, driven] = positions
    return noise_floor(model, every)[driven]


def _digest(mechanism: Mechanism, step: dict[str, str]) -> str:
    """Return the digest of the image. If board or motors are missing, return the digest of the remaining files."""
    board = load_board(mechanism.board.use) if mechanism.board else None
    try:
        return identity(mechanism, board, step=step).hex()
    except BadInput:
        return identity(mechanism, None, step=step).hex()
