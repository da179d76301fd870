"""A comparison of methods that follow live targets with one joint: this firmware's FOLLOW, and three common methods.

The signal is the motion of a hand (tests.firmware.following.wave). Samples of the motion reach the receiver through one
of five simulated lines. Each method computes a reference from the samples every millisecond. The same PD law makes the
same joint, an inertia of 1 kg m^2, track this reference. FOLLOW is the firmware's C. The acceleration of FOLLOW is used
as feed-forward, in place of exact inverse dynamics."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from ruckig import InputParameter, OutputParameter, Ruckig

from assurance.bench.table import show
from femtorque.codegen.common import Array, colours
from femtorque.codegen.verify import blank
from tests.firmware.app import App, changed
from tests.firmware.following import TURN, Sent, follow, play, wave

V, A, J = 4.0, 20.0, 400.0  # limits of the joint: rad/s, rad/s^2, rad/s^3
SECONDS, SKIPPED = 10.0, 4.0  # duration of a run, and of the part at its beginning that is not evaluated, s
DT = 1e-3
KP, KD = 630.0, 35.0  # bandwidth of 4 Hz (1/s^2), damping ratio of 0.7 (1/s)
RATES = (30, 50, 100, 250)  # Hz
LONGEST = 0.2  # largest delay in the search, s

FOLLOW, STAIRS, LINES, OPTIMAL = "FOLLOW", "direct targets", "linear interpolation", "ruckig"
COLOURS = {FOLLOW: colours.FEED_FORWARD, STAIRS: colours.FEEDBACK, LINES: colours.REST, OPTIMAL: colours.DESIRED}


@dataclass(frozen=True)
class Line:
    """A line that transfers targets."""

    latency: Callable[[Array, np.random.Generator], Array]  # returns the delays (n,), s, of n targets at given times
    noise: float = 0.0  # rms noise of positions, rad
    lost: float = 0.0  # fraction of lost targets
    stall: tuple[float, float] = (np.inf, np.inf)  # beginning and end of an interruption, s

    def sent(self, hz: int, seed: int = 3) -> list[Sent]:
        """Return the targets that arrive, in the order of a stream: no target overtakes an earlier target."""
        rng = np.random.default_rng(seed)
        t = np.arange(0.0, SECONDS, 1.0 / hz)
        there = np.maximum.accumulate(t + self.latency(t, rng)) + 1e-6 * np.arange(len(t))
        places = wave(t)[0] + self.noise * rng.standard_normal(len(t))
        kept = (rng.random(len(t)) >= self.lost) & ~((t > self.stall[0]) & (t < self.stall[1]))
        return [Sent(float(s), float(w), [float(q), 0.0, 0.0]) for s, w, q in
                zip(t[kept], there[kept], places[kept], strict=True)]


def _steady(t: Array, rng: np.random.Generator) -> Array:
    return np.full(len(t), 2e-3)


LINES_OF = {
    "steady": Line(_steady), "jitter to 20 ms": Line(lambda t, rng: 2e-3 + 0.02 * rng.random(len(t))),
    # Pareto: at least 2 ms, and 3 ms more in the mean
    "tails to 100 ms, 1 % lost": Line(lambda t, rng: np.minimum(2e-3 + 3e-3 * rng.pareto(2.0, len(t)), 0.1), lost=0.01),
    "noise of 0.5 mrad": Line(_steady, noise=5e-4), "a stall of 0.4 s": Line(_steady, stall=(6.0, 6.4)),
}
DRAWN = ("steady", "jitter to 20 ms", "noise of 0.5 mrad")


@dataclass(frozen=True)
class Way:
    """One method's run."""

    reference: Array  # (T, 3): position, velocity and acceleration for PD and feed-forward
    q: Array  # joint angles (T,), rad
    torque: Array  # joint torques (T,), N m
    delay: float  # delay of the joint behind the signal, s
    error: float  # rms error relative to the signal with that delay, rad
    jerk: float  # rms jerk of the reference, rad/s^3
    noise: float  # rms of the torque minus the torque for the delayed signal, N m


def _arrived(sent: Sequence[Sent]) -> tuple[NDArray[np.intp], Array]:
    """Return the number and the position of the newest target at each millisecond, at first of the first target."""
    there = np.array([s.there for s in sent])
    newest = np.maximum(np.searchsorted(there, np.arange(0.0, SECONDS, DT), side="right") - 1, 0)
    return newest, np.array([s.q[0] for s in sent])[newest]


def stairs(sent: Sequence[Sent]) -> Array:
    """Return the newest target, with zero velocity."""
    _, goal = _arrived(sent)
    r = np.zeros((len(goal), 3))
    r[:, 0] = goal
    return r


def lines(sent: Sequence[Sent], hz: int) -> Array:
    """Return straight lines between targets, from the arrival of a target to this target one frame later."""
    numbers, goal = _arrived(sent)
    r = np.zeros((len(goal), 3))
    newest, at, per, left = -1, float(goal[0]), 0.0, 0
    for k, number in enumerate(numbers):
        if number != newest:
            newest, left = number, max(round(1.0 / (hz * DT)), 1)
            per = (goal[k] - at) / left
        if left:
            at, left = at + per, left - 1
        r[k, :2] = at, per / DT if left else 0.0
    return r


def optimal(sent: Sequence[Sent]) -> Array:
    """Return the time-optimal motion to rest at the newest target, restarted with each target."""
    _, goal = _arrived(sent)
    r = np.zeros((len(goal), 3))
    otg, wanted, found = Ruckig(1, DT), InputParameter(1), OutputParameter(1)
    wanted.current_position = [float(goal[0])]
    wanted.max_velocity, wanted.max_acceleration, wanted.max_jerk = [V], [A], [J]
    for k, at in enumerate(goal):
        wanted.target_position = [float(at)]
        otg.update(wanted, found)
        found.pass_to_input(wanted)
        r[k] = found.new_position[0], found.new_velocity[0], found.new_acceleration[0]
    return r


def followed(sent: Sequence[Sent]) -> Array:
    """Return the reference that the firmware's C computes with the delay that it chooses."""
    arm = changed(limits={"lower": -2.5, "upper": 2.5, "velocity": V, "acceleration": A, "jerk": J})
    app = App(replace(arm, follow=replace(arm.follow, timeout=1.0)))
    app.home([sent[0].q[0], 0.0, 0.0])
    app.command("ARM")
    follow(app)
    record = play(app, sent, round(SECONDS / DT)).record
    v = record["target_rate"][:, 0].astype(float)
    return np.stack([np.unwrap(record["target"][:, 0] * TURN), v, np.gradient(v, DT)], axis=1)


def moved(reference: Array, forward: bool, damped: bool) -> Way:
    """Simulate the joint under PD control. forward: feed the acceleration forward. damped: damp the velocity error."""
    q, v = float(reference[0, 0]), 0.0
    places, torques = np.empty(len(reference)), np.empty(len(reference))
    for k, (r, rate, acceleration) in enumerate(reference):
        torque = KP * (r - q) + KD * (rate * damped - v) + acceleration * forward
        v += DT * torque
        q += DT * v
        places[k], torques[k] = q, torque
    t, part = np.arange(len(reference)) * DT, slice(round(SKIPPED / DT), None)

    def at(delay: float) -> float:
        return float(np.sqrt(np.mean((places[part] - wave(t[part] - delay)[0]) ** 2)))

    about = min(np.arange(0.0, LONGEST, 2.0 * DT), key=at)
    delay = min(np.arange(about - 2.0 * DT, about + 2.0 * DT, 0.05 * DT), key=at)
    needed = np.gradient(wave(t - delay)[1], DT)
    jerk = np.diff(reference[:, 0], 3)[part] / DT**3
    if np.any(reference[:, 2]):
        jerk = np.diff(reference[:, 2])[part] / DT
    return Way(reference, places, torques, float(delay), at(delay), float(np.sqrt(np.mean(jerk**2))),
               float(np.sqrt(np.mean((torques - needed)[part] ** 2))))


@cache
def compared(line: str, hz: int) -> dict[str, Way]:
    """Return the runs of all methods, for one line and one rate of targets."""
    sent = LINES_OF[line].sent(hz)
    return {FOLLOW: moved(followed(sent), forward=True, damped=True), STAIRS: moved(stairs(sent), False, False),
            LINES: moved(lines(sent, hz), False, True), OPTIMAL: moved(optimal(sent), False, True)}


def table() -> None:
    """Print, by line, method and rate: delay, ms / error, mrad / jerk, rad/s^3 / torque noise, N m."""
    rows = [[line, name, *(f"{1e3 * w.delay:.0f} / {1e3 * w.error:.3g} / {w.jerk:.2g} / {w.noise:.2g}"
                           for w in (compared(line, hz)[name] for hz in RATES))]
            for line in LINES_OF for name in COLOURS]
    show("Live targets, followed four ways", ["line", "way", *(f"{hz} Hz" for hz in RATES)], rows)


def draw(path: Path) -> None:
    """Draw the joint's position and torque in 0.6 s at 30 Hz, and error and torque noise at all rates."""
    figure = blank(12.0, 7.6)
    (place, errors), (torque, noise) = figure.subplots(2, 2)
    window = slice(7000, 7600)
    t = np.arange(round(SECONDS / DT)) * DT
    for name, way in compared("steady", 30).items():
        away = 1e3 * (way.q - wave(t - way.delay)[0])
        place.plot(t[window], away[window], color=COLOURS[name], label=name, lw=1.2)
        torque.plot(t[window], way.torque[window], color=COLOURS[name], lw=1.0, label=name)
    place.set(title="30 Hz: joint less delayed signal", ylabel="mrad", xlabel="t, s")
    torque.set(title="30 Hz: torque of a joint of 1 kg m$^2$", ylabel="N m", xlabel="t, s")
    for line, mark in zip(DRAWN, "osx", strict=True):
        for name in COLOURS:
            ways = [compared(line, hz)[name] for hz in RATES]
            errors.plot(RATES, [1e3 * w.error for w in ways], color=COLOURS[name], marker=mark, lw=0.8,
                        label=name if mark == "o" else "")
            noise.plot(RATES, [w.noise for w in ways], color=COLOURS[name], marker=mark, lw=0.8,
                       label=line if name == FOLLOW else "")
    for axes, title, unit in ((errors, "error against the delayed signal, rms", "mrad"),
                              (noise, "torque beside the motion's own, rms", "N m")):
        axes.set(title=title, ylabel=unit, xlabel="targets per second, Hz", xscale="log", yscale="log")
        axes.set_xticks(RATES, [str(hz) for hz in RATES])
        axes.minorticks_off()
    for axes in (place, torque, errors, noise):
        axes.grid(alpha=0.3)
        axes.legend(fontsize=7)
    figure.savefig(path, dpi=110)


