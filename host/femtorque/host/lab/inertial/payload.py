"""Compares two passes of one motion, without and with a payload. The arm's numbers then need not be known.

`difference` subtracts the torque that the file does not explain without the payload. The payload is fitted to the rest.

`weigh` finds the ratio of real torque to the file's torque for each joint, by a payload of known mass. In a motion, a
strong motor looks like a light arm. A known mass m on a link separates the two cases. So the arm plays
one motion twice: without the weight and with it. s is a joint's real torque over the file's torque. The joint's
equations of motion are

    tau = Y beta + [with the weight] Y_m phi / s,        phi = [m, h, I] of the weight, with h and I to be found

beta holds the arm's own numbers in this joint's equations, the same in both motions. The file's masses may be wrong,
and the joints' frictions differ. So beta is eliminated joint by joint. The few remaining equations in phi and in the
joints' s are fitted together, with one phi for all joints.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from femtorque.codegen.common import Array, Refused
from femtorque.codegen.control import current_range
from femtorque.codegen.mechanism import Joint, Mechanism, Payload
from femtorque.host.lab.inertial.recording import WINDOW, Equations, Recording, equations
from femtorque.host.lab.inertial.regressor import Unknowns, phi_of

RANK = 1e-6  # fraction of the largest singular value: smaller singular values are rounding errors
AWAY = 0.1  # assumed standard deviation of the weight's centre of gravity and size, m
DOUBT = 0.5  # fraction of a joint's torque: assumed standard deviation of the file's torque
SAME = 0.05  # fraction of a joint's range: a larger difference (rms) of the positions makes another motion
SURE = 0.1  # fraction of a joint's torque: the result counts as certain if the half-width of its interval is smaller


@dataclass(frozen=True)
class Weighed:
    """Result of a weighing. sure (J,): True if half is below SURE."""

    mechanism: Mechanism
    scale: Array  # (J,): real torque of each streamed joint over the file's torque
    half: Array  # (J,): half of the 95 % interval of scale

    @property
    def sure(self) -> NDArray[np.bool_]:
        return self.half < SURE * self.scale

    def keys(self, joint: int) -> dict[str, float]:
        """Return the motor's number that explains a joint's scale: R of a voltage-driven motor, K of a current loop.
        Empty for a drive, because the file has no R or K of a drive. The result is also empty if the joint's scale is
        uncertain."""
        streamed, scale = self.mechanism.streamed[joint], float(self.scale[joint])
        if streamed.motor is None or streamed.takes_torque or not self.sure[joint]:
            return {}
        if current_range(self.mechanism, streamed):
            return {"K": scale * streamed.motor.K}
        return {"R": streamed.motor.R / scale}

    def data(self) -> dict[str, Any]:
        return {"joints": [{"name": joint.name, "torque": float(s), "interval": float(h), "sure": bool(t),
                            "motor": self.keys(j)}
                           for j, (joint, s, h, t) in enumerate(zip(self.mechanism.streamed, self.scale, self.half,
                                                                    self.sure, strict=True))]}

    def words(self) -> str:
        lines = []
        for j, joint in enumerate(self.mechanism.streamed):
            said = f"{joint.name}: {self.scale[j]:.3f} +- {self.half[j]:.2g} of the torque that the file gives it"
            if not self.sure[j]:
                said = f"{joint.name}: not determined (+- {self.half[j]:.2g}): it hardly moved, or carries little"
            lines.append(said + "".join(f"; {key} {_was(joint, key):.4g} -> {value:.4g}"
                                        for key, value in self.keys(j).items()))
        lines.append("+-: 95 %. The error is attributed to R for a motor on a voltage, and to K on a current loop. "
                     "Masses and friction in the file belong to the old torques: identify --whole again without it")
        return "\n".join(lines)


def _was(joint: Joint, key: str) -> float:
    return float(getattr(joint.motor, key))


def weigh(mechanism: Mechanism, weight: Payload, without: Sequence[Recording], loaded: Sequence[Recording]) -> Weighed:
    """Find the ratio of the joints' real torques to the file's torques from recordings of one motion without and with a
    weight. The weight's mass is known. The weight's centre of gravity and inertia are unknown; the given values are
    only priors. Raises the same Refused as `equations`."""
    arm, own = Unknowns.of(mechanism), Unknowns.of_payload(_with(mechanism, weight), weight)
    bare, full, held = equations(arm, without), equations(arm, loaded), equations(own, loaded)
    joints = range(len(mechanism.streamed))
    left = [_left(bare.matrix[bare.counts[:, j], j], bare.side[bare.counts[:, j], j], bare.late[bare.counts[:, j], j],
                  full.matrix[full.counts[:, j], j], full.side[full.counts[:, j], j], full.late[full.counts[:, j], j],
                  held.matrix[full.counts[:, j], j], np.sqrt(full.period / WINDOW)) for j in joints]
    guess, mass = phi_of(weight), weight.mass
    loose = mass * np.array([*(AWAY,) * 3, *(AWAY**2,) * 6])

    def errors(x: Array) -> Array:
        phi, shares = np.array([mass, *(guess[1:] + loose * x[:9])]), 1.0 + DOUBT * x[9:]
        return np.concatenate([x, *(side - share * (A @ phi) for (A, side), share in zip(left, shares, strict=True))])

    found = least_squares(errors, np.zeros(9 + len(left)), method="lm")
    deviation = DOUBT * np.sqrt(np.diag(np.linalg.inv(found.jac.T @ found.jac)))[9:]
    share = np.maximum(1.0 + DOUBT * found.x[9:], 1e-3)
    return Weighed(mechanism, 1.0 / share, 1.96 * deviation / share**2)


def difference(own: Unknowns, without: Sequence[Recording], loaded: Sequence[Recording]) -> Equations:
    """Return the equations of the payload's numbers `own`, in which errors of the arm's numbers cancel. Raises the same
    Refused as `equations`, and if the two motions differ."""
    empty, held = equations(own, without), equations(own, loaded)
    most = min(len(empty.side), len(held.side)) // 4
    shift = min(range(-most, most + 1), key=lambda k: float(_apart(empty, held, k).sum()))
    apart, room = _apart(empty, held, shift), np.ptp(empty.positions, axis=0)
    j = int(np.argmax(apart - SAME * room))
    if apart[j] > SAME * room[j]:
        joint = own.space.whole.streamed[j]
        raise Refused(f"{joint.name}: the motions without and with the payload differ by {apart[j]:.3g} "
                      f"{'m' if joint.type == 'prismatic' else 'rad'} rms, so the arm's errors do not cancel: can the "
                      "motors follow with the payload?")
    a, b = _common(empty, held, shift)
    return Equations(held.matrix[a], held.side[a] - empty.side[b], held.late[a] - empty.late[b],
                     held.counts[a] & empty.counts[b], held.positions[a], held.period)


def _common(empty: Equations, held: Equations, shift: int) -> tuple[slice, slice]:
    """Return the rows of `held` and of `empty` that belong to the same times, if the second pass is `shift` later."""
    first, last = max(0, -shift), min(len(held.side), len(empty.side) - shift)
    return slice(first, last), slice(first + shift, last + shift)


def _apart(empty: Equations, held: Equations, shift: int) -> Array:
    """Return the rms difference (J,) of the positions."""
    a, b = _common(empty, held, shift)
    return np.sqrt(np.mean((held.positions[a] - empty.positions[b]) ** 2, axis=0))


def _with(mechanism: Mechanism, weight: Payload) -> Mechanism:
    return replace(mechanism, payloads=(*mechanism.payloads, weight))


def _left(Y0: Array, b0: Array, late0: Array, Y1: Array, b1: Array, late1: Array, A1: Array, few: float
          ) -> tuple[Array, Array]:
    """Return the equations of a joint in phi / s: matrix (10, 10) and right side (10,), scaled to unit standard
    deviation. With too few rows the equations are zero. few: square root of the fraction of rows that count as
    independent."""
    Y = np.column_stack([np.concatenate([Y0, Y1]), np.concatenate([late0, late1])])
    size = np.linalg.norm(Y, axis=0)
    left, sizes, _ = np.linalg.svd(Y[:, size > 0.0] / size[size > 0.0], full_matrices=False)
    left = left[:, sizes > RANK * sizes[0]] if len(sizes) else left
    A, b = np.concatenate([np.zeros((len(b0), 10)), A1]), np.concatenate([b0, b1])
    free = len(b) - left.shape[1] - 10
    if free <= 0:
        return np.zeros((10, 10)), np.zeros(10)
    A, b = (x - left @ (left.T @ x) for x in (A, b))
    Q, R = np.linalg.qr(np.column_stack([A, b]))
    noise = abs(R[10, 10]) / np.sqrt(free)
    return few / noise * R[:10, :10], few / noise * R[:10, 10]
