"""Prepares a motion for a page. The number of samples is small enough for a page, which interpolates between them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from femtorque.codegen.common import Array
from femtorque.codegen.mechanism import Mechanism
from femtorque.codegen.model import Model
from femtorque.codegen.motion import Trajectory
from femtorque.codegen.reference import flexible
from femtorque.host.scene.surroundings import Moment

FRAMES_A_SECOND = 60.0
MOST_VALUES = 60_000  # maximum number of values in a page's motion: about half a megabyte
FEWEST = 120  # samples
DRAWN = 0.08  # maximum drawn deflection of a flexible link's tip, as a fraction of the link's length
LARGER = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)  # magnification factors for the drawing of deflections


@dataclass(frozen=True)
class Mark:
    """Event from time t until a later time, s."""

    t: float
    until: float
    joint: str | None  # None for an event of the board
    text: str


@dataclass(frozen=True)
class Motion:
    """Motion of an arm for the page. measured, true (T, n): measured and true positions. shares (T, n): torques as
    fractions of the limit. These three are None if unknown.

    bends (T, 4): deflection, m, and slope, rad, of flexible tips in y, then in z."""

    joints: tuple[str, ...]
    t: Array  # times (T,), s
    desired: Array  # (T, n): positions of `joints`
    measured: Array | None = None
    true: Array | None = None
    shares: Array | None = None
    modes: Sequence[tuple[float, str]] = ()  # (s, name) of the first mode and of every switch
    marks: Sequence[Mark] = ()
    bends: dict[str, Array] = field(default_factory=dict)
    true_bends: dict[str, Array] = field(default_factory=dict)  # bends of a simulated arm
    waypoints: Sequence[tuple[float, str]] = ()  # (s, name)
    path: Array | None = None  # tip positions (T, 3) in the base frame, m
    around: Sequence[tuple[float, Moment]] = ()  # (s, surroundings) of a simulated arm, in order
    pushed: Array | None = None  # (T, n): disturbance torques as fractions of the torque limit

    def data(self, lengths: dict[str, float] | None = None) -> dict[str, Any]:
        """Return the motion as JSON data, with time from 0. lengths: lengths of flexible links, m."""
        keep, begin = self._kept(), float(self.t[0])
        rows = {name: None if (values := getattr(self, name)) is None else rounded(values[keep])
                for name in ("desired", "measured", "true", "shares", "pushed", "path")}
        bends, truly = ({name: rounded(values[keep], 8) for name, values in of.items()}
                        for of in (self.bends, self.true_bends))
        return {"joints": list(self.joints), "t": rounded(self.t[keep] - begin), **rows, "bends": bends,
                "true_bends": truly,
                "around": [moment.data() for moment in self._moments(keep)],
                "larger": self._larger(lengths or {}),
                "modes": [[max(t - begin, 0.0), name] for t, name in self.modes],
                "waypoints": [[t - begin, name] for t, name in self.waypoints],
                "marks": [[mark.t - begin, mark.until - begin, mark.joint, mark.text] for mark in self.marks]}

    def _kept(self) -> NDArray[np.int64]:
        """Return the indices of the samples that are kept, including the first and the last sample."""
        kinds = 1 + sum(getattr(self, name) is not None for name in ("measured", "true", "shares", "pushed"))
        beside = max((7 * len(m.places) + 8 * len(m.contacts) for _, m in self.around), default=0)
        most = max(FEWEST, MOST_VALUES // (kinds * max(len(self.joints), 1) + beside))
        span = float(self.t[-1] - self.t[0])
        count = int(min(most, len(self.t), max(2.0, span * FRAMES_A_SECOND + 1)))
        keep = np.searchsorted(self.t, np.linspace(self.t[0], self.t[-1], count) - 1e-9)
        return np.unique(np.minimum(keep, len(self.t) - 1))

    def _moments(self, keep: NDArray[np.int64]) -> list[Moment]:
        """Return the surroundings at the times of the kept samples. Empty if the surroundings are unknown."""
        if not self.around:
            return []
        known = np.searchsorted([t for t, _ in self.around], self.t[keep] + 1e-9, side="right") - 1
        return [self.around[max(k, 0)][1] for k in known]

    def _larger(self, lengths: dict[str, float]) -> int:
        """Return the largest factor of LARGER at which no drawn deflection exceeds DRAWN."""
        bends = self.bends | self.true_bends
        most = max((np.abs(values[:, (0, 2)]).max() / lengths[name] for name, values in bends.items()
                    if name in lengths), default=0.0)
        return max((n for n in LARGER if n * most <= DRAWN), default=1) if most > 0.0 else 1


def planned(mechanism: Mechanism, motion: Trajectory) -> Motion:
    """Return the page's motion for a trajectory. The deflections of flexible links come from the reference model."""
    t = np.linspace(0.0, motion.duration, max(2, round(motion.duration * FRAMES_A_SECOND)))
    q = np.asarray(motion.at(t)[0], float)
    names = tuple(joint.name for joint in mechanism.streamed)
    if not any(link.beam for link in mechanism.links) and not any(joint.elastic for joint in mechanism.moving):
        return Motion(names, t, q, modes=motion.modes)
    model = Model.of(mechanism)
    at, links, springs = flexible.shapes(model, motion, round(motion.duration / model.dt))
    own = [name for name in springs if name in {joint.name for joint in mechanism.moving}]
    stretched = [np.interp(t, at, springs[name]) for name in own]
    bends = {name: np.column_stack([np.interp(t, at, column) for column in rows.T]) for name, rows in links.items()}
    return Motion((*names, *own), t, np.column_stack([q, *stretched]), bends=bends)


def lengths(mechanism: Mechanism) -> dict[str, float]:
    """Return the lengths of flexible links, m."""
    return {link.name: link.beam.length for link in mechanism.links if link.beam is not None}


def rounded(values: Array, digits: int = 5) -> list[Any]:
    """Return numbers for JSON, which has no NaN."""
    return [[None if x != x else x for x in row] if isinstance(row, list) else None if row != row else row
            for row in np.round(values, digits).tolist()]
