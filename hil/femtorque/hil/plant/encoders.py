"""Incremental encoders on the joints of a plant: counts since power-up."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from femtorque.codegen.common import Array
from femtorque.codegen.mechanism import Joint


class Encoders:
    """Encoders that are switched on now. read: returns the positions of the joints (n,)."""

    def __init__(self, joints: Sequence[Joint], read: Callable[[], Array]) -> None:
        self._read, self._origin = read, read().copy()
        self._counts_per_unit = np.array([counts_per_unit(joint) for joint in joints])
        self._counts = [joint.encoder.counts if joint.encoder else 1 for joint in joints]

    @property
    def line(self) -> tuple[Array, Array]:
        """Return the positions of count 0 (n,) and the counts per unit (n,)."""
        return self._origin, self._counts_per_unit

    def counts(self) -> NDArray[np.int64]:
        """Return the counts since power-up (n,), signed; 0 for joints without an encoder."""
        return np.floor((self._read() - self._origin) * self._counts_per_unit + 0.5).astype(np.int64)

    def turns(self, joint: int, displacement: float) -> float:
        """Return the turns of one encoder for a displacement of its joint, rad or m."""
        return float(displacement * self._counts_per_unit[joint] / self._counts[joint])


def counts_per_unit(joint: Joint) -> float:
    """Return the encoder counts, with sign, per radian (metre) of the joint."""
    encoder, motor = joint.encoder, joint.motor
    if encoder is None:
        return 0.0
    turns = 1.0
    if encoder.at == "motor":
        assert motor is not None
        turns = motor.gear
    return encoder.sign * encoder.counts * turns / (2.0 * np.pi)
