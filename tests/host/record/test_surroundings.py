"""Tests surroundings and contacts of a simulated arm in a log. The log is read by rosbags and by femtorque."""

import io
from types import SimpleNamespace

import numpy as np
import pytest
from mcap_ros2.writer import Writer
from rosbags.typesys import Stores, get_typestore

from femtorque.codegen.mechanism import load_mechanism
from femtorque.hil.papers.isobe import MECHANISMS
from femtorque.host.record import surroundings
from femtorque.host.scene import Contact, Moment, Solid, Surroundings, Thing
from tests.host.record.test_robot import by_rosbags

PYRAMID = Solid(np.array([[0, 0, 1], [1, 0, 0], [0, 1, 0], [-1, -1, 0]], np.float32),
                np.array([[0, 1, 2], [0, 2, 3], [0, 3, 1], [1, 3, 2]], np.uint32), "#c79a61")
STAY = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)
AWAY = (0.2, 0.1, 0.0, 0.0, 0.0, np.sqrt(0.5), np.sqrt(0.5))
TOUCH = Contact("wrist", "box on wheels", np.array([0.5, 0.0, 0.1]), np.array([-3.0, 0.0, 4.0]))
MOMENTS = {10: Moment({"box on wheels": STAY}), 20: None, 30: Moment({"box on wheels": AWAY}, (TOUCH,))}


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Return the type store and messages by topic, as rosbags reads them."""
    kept, path = io.BytesIO(), tmp_path_factory.mktemp("around") / "run.mcap"
    writer = Writer(kept)
    around = Surroundings((Thing("table", PYRAMID, STAY), Thing("box on wheels", PYRAMID, STAY, moves=True)),
                          MOMENTS.__getitem__)
    writes = surroundings.Around(around, load_mechanism(MECHANISMS / "three_link.toml"), writer)
    for tick in MOMENTS:
        writes.write(tick, tick * 1_000_000, 5)
    writer.finish()
    path.write_bytes(kept.getvalue())
    return by_rosbags(path)


def test_surfaces_and_forces_are_markers_that_viewers_of_ros_know(written):
    store, topics = written
    ros = get_typestore(Stores.ROS2_HUMBLE)
    for kind in ("visualization_msgs/msg/MarkerArray", "visualization_msgs/msg/Marker"):
        assert store.hash_rihs01(kind) == ros.hash_rihs01(kind), kind
    ((_, still),) = topics["/scene"]
    assert [(m.text, m.type, len(m.points), m.header.frame_id) for m in still.markers] == [("table", 11, 12, "base")]
    (_, first), (_, last) = topics["/contacts"]  # for a tick without stored surroundings there is no message
    assert [m.action for m in first.markers] == [3] and [m.action for m in last.markers] == [3, 0]
    begin, end = last.markers[1].points
    assert (end.x, end.y, end.z) == (0.5, 0.0, 0.1) and (begin.x, begin.z) == pytest.approx((0.53, 0.06))


def test_what_was_written_is_read_back(written):
    _, topics = written

    def plain(topic):  # the messages as femtorque's own reader returns them
        return [(at, SimpleNamespace(markers=[SimpleNamespace(text=m.text, pose=m.pose, points=list(m.points))
                                              for m in message.markers])) for at, message in topics[topic]]

    (t, before), (late, after) = surroundings.moments(plain("/scene/moving"), plain("/contacts"))
    assert (t, late) == (0.01, 0.03) and before.contacts == ()
    assert before.places == {"box on wheels": STAY} and after.places["box on wheels"] == pytest.approx(AWAY)
    (contact,) = after.contacts
    assert (contact.link, contact.thing) == ("wrist", "box on wheels")
    np.testing.assert_allclose(contact.point, TOUCH.point)
    np.testing.assert_allclose(contact.force, TOUCH.force)
