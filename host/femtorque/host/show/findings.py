"""Analyses a run as numbers and words: tracking, torques, the model's residual, tick, stream, events."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from femtorque.codegen.common import Array
from femtorque.codegen.wire import messages
from femtorque.codegen.wire.in_words import names
from femtorque.host.record import Run
from femtorque.host.show.readable_units import readable

FULL = 0.98  # duty above which a motor counts as being at full voltage
OFTEN = 0.01  # fraction of the motion: a motor is reported if it is at its limit for a larger fraction
UNSEEN = 3.0  # encoder counts between measured and true position: from this error on, the encoder is faulty
FINEST = {"rad": 2e-4, "m": 2e-5}  # smaller errors are not attributed to an encoder or a control loop; chosen values
STUCK = 20.0  # travel of the target, in encoder counts, after which an unchanged reading means a stuck encoder
AFTER = 10  # number of samples after a motion in which a tip's swing is measured
ENOUGH = 64  # minimum number of samples in motion for a spectrum or a fit
STANDS_OUT = 6.0  # factor on the median amplitude: a spectral line above it is reported
SLOWEST = 3  # minimum number of periods of a spectral line in the motion
EXPLAINS = 0.25  # fraction of the variance: a cause is reported if it explains more
BETTER = 0.005  # fraction of the variance by which a less simple cause must explain more
MATTERS = 0.02  # fraction of the maximum torque: a smaller cause is not reported
SEES = 1.5  # smallest error that feedback can correct, encoder counts
DOUBT = 0.25  # uncertainty of the age of a position from a bus, ticks
SMOOTH = 10  # samples
AGAINST = 0.1  # fraction of the feed-forward: opposing feedback is reported if it is larger
MOTION = 0.99  # fraction of the acceleration's power; it defines the highest frequency of the motion
# fraction of the motion's range: larger errors at the motion's frequencies are caused by the control loop; a chosen
# value
LARGE = 0.02
SWINGS = 3  # minimum number of periods of an oscillation in the motion
# number of neighbouring frequencies over which a Hann window and a changing amplitude spread a spectral line
BESIDE = 2
RINGS = 0.3  # fraction of the error's power at one frequency outside the motion: above it, the joint oscillates
RAN_OUT = {"TRACK": "knots ran out", "FOLLOW": "targets stayed away"}  # by state: why the motion stopped early
TOGETHER = 1.0  # time within which contacts share one row, s
STILL = 1e-3  # target velocity below which a joint counts as at rest, rad/s or m/s


@dataclass(frozen=True)
class Event:
    t: float  # time since the log began, s
    what: str
    bad: bool = False  # True for a disturbance, which a faultless run does not have


@dataclass(frozen=True)
class Tracking:
    """Tracking of one joint in motion. rms, worst: errors, rad or m."""

    joint: str
    unit: str
    rms: float
    worst: float
    at: float  # s
    rate: float  # velocity of the target at time `at`
    counts: float  # the worst in encoder counts, NaN if unknown

    @property
    def apart(self) -> str:
        return f"{measure(self.worst, self.unit)} apart at {self.at:.2f} s (rms {measure(self.rms, self.unit)})"

    def __str__(self) -> str:
        words = self.apart
        if not np.isfinite(self.counts):
            return words
        finest = ", at the encoder's resolution" if self.counts < SEES else ""
        return f"{words}, {self.counts:.1f} encoder counts{finest}"


@dataclass(frozen=True)
class Left:
    """The feedback's torque at one joint (the model's residual), and the cause that explains most of this torque."""

    joint: str
    rms: float  # N m or N
    of_peak: float  # fraction of the maximum torque
    cause: str  # inertia | viscous friction | Coulomb friction | a constant torque | the feed-forward | nothing found
    size: float  # size of the cause
    unit: str
    explained: float  # share of the variance

    def __str__(self) -> str:
        effort = "N" if self.unit.endswith("N") else "N m"
        start = (f"{self.joint}: the feedback gave {measure(self.rms, effort)} rms, "
                 f"{self.of_peak:.1%} of the largest torque")
        if self.cause == NOTHING:
            return f"{start}; this torque follows neither velocity nor acceleration"
        if self.cause == MODEL:
            most = "larger" if self.size > 0.0 else "smaller"
            return (f"{start}; {self.explained:.0%} of its slow part follows the feed-forward torque, as if masses "
                    f"and inertias were about {abs(self.size):.0%} {most} than the mechanism file says")
        more = "more" if self.size > 0.0 else "less"
        if self.cause == CONSTANT:
            return (f"{start}; {self.explained:.0%} of its slow part is a constant torque of "
                    f"{measure(self.size, self.unit)}, for example of a load")
        return (f"{start}; {self.explained:.0%} of its slow part looks like {measure(abs(self.size), self.unit)} "
                f"{more} {self.cause} than the mechanism file says")


@dataclass(frozen=True)
class Line:
    """The strongest frequency in the error of one joint."""

    joint: str
    hz: float
    amplitude: float  # amplitude, rad or m
    times: float  # amplitude over the median amplitude
    unit: str


NOTHING, INERTIA, CONSTANT, MODEL = "nothing found", "inertia", "a constant torque", "the feed-forward torque"
LIKE_A_ZERO = (INERTIA, CONSTANT, MODEL)  # a wrong zero of the joint may have the same effect as these causes
ZERO_FIRST = (
    "A shifted zero looks like the next finding. Before you change the model, put the arm at its start and check "
    "that `femtorque monitor` shows the start pose. If not, `femtorque home --rezero` sets the zeros again."
)


class Findings:
    """Results of the analysis of a run: sentences, numbers and curves."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.t = run.t - run.t[0]
        self.moving = np.array([state in RAN_OUT for state in run.state])
        self.joints = range(len(run.joints))

    def unit(self, j: int) -> str:
        return "m" if self.run.prismatic[j] else "rad"

    def _visible(self, j: int, counts: float) -> float:
        """Return the larger of two errors, rad or m: `counts` encoder counts, and FINEST."""
        return max(counts * _scale(self.run, self.run.joints[j], 1e-3), FINEST[self.unit(j)])

    def effort_unit(self, j: int) -> str:
        return "N" if self.run.prismatic[j] else "N m"

    @cached_property
    def feedback(self) -> Array:
        """Torque of the feedback (S, J), N m or N: Ku e + Kv e', or without gains in the log all beyond the
        feed-forward. For positions from a bus, e' is the difference quotient of e. If the drives report as often as the
        board samples, the observed velocity errs equally in every sample."""
        run = self.run
        ku, kv = np.nan_to_num(run.facts["ku"]), np.nan_to_num(run.facts["kv"])
        rates = np.where(run.facts["old"] > 0.0, self._over_time(run.error), run.target_rate - run.rate)
        pd = ku * run.error + kv * rates
        on = ((run.scalars["flags"].astype(int) & messages.FLAGS["OUTPUTS"][0]) != 0)[:, None] & run.outputs
        return np.where(np.isfinite(run.facts["ku"]), pd * on, run.torque - run.torque_ff)

    @cached_property
    def acceleration(self) -> Array:
        """Acceleration of the target (S, J), rad/s^2 or m/s^2."""
        return self._over_time(self.run.target_rate)

    def _over_time(self, values: Array) -> Array:
        return np.gradient(values, self.t, axis=0) if len(self.t) > 2 else np.zeros_like(values)

    @cached_property
    def tracking(self) -> list[Tracking]:
        """Measured tracking errors of every joint. Empty if there was no motion."""
        return self._tracking(self.run.error)

    @cached_property
    def true_tracking(self) -> list[Tracking]:
        """Tracking errors of a simulated plant's joints. Empty without a motion or a simulated plant."""
        return [] if self.run.true is None else self._tracking(self.run.true_error)

    def _tracking(self, errors: Array) -> list[Tracking]:
        rows = np.flatnonzero(self.moving & np.all(np.isfinite(errors), axis=1))
        if not (len(rows) and self.run.outputs):
            return []
        found = []
        for j in self.joints:
            error = errors[rows, j]
            i = rows[int(np.argmax(np.abs(error)))]
            found.append(Tracking(self.run.joints[j], self.unit(j), float(np.sqrt(np.mean(error**2))),
                                  float(abs(errors[i, j])), float(self.t[i]), float(self.run.target_rate[i, j]),
                                  float(abs(errors[i, j]) / self.run.facts["count"][j])))
        return found

    @cached_property
    def left(self) -> list[Left]:
        """Residuals of the model for each joint that moved enough."""
        run, found = self.run, []
        for j in self.joints if run.outputs else ():
            if not (run.facts["ku"][j] > 0.0 or run.facts["kv"][j] > 0.0):
                continue  # the joint has no feedback, or the feedback's torque is unknown
            rows = self.moving & (np.abs(run.target_rate[:, j]) > STILL)
            if np.count_nonzero(rows) < ENOUGH:
                continue
            found.append(self._left(j, rows))
        return found

    def _left(self, j: int, rows: NDArray[np.bool_]) -> Left:
        """Return the cause that explains most of the feedback's torque, by least squares for each single cause.

        Torque and causes are averaged over SMOOTH samples, since gains turn encoder steps into fast changes. A cause's
        torque must exceed the position gain's for an error of SEES counts plus the joint's motion in DOUBT, and the
        torque that an unknown gain of a servo's own position loop may cause. If all
        masses are wrong, the residual follows the feed-forward torque with all joints' accelerations. If the joint's
        own acceleration explains as much, it is the simpler cause."""
        run, raw = self.run, self.feedback[rows, j]
        y = _averaged(raw)
        length, effort = self.unit(j), self.effort_unit(j)
        causes = (
            (INERTIA, self.acceleration[rows, j], "kg" if run.prismatic[j] else "kg m^2"),
            ("viscous friction", run.target_rate[rows, j], f"{effort} s/{length}"),
            ("Coulomb friction", np.sign(run.target_rate[rows, j]), effort),
            (CONSTANT, np.ones(len(raw)), effort),
            (MODEL, run.torque_ff[rows, j], ""))
        late = DOUBT / run.rate_hz if run.facts["old"][j] > 0.0 else 0.0
        doubt = late * float(np.sqrt(np.mean(run.target_rate[rows, j]**2)))
        fine = float(run.facts["ku"][j] * (SEES * np.nan_to_num(run.facts["count"][j], posinf=0.0) + doubt))
        power, rms = float(np.mean(y**2)), float(np.sqrt(np.mean(self.feedback[self.moving, j]**2)))
        peak = float(np.max(np.abs(run.torque[self.moving, j]), initial=1e-12))
        best = Left(run.joints[j], rms, rms / peak, NOTHING, 0.0, effort, 0.0)
        for cause, x, unit in causes:
            x = _averaged(x)
            scale = float(np.mean(x**2))
            if scale <= 0.0 or power <= 0.0:
                continue
            size = float(np.mean(x * y)) / scale
            explained = size**2 * scale / power
            plainer = BETTER if cause == MODEL else 0.0
            least = max((MATTERS + np.nan_to_num(run.facts["loop"][j])) * peak, fine)
            if explained > max(best.explained + plainer, EXPLAINS) and abs(size) * np.sqrt(scale) > least:
                best = Left(best.joint, best.rms, best.of_peak, cause, size, unit, explained)
        return best

    def spectrum(self, j: int) -> tuple[Array, Array]:
        """Return the error's spectrum in the longest motion, Hann window: frequencies (F,), Hz, amplitudes (F,)."""
        begin, end = self._longest()
        error = self.run.error[begin:end, j]
        if len(error) < ENOUGH:
            return np.zeros(0), np.zeros(0)
        window = np.hanning(len(error))
        amplitude = 2.0 * np.abs(np.fft.rfft((error - error.mean()) * window)) / window.sum()
        dt = float(np.median(np.diff(self.t[begin:end])))
        return np.fft.rfftfreq(len(error), dt)[1:], amplitude[1:]

    @property
    def begin(self) -> float:
        """Time in the log at which the last motion began, s; 0 if there was no motion."""
        return float(self.t[self._last()[0]]) if self.moving.any() else 0.0

    def _last(self) -> tuple[int, int]:
        return (self._stretches() or [(0, 0)])[-1]

    def _longest(self) -> tuple[int, int]:
        return max(self._stretches(), key=lambda s: s[1] - s[0], default=(0, 0))

    def _stretches(self) -> list[tuple[int, int]]:
        edges = np.flatnonzero(np.diff(np.concatenate([[False], self.moving, [False]]).astype(int)))
        return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))

    @cached_property
    def lines(self) -> list[Line]:
        """The strongest frequency in each joint's error above the frequencies of the motion and of the control loop."""
        found = []
        for j in self.joints:
            hz, amplitude = self.spectrum(j)
            first = SLOWEST
            if len(hz):
                first = max(SLOWEST, self._motions_own(), int(np.searchsorted(hz, self._bandwidth(j))))
            if len(hz) > first and np.median(amplitude) > 0.0:
                i = first + int(np.argmax(amplitude[first:]))
                found.append(Line(self.run.joints[j], float(hz[i]), float(amplitude[i]),
                                  float(amplitude[i] / np.median(amplitude)), self.unit(j)))
        return found

    def _bandwidth(self, j: int) -> float:
        """Return the bandwidth, Hz, of a critically damped loop with these gains: kv = 2 ku / w. 0 without a loop,
        infinite if unknown: the motor damps the loop of a servo, which has no kv."""
        ku, kv = self.run.facts["ku"][j], self.run.facts["kv"][j]
        return (float(ku / (np.pi * kv)) if kv > 0.0 else np.inf) if ku > 0.0 else 0.0

    def _motions_own(self) -> int:
        """Return the number of the highest spectral line of the longest motion's acceleration, plus its neighbours."""
        begin, end = self._longest()
        power = np.abs(np.fft.rfft(self.acceleration[begin:end].T * np.hanning(end - begin)))**2
        asked = np.cumsum(np.sum(power, axis=0))
        return int(np.searchsorted(asked, MOTION * asked[-1])) + BESIDE

    @cached_property
    def oscillating(self) -> dict[int, Line]:
        """Joints whose loop oscillates: much of the error's power is at one frequency that is absent from the motion
        and its torques. Errors proportional to velocity, acceleration or torque do not count."""
        begin, end = self._longest()
        found: dict[int, Line] = {}
        for j, line in self._own_lines(begin, end):
            if line.amplitude > self._visible(j, SEES) and line.joint not in self.within_play:
                found[j] = line
        return found

    def _own_lines(self, begin: int, end: int) -> Iterator[tuple[int, Line]]:
        """Yield joints whose error is mostly at one frequency, which the motion lacks, or is large for the motion."""
        run, count = self.run, end - begin
        if count < ENOUGH:
            return
        window, hz = np.hanning(count), np.fft.rfftfreq(count, float(np.median(np.diff(self.t[begin:end]))))
        # a wrong model or zero causes errors that are as slow as the motion and small compared with it
        slowest = max(SWINGS, self._motions_own())
        for j in self.joints:
            error = run.error[begin:end, j]
            if not (run.facts["ku"][j] > 0.0 or run.facts["kv"][j] > 0.0) or not np.all(np.isfinite(error)):
                continue
            rate = run.target_rate[begin:end, j]
            causes = np.stack([np.ones(count), rate, self.acceleration[begin:end, j], np.sign(rate),
                               run.torque_ff[begin:end, j], self.t[begin:end]], axis=1)
            own = error - causes @ np.linalg.lstsq(causes, error, rcond=None)[0]
            power = np.abs(np.fft.rfft(own * window))**2
            amplitude = 2.0 * np.sqrt(power) / window.sum()
            large = amplitude[SWINGS:].max() > LARGE * np.ptp(run.target[begin:end, j])
            first = SWINGS if large else slowest
            i = first + int(np.argmax(power[first:]))
            whole = float(np.sum(np.abs(np.fft.rfft((error - error.mean()) * window))**2))
            peak = large or power[i] >= power[i - 1]
            if peak and whole > 0.0 and float(np.sum(power[i - BESIDE:i + BESIDE + 1])) > RINGS * whole:
                yield j, Line(run.joints[j], float(hz[i]), float(amplitude[i]),
                              float(amplitude[i] / max(np.median(amplitude), 1e-12)), self.unit(j))

    @cached_property
    def shares(self) -> list[dict[str, float]]:
        """rms torque during motion, by joint: feed-forward, feedback, remainder and total; N m or N."""
        run, rows = self.run, self.moving
        parts = {"feed-forward": run.torque_ff, "feedback": self.feedback,
                 "friction, rotor": run.torque - run.torque_ff - self.feedback, "all": run.torque}
        return [{name: float(np.sqrt(np.mean(values[rows, j]**2))) if rows.any() else 0.0 for name,
                 values in parts.items()}
                for j in self.joints]

    @cached_property
    def events(self) -> list[Event]:
        """Changes of state, faults, limits and lost frames, in order of time."""
        run, events = self.run, []
        flags = run.scalars["flags"].astype(int)
        for i in range(len(self.t)):
            before = i - 1 if i else None
            if before is None or run.state[i] != run.state[before]:
                why = _because(int(flags[i]), run.state[before]) if before is not None else ""
                events.append(Event(float(self.t[i]), run.state[i] + (f" ({why})" if why else ""),
                                    run.state[i] in ("FAULT", "ESTOP")))
            if before is None:
                continue
            fault = int(run.scalars["fault"][i])
            if fault and fault != int(run.scalars["fault"][before]):
                what = named_fault(fault, int(run.scalars["fault_joint"][i]), run)
                events.append(Event(float(self.t[i]), f"fault {what}", True))
            acted = set(names(messages.LIMITS, int(run.scalars["limits"][i])))
            for name in sorted(acted - set(names(messages.LIMITS, int(run.scalars["limits"][before])))):
                events.append(Event(float(self.t[i]), f"limit {name}: {messages.LIMITS[name][1]}", True))
            for field, what in (("bad_frames", "damaged frames"), ("out_of_order", "knots out of order")):
                more = int(run.scalars[field][i] - run.scalars[field][before]) & 0xFFFF
                if more:
                    events.append(Event(float(self.t[i]), f"{more} {what} at the board", True))
        return _merged(sorted([*events, *self._touches()], key=lambda event: event.t))

    def _touches(self) -> Iterator[Event]:
        """Yield each contact once, at its first report. Contacts that are closer than TOGETHER form one event."""
        felt = self.run.outside
        if felt is None:
            return
        first = np.flatnonzero(np.diff(felt.touches) % 2**16) + 1
        t = felt.t - self.run.t[0]
        for group in np.split(first, np.flatnonzero(np.diff(t[first]) > TOGETHER) + 1):
            if len(group) == 1:
                yield Event(float(t[group[0]]), f"joint {felt.joint[group[0]]} felt a touch")
            elif len(group):
                joints = ", ".join(dict.fromkeys(felt.joint[i] for i in group))
                yield Event(float(t[group[0]]), f"{len(group)} touches until {t[group[-1]]:.2f} s, felt at {joints}")

    @cached_property
    def sentences(self) -> list[str]:
        """Sentences with the largest errors and torques. The most important sentence comes first."""
        run, said = self.run, []
        if run.damage:
            said.append(damage(run))
        for event in self.events:
            if event.what.startswith("fault") or event.what == "ESTOP":
                said.append(f"The run was broken off at {event.t:.2f} s: {event.what}.")
        if self.moving[-1]:
            said.append(f"The log ends in the middle of a motion, at {self.t[-1]:.2f} s: after that the host heard "
                        "nothing of the board, or the host itself ended.")
        if not self.run.outputs:
            return [*said, "The board has no outputs: it computed torques, and no joint moved.", self._of_tick(),
                    self._of_stream()]
        if not self.tracking:
            return [*said, "Nothing moved, so there is no tracking to judge."]
        worst = max(self.tracking, key=lambda x: x.worst / _scale(run, x.joint))
        doing = "standing still" if abs(worst.rate) < STILL else f"moving at {worst.rate:+.2g} {worst.unit}/s"
        said.append(f"Tracking was worst at {worst.joint}, {doing}: desired and measured were {worst}.")
        said += self._of_oscillation() + self._of_truth() + self._of_play() + self._of_tips() + self._of_encoders()
        said += self._of_torque()
        said += self._of_saturation() + self._of_model()
        said += self._of_lines()
        said.append(self._of_tick())
        said.append(self._of_stream())
        limits = sorted({e.what.removeprefix("limit ").split(":")[0] for e in self.events
                         if e.what.startswith("limit")})
        said.append(f"Limits that acted: {', '.join(limits)}." if limits else "No limit acted.")
        return said

    def _of_torque(self) -> list[str]:
        """Return a sentence on the largest feedback, in N m: opposing torques can each exceed their sum."""
        shares = [(s["feedback"] / max(s["all"], s["feed-forward"]), j) for j, s in enumerate(self.shares)
                  if s["all"] > 0]
        if not shares:
            return []
        loose = [name for name, ku, kv in zip(self.run.joints, self.run.facts["ku"], self.run.facts["kv"], strict=True)
                 if ku == kv == 0.0]
        if len(loose) == len(self.run.joints):
            return ["No joint has gains: feed-forward alone moved them, and nothing corrected errors."]
        j = max(shares)[1]
        unit, name = self.effort_unit(j), self.run.joints[j]
        back, ahead, whole = (self.shares[j][key] for key in ("feedback", "feed-forward", "all"))
        words = (f"The feedback had most to do at {name}: it gave {measure(back, unit)} rms, the feed-forward gave "
                 f"{measure(ahead, unit)}, and with friction and rotor the total was {measure(whole, unit)}")
        against = float(np.mean(self.feedback[self.moving, j] * self.run.torque_ff[self.moving, j]))
        if back > AGAINST * ahead and against < -0.5 * back * ahead:
            return [words + ", because the two went against each other."]
        return [words + "."]

    def _of_oscillation(self) -> list[str]:
        """Return a sentence on the joint with the largest oscillation, since coupled loops oscillate together."""
        if not self.oscillating:
            return []
        worst = max(self.oscillating.values(), key=lambda line: line.amplitude / _scale(self.run, line.joint))
        others = ", ".join(line.joint for line in self.oscillating.values() if line is not worst)
        so = f" (so do the loops of {others})" if others else ""
        return [f"The loop of {worst.joint} oscillates at {worst.hz:.1f} Hz, by {measure(worst.amplitude, worst.unit)}"
                f"{so}. A slower motion does not help. Check that the gains fit the load (`femtorque check` shows the "
                "stiffest ku and kv, and checks the rotor of the drive)."]

    def _of_lines(self) -> list[str]:
        """Return a sentence on an error frequency that has no cause in the motion or the control loop."""
        swing = {line.joint for line in self.oscillating.values()}
        strong = [line for line in self.lines if line.times > STANDS_OUT and line.joint not in swing | self.within_play
                  and line.amplitude > self._visible(self.run.joints.index(line.joint), SEES)]
        if not strong:
            return [] if swing else ["No frequency stands out in the errors."]
        line = max(strong, key=lambda x: x.amplitude / _scale(self.run, x.joint))
        return [f"The error of {line.joint} has a line at {line.hz:.1f} Hz of {measure(line.amplitude, line.unit)}, "
                f"{line.times:.0f} times the median of its spectrum. Its motion and its loop are slower: look for a "
                "part that swings (frame, belt, gear), and check whether the line moves in a slower motion."]

    def _of_truth(self) -> list[str]:
        """Return a sentence on the true errors of a simulated plant."""
        if not self.true_tracking:
            return []
        worst = max(self.true_tracking, key=lambda x: x.worst / _scale(self.run, x.joint))
        said = [f"The true error, which the simulated arm knows, was worst at {worst.joint}: desired and true position "
                f"were {worst.apart}."]
        return said + [f"The encoder of {self.run.joints[j]} did not show where it was: measured and true position "
                       f"were up to {measure(size, self.unit(j))} apart, from {begin:.2f} s on: look at the encoder, "
                       "its coupling and its wires." for j, begin, size in self.unseen]

    def _of_play(self) -> list[str]:
        loose = [t for t in self.tracking if t.joint in self.within_play and t.counts > UNSEEN]
        if not loose:
            return []
        names, worst = ", ".join(t.joint for t in loose), max(t.worst for t in loose)
        play = max(float(self.run.facts["play"][self.run.joints.index(t.joint)]) for t in loose)
        return [f"Errors at {names}, of {measure(worst, 'rad')} at most, are within the play of a servo's gear, "
                f"{measure(play, 'rad')} by the file or as measured at one servo: the motor turns through the play "
                "before the joint follows. If a joint also rattles at rest, lower its gains."]

    @cached_property
    def within_play(self) -> set[str]:
        """Joints on servos whose tracking error is within the gear's backlash. The model has no backlash."""
        play = dict(zip(self.run.joints, np.nan_to_num(self.run.facts["play"]), strict=True))
        return {t.joint for t in self.tracking
                if play[t.joint] > 0.0 and t.worst <= play[t.joint] + UNSEEN * _scale(self.run, t.joint, 0.0)}

    @cached_property
    def unseen(self) -> list[tuple[int, float, float]]:
        """(joint, begin, maximum error) of encoders whose readings differ from the simulated arm's position. For
        positions from a bus, the arm's motion between the measurement and the report is subtracted."""
        if self.run.true is None:
            return []
        run, found = self.run, []
        off = np.nan_to_num(np.abs(run.error - run.true_error))
        went = np.nan_to_num(run.facts["age"]) * np.maximum(np.abs(run.rate), np.abs(run.target_rate))
        for j in self.joints:
            rows = np.flatnonzero(self.moving & (off[:, j] - went[:, j] > self._visible(j, UNSEEN)))
            if len(rows):
                found.append((j, float(self.t[rows[0]]), float(off[rows, j].max())))
        return found

    @cached_property
    def stuck(self) -> list[tuple[int, float, float]]:
        """(joint, begin, target's motion) of encoders whose reading did not change until the motion's end."""
        begin, end = self._last()
        found = []
        for j in self.joints:
            shown = self.run.position[begin:end, j]
            changes = np.flatnonzero(shown != shown[-1]) if len(shown) else np.zeros(0, int)
            since = begin + (int(changes[-1]) + 1 if len(changes) else 0)
            went = float(np.ptp(self.run.target[since:end, j])) if end > since else 0.0
            if went > self._visible(j, STUCK):
                found.append((j, float(self.t[since]), went))
        return found

    def _of_tips(self) -> list[str]:
        """Return sentences on a simulated arm's flexible links: maximum deflections, and swings after the motion."""
        said = []
        for link, (seconds, bent) in self.run.tips.items():
            t = seconds - self.run.t[0]
            last = self.t[self._last()[1] - 1]
            moving, after = bent[(t >= self.begin) & (t <= last)], bent[t > last]
            if not len(moving):
                continue
            k = int(np.argmax(np.abs(moving)))
            when = t[(t >= self.begin) & (t <= last)][k]
            words = f"The tip of {link} bent by up to {measure(float(abs(moving[k])), 'm')}, at {when:.2f} s"
            if len(after) >= AFTER:
                words += f", and went on swinging by {measure(float(np.ptp(after)), 'm')} after the motion"
            said.append(f"{words} (from the simulated arm).")
        return said

    def _of_encoders(self) -> list[str]:
        return [f"The encoder of {self.run.joints[j]} showed no movement from {since:.2f} s on, while "
                f"the target moved by {measure(went, self.unit(j))}: look at encoder, wires and motor."
                for j, since, went in self.stuck]

    @cached_property
    def saturated(self) -> list[tuple[int, float, str]]:
        """(joint, fraction of the motion, "voltage" or "effort") of motors that reached their limit."""
        run, found = self.run, []
        for j in self.joints:
            for what, reached in (("voltage", np.abs(run.duty[:, j]) >= FULL),
                                  ("effort", np.abs(run.torque[:, j]) >= 0.999 * run.facts["effort"][j])):
                share = float(np.mean(reached[self.moving])) if self.moving.any() else 0.0
                if share > OFTEN:
                    found.append((j, share, what))
        return found

    def _of_saturation(self) -> list[str]:
        most = {"voltage": "had all the voltage that the supply gives",
                "effort": "was asked for all that limits.effort allows"}
        # saturation of these joints follows from an encoder fault or an oscillation
        wrong = {j for j, *_ in [*self.stuck, *self.unseen]} | set(self.oscillating)
        if any(e.what.startswith("fault LOOPS_SINGULAR") for e in self.events):
            wrong = set(self.joints)  # at every speed, the torque grows without bound towards a singular pose
        return [f"The motor of {self.run.joints[j]} {most[what]} for {share:.0%} of the motion: it could do no more; "
                "play the motion slower (`--speed 0.5`)." for j, share, what in self.saturated if j not in wrong]

    @cached_property
    def unjudged(self) -> str:
        """The reason why the feedback's torque says nothing about the model; '' if it does."""
        if self.stuck or self.unseen:
            return "it acted on an encoder that was wrong"
        if self.oscillating:
            return "a loop that oscillates makes its own error"
        if self.saturated:
            return "a motor that can do no more leaves an error"
        if touched := sorted({contact.thing for _, moment in self.run.around for contact in moment.contacts}):
            return f"the arm touched {', '.join(touched)}"
        loose = self.left and all(x.joint in self.within_play for x in self.left)
        return "the backlash of the servos explains it too" if loose else ""

    @cached_property
    def judged(self) -> list[Left]:
        """The residuals that say something about the model."""
        return [] if self.unjudged else [x for x in self.left if x.joint not in self.within_play]

    def _of_model(self) -> list[str]:
        if self.unjudged:
            return [f"The feedback's torque says nothing about the model: {self.unjudged}."]
        known = [x for x in self.judged if x.cause != NOTHING]
        if not known:
            return ["The model's residual follows neither velocity nor acceleration at any joint: it is noise, or too "
                    "small to judge."] if self.judged else []
        worst = max(known, key=lambda x: x.of_peak)
        first = [ZERO_FIRST] if worst.cause in LIKE_A_ZERO else []
        return [*first, f"The model was farthest from the arm at {worst}."]

    def _of_tick(self) -> str:
        worst = int(self.run.scalars["cycles_max"].max())
        if self.run.budget is None:
            return f"The costliest tick of this log took {worst} cycles."
        share = worst / self.run.budget
        return (f"The costliest tick of this log took {worst} of {self.run.budget} cycles, {share:.1%} of its budget "
                "(`femtorque build` prints the bound for all ticks).")

    def _of_stream(self) -> str:
        run = self.run
        fed = self.moving.copy()
        # near the end of a motion the buffer empties, which is no fault
        fed[np.flatnonzero(np.diff(run.scalars["ack"]))[-1:].sum():] = False
        least = f", at least {int(run.scalars['buffered'][fed].min())} knots buffered" if fed.any() else ""
        bad, lost = (int(run.scalars[n][-1] - run.scalars[n][0]) & 0xFFFF for n in ("bad_frames", "out_of_order"))
        gap = float(np.max(np.diff(self.t), initial=0.0))
        words = f"The longest silence of the board was {gap * 1e3:.0f} ms"
        words += f"; {bad} frames came to it damaged" if bad else "; every frame came to it whole"
        words += f", {lost} knots out of order" if lost else ""
        stops = [e for e in self.events if any(why in e.what for why in ("host was silent", *RAN_OUT.values()))]
        often = {1: "once", 2: "twice"}.get(len(stops), f"{len(stops)} times")
        return words + (f"; it stopped on the path {often}." if stops else f"{least}.")


def damage(run: Run) -> str:
    """Return a sentence on the position from which the log cannot be read."""
    return f"The log {run.damage}; the {run.t[-1] - run.t[0]:.2f} s before that are shown."


def measure(value: float, unit: str) -> str:
    """Return a number in a readable unit."""
    factor, shown = readable(abs(value), unit)
    return f"{value * factor:.3g} {shown}"


def _averaged(values: Array) -> Array:
    return np.convolve(values, np.full(SMOOTH, 1.0 / SMOOTH), "valid")


def _scale(run: Run, joint: str, unknown: float = 1.0) -> float:
    """Return a scale on which joints' errors can be compared: one encoder count if known, otherwise one unit."""
    count = float(run.facts["count"][run.joints.index(joint)])
    return count if np.isfinite(count) else unknown


def _because(flags: int, state: str) -> str:
    """Return why the motion of a state ended, as the flags show. '' if unknown."""
    if state not in RAN_OUT:
        return ""
    for name, why in (("ENDED", "the end of the motion"), ("UNDERRUN", RAN_OUT[state]),
                      ("HOST_SILENT", "the host was silent"),
                      ("STOPPED", "stopped by the host")):
        if flags & messages.FLAGS[name][0]:
            return why
    return ""


def named_fault(number: int, joint: int, run: Run) -> str:
    """Return a fault's name, joint, meaning and remedy."""
    for name, (value, meaning, mend) in messages.FAULTS.items():
        if value == number:
            where = f" at joint {run.joints[joint]}" if joint < len(run.joints) else ""
            return f"{name}{where}: {meaning}; {mend}"
    return str(number)


def _merged(events: Sequence[Event]) -> list[Event]:
    """Merge limits or losses of the same kind that are less than a second apart into one event."""
    kept: list[Event] = []
    for event in events:
        same = next((k for k in reversed(kept[-6:]) if k.what.split(" ", 1)[-1] == event.what.split(" ", 1)[-1]
                     and event.bad and event.t - k.t < 1.0 and not event.what.startswith("fault")), None)
        if same is None:
            kept.append(event)
    return kept
