"""Tests logs of a run. The logs are read by femtorque, by MCAP's reader and as CSV."""

import csv
import gzip
import io
import json
from dataclasses import replace

import matplotlib.image
import numpy as np
import pytest
from mcap.reader import make_reader
from mcap.writer import Writer
from mcap_ros2.decoder import DecoderFactory
from rosbags.highlevel import AnyReader
from rosbags.typesys import Stores, get_typestore

from femtorque.codegen.common import BadInput
from femtorque.codegen.mechanism import load_mechanism
from femtorque.codegen.wire import Felt
from femtorque.host.link import Configuration
from femtorque.host.record.log import Log, read_log
from femtorque.host.scene import scene
from femtorque.host.show import Findings, plot
from femtorque.host.stream import stream
from tests.host.stream.test_stream import a_motion
from tests.support.damage import flipped
from tests.support.fake_board import FakeBoard, ManualClock, a_session
from tests.support.suite import ROOT


@pytest.fixture(scope="module")
def a_run(tmp_path_factory):
    """Return the log of a streamed motion, and every STATUS of the session."""
    session, _ = a_session(lag=0.01)
    path, seen = tmp_path_factory.mktemp("log") / "deep" / "run.mcap", []
    with Log(path, session.configuration, {"motion": "there"}) as log:
        session.listeners += [log.write, seen.append]
        stream(session, a_motion(0.6))
    return path, seen


def test_a_log_read_back_is_what_was_seen(a_run):
    path, seen = a_run
    run = read_log(path)
    assert len(run.t) == len(seen) > 50
    np.testing.assert_allclose(run.t, [s.tick / 1000 for s in seen], atol=1e-9)
    assert run.joints == ("j1", "j2", "j3") and run.notes == {"motion": "there"}
    turn = 2 * np.pi / 2**32
    np.testing.assert_allclose(run.position, np.array([s.position for s in seen]) * turn, atol=1e-12)
    np.testing.assert_allclose(run.error, 0.01, atol=1e-8)
    np.testing.assert_allclose(run.torque_ff, 0.1, rtol=1e-6)
    np.testing.assert_allclose(run.torque, 0.3, rtol=1e-6)
    assert run.scalars["buffered"].tolist() == [s.buffered for s in seen]
    assert {"HOLD", "TRACK"} <= set(run.state)


def test_mcaps_own_reader_finds_ros_messages(a_run):
    path, seen = a_run
    with path.open("rb") as file:
        reader = make_reader(file, decoder_factories=[DecoderFactory()])
        types = {c.topic: s.name for s, c, _, _ in reader.iter_decoded_messages()}
        measured = [m for _, c, _, m in reader.iter_decoded_messages(topics=["/joint_states"])]
        header, schemas = reader.get_header(), reader.get_summary().schemas.values()
        encodings = {c.message_encoding for c in reader.get_summary().channels.values()}
        assert reader.get_summary().statistics.message_count == 4 * len(seen)
    assert types == {
        "/joint_states": "sensor_msgs/msg/JointState", "/joint_states/desired": "sensor_msgs/msg/JointState",
        "/torque": "femtorque_msgs/msg/Torque", "/status": "femtorque_msgs/msg/Status"}
    assert header.profile == "ros2" and encodings == {"cdr"} and {s.encoding for s in schemas} == {"ros2msg"}
    official = ["std_msgs/Header header", "string[] name", "float64[] position", "float64[] velocity",
                "float64[] effort"]
    joint_state = next(s for s in schemas if s.name == "sensor_msgs/msg/JointState").data.decode()
    assert joint_state.split("="
                             * 80)[0].split("\n")[:-1] == official, "as ROS 2 has it: Foxglove and PlotJuggler know it"
    assert measured[0].name == ["j1", "j2", "j3"] and len(measured) == len(seen)
    assert measured[-1].header.stamp.sec * 10**9 + measured[-1].header.stamp.nanosec == seen[-1].tick * 10**6


def test_a_library_for_ros_bags_reads_the_same_numbers(a_run):
    """The package rosbags has its own reader and its own copy of ROS 2's message definitions."""
    path, seen = a_run
    ros = get_typestore(Stores.ROS2_HUMBLE)
    found = {topic: [] for topic in ("/joint_states", "/joint_states/desired", "/torque", "/status")}
    with AnyReader([path], default_typestore=ros) as reader:
        assert {c.msgcount for c in reader.connections} == {len(seen)} and {c.topic
                                                                            for c in reader.connections} == set(found)
        for kind in ("sensor_msgs/msg/JointState", "std_msgs/msg/Header", "builtin_interfaces/msg/Time"):
            assert reader.typestore.hash_rihs01(kind) == ros.hash_rihs01(kind), "another definition than that of ROS 2"
        for connection, stamp, raw in reader.messages():
            found[connection.topic].append((stamp, reader.deserialize(raw, connection.msgtype)))
    run = read_log(path)
    for topic, field, values in (("/joint_states", "position", run.position), ("/joint_states", "velocity", run.rate),
                                 ("/joint_states", "effort", run.torque),
                                 ("/joint_states/desired", "position", run.target),
                                 ("/torque", "feedforward", run.torque_ff), ("/torque", "duty", run.duty)):
        np.testing.assert_array_equal([getattr(m, field) for _, m in found[topic]], values)
    assert [stamp for stamp, _ in found["/status"]] == [s.tick * 10**6 for s in seen]
    assert [m.state_name for _, m in found["/status"]] == list(run.state)
    assert [m.buffered for _, m in found["/status"]] == [s.buffered for s in seen]


def test_the_file_is_packed_as_viewers_want_it(a_run):
    """Foxglove recommends chunks of at most 4 MB, compressed by lz4 or zstd, and an index."""
    path, seen = a_run
    with path.open("rb") as file:
        summary = make_reader(file).get_summary()
    assert len(summary.chunk_indexes) == 1 and summary.chunk_indexes[0].compression == "zstd"
    assert summary.chunk_indexes[0].uncompressed_size < 4e6 and len(summary.chunk_indexes[0].message_index_offsets) == 4
    assert not list(path.parent.glob("*.packed"))


def test_what_a_page_draws_of_the_arm_is_an_attachment_and_no_log_is_lost_with_it(tmp_path):
    arm = load_mechanism(ROOT / "mechanisms" / "three_link.toml")
    conf = Configuration.of(arm)
    board = FakeBoard(ManualClock(), conf)
    with Log(tmp_path / "run.mcap", conf, mechanism=arm) as log:
        log.write(board.status())
    with (tmp_path / "run.mcap").open("rb") as file:
        (attached,) = make_reader(file).iter_attachments()
    assert attached.name == "arm.json.gz" and attached.media_type == "application/gzip"
    assert json.loads(gzip.decompress(attached.data)) == read_log(tmp_path / "run.mcap").arm == scene(arm)
    whole = (tmp_path / "run.mcap").read_bytes()
    at = whole.index(attached.data)
    (tmp_path / "bad.mcap").write_bytes(whole[:at] + bytes(len(attached.data)) + whole[at + len(attached.data):])
    bad = read_log(tmp_path / "bad.mcap")
    assert bad.arm is None and len(bad.t) == 1 and "check sum of all before it does not hold" in bad.damage


def test_what_an_arm_feels_is_in_its_log(a_run, tmp_path):
    """The log is read by femtorque and by rosbags. The board's ticks wrap between two reports."""
    assert read_log(a_run[0]).outside is None
    conf = Configuration.of(load_mechanism(ROOT / "mechanisms" / "three_link.toml"))
    board, names = FakeBoard(ManualClock(), conf), [joint.name for joint in conf.joints]
    felt = Felt(0, 0, 0, 0, 0, (0.1, -0.2, 0.3), (0.0, 0.1, 0.2), (1.0, 1.5, 2.0))
    with Log(tmp_path / "run.mcap", conf) as log:
        log.write(replace(board.status(), tick=2**32 - 20))
        log.write_felt(replace(felt, tick=2**32 - 15))
        log.write_felt(replace(felt, tick=5, touched=1, joint=2, touches=1, touch_tick=3))
        log.write(replace(board.status(), tick=10))
    run = read_log(tmp_path / "run.mcap")
    assert run.outside.t == pytest.approx([(2**32 - 15) / 1000, (2**32 + 5) / 1000])
    assert run.t == pytest.approx([(2**32 - 20) / 1000, (2**32 + 10) / 1000])
    assert run.outside.touches.tolist() == [0, 1] and run.outside.joint == ("", names[2])
    assert run.outside.touched.tolist() == [False, True]
    for name in ("external", "mean", "threshold"):
        np.testing.assert_allclose(getattr(run.outside, name), [getattr(felt, name)] * 2)
    with AnyReader([tmp_path / "run.mcap"], default_typestore=get_typestore(Stores.ROS2_HUMBLE)) as reader:
        (connection,) = [c for c in reader.connections if c.topic == "/felt"]
        rows = [reader.deserialize(raw, connection.msgtype) for _, _, raw in reader.messages([connection])]
    assert [list(row.name) for row in rows] == [names] * 2 and [row.joint for row in rows] == ["", names[2]]
    np.testing.assert_allclose(rows[1].external, felt.external)


def test_the_csv_has_the_same_numbers(a_run):
    path, seen = a_run
    with path.with_suffix(".status.csv").open() as file:
        rows = list(csv.DictReader(file))
    run = read_log(path)
    assert len(rows) == len(seen)
    np.testing.assert_allclose([float(r["t"]) for r in rows], run.t, atol=1e-6)
    np.testing.assert_allclose([float(r["j2.position"]) for r in rows], run.position[:, 1], rtol=1e-9, atol=1e-12)
    assert [int(r["buffered"]) for r in rows] == run.scalars["buffered"].tolist()


def test_a_crash_loses_nothing(tmp_path):
    """At any time during the run, the open files contain every STATUS that has arrived."""
    session, _ = a_session()
    path, copies = tmp_path / "run.mcap", []
    log = Log(path, session.configuration)
    session.listeners.append(log.write)

    def copy(_):
        if len(copies) < 30:
            copies.append((path.read_bytes(), path.with_suffix(".status.csv").read_text()))

    session.listeners.append(copy)
    stream(session, a_motion(0.6))
    for n, (mcap, table) in enumerate(copies, start=1):
        cut = tmp_path / "cut.mcap"
        cut.write_bytes(mcap)
        assert len(read_log(cut).t) == n
        assert len(table.splitlines()) == n + 1
    log.close()


def test_a_log_cut_in_the_middle_of_a_record_is_read_up_to_there(tmp_path):
    session, _ = a_session()
    path, cut, seen = tmp_path / "run.mcap", tmp_path / "cut.mcap", []
    with Log(path, session.configuration) as log:
        session.listeners += [log.write, seen.append]
        stream(session, a_motion(0.6))
        whole = path.read_bytes()
    cut.write_bytes(whole[:len(whole) // 3])
    assert 5 < len(read_log(cut).t) < len(seen) == len(read_log(path).t)
    assert read_log(cut).damage.startswith("is damaged at byte ") and not read_log(path).damage
    assert Findings(read_log(cut)).sentences[0].startswith("The log is damaged at byte ")
    cut.write_bytes(path.read_bytes()[:2000])  # after packing, the first chunk ends later than this
    with pytest.raises(BadInput, match="is damaged at byte .*; no complete sample is before that"):
        read_log(cut)


@pytest.mark.parametrize("packed", [True, False])
def test_a_log_with_a_bit_flipped_is_never_another_run_in_silence(tmp_path, packed):
    session, _ = a_session()
    path = tmp_path / "run.mcap"
    log = Log(path, session.configuration, {"motion": "there"})
    session.listeners.append(log.write)
    stream(session, a_motion(0.3))
    log.finish()
    if packed:
        log.pack()
    found = flipped(path, read_log, 100, seed=packed)
    assert set(found) <= {"the same", "said", "refused"}, found
    assert found["said"] + found["refused"] > 50, "most of a log is samples"


def test_a_description_that_is_not_what_was_written_is_refused(a_run, tmp_path):
    """MCAP has no check sum for the description, so the log has its own."""
    path, _ = a_run
    data, other = path.read_bytes(), tmp_path / "other.mcap"
    assert data.count(b"rate_hz\x04\0\0\x001000") == 1
    other.write_bytes(data.replace(b"rate_hz\x04\0\0\x001000", b"rate_hz\x04\0\0\x002000"))
    with pytest.raises(BadInput, match="is damaged.*no complete sample"):
        read_log(other)


def empty():
    file = io.BytesIO()
    writer = Writer(file)
    writer.start()
    writer.finish()
    return file.getvalue()


@pytest.mark.parametrize("content, words", [
    (None, "does not exist"), (b"", "is not an MCAP file"), (b"t,a\n0,1\n" * 99, "is not an MCAP file"),
    (empty(), "holds no run of femtorque"),
])
def test_what_is_no_log_is_bad_input(tmp_path, content, words):
    path = tmp_path / "x.mcap"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(BadInput, match=words):
        read_log(path)


def test_a_log_needs_a_place_and_its_suffix(tmp_path):
    session, _ = a_session()
    with pytest.raises(BadInput, match="must end in .mcap; write run.mcap"):
        Log(tmp_path / "run.bag", session.configuration)
    (tmp_path / "file").write_text("")
    with pytest.raises(BadInput, match="cannot be written"):
        Log(tmp_path / "file" / "run.mcap", session.configuration)


def test_a_figure_is_drawn(a_run, tmp_path):
    plot.draw_run(read_log(a_run[0]), tmp_path / "run.png")
    pixels = matplotlib.image.imread(tmp_path / "run.png")
    assert pixels.shape[0] > 1000 and pixels.shape[1] > 1000
    assert len(np.unique(pixels.reshape(-1, pixels.shape[-1]), axis=0)) > 20, "curves have colours"
    with pytest.raises(BadInput, match="must end in one of .png"):
        plot.draw_run(read_log(a_run[0]), tmp_path / "run.doc")


def test_the_summary_counts_only_motion(a_run):
    numbers = plot.run_summary(read_log(a_run[0]))
    assert numbers["tracking_rms"] == pytest.approx({"j1": 0.01, "j2": 0.01, "j3": 0.01}, rel=1e-6)
    assert numbers["cycles_max"] == 60_000 and numbers["samples"] == len(a_run[1])
