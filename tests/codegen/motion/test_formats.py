"""Tests of motion files of ROS 2 and NumPy. Every format gives the same numbers, and a faulty file is refused with one
line.
"""

import json
import os
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest
import yaml
from mcap_ros2.writer import Writer
from scipy.interpolate import CubicHermiteSpline

from femtorque.codegen.common import BadInput
from femtorque.codegen.mechanism import Mechanism, load_mechanism
from femtorque.codegen.motion.trajectory import Trajectory
from tests.support.damage import same

MECHANISMS = Path(__file__).parents[3] / "mechanisms"
DEFINITION = """std_msgs/Header header
string[] joint_names
trajectory_msgs/JointTrajectoryPoint[] points
================================================================================
MSG: std_msgs/Header
builtin_interfaces/Time stamp
string frame_id
================================================================================
MSG: builtin_interfaces/Time
int32 sec
uint32 nanosec
================================================================================
MSG: trajectory_msgs/JointTrajectoryPoint
float64[] positions
float64[] velocities
float64[] accelerations
float64[] effort
builtin_interfaces/Duration time_from_start
================================================================================
MSG: builtin_interfaces/Duration
int32 sec
uint32 nanosec
"""


@pytest.fixture(scope="module")
def arm() -> Mechanism:
    return load_mechanism(MECHANISMS / "three_link.toml")


@pytest.fixture(scope="module")
def motion(arm) -> Trajectory:
    return Trajectory.load(MECHANISMS / "three_link.csv", arm)


def message(motion: Trajectory, order=(2, 0, 1), velocities: bool = True, accelerations: bool = True) -> dict:
    """Return the message for ros2_control, with the joints in another order than in the mechanism."""
    points = []
    for i, t in enumerate(motion.times):
        point = {"positions": motion.positions[i, list(order)].tolist(), "velocities": [],
                 "accelerations": [], "effort": [],
                 "time_from_start": {"sec": int(round(t * 1e9)) // 10**9, "nanosec": int(round(t * 1e9)) % 10**9}}
        if velocities:
            point["velocities"] = motion.velocities[i, list(order)].tolist()
        if accelerations:
            point["accelerations"] = motion.accelerations[i, list(order)].tolist()
        points.append(point)
    header = {"stamp": {"sec": 0, "nanosec": 0}, "frame_id": ""}
    return {"header": header, "joint_names": [motion.joints[j] for j in order], "points": points}


def save(path: Path, motion: Trajectory) -> Path:
    ros = message(motion)
    if path.suffix == ".json":
        path.write_text(json.dumps({"trajectory": {"joint_trajectory": ros, "multi_dof_joint_trajectory": {}}}))
    elif path.suffix in (".yaml", ".yml"):
        path.write_text(yaml.safe_dump(ros) + "---\n")  # as `ros2 topic echo --once` prints it
    elif path.suffix == ".mcap":
        with path.open("wb") as file:
            writer = Writer(file)
            writer.write_message("/chatter", writer.register_msgdef("std_msgs/msg/String", "string data"),
                                 {"data": "hello"})
            writer.write_message("/plan",
                                 writer.register_msgdef("trajectory_msgs/msg/JointTrajectory", DEFINITION), ros)
            writer.finish()
    else:
        np.savez(path, t=motion.times, q=motion.positions, qd=motion.velocities, qdd=motion.accelerations)
    return path


@pytest.mark.parametrize("suffix", [".yaml", ".yml", ".json", ".mcap", ".npz"])
def test_every_format_gives_the_same_rows(arm, motion, tmp_path, suffix) -> None:
    read = Trajectory.load(save(tmp_path / f"motion{suffix}", motion), arm)
    assert read.joints == motion.joints
    np.testing.assert_allclose(read.times, motion.times, atol=1e-12)
    for name in ("positions", "velocities", "accelerations"):
        np.testing.assert_array_equal(getattr(read, name), getattr(motion, name))


def test_moveits_displayed_path_is_read_where_it_is_the_only_one(arm, motion, tmp_path) -> None:
    """moveit_msgs/msg/DisplayTrajectory contains a list of RobotTrajectory, and `ros2 topic echo` prints several
    messages.
    """
    path, one = tmp_path / "plan.yaml", {"joint_trajectory": message(motion), "multi_dof_joint_trajectory": {}}
    display = {"model_id": "arm", "trajectory": [one], "trajectory_start": {}}
    path.write_text(yaml.safe_dump(display) + "---\n")
    np.testing.assert_array_equal(Trajectory.load(path, arm).positions, motion.positions)
    for text, rule in ((yaml.safe_dump({**display, "trajectory": [one, one]}), "trajectory = 2: are there"),
                       (yaml.safe_dump_all([display, display]), "documents = 2: are there, and one motion is read")):
        path.write_text(text)
        with pytest.raises(BadInput, match=rule):
            Trajectory.load(path, arm)


@pytest.mark.parametrize("suffix", [".csv", ".npz"])
def test_what_is_saved_is_read_back(arm, motion, tmp_path, suffix) -> None:
    motion.save(tmp_path / f"again{suffix}")
    again = Trajectory.load(tmp_path / f"again{suffix}", arm)
    for name in ("times", "positions", "velocities", "accelerations"):
        np.testing.assert_allclose(getattr(again, name), getattr(motion, name), rtol=1e-11, atol=1e-11)


def test_positions_alone_become_the_spline_of_a_csv_file(arm, motion, tmp_path) -> None:
    few = slice(None, None, 30)
    np.savez(tmp_path / "few.npz", times=motion.times[few], positions=motion.positions[few], joints=list(motion.joints))
    lines = ["t," + ",".join(motion.joints)]
    lines += [",".join(f"{x:.17g}" for x in (t, *q))
              for t, q in zip(motion.times[few], motion.positions[few], strict=True)]
    (tmp_path / "few.csv").write_text("\n".join(lines))
    read, wanted = (Trajectory.load(tmp_path / f"few.{suffix}", arm) for suffix in ("npz", "csv"))
    np.testing.assert_array_equal(read.accelerations, wanted.accelerations)


def test_rates_without_accelerations_stay_near_the_cubic_that_ros2_control_plays(arm, motion, tmp_path) -> None:
    path = tmp_path / "rates.json"
    path.write_text(json.dumps(message(motion, accelerations=False)))
    read = Trajectory.load(path, arm)
    t = np.linspace(0.0, motion.duration, 5001)
    cubic = CubicHermiteSpline(motion.times, motion.positions, motion.velocities)
    assert np.max(np.abs(read.at(t)[0] - cubic(t))) < 1e-7
    np.testing.assert_allclose(read.velocities, motion.velocities, atol=1e-12)
    inner = (cubic(motion.times[1:-1] - 1e-9, 2) + cubic(motion.times[1:-1] + 1e-9, 2)) / 2.0
    np.testing.assert_allclose(read.accelerations[1:-1], inner, atol=1e-4)


def changed(**keys):
    return lambda ros: ros | keys


def point(**keys):
    return lambda ros: ros | {"points": [*ros["points"][:5], ros["points"][5] | keys, *ros["points"][6:]]}


@pytest.mark.parametrize("change, words", [
    (changed(points=[]), "points: must be a list of at least two points"),
    (changed(joint_names=["shoulder", "elbow"]), "points.1.positions = .*must hold 2 numbers"),
    (changed(joint_names=["shoulder", "elbow", "elbow"]), "joints = 'elbow': is named twice"),
    (changed(joint_names=["sholder", "elbow", "wrist"]),
     "joints = 'sholder': no such moving joint; did you mean 'shoulder'"),
    (point(positions=[0.0, 0.0]), "points.6.positions = .*must hold 3 numbers"),
    (point(positions=[0.0, "x", 0.0]), "points.6.positions = .*must hold numbers"),
    (point(positions=[0.0, float("nan"), 0.0]), "points.6.positions = .*must be finite"),
    (point(time_from_start="soon"), "points.6.time_from_start = 'soon': must be { sec, nanosec } or seconds"),
    (point(time_from_start=0.01), "row 6, column t = 0.01: comes after 0.04: times must increase"),
    (point(positions=[0.0, 9.0, 0.0]), "row 6, column shoulder = 9.0: jumps by"),
    (lambda ros: {"hello": ros["points"]}, "holds no JointTrajectory"), (lambda ros: 7, "holds no JointTrajectory"),
])
def test_a_joint_trajectory_that_is_not_right(arm, motion, tmp_path, change, words) -> None:
    path = tmp_path / "bad.json"
    path.write_text(json.dumps(change(message(motion))))
    with pytest.raises(BadInput, match=words):
        Trajectory.load(path, arm)


@pytest.mark.parametrize("arrays, words", [
    ({"q": np.zeros((3, 3))}, "t: is missing; arrays: q"), ({"t": np.arange(3.0)}, "q: is missing"),
    ({"t": np.arange(3.0), "q": np.zeros((2, 3))}, "q: has shape"),
    ({"t": np.arange(3.0), "q": np.zeros((3, 2))}, "2 are there, 3 move"),
    ({"t": np.arange(3.0), "q": np.full((3, 3), np.inf)}, "q: must be finite"),
    ({"t": np.arange(3.0), "q": np.full((3, 3), "a")}, "q: holds <U1, numbers are needed"),
    ({"t": np.arange(3.0), "q": np.zeros((3, 3)), "qd": np.zeros(3)}, "qd: has shape"),
    ({"t": np.arange(3.0), "q": np.array([[None] * 3] * 3, dtype=object)}, "is not an NPZ file of plain arrays"),
])
def test_an_npz_that_is_not_right(arm, tmp_path, arrays, words) -> None:
    np.savez(tmp_path / "bad.npz", **arrays)
    with pytest.raises(BadInput, match=words):
        Trajectory.load(tmp_path / "bad.npz", arm)


@pytest.mark.parametrize("suffix", [".yaml", ".json", ".mcap", ".npz"])
@pytest.mark.parametrize("content", [None, b"", b"{", b"\xff\xfe\x00", b"[" * 5000, b"- : : -\n\t"])
def test_no_such_file_and_rubbish_are_one_line(arm, tmp_path, suffix, content) -> None:
    path = tmp_path / f"rubbish{suffix}"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(BadInput) as error:
        Trajectory.load(path, arm)
    assert "\n" not in str(error.value) and str(path) in str(error.value)


def test_a_log_without_a_joint_trajectory_names_its_topics(arm, tmp_path) -> None:
    with (tmp_path / "other.mcap").open("wb") as file:
        writer = Writer(file)
        writer.write_message("/chatter", writer.register_msgdef("std_msgs/msg/String", "string data"),
                             {"data": "hello"})
        writer.finish()
    with pytest.raises(BadInput, match="holds no trajectory_msgs/msg/JointTrajectory; topics: /chatter"):
        Trajectory.load(tmp_path / "other.mcap", arm)


@pytest.mark.parametrize("value", ["2001-99-99", "!!int x", '!!int ""', "!!float x", "!!bool x", "!!timestamp x",
                                   "!!binary x", "9" * 400, "9" * 5000, "1e400", "!!set {a, b}", "{? [a] : b}",
                                   "&a [*a]"])
@pytest.mark.parametrize("key", ["positions", "time_from_start"])
def test_yaml_that_is_no_number_is_one_line(arm, tmp_path, key, value) -> None:
    point = {"positions": "[0.0, 0.0, 0.0]", "time_from_start": "1.0"} | {
        key: f"[{value}, 0.0, 0.0]" if key == "positions" else value}
    (tmp_path / "bad.yaml").write_text("joint_names: [shoulder, elbow, wrist]\npoints:\n" + 2 * (
        f"- {{positions: {point['positions']}, time_from_start: {point['time_from_start']}}}\n"))
    with pytest.raises(BadInput) as error:
        Trajectory.load(tmp_path / "bad.yaml", arm)
    assert "\n" not in str(error.value) and len(str(error.value)) < 400


def test_a_damaged_npz_is_one_line_or_the_same_motion(arm, motion, tmp_path) -> None:
    """Half of the flipped bits are in file headers, where most faults can occur."""
    path, random = save(tmp_path / "motion.npz", motion), np.random.default_rng(2)
    whole, read = path.read_bytes(), Trajectory.load(path, arm)
    heads = [at for at in range(len(whole)) if whole[at:at + 2] in (b"PK", b"\x93N")]
    for n in range(300):
        data, near = bytearray(whole), heads[n % len(heads)] if n % 2 else 0
        data[(near + int(random.integers(60 if n % 2 else len(whole)))) % len(whole)] ^= 1 << int(random.integers(8))
        path.write_bytes(data[:int(random.integers(len(data)))] if n % 10 == 0 else data)
        try:
            assert same(Trajectory.load(path, arm), read)
        except BadInput as error:
            assert "\n" not in str(error)


def test_an_npz_that_unpacks_to_more_than_it_may_is_not_unpacked(arm, tmp_path) -> None:
    """200 MB of zeros are compressed to 200 kB."""
    with zipfile.ZipFile(tmp_path / "bomb.npz", "w", zipfile.ZIP_DEFLATED) as archive, \
            archive.open("q.npy", "w", force_zip64=True) as entry:
        for _ in range(200):
            entry.write(bytes(2**20))
    tracemalloc.start()
    try:
        with pytest.raises(BadInput, match="unpacks to 209715200 bytes: at most 134217728 are read"):
            Trajectory.load(tmp_path / "bomb.npz", arm)
        assert tracemalloc.get_traced_memory()[1] < 2**24
    finally:
        tracemalloc.stop()


def test_more_numbers_than_fit_are_refused_before_they_are_made_floats(arm, tmp_path) -> None:
    np.savez(tmp_path / "many.npz", t=np.arange(3.0), q=np.zeros((2**25, 3), np.int8))
    with pytest.raises(BadInput, match="q: holds 100663296 numbers: at most 16777216 are read"):
        Trajectory.load(tmp_path / "many.npz", arm)


@pytest.mark.parametrize("suffix", [".csv", ".yaml", ".json", ".npz", ".mcap"])
def test_a_pipe_is_no_file(arm, tmp_path, suffix) -> None:
    """Reading from a pipe may never end."""
    os.mkfifo(tmp_path / f"pipe{suffix}")
    with pytest.raises(BadInput, match="is a pipe or a device, not a file"):
        Trajectory.load(tmp_path / f"pipe{suffix}", arm)
