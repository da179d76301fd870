"""Tests of trajectories: polynomials between the rows, knots in messages, and the line that refuses a faulty file."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from scipy.interpolate import BPoly

from femtorque.codegen.common import BadInput
from femtorque.codegen.mechanism import Limits, Mechanism, load_mechanism
from femtorque.codegen.motion.trajectory import Trajectory, check_streamable, from_rows, knots
from femtorque.codegen.wire import from_wire
from femtorque.codegen.wire.units import TURN_UNIT

MECHANISMS = Path(__file__).resolve().parents[3] / "mechanisms"


@pytest.fixture(scope="module")
def arm() -> Mechanism:
    return load_mechanism(MECHANISMS / "three_link.toml")


def written(tmp_path: Path, text: str | bytes) -> Path:
    path = tmp_path / "motion.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def refusal(path: Path, arm: Mechanism, check: Callable[[Trajectory, Mechanism], None] | None = None) -> str:
    with pytest.raises(BadInput) as caught:
        trajectory = Trajectory.load(path, arm)
        if check:
            check(trajectory, arm)
    line = str(caught.value)
    assert "\n" not in line and line.startswith(f"{path}: "), line
    return line.removeprefix(f"{path}: ")


# ---- between the rows


def test_rows_with_rates_and_accelerations_are_joined_by_quintic_hermites() -> None:
    rng = np.random.default_rng(1)
    t = np.array([0.0, 0.3, 0.35, 1.1])
    q, qd, qdd = rng.normal(size=(3, 4, 2))
    trajectory = from_rows(["a", "b"], t, q, qd, qdd)
    exact = BPoly.from_derivatives(t, np.stack([q, qd, qdd], axis=1))
    s = np.linspace(-0.01, 1.11, 301)  # includes times outside the motion, which has velocities at its ends
    for order, got in enumerate(trajectory.at(s)):
        np.testing.assert_allclose(got, exact(s, order), rtol=1e-9, atol=1e-9 * 10**order)


def test_positions_only_rest_at_both_ends_and_have_continuous_jerk() -> None:
    t = np.array([0.0, 0.4, 0.5, 1.3, 2.0])
    q = np.array([0.0, 0.2, 0.4, 1.1, 0.7])[:, None]
    trajectory = from_rows(["a"], t, q)
    for end in (0.0, 2.0):
        _, qd, qdd = trajectory.at(end)
        assert abs(qd[0]) < 1e-12 and abs(qdd[0]) < 1e-9
    np.testing.assert_allclose(trajectory.at(t)[0], q, atol=1e-14)
    h = 1e-5
    for row in t[1:-1]:
        (before, at, after) = trajectory.at(np.array([row - h, row, row + h]))[2][:, 0]
        assert abs((after - at) - (at - before)) / h < 1e-4 * max(abs(after - before) / h, 1.0) + 0.05


def test_two_positions_give_the_minimum_jerk_motion() -> None:
    s = np.linspace(0.0, 2.0, 41)
    q, qd, _ = from_rows(["a"], [0.0, 2.0], [[1.0], [4.0]]).at(s)
    x = s / 2.0
    np.testing.assert_allclose(q[:, 0], 1.0 + 3.0 * (10 * x**3 - 15 * x**4 + 6 * x**5), atol=1e-13)
    np.testing.assert_allclose(qd[:, 0], 1.5 * (30 * x**2 - 60 * x**3 + 30 * x**4), atol=1e-12)


def test_a_motion_at_rest_is_held_outside_its_time(arm: Mechanism) -> None:
    trajectory = Trajectory.load(MECHANISMS / "three_link.csv", arm)
    q, qd, qdd = trajectory.at([-1.0, -1e-9, 3.0 + 1e-9, 5.0])
    np.testing.assert_array_equal(q, trajectory.positions[[0, 0, -1, -1]])
    assert not qd.any() and not qdd.any()


def test_times_of_any_shape_are_taken(arm: Mechanism) -> None:
    trajectory = Trajectory.load(MECHANISMS / "three_link.csv", arm)
    assert trajectory.at(0.5)[0].shape == (3,) and trajectory.at(np.zeros((4, 2)))[1].shape == (4, 2, 3)


# ---- reading


def test_columns_may_come_in_any_order(arm: Mechanism, tmp_path: Path) -> None:
    path = written(tmp_path, "\ufeffwrist, t ,elbow,shoulder\n0.3,0,0.2,0.1\n\n0.4,1,0.3,0.2\n")
    trajectory = Trajectory.load(path, arm)
    assert trajectory.joints == ("shoulder", "elbow", "wrist") and trajectory.duration == 1.0
    np.testing.assert_array_equal(trajectory.positions, [[0.1, 0.2, 0.3], [0.2, 0.3, 0.4]])


def test_one_joint_may_give_rates_and_the_others_not(arm: Mechanism, tmp_path: Path) -> None:
    path = written(tmp_path, "t,shoulder,elbow,elbow.vel,elbow.acc,wrist\n0,0,0,0.5,0,0\n1,0.1,0.5,0.5,0,0.1\n")
    trajectory = Trajectory.load(path, arm)
    np.testing.assert_allclose(trajectory.at(0.25)[0][1], 0.125, atol=1e-14)
    np.testing.assert_array_equal(trajectory.velocities[:, 0], 0.0)


# ---- knots


def test_knots_are_the_trajectory_at_knot_hz(arm: Mechanism) -> None:
    trajectory = Trajectory.load(MECHANISMS / "three_link.csv", arm)
    k = knots(trajectory, arm)
    assert len(k) == 751
    assert (k.position.dtype, k.rate.dtype, k.acceleration.dtype) == (np.int64, np.float32, np.float32)
    q, qd, qdd = trajectory.at(np.arange(751) / 250.0)
    np.testing.assert_allclose(from_wire(k.position, arm.moving), q, rtol=0.0, atol=0.51 * TURN_UNIT)
    np.testing.assert_array_equal(k.rate[:-1], qd[:-1].astype(np.float32))
    np.testing.assert_array_equal(k.acceleration[:-1], qdd[:-1].astype(np.float32))


def test_the_last_knot_is_at_rest_at_or_after_the_end(arm: Mechanism) -> None:
    for duration, count in ((1.0, 251), (1.001, 252), (0.9999999999, 251)):
        q = np.zeros((3, 3))
        q[:, 0] = [0.0, 0.3, 0.5]
        k = knots(from_rows(["shoulder", "elbow", "wrist"], [0.0, 0.5, duration], q), arm)
        assert len(k) == count
        assert k.position[-1, 0] == round(0.5 / TURN_UNIT) and not k.rate[-1].any() and not k.acceleration[-1].any()


# ---- bad files

GOOD = "t,shoulder,elbow,wrist\n0,0,0,0\n0.5,0.1,0.1,0.1\n1,0.2,0.2,0.2\n"

BAD = {
    "empty": ("", r"^file: is empty"),
    "one row": ("t,shoulder,elbow,wrist\n0,0,0,0\n", r"^rows = 1: at least two rows are needed"),
    "no header": ("0,0,0,0\n1,0.1,0.1,0.1\n", r"^line 1 = '0,0,0,0': must name the columns; t,shoulder,elbow,wrist$"),
    "semicolons": (GOOD.replace(",", ";"), r"^line 1 = .*: columns must be separated by commas$"),
    "no time": (GOOD.replace("t,", "elbow.vel,", 1), r"^column t: is missing \(time, s\)"),
    "missing joint": ("t,shoulder,elbow\n0,0,0\n1,0,0\n",
                      r"^column wrist: is missing \(joint position\); columns: t,shoulder"),
    "unknown joint": (GOOD.replace("wrist", "wirst"),
                      r"^column 4 = 'wirst': no such moving joint; did you mean 'wrist'\?$"),
    "column twice": (GOOD.replace("wrist", "elbow"), r"^column 4 = 'elbow': is named twice$"),
    "acceleration without rate": (
        GOOD.replace("wrist\n", "wrist,wrist.acc\n").replace("0\n", "0,0\n", 1)
        .replace(".1\n", ".1,0\n").replace(".2\n", ".2,0\n"),
        r"^column wrist\.vel: is missing: accelerations need velocities$"),
    "time by another name": (GOOD.replace("t,", "time,", 1), r"^column t: is missing .*; call column 'time' t, in s$"),
    "seconds since 1970": (GOOD.replace("\n0,", "\n1764300000,"),
                           r"^line 2, column t = 17643\d+\.0: must be .* at most 1e9; subtract the first time"),
    "not a number": (GOOD.replace("0.5,0.1,", "0.5,abc,"), r"^line 3, column shoulder = 'abc': must be a number$"),
    "empty cell": (GOOD.replace("0.5,0.1,", "0.5,,"), r"^line 3, column shoulder = '': must be a number$"),
    "nan": (GOOD.replace("0.5,0.1,", "0.5,nan,"), r"^line 3, column shoulder = nan: must be a finite number"),
    "short row": (GOOD.replace(",0.1\n", "\n"), r"^line 3: has 3 cells, the header has 4$"),
    "long row": (GOOD.replace(",0.1\n", ",0.1,7\n"), r"^line 3: has 5 cells, the header has 4$"),
    "late start": (GOOD.replace("\n0,", "\n0.25,"), r"^line 2, column t = 0\.25: time must start at 0; subtract 0\.25"),
    "time twice": (GOOD.replace("\n1,", "\n0.5,"), r"^line 4, column t = 0\.5: is there twice$"),
    "no times": ("t,shoulder,elbow,wrist\n0,0,0,0\n0,0.1,0,0\n", r"^line 3, column t = 0\.0: is there twice; all t"),
    "time goes back": (GOOD.replace("\n1,", "\n0.4,"),
                       r"^line 4, column t = 0\.4: comes after 0\.5: times must increase$"),
    "not in seconds": (GOOD.replace("\n1,", "\n1e6,"),
                       r"^line 4, column t = 1000000\.0: a motion takes at most 100000 s, a day; t is in seconds$"),
    "rows too close": (GOOD.replace("\n1,", "\n0.50000001,"),
                       r"^line 4, column t = 0\.50000001: is only 1\.0e-08 s after"),
    "above a limit": (GOOD.replace("1,0.2,0.2", "1,0.2,2.8"),
                      r"^elbow at t = [\d.]+ s = 2\.\d+: position is outside limits\.upper = 2\.6$"),
    "below a limit": (GOOD.replace("1,0.2,0.2", "1,-3.3,0.2"),
                      r"^shoulder at t = [\d.]+ s = -3\.\d+: position is outside limits\.lower = -3\.1$"),
    "too fast": ("t,shoulder,elbow,wrist\n0,0,0,0\n0.2,1.5,0,0\n",
                 r"^shoulder at t = 0\.1 s = 14\.0625: rate is outside limits\.velocity = 8"),
    "overshoot": (GOOD.replace("\n0.5,", "\n0.004,"),
                  r"is outside limits\.\w+ = [\d.]+; only between the rows: space them"),
    "jump": ("t,shoulder,elbow,wrist\n0,0,0,0\n0.01,3,0,0\n1,0,0,0\n",
             r"^line 3, column shoulder = 3\.0: jumps by 3 rad in 0\.01 s$"),
    "wrapped angle": ("t,shoulder,elbow,wrist\n0,3.1,0,0\n0.01,-3.1,0,0\n1,0,0,0\n",
                      r"jumps by -6\.2 rad in 0\.01 s; unwrap the angle"),
    "angle that goes on beyond a turn": ("t,shoulder,elbow,wrist\n0,0,2.2,0\n1,0,2.5,0\n2,0,-3.5,0\n3,0,-3.2,0\n",
                                         r"^line 4, column elbow = -3\.5: jumps by -6 rad in 1 s; unwrap the angle"),
    "angle that may wrap": ("t,shoulder,elbow,wrist\n0,3.1,0,0\n3,3.1,0,0\n3.5,-3.1,0,0\n5,-3.1,0,0\n",
                            r"is outside limits\.\w+ = [-\d.]+; it steps by -6\.2 rad at t = 3\.5 s: if the angle"),
    "open quote": (GOOD + '"1,2', r"^line 5: is not CSV: "),
    "not text": (b"\xff\xfe\x00t", r"^byte 0: is not text"),
    "nul": (GOOD.replace("0.5,", "0.5\0,"), r"^line 3, column t = "),
}


def test_rates_without_accelerations_are_those_of_cubics(tmp_path: Path, arm: Mechanism) -> None:
    """Rows of a cubic motion give its accelerations in a CSV file, as in JSON and arrays."""
    t = np.linspace(0.0, 1.0, 5)
    q = np.outer(0.3 * t**2 - 0.2 * t**3, [1.0, 1.0, 1.0])
    qd, qdd = np.outer(0.6 * t - 0.6 * t**2, [1.0, 1.0, 1.0]), np.outer(0.6 - 1.2 * t, [1.0, 1.0, 1.0])
    names = [joint.name for joint in arm.streamed]
    rows = np.column_stack([t, *(x for k in range(3) for x in (q[:, k], qd[:, k]))])
    path = tmp_path / "cubic.csv"
    np.savetxt(path, rows, delimiter=",", header=",".join(["t", *(f"{n}{x}" for n in names for x in ("", ".vel"))]),
               comments="", fmt="%.17g")
    for motion in (Trajectory.load(path, arm), Trajectory.of(arm, t, q, qd)):
        np.testing.assert_allclose(motion.accelerations, qdd, atol=1e-9)


@pytest.mark.parametrize("case", list(BAD))
def test_a_bad_file_is_refused_in_one_line(arm: Mechanism, tmp_path: Path, case: str) -> None:
    text, pattern = BAD[case]
    line = refusal(written(tmp_path, text), arm)
    assert re.search(pattern, line), line


def test_a_missing_file_names_the_nearest(arm: Mechanism, tmp_path: Path) -> None:
    written(tmp_path, GOOD)
    assert refusal(tmp_path / "moton.csv", arm) == "file: does not exist; did you mean 'motion.csv'?"


def test_a_locked_joint_has_no_column(arm: Mechanism, tmp_path: Path) -> None:
    locked = replace(arm, lock={"wrist": 0.1})
    line = refusal(written(tmp_path, GOOD), locked)
    assert re.search(r"^column 4 = 'wrist': the joint is fixed or locked and has no column", line), line


def test_a_limit_between_the_rows_is_seen(arm: Mechanism, tmp_path: Path) -> None:
    head = "t,shoulder,shoulder.vel,shoulder.acc,elbow,wrist\n"
    path = written(tmp_path, head + "0,3.0,1,0,0,0\n1,3.0,-1,0,0,0\n")  # both rows are within the limit of 3.1
    assert re.search(r"^shoulder at t = 0\.5 s = 3\.3125: position is outside limits\.upper = 3\.1; only between",
                     refusal(path, arm))


STREAM = {
    "starts moving": ("0,0,1,0,0,0\n1,0.5,0,0,0,0\n",
                      r"^shoulder\.vel at t = 0 s = 1\.0: a streamed motion must start at rest"),
    "ends moving": ("0,0,0,0,0,0\n1,0.5,1,0,0,0\n",
                    r"^shoulder\.vel at t = 1 s = 1\.0: a streamed motion must end at rest"),
    "too short": ("0,0,0,0,0,0\n0.002,0,0,0,0,0\n", r"^duration = 0\.002: is shorter than one knot period, 0\.004 s$"),
}


@pytest.mark.parametrize("case", list(STREAM))
def test_what_a_board_cannot_play_is_refused(arm: Mechanism, tmp_path: Path, case: str) -> None:
    rows, pattern = STREAM[case]
    path = written(tmp_path, "t,shoulder,shoulder.vel,shoulder.acc,elbow,wrist\n" + rows)
    Trajectory.load(path, arm)  # accepted for `torque`
    line = refusal(path, arm, check_streamable)
    assert re.search(pattern, line), line


def test_more_than_a_quarter_turn_a_knot_is_refused(arm: Mechanism, tmp_path: Path) -> None:
    free = replace(arm, joints=tuple(replace(j, limits=Limits()) for j in arm.joints),
                   control=replace(arm.control, knot_hz=5, rate_hz=1000))
    path = written(tmp_path, "t,shoulder,elbow,wrist\n0,0,0,0\n1,6,0,0\n")
    line = refusal(path, free, check_streamable)
    assert re.search(r"^shoulder at t = 0\.6 s = .*: moves by more than a quarter turn in one knot period", line), line


CELL = st.one_of(st.floats(-1e3, 1e3).map(repr),
                 st.sampled_from(["", "nan", "1e999", "0x10", "1_0", "\u0661", '"', "t"]))


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.lists(CELL, min_size=3, max_size=5), max_size=4), st.text(max_size=10))
def test_any_rows_give_a_trajectory_or_one_line(
        arm: Mechanism, tmp_path: Path, rows: list[list[str]], tail: str) -> None:
    text = GOOD + "\n".join(",".join(row) for row in rows) + tail
    path = written(tmp_path, text.encode("utf-8", "surrogatepass"))
    try:
        trajectory = Trajectory.load(path, arm)
    except BadInput as error:
        assert str(error).startswith(f"{path}: ") and len(str(error).splitlines()) == 1
        return
    assert all(np.isfinite(x).all() for x in trajectory.at(np.linspace(0.0, trajectory.duration, 50)))


def whole_seconds(tmp_path, arm, seconds_per_row, travel):
    """Write a file of whole numbers with a row every `seconds_per_row` seconds."""
    rows = [f"{seconds_per_row * i}," + ",".join(f"{travel * i / 99:.6f}" for _ in arm.moving) for i in range(100)]
    path = tmp_path / "rows.csv"
    path.write_text("\n".join(["t," + ",".join(j.name for j in arm.moving), *rows]) + "\n")
    return path


def test_milliseconds_are_refused_and_slow_seconds_are_not(arm, tmp_path):
    with pytest.raises(BadInput,
                       match=r"column t = 990.0: is in s, and these look like milliseconds: .*"
                             r"divide the column by 1000"):
        Trajectory.load(whole_seconds(tmp_path, arm, 10, 1.0), arm)
    assert Trajectory.load(whole_seconds(tmp_path, arm, 1, 2.0), arm).duration == 99.0
