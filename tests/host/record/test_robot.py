"""Compares the arm's description and frames in a log with the results of other libraries."""

import numpy as np
import pinocchio as pin
import pytest
from rosbags.highlevel import AnyReader
from rosbags.typesys import Stores, get_typestore
from scipy.spatial.transform import Rotation

from femtorque.codegen.mechanism import load_mechanism
from femtorque.codegen.model import Model, assemble
from femtorque.hil.papers.isobe import MECHANISMS
from femtorque.host.record import robot
from tests.codegen.mechanism.test_urdf import robot as example
from tests.support import oracle

OPEN = ("three_link", "six_axis", "three_axis", "biped", "flexible_link")


def recorded(mechanism, q, tmp_path):
    """Return rosbags' type store, the messages by topic, and the time stamps."""
    stamps = [1_500_000_000 + 20_000_000 * k for k in range(len(q))]
    path = tmp_path / "arm.mcap"
    path.write_bytes(robot.animation(mechanism, stamps, np.asarray(q)).read())
    return *by_rosbags(path), stamps


def by_rosbags(path):
    """Return rosbags' type store, and the messages of a log by topic."""
    found = {}
    with AnyReader([path], default_typestore=get_typestore(Stores.ROS2_HUMBLE)) as reader:
        for connection, stamp, raw in reader.messages():
            found.setdefault(connection.topic, []).append((stamp, reader.deserialize(raw, connection.msgtype)))
        return reader.typestore, found


def placed(messages, k: int):
    """Return frames by name in the base frame, from the static and the k-th message."""
    parts = [t for topic, index in (("/tf_static", 0), ("/tf", k)) if topic in messages
             for t in messages[topic][index][1].transforms]
    frames, waiting = {}, list(parts)
    roots = {t.header.frame_id for t in parts} - {t.child_frame_id for t in parts}
    frames |= {root: np.eye(4) for root in roots}
    while waiting:
        t = next(t for t in waiting if t.header.frame_id in frames)
        waiting.remove(t)
        m, (r, p) = np.eye(4), (t.transform.rotation, t.transform.translation)
        m[:3, :3], m[:3, 3] = Rotation.from_quat([r.x, r.y, r.z, r.w]).as_matrix(), [p.x, p.y, p.z]
        frames[t.child_frame_id] = frames[t.header.frame_id] @ m
    return frames


def configured(model, mechanism, row):
    """Return Pinocchio's coordinates: cosine and sine for continuous joints."""
    q = pin.neutral(model)
    for joint, value in zip(mechanism.streamed, row, strict=True):
        body = model.joints[model.getJointId(joint.name)]
        q[body.idx_q:body.idx_q + body.nq] = [value] if body.nq == 1 else [np.cos(value), np.sin(value)]
    return q


def poses(mechanism, count: int = 4):
    chance = np.random.default_rng(2)
    return chance.uniform(-0.8, 0.8, (count, len(mechanism.streamed)))


@pytest.mark.parametrize("name", [*OPEN, "/ur5_robot.urdf", "/kinova.urdf", "/so101.urdf"])
def test_frames_and_description_agree_with_pinocchio(name, tmp_path):
    """Pinocchio reads the logged description. The frames are from /tf."""
    mechanism = load_mechanism(example(name) if name.endswith(".urdf") else MECHANISMS / f"{name}.toml")
    q = poses(mechanism)
    _, messages, stamps = recorded(mechanism, q, tmp_path)
    model = pin.buildModelFromXML(messages["/robot_description"][0][1].data)
    data = model.createData()
    assert [stamp for stamp, _ in messages["/tf"]] == stamps
    for k, row in enumerate(q):
        pin.framesForwardKinematics(model, data, configured(model, mechanism, row))
        for frame, found in placed(messages, k).items():
            if model.existBodyName(frame):
                np.testing.assert_allclose(found, data.oMf[model.getBodyId(frame)].homogeneous,
                                           atol=1e-8, err_msg=frame)


@pytest.mark.parametrize("name", ["three_link", "six_axis"])
def test_the_description_has_the_dynamics_of_the_mechanism(name):
    mechanism = load_mechanism(MECHANISMS / f"{name}.toml")
    model = pin.buildModelFromXML(robot.robot_description(mechanism))
    model.gravity.linear = mechanism.gravity
    q, v, a = np.random.default_rng(3).uniform(-1.0, 1.0, (3, model.nv))
    found = pin.rnea(model, model.createData(), configured(model, mechanism, q), v, a)
    np.testing.assert_allclose(found, oracle.rnea(Model.of(mechanism), q, v, a), rtol=1e-8)


@pytest.mark.parametrize("name", ["five_bar", "delta", "palletizer"])
def test_passive_joints_stand_as_the_loops_have_them(name, tmp_path):
    mechanism = load_mechanism(MECHANISMS / f"{name}.toml")
    assembly = assemble(Model.of(mechanism))
    start = np.array([assembly.start[i] for i in assembly.actuated])
    q = start + 0.02 * np.arange(4)[:, None]
    _, messages, _ = recorded(mechanism, q, tmp_path)
    for k in range(4):
        frames = placed(messages, k)
        for loop in mechanism.loops:
            a, b = (frames[end.link][:3, :3] @ end.xyz + frames[end.link][:3, 3] for end in (loop.a, loop.b))
            apart = frames[loop.a.link][:3, :3].T @ (b - a)
            assert np.abs(apart[:2] if loop.type == "planar" else apart).max() < 1e-8


def test_definitions_are_those_of_ros_2(tmp_path):
    ros = get_typestore(Stores.ROS2_HUMBLE)
    mechanism = load_mechanism(MECHANISMS / "three_link.toml")
    store, messages, _ = recorded(mechanism, poses(mechanism), tmp_path)
    for kind in ("tf2_msgs/msg/TFMessage", "geometry_msgs/msg/TransformStamped", "geometry_msgs/msg/Quaternion",
                 "std_msgs/msg/String"):
        assert store.hash_rihs01(kind) == ros.hash_rihs01(kind), kind
    assert set(messages) == {"/robot_description", "/tf"} and len(messages["/tf"]) == 4
