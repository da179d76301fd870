"""Is what is emitted what was meant? The emitted C of one mechanism against the reference, over random motions.

Every comparison is over the same motions: the C in double precision against the discretisation written plainly (they
must agree to rounding), the C in single precision against the same (within the stated noise floor), the scheme against
Newton-Euler (for information: it is second order in the tick), and the chip against this computer, bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from codegen import discretisation, reference
from codegen.check import supported
from codegen.compiled import CompiledStep
from codegen.mechanism import Joint, Mechanism
from codegen.model import Model
from codegen.noise_floor import noise_floor
from codegen.torque import samples
from codegen.trajectory import Trajectory, from_rows

Array = NDArray[np.float64]

MOTIONS = 2
ROWS = 41  # of each motion
SINGLE, DOUBLE = 1e-4, 1e-10  # of the peak torque
SEPTIC_RATE = 2.1875  # peak rate of a septic over its mean rate

Chip = Callable[[Model, Array], NDArray[np.float32]]
"""The step on the chip: positions (N + 2, J) to torques (N, J), as codegen.torque.Step."""


@dataclass(frozen=True)
class Verification:
    """Worst errors over the peak torque of their motion. single_over_floor: worst error over what is allowed, a joint
    the larger of SINGLE times the peak and the noise floor. bit_identical: None without a chip."""

    mechanism: Mechanism
    motions: int
    ticks: int
    double: float
    single: float
    single_over_floor: float
    scheme: float
    bit_identical: bool | None

    @property
    def good(self) -> bool:
        return self.double <= DOUBLE and self.single_over_floor <= 1.0 and self.bit_identical is not False

    def report(self) -> dict[str, object]:
        """As the JSON object of `femtorque verify`."""
        return {
            "good": self.good, "motions": self.motions, "ticks": self.ticks, "max_error_double": self.double,
            "max_error_single": self.single, "max_error_single_over_floor": self.single_over_floor,
            "max_error_scheme": self.scheme, "bit_identical": self.bit_identical,
        }

    def text(self) -> str:
        """The same in words."""
        chip = {True: "bit for bit the same on the chip", False: "NOT THE SAME ON THE CHIP", None: "not run on the chip"}
        return (
            f"{self.motions} motions, {self.ticks} ticks, worst errors over peak torque:\n"
            f"  C, double precision, against the reference: {self.double:.1e} (at most {DOUBLE:g})\n"
            f"  C, single precision, against the reference: {self.single:.1e} ({self.single_over_floor:.2f} of what is "
            f"allowed)\n"
            f"  {self.mechanism.control.scheme} at {self.mechanism.control.rate_hz} Hz against Newton-Euler: "
            f"{self.scheme:.1e}\n"
            f"  {chip[self.bit_identical]}"
        )


def verify(mechanism: Mechanism, chip: Chip | None = None, motions: int = MOTIONS) -> Verification:
    """Compare over `motions` random motions within the joints' limits. Raises BadInput for what cannot be emitted."""
    supported(mechanism)
    model = Model.of(mechanism)
    single, double = CompiledStep(model, "single"), CompiledStep(model, "double")
    worst = np.zeros(4)
    ticks, same = 0, None if chip is None else True
    for seed in range(motions):
        motion = random_motion(mechanism, np.random.default_rng(seed))
        count = round(motion.duration / model.dt)
        ticks += count
        positions = samples(model, motion, count)
        plain, exact = _plain(model, motion, positions, count), _exact(model, motion, count)
        peak = np.max(np.abs(exact))
        on_host = single.torque(positions)
        error = np.max(np.abs(on_host - plain), axis=0)
        allowed = np.maximum(SINGLE * peak, noise_floor(model, positions))
        worst = np.maximum(worst, [
            np.max(np.abs(double.torque(positions) - plain)) / peak, np.max(error) / peak, np.max(error / allowed),
            np.max(np.abs(plain - exact)) / peak,
        ])
        if chip is not None:
            same = same and chip(model, positions).tobytes() == on_host.tobytes()
    return Verification(mechanism, motions, ticks, *worst.tolist(), same)


def random_motion(mechanism: Mechanism, rng: np.random.Generator) -> Trajectory:
    """From one random pose to another and rest at both, seventh order, within position and velocity limits."""
    low, high = np.array([_range(joint) for joint in mechanism.moving]).T
    fastest = np.array([joint.limits.velocity for joint in mechanism.moving])
    a, b = rng.uniform(low, high), rng.uniform(low, high)
    duration = max(1.0, float(np.max(SEPTIC_RATE * np.abs(b - a) / fastest)))
    s = np.linspace(0.0, 1.0, ROWS)[:, None]
    way = b - a
    return from_rows(
        [joint.name for joint in mechanism.moving], s[:, 0] * duration,
        a + way * s**4 * (35 - 84 * s + 70 * s**2 - 20 * s**3),
        way * 140 * s**3 * (1 - s) ** 3 / duration,
        way * 420 * s**2 * (1 - s) ** 2 * (1 - 2 * s) / duration**2,
    )


def _range(joint: Joint) -> tuple[float, float]:
    """Where a joint may be, rad or m; where the file does not say, half a turn or a quarter of a metre."""
    reach = 0.25 if joint.type == "prismatic" else np.pi / 2.0
    low, high = joint.limits.lower, joint.limits.upper
    if not np.isfinite(low):
        low = high - 2.0 * reach if np.isfinite(high) else -reach
    return low, high if np.isfinite(high) else low + 2.0 * reach


def _plain(model: Model, motion: Trajectory, positions: Array, ticks: int) -> Array:
    """What the C must compute, in float64 and not from the C."""
    if model.mechanism.control.scheme == "newmark":
        return reference.torque(model, motion, ticks, reference.recursion)[1]
    return discretisation.torque(model, positions)


def _exact(model: Model, motion: Trajectory, ticks: int) -> Array:
    return reference.newton_euler(model, *motion.at((np.arange(ticks) + 0.5) * model.dt))
