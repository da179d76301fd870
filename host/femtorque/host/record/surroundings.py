"""Surroundings and contacts of a simulated arm in a log: visualization_msgs/MarkerArray, for RViz and Foxglove. /scene
has the surfaces of all things, once. With every STATUS, /scene/moving has the movable things. /contacts has an arrow
for every link that touches a thing. The arrow ends at the contact, and FORCE of its length is 1 N."""

from typing import Any

import numpy as np
from mcap_ros2.writer import Writer

from femtorque.codegen.mechanism import BASE, Mechanism
from femtorque.host.record.definitions import definition
from femtorque.host.record.robot import frames
from femtorque.host.scene import Contact, Moment, Surroundings, Thing

SCENE, MOVING, CONTACTS = "/scene", "/scene/moving", "/contacts"
ARROW, TRIANGLES = 0, 11  # of Marker.type
ADD, DELETE_ALL = 0, 3  # of Marker.action
FORCE = 0.01  # length of an arrow, m per N
SHAFT = {"x": 0.008, "y": 0.02, "z": 0.0}  # diameters of an arrow and of its head, m
ON = " on "  # separates the names of a thing and a link in an arrow's text
COLOUR = "#b04fd0"
_MARKERS = definition(
    "visualization_msgs/Marker[] markers\n",
    "visualization_msgs/Marker", "std_msgs/Header", "builtin_interfaces/Time", "builtin_interfaces/Duration",
    "geometry_msgs/Pose", "geometry_msgs/Point", "geometry_msgs/Quaternion", "geometry_msgs/Vector3",
    "std_msgs/ColorRGBA", "sensor_msgs/CompressedImage", "visualization_msgs/UVCoordinate",
    "visualization_msgs/MeshFile")


class Around:
    """Writes these topics in the frame of the mechanism's base."""

    def __init__(self, surroundings: Surroundings, mechanism: Mechanism | None, writer: Writer) -> None:
        self.things = tuple(surroundings.things)
        self._at, self._writer = surroundings.at, writer
        self._frame = BASE if mechanism is None else frames(mechanism)[BASE]
        self._schema = writer.register_msgdef("visualization_msgs/msg/MarkerArray", _MARKERS)
        self._begun = False

    def write(self, tick: int, stamp_ns: int, now: int) -> None:
        """Write the surroundings at a tick, with the board's time and the host's clock, ns."""
        moment = self._at(tick)
        if moment is None:
            return
        header = {"stamp": {"sec": stamp_ns // 10**9, "nanosec": stamp_ns % 10**9}, "frame_id": self._frame}

        def put(topic: str, markers: list[dict[str, Any]]) -> None:
            numbered = [{"header": header, "id": k} | marker for k, marker in enumerate(markers)]
            self._writer.write_message(topic, self._schema, {"markers": numbered}, stamp_ns, now)

        if not self._begun:
            put(SCENE, [_surface(thing) for thing in self.things if not thing.moves])
            self._begun = True
        if moment.places:
            put(MOVING, [_surface(thing, moment) for thing in self.things if thing.name in moment.places])
        put(CONTACTS, [{"action": DELETE_ALL}, *map(_arrow, moment.contacts)])


def _surface(thing: Thing, moment: Moment | None = None) -> dict[str, Any]:
    place = thing.place if moment is None else moment.places[thing.name]
    corners = thing.solid.vertices[thing.solid.faces.ravel()]
    return {"ns": "scene", "type": TRIANGLES, "action": ADD, "text": thing.name, "pose": _pose(place),
            "scale": _xyz(np.ones(3)), "color": _colour(thing.solid.colour), "points": [_xyz(p) for p in corners]}


def _arrow(contact: Contact) -> dict[str, Any]:
    begin = contact.point - FORCE * contact.force
    return {"ns": "contacts", "type": ARROW, "action": ADD, "text": contact.thing + ON + contact.link,
            "scale": SHAFT, "color": _colour(COLOUR), "points": [_xyz(begin), _xyz(contact.point)]}


def moments(moving: list[Any], contacts: list[Any]) -> tuple[tuple[float, Moment], ...]:
    """Return (s since the board's reset, surroundings), from the (ns, message) of both topics."""
    places = {at: {m.text: _placed(m.pose) for m in message.markers} for at, message in moving}
    return tuple((at / 1e9, Moment(places.get(at, {}), tuple(_read(m) for m in message.markers if m.points)))
                 for at, message in contacts)


def _read(marker: Any) -> Contact:
    begin, end = (np.array([p.x, p.y, p.z]) for p in marker.points)
    thing, _, link = marker.text.rpartition(ON)
    return Contact(link, thing, end, (end - begin) / FORCE)


def _pose(place: tuple[float, ...]) -> dict[str, Any]:
    return {"position": _xyz(place[:3]), "orientation": dict(zip("xyzw", place[3:], strict=True))}


def _placed(pose: Any) -> tuple[float, ...]:
    p, turn = pose.position, pose.orientation
    return p.x, p.y, p.z, turn.x, turn.y, turn.z, turn.w


def _xyz(values: Any) -> dict[str, float]:
    return dict(zip("xyz", map(float, values), strict=True))


def _colour(text: str) -> dict[str, float]:
    return dict(zip("rgb", (int(text[k:k + 2], 16) / 255.0 for k in (1, 3, 5)), strict=True)) | {"a": 1.0}
