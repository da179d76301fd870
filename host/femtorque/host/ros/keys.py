"""Names of nodes, topics and services on zenoh, as in rmw_zenoh (docs/design.md and liveliness_utils.cpp). Data of a
topic or service has the key domain/topic/type/hash. A liveliness token under @ros2_lv announces each node, publisher,
subscription, service and client. Tokens omit default qualities of service."""

import struct
from dataclasses import dataclass

from femtorque.host.ros.interfaces import dds_name, type_hash

ADMIN = "@ros2_lv"
NODE, PUBLISHER, SUBSCRIPTION, SERVICE, CLIENT = "NN", "MP", "MS", "SS", "SC"
GID = 16  # bytes of an endpoint's identifier
# sequence number, time in ns since 1970, length of the endpoint's identifier, identifier
_ATTACHMENT = struct.Struct("<qqB16s")


def mangled(name: str) -> str:
    """Return a topic name with its slashes replaced, for one section of a key."""
    return name.replace("/", "%") or "%"


def quality(latched: bool, depth: int = 10) -> str:
    """Return a quality: reliable, keep the last `depth` samples; latched: transient local, for late subscribers."""
    return f":{1 if latched else ''}:,{depth}:,:,:,,"


def key(domain: int, topic: str, kind: str) -> str:
    """Return the key of a topic or service, e.g. 0/joint_states/sensor_msgs::msg::dds_::JointState_/RIHS01_..."""
    return f"{domain}/{topic.strip('/')}/{dds_name(kind)}/{type_hash(kind)}"


@dataclass(frozen=True)
class Node:
    """Names of one node's keys."""

    domain: int  # ROS_DOMAIN_ID
    session: str  # zenoh's number of the session
    name: str  # name in the root namespace

    def token(self) -> str:
        return f"{ADMIN}/{self.domain}/{self.session}/0/0/{NODE}/%/%/{mangled(self.name)}"

    def endpoint(self, number: int, entity: str, topic: str, kind: str, qos: str) -> str:
        """Return an endpoint's liveliness token. topic: begins with a slash."""
        return (f"{ADMIN}/{self.domain}/{self.session}/0/{number}/{entity}/%/%/{mangled(self.name)}/{mangled(topic)}/"
                f"{dds_name(kind)}/{type_hash(kind)}/{qos}")


def attachment(sequence: int, ns: int, gid: bytes) -> bytes:
    return _ATTACHMENT.pack(sequence, ns, GID, gid)


def read_attachment(data: bytes) -> tuple[int, bytes]:
    """Return the sequence number of a request and the identifier of its client. Raises ValueError for other bytes."""
    if len(data) != _ATTACHMENT.size or data[16] != GID:
        raise ValueError(f"an attachment of {len(data)} bytes")
    sequence, _, _, gid = _ATTACHMENT.unpack(data)
    return sequence, gid
