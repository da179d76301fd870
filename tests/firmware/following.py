"""A sender of live targets to the application on this computer: its clock, its delays, and the motion."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from femtorque.codegen.common import Array
from femtorque.codegen.wire import Follow, Followed, Target, messages, to_wire
from tests.firmware.app import App

TURN = 2.0 * np.pi / 2.0**32
CLOCK = 3_000_000_000  # sender's clock at the start, us: it wraps during a run


@dataclass
class Sent:
    """One target: the times of sending and of arrival, s, and the positions."""

    sent: float
    there: float
    q: Sequence[float]
    v: Sequence[float] | None = None
    ahead: float = 0.0
    chunk: int = 0
    end: bool = False
    stamp: int | None = None


@dataclass
class Run:
    """Results of a run: telemetry of every tick, and FOLLOWED reports."""

    record: NDArray[Any]
    reports: list[Any] = field(default_factory=list)

    def positions(self, joint: int = 0) -> Array:
        """Return a joint's position at the end of each tick, rad, without jumps by whole turns."""
        return np.unwrap(self.record["target"][:, joint] * TURN)


def follow(app: App, delay: int = messages.FOLLOW_AUTO, frame: int = 0) -> str:
    return app.ask(Follow(app.token % 255 + 1, delay, frame))


def target(app: App, t: Sent) -> Target:
    flags = (messages.TARGET_END if t.end else 0) | (messages.TARGET_RATES if t.v is not None else 0)
    stamp = (CLOCK + round(1e6 * t.sent)) % 2**32 if t.stamp is None else t.stamp
    wire = t.q if t.stamp is not None and not isinstance(t.q[0], float) else to_wire(t.q, app.joints).tolist()
    return Target(flags, t.chunk, stamp, round(1e6 * t.ahead), wire, list(t.v) if t.v is not None else [0.0] * app.J)


def play(app: App, targets: Sequence[Sent], ticks: int, while_at: Callable[[int], None] | None = None) -> Run:
    """Send each target at its time of arrival. Times count from now."""
    hz = app.mechanism.control.rate_hz
    queue = sorted(targets, key=lambda t: t.there)
    records: list[NDArray[Any]] = []
    reports: list[Any] = []
    tick, i = 0, 0
    taken = app.take

    def take() -> list[Any]:
        found = taken()
        reports.extend(m for m in found if isinstance(m, Followed))
        return found

    app.take = take  # type: ignore[method-assign]
    while tick < ticks:
        while i < len(queue) and queue[i].there * hz <= tick:
            app.send(target(app, queue[i]))
            i += 1
        until = ticks if i == len(queue) else min(ticks, int(np.ceil(queue[i].there * hz)))
        n = max(1, min(20, until - tick))
        if while_at is not None:
            n = 1
            while_at(tick)
        records.append(app.run(n))
        tick += n
    app.take = taken  # type: ignore[method-assign]
    return Run(np.concatenate(records), reports)


def hostile(rng: np.random.Generator, joints: int) -> Iterator[tuple[Target, int]]:
    """Yield endless targets that no correct sender would send, each with the time to the next, ms: jumps, repeated,
    early and late stamps, clocks that step, NaN velocities, and random chunks."""
    stamp = int(rng.integers(2**32))
    while True:
        stamp += int(rng.choice([0, 1_000, 5_000, 20_000, 33_333, -20_000, 10**6, -(10**6), 2**31],
                                p=[.1, .2, .2, .2, .18, .03, .03, .03, .03]))
        places = [0, 2**30, -(2**30), 2**33, 2**62, -(2**63), 2**63 - 1, int(rng.integers(2**29))]
        wire = [int(x) for x in rng.choice(places, joints)]
        velocity = [float(x) for x in rng.choice([0.0, 1.0, np.nan, np.inf, -3e38, 30.0], joints)]
        yield Target(int(rng.choice([0, 0, 2])), int(rng.choice([0, 0, 0, 1, 2])), stamp % 2**32,
                     int(rng.choice([0, 0, 20_000, 2**31, 2**32 - 1])), wire, velocity), int(rng.integers(1, 25))


def wave(t: Any, seed: int = 7) -> tuple[Array, Array]:
    """Return positions and velocities of a hand on a slider: sines up to 1.5 Hz, a jerk of 40.8 rad/s^3 rms."""
    rng = np.random.default_rng(seed)
    f = np.array([0.13, 0.31, 0.57, 0.83, 1.12, 1.5])
    w, phase = 2.0 * np.pi * f, rng.uniform(0.0, 2.0 * np.pi, len(f))
    size = 1.0 / w
    size *= 40.8 / np.sqrt(0.5 * np.sum((size * w**3) ** 2))
    at = np.asarray(t, float)[..., None] * w + phase
    return np.sum(size * np.sin(at), axis=-1), np.sum(size * w * np.cos(at), axis=-1)
