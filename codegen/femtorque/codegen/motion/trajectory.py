"""Trajectories: rows of a file, quintic polynomials between them, knots for the serial protocol. formats.py reads
formats other than CSV.

The columns are `t` in s from 0, one column of positions per moving joint (rad or m), and optionally `<joint>.vel` and
`<joint>.acc`. Dependent joints of closed loops have no columns. If the mechanism has modes, the column `mode` names the
mode from each row on. With velocities and accelerations, each piece is the quintic Hermite polynomial between two rows.
With positions alone, the pieces form a quintic spline that is at rest at both ends. The spline's derivatives up to the
fourth are continuous.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from femtorque.codegen.common import Array, BadInput, hint, read_text, shown
from femtorque.codegen.mechanism import Joint, Mechanism
from femtorque.codegen.motion import formats, recorded
from femtorque.codegen.wire import to_float, to_wire

LARGEST_FILE = 2**27  # bytes
MANY = 10  # minimum number of rows for a guess that integer times have another unit
USUAL = {False: 10.0, True: 1.0}  # assumed velocity limit of a joint without a limit, rad/s or m/s
LONGEST = 1e5  # maximum duration of a motion, s; a larger number is probably not in seconds
REST_VELOCITY = 1e-6  # velocity below which a joint counts as at rest, rad/s or m/s
IMPOSSIBLE_RATE = 100.0  # velocity above which the step between two rows is a jump, rad/s or m/s
SAMPLES = 8  # limit checks per piece
MODE = "mode"  # the column with the names of modes
UNWRAP = "unwrap the angle: whole turns must stay in it"
PRISMATIC_RANGE = 8.0  # position range of the emitted step on each side of zero, m


@dataclass(frozen=True)
class Trajectory:
    """A motion, given at its rows: times (R,) s; positions, velocities, accelerations (R, J), joints in the mechanism's
    order. modes: (time, name) of the first mode and of every switch; empty if the file names no modes.
    """

    joints: tuple[str, ...]
    times: Array
    positions: Array
    velocities: Array
    accelerations: Array
    source: Path | None = None
    modes: tuple[tuple[float, str], ...] = ()

    def __repr__(self) -> str:
        return f"<Trajectory: {', '.join(self.joints)}; {len(self.times)} rows, {self.duration:g} s>"

    @staticmethod
    def load(path: str | Path, mechanism: Mechanism) -> Trajectory:
        """Read and check a file: CSV, NPZ, ROS 2 JointTrajectory as YAML, JSON or MCAP, or the MCAP log of a run.

        A log can be converted to a motion (femtorque.codegen.motion.recorded). Raise BadInput with one line.
        """
        path = Path(path)
        if path.suffix.lower() in formats.READERS:
            trajectory = _imported(path, formats.read(path), mechanism)
        else:
            trajectory = _csv(path, mechanism)
        check_limits(trajectory, mechanism)
        _check_seconds(path, trajectory, mechanism)
        return trajectory

    @staticmethod
    def of(mechanism: Mechanism, times: ArrayLike, positions: ArrayLike, velocities: ArrayLike | None = None,
           accelerations: ArrayLike | None = None) -> Trajectory:
        """Return a trajectory from arrays: times (R,) s from 0; positions (R, J) rad or m. Joints are in the order of
        `mechanism.streamed`. Velocities and accelerations are (R, J). Without velocities and
        accelerations, the motion is the quintic spline that is at rest at both ends. Raise BadInput under the same
        conditions as `load`.
        """
        return _of_arrays(mechanism, times, positions, velocities, accelerations)

    def save(self, path: str | Path, force: bool = False) -> None:
        """Write the rows as .csv or .npz.

        Raise BadInput if the suffix is unknown, if a motion with modes has the suffix .npz, or if the file exists.
        force: replace an existing motion file.
        """
        begins = [t - 1e-9 for t, _ in self.modes]
        modes = [self.modes[i - 1][1] for i in np.searchsorted(begins, self.times, "right")] if self.modes else []
        formats.write(Path(path), self.joints, self.times, self.positions, self.velocities, self.accelerations,
                               modes, force)

    def faster(self, factor: float) -> Trajectory:
        """Return a motion along the same path that is `factor` times as fast."""
        return replace(self, times=self.times / factor, velocities=self.velocities * factor,
                       accelerations=self.accelerations * factor**2,
                       modes=tuple((t / factor, name) for t, name in self.modes))

    @property
    def duration(self) -> float:
        """Return the time from the first row to the last, s."""
        return float(self.times[-1])

    @property
    def starts_at_rest(self) -> bool:
        """Return True if no joint moves at the first row."""
        return bool(np.all(np.abs(self.velocities[0]) <= REST_VELOCITY))

    @property
    def ends_at_rest(self) -> bool:
        """Return True if no joint moves at the last row."""
        return bool(np.all(np.abs(self.velocities[-1]) <= REST_VELOCITY))

    def at(self, t: ArrayLike) -> tuple[Array, Array, Array]:
        """Return position, velocity and acceleration, each (..., J), at times t (...).

        Outside [0, duration], a motion that ends at rest stays at its end position. Outside a motion without rest at
        its ends, the first and last polynomial pieces continue.
        """
        t = np.asarray(t, float)
        q, qd, qdd = self._along_pieces(t)
        if self.starts_at_rest:
            q, qd, qdd = _held(t < 0.0, self.positions[0], q, qd, qdd)
        if self.ends_at_rest:
            q, qd, qdd = _held(t > self.duration, self.positions[-1], q, qd, qdd)
        return q, qd, qdd

    def middles(self, ticks: int, dt: float) -> Array:
        """Return positions (ticks + 2, J) at the middles s_-1 .. s_N of ticks of length dt, s, with s_k = (k + 1/2) dt.

        The first and the last of these times are outside the motion. There the end pieces continue, even if the motion
        begins or ends at rest. The chip extrapolates in this way too. If the position were constant there, the momentum
        of the first tick would have an error of M jerk dt^2 / 24, and the torque an error of this value divided by dt.
        """
        return self._along_pieces((np.arange(ticks + 2, dtype=float) - 0.5) * dt)[0]

    def _along_pieces(self, t: Array) -> tuple[Array, Array, Array]:
        """Return the values of `at`. Outside [0, duration] the first and last pieces continue."""
        i = np.clip(np.searchsorted(self.times, t, "right") - 1, 0, len(self.times) - 2)
        x = (t - self.times[i])[..., None]
        c0, c1, c2, c3, c4, c5 = np.moveaxis(self._pieces[i], -2, 0)
        q = c0 + x * (c1 + x * (c2 + x * (c3 + x * (c4 + x * c5))))
        qd = c1 + x * (2 * c2 + x * (3 * c3 + x * (4 * c4 + x * 5 * c5)))
        qdd = 2 * c2 + x * (6 * c3 + x * (12 * c4 + x * 20 * c5))
        return q, qd, qdd

    @cached_property
    def _pieces(self) -> Array:
        """Return coefficients (R-1, 6, J) of the quintic polynomials in the time since the previous row, lowest power
        first."""
        h = np.diff(self.times)[:, None]
        q0, v0, a0 = self.positions[:-1], self.velocities[:-1], self.accelerations[:-1]
        q1, v1, a1 = self.positions[1:], self.velocities[1:], self.accelerations[1:]
        # remainders at the end of the piece, each multiplied by its power of h
        q = (q1 - q0) - h * (v0 + h * a0 / 2)
        v = (v1 - v0 - h * a0) * h
        a = (a1 - a0) * h * h
        c3 = (10 * q - 4 * v + a / 2) / h**3
        c4 = (-15 * q + 7 * v - a) / h**4
        c5 = (6 * q - 3 * v + a / 2) / h**5
        return np.stack([q0, v0, a0 / 2, c3, c4, c5], axis=1)


def _held(where: NDArray[np.bool_], position: Array, q: Array, qd: Array, qdd: Array) -> tuple[Array, Array, Array]:
    where = where[..., None]
    return np.where(where, position, q), np.where(where, 0.0, qd), np.where(where, 0.0, qdd)


@dataclass(frozen=True)
class Knots:
    """Knots of the serial protocol: position (N, J) int64 in wire units, velocity and acceleration (N, J) float32 in SI
    units."""

    position: NDArray[np.int64]
    rate: NDArray[np.float32]
    acceleration: NDArray[np.float32]
    mode: NDArray[np.uint8] | None = None  # (N,): number of the mode from each knot on; None for the first mode

    def __len__(self) -> int:
        return len(self.position)


def knots(trajectory: Trajectory, mechanism: Mechanism) -> Knots:
    """Return a knot every 1/knot_hz s, beginning at t = 0. The last knot, at the end of the motion or just after it, is
    at rest."""
    hz = mechanism.control.knot_hz
    count = int(np.ceil(trajectory.duration * hz - 1e-6)) + 1
    q, qd, qdd = trajectory.at(np.arange(count) / hz)
    q[-1], qd[-1], qdd[-1] = trajectory.positions[-1], 0.0, 0.0
    joints, file = mechanism.streamed, str(trajectory.source or "trajectory")
    return Knots(to_wire(q, joints, file, "position"), to_float(qd, joints, file, "velocity"),
                 to_float(qdd, joints, file, "acceleration"), _knot_modes(trajectory, mechanism, count))


def _knot_modes(trajectory: Trajectory, mechanism: Mechanism, count: int) -> NDArray[np.uint8] | None:
    """Return the number of the mode from each knot on. Raise BadInput if a change of mode is not at a knot."""
    if not trajectory.modes:
        return None
    hz, names = mechanism.control.knot_hz, [mode.name for mode in mechanism.modes]
    modes = np.zeros(count, np.uint8)
    for t, name in trajectory.modes:
        knot = round(t * hz)
        if abs(knot - t * hz) > 1e-6 * hz:
            raise BadInput(trajectory.source or "trajectory", f"mode {name} at t = {t:g} s", None,
                           f"modes are switched at knots, every {1.0 / hz:g} s", f"nearest: {knot / hz:g} s")
        modes[knot:] = names.index(name)
    return modes


def from_rows(joints: Sequence[str], times: ArrayLike, positions: ArrayLike, velocities: ArrayLike | None = None,
              accelerations: ArrayLike | None = None, source: Path | None = None) -> Trajectory:
    """Return the trajectory through rows: times (R,) from 0; positions (R, J); both velocities and accelerations (R,
    J), or neither."""
    t, q = np.asarray(times, float), np.asarray(positions, float)
    if velocities is None or accelerations is None:
        velocities, accelerations = _spline(t, q)
    return Trajectory(tuple(joints), t, q, np.asarray(velocities, float), np.asarray(accelerations, float), source)


def _spline(t: Array, q: Array) -> tuple[Array, Array]:
    """Return velocities and accelerations at the rows of the quintic spline that is at rest at both ends."""
    from scipy.interpolate import make_interp_spline  # noqa: PLC0415 (0.1 s, and few need it)

    rest = [(1, np.zeros(q.shape[1:])), (2, np.zeros(q.shape[1:]))]
    spline = make_interp_spline(t, q, k=5, bc_type=(rest, rest))
    return spline(t, 1), spline(t, 2)


# ---- the file


def _check_seconds(path: Path, trajectory: Trajectory, mechanism: Mechanism) -> None:
    """Refuse integer times if the motion would satisfy every velocity limit at a thousand times the speed. The unit of
    the times is then probably milliseconds.
    """
    t = trajectory.times
    if len(t) < MANY or np.any(t != np.rint(t)):
        return
    usual = np.array([USUAL[joint.type == "prismatic"] for joint in mechanism.streamed])
    most = np.minimum([joint.limits.velocity for joint in mechanism.streamed], usual)
    share = float(np.max(np.abs(np.diff(trajectory.positions, axis=0)) / np.diff(t)[:, None] / most))
    if 0.0 < share < 1e-3:
        raise BadInput(path, "column t", float(t[-1]), f"is in s, and these look like milliseconds: no joint comes to "
                       f"{1e3 * share:.2g} thousandths of its velocity limit", "divide the column by 1000")


def _of_arrays(mechanism: Mechanism, times: ArrayLike, positions: ArrayLike, velocities: ArrayLike | None,
               accelerations: ArrayLike | None) -> Trajectory:
    """Apply the checks for the rows of a file to arrays."""
    given: dict[str, ArrayLike | None] = {"positions": positions, "velocities": velocities,
                                          "accelerations": accelerations}
    t, source = np.asarray(times, float), Path("trajectory")
    arrays = {name: np.asarray(x, float) for name, x in given.items() if x is not None}
    if t.ndim != 1 or len(t) < 2:
        raise BadInput(source, "times", f"shape {t.shape}", "must be (R,), at least two", "one per row, in s from 0")
    if velocities is None and accelerations is not None:
        raise BadInput(source, "velocities", None, "is missing: accelerations need velocities")
    names = [joint.name for joint in mechanism.streamed]
    for name, x in arrays.items():
        if x.shape != (len(t), len(names)):
            raise BadInput(source, name, f"shape {x.shape}", f"must be {(len(t), len(names))}, a row for every time",
                           f"columns: {', '.join(names)}")
    for name, x in {"times": t, **arrays}.items():
        if not np.all(np.abs(x) <= 1e9):
            raise BadInput(source, name, None, "must be finite numbers, at most 1e9")
    rows = formats.Rows((), t, arrays["positions"], arrays.get("velocities"), arrays.get("accelerations"))
    made = replace(_imported(source, rows, mechanism), source=None)
    check_limits(made, mechanism)
    return made


def _imported(path: Path, rows: formats.Rows, mechanism: Mechanism) -> Trajectory:
    """Return a trajectory of rows. The columns are matched by name, or have the mechanism's order."""
    wanted = [joint.name for joint in mechanism.streamed]
    names = _here(rows.joints, mechanism) or wanted
    for name in names:
        if name not in wanted or names.count(name) > 1:
            rule = "is named twice" if name in wanted else "no such moving joint"
            raise BadInput(path, "joints", shown(name), rule, "" if name in wanted else hint(name, wanted, "joints"))
    if len(names) != rows.q.shape[1] or len(names) != len(wanted):
        missing = ", ".join(name for name in wanted if name not in names) or f"{len(wanted)} columns"
        raise BadInput(path, "joints", None, f"{rows.q.shape[1]} are there, {len(wanted)} move", f"missing: {missing}")
    lines = list(range(1, len(rows.t) + 1))
    _check_times(path, rows.t, lines, "row")
    order = [names.index(name) for name in wanted]
    if rows.desired is not None:
        record = recorded.Recording(rows.t, rows.q[:, order], rows.desired[:, order], rows.states)
        return from_rows(wanted, *recorded.motion(path, record, mechanism.streamed), path)
    q = rows.q[:, order]
    for j, joint in enumerate(mechanism.streamed):
        _check_jumps(path, joint, rows.t, q[:, j], lines, "row")
    if rows.qd is None:
        return from_rows(wanted, rows.t, q, source=path)
    qd = rows.qd[:, order]
    qdd = formats.cubic_accelerations(rows.t, q, qd) if rows.qdd is None else rows.qdd[:, order]
    return from_rows(wanted, rows.t, q, qd, qdd, path)


def _here(columns: Sequence[str], mechanism: Mechanism) -> list[str]:
    """Return names of columns, in which the mechanism's names replace a URDF's names of joints."""
    names = {joint.called + end: joint.name + end for joint in mechanism.joints for end in ("", ".vel", ".acc")}
    return [column if column in ("t", MODE) else names.get(column, column) for column in columns]


def _csv(path: Path, mechanism: Mechanism) -> Trajectory:
    """Return the trajectory of a CSV file."""
    header, rows = _cells(path)
    header = _here(header, mechanism)
    columns = _columns(path, header, mechanism)
    if len(rows) < 2:
        raise BadInput(path, "rows", len(rows), "at least two rows are needed", "one per time, from rest to rest")
    lines = [line for line, _ in rows]
    modes = _modes(path, rows, columns.pop(MODE), mechanism) if MODE in columns else []
    table = np.array([_numbers(path, line, header, cells) for line, cells in rows])
    t = table[:, columns["t"]]
    _check_times(path, t, lines)
    n = len(mechanism.streamed)
    q, qd, qdd = np.empty((len(t), n)), np.empty((len(t), n)), np.empty((len(t), n))
    for j, joint in enumerate(mechanism.streamed):
        q[:, j] = table[:, columns[joint.name]]
        _check_jumps(path, joint, t, q[:, j], lines)
        vel, acc = (columns.get(f"{joint.name}.{what}") for what in ("vel", "acc"))
        if vel is None:
            qd[:, j], qdd[:, j] = _spline(t, q[:, j])
            continue
        one = slice(j, j + 1)
        qd[:, j] = table[:, vel]
        qdd[:, one] = formats.cubic_accelerations(t, q[:, one], qd[:, one]) if acc is None else table[:, [acc]]
    switches = tuple((float(t[i]), name) for i, name in enumerate(modes) if i == 0 or name != modes[i - 1])
    return replace(from_rows([j.name for j in mechanism.streamed], t, q, qd, qdd, path), modes=switches)


def _cells(path: Path) -> tuple[list[str], list[tuple[int, list[str]]]]:
    """Return the header and every row that is not blank, with its line number."""
    reader = csv.reader(io.StringIO(read_text(path, LARGEST_FILE, ".csv"), newline=""), strict=True)
    try:
        rows = [(reader.line_num, cells) for cells in reader if any(cell.strip() for cell in cells)]
    except csv.Error as error:
        raise BadInput(path, f"line {reader.line_num}", None, f"is not CSV: {error}") from None
    if not rows:
        raise BadInput(path, "file", None, "is empty", "a header 't,<joint>,...' and rows are needed")
    return [cell.strip() for cell in rows[0][1]], rows[1:]


def _numbers(path: Path, line: int, header: list[str], cells: list[str]) -> list[float]:
    if len(cells) != len(header):
        raise BadInput(path, f"line {line}", None, f"has {len(cells)} cells, the header has {len(header)}")
    row = []
    for name, cell in zip(header, cells, strict=True):
        if name == MODE:
            row.append(np.nan)  # a name, no number
            continue
        try:
            number = float(cell)
        except ValueError:
            raise BadInput(path, f"line {line}, column {name}", shown(cell), "must be a number") from None
        if not abs(number) <= 1e9:
            raise BadInput(path, f"line {line}, column {name}", number, "must be a finite number, at most 1e9",
                           "subtract the first time from all times" if name == "t" and number > 1e9 else "")
        row.append(number)
    return row


def _modes(path: Path, rows: list[tuple[int, list[str]]], place: int, mechanism: Mechanism) -> list[str]:
    """Return the mode of every row."""
    names = [mode.name for mode in mechanism.modes]
    modes = []
    for line, cells in rows:
        name = cells[place].strip() if place < len(cells) else ""
        if name not in names:
            raise BadInput(path, f"line {line}, column {MODE}", shown(name), "no such mode", hint(name, names, "modes"))
        modes.append(name)
    return modes


def _columns(path: Path, header: list[str], mechanism: Mechanism) -> dict[str, int]:
    """Return the index of every column. Each streamed joint must have a column. A column .acc requires the column .vel.
    """
    joints = [j.name for j in mechanism.streamed]
    known = ["t", *([MODE] if mechanism.modes else []), *joints,
             *(f"{j}.{what}" for j in joints for what in ("vel", "acc"))]
    if len(header) == 1 and ";" in header[0]:
        raise BadInput(path, "line 1", shown(header[0]), "columns must be separated by commas")
    if all(_is_number(name) for name in header):
        raise BadInput(path, "line 1", shown(",".join(header)), "must name the columns", f"t,{','.join(joints)}")
    columns: dict[str, int] = {}
    if "t" not in header:
        near = next((name for name in header if re.match(r"(?i)t(ime)?(_|$)|s(ec(onds)?)?$", name)), None)
        raise BadInput(path, "column t", None, "is missing (time, s)", f"call column {near!r} t, in s" if near else
                       "`femtorque plan` finds the times of waypoints"
                       if path.suffix == ".toml" or {*joints, "x"} & {*header} else f"columns: {','.join(header)[:80]}")
    for place, name in enumerate(header):
        if name in columns:
            raise BadInput(path, f"column {place + 1}", shown(name), "is named twice")
        if name not in known:
            rule = "no such moving joint"
            if any(j.name == name.split(".")[0] for j in mechanism.joints):
                rule = "the joint is fixed or locked and has no column"
            if any(j.name == name.split(".")[0] for j in mechanism.moving):
                rule = "the joint is not actuated: loops move it, and it has no column"
            raise BadInput(path, f"column {place + 1}", shown(name), rule, hint(name, known, "columns"))
        columns[name] = place
    for joint in joints:
        if joint not in columns:
            raise BadInput(path, f"column {joint}", None, "is missing (joint position)",
                           f"columns: {','.join(header)[:80]}")
    for joint in joints:
        if f"{joint}.acc" in columns and f"{joint}.vel" not in columns:
            raise BadInput(path, f"column {joint}.vel", None, "is missing: accelerations need velocities")
    return columns


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _check_times(path: Path, t: Array, lines: list[int], line: str = "line") -> None:
    if t[0] != 0.0:
        raise BadInput(path, f"{line} {lines[0]}, column t", float(t[0]), "time must start at 0",
                       f"subtract {t[0]:g} from the column")
    if t[-1] > LONGEST:
        raise BadInput(path, f"{line} {lines[-1]}, column t", float(t[-1]),
                       f"a motion takes at most {LONGEST:g} s, a day",
                       "t is in seconds")
    for i in np.flatnonzero(np.diff(t) <= 0.0)[:1]:
        rule = "is there twice" if t[i + 1] == t[i] else f"comes after {t[i]:g}: times must increase"
        raise BadInput(path, f"{line} {lines[i + 1]}, column t", float(t[i + 1]), rule,
                       "" if np.any(t) else "all times are 0: let MoveIt parameterise the plan's time first")
    for i in np.flatnonzero(np.diff(t) < 1e-6)[:1]:
        raise BadInput(path, f"{line} {lines[i + 1]}, column t", float(t[i + 1]),
                       f"is only {t[i + 1] - t[i]:.1e} s after the row before; at least 1e-6 s is needed")


def _check_jumps(path: Path, joint: Joint, t: Array, q: Array, lines: list[int], line: str = "line") -> None:
    step, h = np.diff(q), np.diff(t)
    wraps = _wraps(t, q, joint)
    for i in np.flatnonzero((np.abs(step) > IMPOSSIBLE_RATE * h) | wraps)[:1]:
        unit = "m" if joint.type == "prismatic" else "rad"
        raise BadInput(path, f"{line} {lines[i + 1]}, column {joint.name}", float(q[i + 1]),
                       f"jumps by {step[i]:.4g} {unit} in {h[i]:.4g} s",
                       UNWRAP if wraps[i] else _as_degrees(q[:, None], [joint]))


def _wraps(t: Array, q: Array, joint: Joint) -> NDArray[np.bool_]:
    """Return (R-1,): True for each step of a revolute joint that exceeds half a turn because its angle wraps.

    A step is a wrap if its remainder modulo whole turns is small and its rate is impossible. A step is also a wrap if
    its remainder continues a neighbouring step.
    """
    step, h = np.diff(q), np.diff(t)
    rest = step - 2 * np.pi * np.round(step / (2 * np.pi))
    padded = np.pad(step / h, 1, constant_values=np.nan)
    alike = [np.abs(rest / h - beside) < 0.5 * np.abs(beside) for beside in (padded[:-2], padded[2:])]
    impossible = (np.abs(step) > IMPOSSIBLE_RATE * h) & (np.abs(rest) < 0.2 * np.pi)
    return (joint.type != "prismatic") & (np.abs(step) > np.pi) & (impossible | alike[0] | alike[1])


def check_limits(trajectory: Trajectory, mechanism: Mechanism) -> None:
    """Check positions, velocities and accelerations against the joints' limits, at and between the rows. Raise BadInput
    that reports the largest violation."""
    times = trajectory.times
    inner = times[:-1, None] + np.diff(times)[:, None] * (np.arange(SAMPLES) / SAMPLES)
    t = np.append(inner.ravel(), times[-1])
    q, qd, qdd = trajectory.at(t)
    degrees, apart = _as_degrees(q, mechanism.streamed), _apart(trajectory)
    for j, joint in enumerate(mechanism.streamed):
        limits, name = joint.limits, joint.name
        slack = 1e-9
        turned = _maybe_wrapped(trajectory, j, joint)
        high, low = q[:, j] - limits.upper - slack, limits.lower - slack - q[:, j]
        _worst(trajectory, name, "position", t, q[:, j], high, "upper", limits.upper, degrees, turned)
        _worst(trajectory, name, "position", t, q[:, j], low, "lower", limits.lower, degrees, turned)
        fast = np.abs(qd[:, j]) - limits.velocity * (1.0 + 1e-6)
        _worst(trajectory, name, "rate", t, qd[:, j], fast, "velocity", limits.velocity, between=turned or apart)
        hard = np.abs(qdd[:, j]) - limits.acceleration * (1.0 + 1e-6)
        _worst(trajectory, name, "acceleration", t, qdd[:, j], hard, "acceleration", limits.acceleration,
               between=turned or apart)


def _worst(trajectory: Trajectory, joint: str, what: str, t: Array, values: Array, excess: Array, limit: str,
           bound: float, why: str = "", between: str = "") -> None:
    i = int(np.argmax(excess))
    if excess[i] > 0.0:
        only_between = excess[::SAMPLES].max() <= 0.0  # every SAMPLES-th is a row
        raise BadInput(trajectory.source or "trajectory", f"{joint} at t = {t[i]:.6g} s", float(f"{values[i]:.6g}"),
                       f"{what} is outside limits.{limit} = {bound:g}",
                       between or "only between the rows: space them more evenly or closely" if only_between else why)


def _maybe_wrapped(trajectory: Trajectory, j: int, joint: Joint) -> str:
    """Return the hint for a revolute joint with a step of more than half a turn."""
    step = np.diff(trajectory.positions[:, j])
    for i in np.flatnonzero(np.abs(step) > np.pi)[:1] if joint.type != "prismatic" else ():
        return (f"it steps by {step[i]:.4g} rad at t = {trajectory.times[i + 1]:.6g} s: if the angle wraps there, "
                "unwrap it")
    return ""


def _apart(trajectory: Trajectory) -> str:
    """Return a hint about velocities that are inconsistent with the positions."""
    change = np.diff(trajectory.positions, axis=0) / np.diff(trajectory.times)[:, None]
    said = (trajectory.velocities[1:] + trajectory.velocities[:-1]) / 2.0
    whole = float(np.sum(said * said))
    times = float(np.sum(change * said)) / whole if whole > 0.0 else 1.0
    if 0.5 <= times <= 2.0:
        return ""
    return f"the positions change {times:.2g} times as fast as the velocities say: t is in s, velocities per s"


def _as_degrees(q: Array, joints: Sequence[Joint]) -> str:
    """Return a hint that positions are probably in degrees, if they exceed a turn, but satisfy the limits when read as
    degrees. q (R, J).
    """
    turning = [(j, joint.limits) for j, joint in enumerate(joints) if joint.type != "prismatic"]
    if not turning or max(np.abs(q[:, j]).max() for j, _ in turning) < 2.0 * np.pi:
        return ""
    small = np.deg2rad(q)
    if all(limits.lower <= small[:, j].min() and small[:, j].max() <= limits.upper for j, limits in turning):
        return "angles are in rad, these look like degrees: multiply by pi/180"
    return ""


def check_streamable(trajectory: Trajectory, mechanism: Mechanism) -> None:
    """Check that a motion starts and ends at rest and moves by less than a quarter turn per knot. Raise BadInput."""
    source = trajectory.source or "trajectory"
    for place, time, velocities in (("start", 0.0, trajectory.velocities[0]),
                                    ("end", trajectory.duration, trajectory.velocities[-1])):
        for j in np.flatnonzero(np.abs(velocities) > REST_VELOCITY)[:1]:
            raise BadInput(source, f"{trajectory.joints[j]}.vel at t = {time:g} s", float(velocities[j]),
                           f"a streamed motion must {place} at rest", "lead in and out of it, or plan it again")
    period = 1.0 / mechanism.control.knot_hz
    if trajectory.duration < period:
        raise BadInput(source, "duration", trajectory.duration, f"is shorter than one knot period, {period:g} s")
    t = np.arange(int(np.ceil(trajectory.duration / period - 1e-6)) + 1) * period
    q, _, _ = trajectory.at(t)
    for j, joint in enumerate(mechanism.streamed):
        if joint.type == "prismatic":
            for i in np.flatnonzero(np.abs(q[:, j]) >= PRISMATIC_RANGE)[:1]:
                raise BadInput(source, f"{joint.name} at t = {t[i]:g} s", float(q[i, j]),
                               f"must be within {PRISMATIC_RANGE:g} m of zero, as far as the step counts")
        else:
            for i in np.flatnonzero(np.abs(np.diff(q[:, j])) > np.pi / 2)[:1]:
                raise BadInput(source, f"{joint.name} at t = {t[i + 1]:g} s", float(q[i + 1, j]),
                               "moves by more than a quarter turn in one knot period", "raise control.knot_hz")
