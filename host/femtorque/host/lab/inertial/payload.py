"""Torques of an arm's joints by a weight that somebody has weighed: how much of what its file takes them to be.

By motions alone a strong motor looks like a light arm. A known mass m on a link distinguishes them: one motion is
played without the weight and with it. With s the share of the file's torque that a joint really has, its equations of
motion are

    tau = Y beta + [with the weight] Y_m phi / s,        phi = [m, h, I] of the weight, with h and I to be found

where beta, the arm's own numbers as this joint sees them, is whatever both motions agree on: the file's masses may be
wrong, and each joint's friction is its own. So beta is eliminated, joint by joint; left are few equations in phi and
the joints' s, which are fitted together: one phi for all joints.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from femtorque.codegen.control import current_range
from femtorque.codegen.mechanism import Joint, Mechanism, Payload
from femtorque.host.lab.inertial.recording import WINDOW, Recording, equations
from femtorque.host.lab.inertial.regressor import Unknowns, phi_of

Array = NDArray[np.float64]

RANK = 1e-6  # of the largest: less of the arm's own equations is rounding
AWAY = 0.1  # m: the weight's centre of gravity and size are taken to be known to that
DOUBT = 0.5  # of a joint's torque: as far as it may be off
SURE = 0.1  # half of the interval, of a joint's torque, within which it is sure


@dataclass(frozen=True)
class Weighed:
    """scale (J,): torque of each streamed joint, of that which the file takes it to be; half (J,) of its 95 %
    interval; sure (J,): True where that is within SURE."""

    mechanism: Mechanism
    scale: Array
    half: Array

    @property
    def sure(self) -> NDArray[np.bool_]:
        return self.half < SURE * self.scale

    def keys(self, joint: int) -> dict[str, float]:
        """The motor's number that explains a joint's scale: R of one with a voltage at it, K of a current loop; none of
        a drive, whose file has no such number, and of a joint that was not told apart."""
        streamed, scale = self.mechanism.streamed[joint], float(self.scale[joint])
        if streamed.motor is None or streamed.takes_torque or not self.sure[joint]:
            return {}
        if current_range(self.mechanism, streamed):
            return {"K": scale * streamed.motor.K}
        return {"R": streamed.motor.R / scale}

    def data(self) -> dict[str, Any]:
        """As JSON."""
        return {"joints": [{"name": joint.name, "torque": float(s), "interval": float(h), "sure": bool(t),
                            "motor": self.keys(j)}
                           for j, (joint, s, h, t) in enumerate(zip(self.mechanism.streamed, self.scale, self.half,
                                                                    self.sure, strict=True))]}

    def words(self) -> str:
        """For people."""
        lines = []
        for j, joint in enumerate(self.mechanism.streamed):
            said = f"{joint.name}: {self.scale[j]:.3f} +- {self.half[j]:.2g} of the torque that the file takes it for"
            if not self.sure[j]:
                said = f"{joint.name}: not told apart (+- {self.half[j]:.2g}): it hardly moved, or hardly bears it"
            lines.append(said + "".join(f"; {key} {_was(joint, key):.4g} -> {value:.4g}"
                                        for key, value in self.keys(j).items()))
        lines.append("+-: 95 %. R is taken to be what is wrong of a motor with a voltage at it, K of a current loop. "
                     "Masses and friction in the file go with its old torques: identify --whole again without it")
        return "\n".join(lines)


def _was(joint: Joint, key: str) -> float:
    return float(getattr(joint.motor, key))


def weigh(mechanism: Mechanism, weight: Payload, without: Sequence[Recording], loaded: Sequence[Recording]) -> Weighed:
    """Find the joints' torques by recordings of the same motion without a weight and with it. weight: its mass is
    known, its centre and inertia are guesses. Raises Refused as `equations` does."""
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


def _with(mechanism: Mechanism, weight: Payload) -> Mechanism:
    return replace(mechanism, payloads=(*mechanism.payloads, weight))


def _left(Y0: Array, b0: Array, late0: Array, Y1: Array, b1: Array, late1: Array, A1: Array, few: float
          ) -> tuple[Array, Array]:
    """(10, 10), (10,): what a joint's equations, without the weight and with it, say about phi / s alone, in standard
    deviations: nothing, where they are too few. few: root of the share of rows that count as one."""
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
