"""Collects errors of joints over a motion: desired minus measured positions, or leader minus follower."""

import numpy as np
from numpy.typing import ArrayLike

from femtorque.codegen.common import Array
from femtorque.codegen.wire import Status
from femtorque.host.link.session import Session


class Errors:
    """Root mean square and maximum of each joint's errors."""

    def __init__(self, joints: int) -> None:
        self._count, self._squares, self.largest = 0, np.zeros(joints), np.zeros(joints)

    def add(self, errors: ArrayLike) -> None:
        """Add the errors (J,) at one time, rad or m."""
        found = np.abs(np.asarray(errors, float))
        self._count += 1
        self._squares += found**2
        self.largest = np.maximum(self.largest, found)

    @property
    def rms(self) -> Array:
        """Root mean square of the errors (J,), rad or m; 0 if there are no errors yet."""
        return np.asarray(np.sqrt(self._squares / max(self._count, 1)))


class Tracked(Errors):
    """Tracking error of a board in FOLLOW. `take` is a listener for Session."""

    def __init__(self, session: Session) -> None:
        super().__init__(len(session.configuration.joints))
        self._session = session

    def take(self, status: Status) -> None:
        if self._session.in_state("FOLLOW"):
            self.add(self._session.tracking_error())
