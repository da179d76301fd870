"""Names on zenoh of nodes, topics and services, as rmw_zenoh has them (its docs/design.md and liveliness_utils.cpp).

Data of a topic or service goes under domain/topic/type/hash. A token of liveliness under @ros2_lv announces each node,
publisher, subscription, service and client; qualities of service that are the default are left out of it.
"""

import struct
from dataclasses import dataclass

from femtorque.host.ros.interfaces import dds_name, type_hash

ADMIN = "@ros2_lv"
NODE, PUBLISHER, SUBSCRIPTION, SERVICE, CLIENT = "NN", "MP", "MS", "SS", "SC"
GID = 16  # bytes of an endpoint's number
_ATTACHMENT = struct.Struct("<qqB16s")  # number in sequence, ns since 1970, length of the gid, gid


def mangled(name: str) -> str:
    """A name within one part of a key."""
    return name.replace("/", "%") or "%"


def quality(latched: bool, depth: int = 10) -> str:
    """Reliable, the last `depth` samples kept; latched: for subscribers that come later too (transient local)."""
    return f":{1 if latched else ''}:,{depth}:,:,:,,"


def key(domain: int, topic: str, kind: str) -> str:
    """Key of the data of a topic or service, e.g. 0/joint_states/sensor_msgs::msg::dds_::JointState_/RIHS01_..."""
    return f"{domain}/{topic.strip('/')}/{dds_name(kind)}/{type_hash(kind)}"


@dataclass(frozen=True)
class Node:
    """domain: ROS_DOMAIN_ID; session: zenoh's number of it; name: of the node, in the root namespace."""

    domain: int
    session: str
    name: str

    def token(self) -> str:
        return f"{ADMIN}/{self.domain}/{self.session}/0/0/{NODE}/%/%/{mangled(self.name)}"

    def endpoint(self, number: int, entity: str, topic: str, kind: str, qos: str) -> str:
        """Token of one of its endpoints. topic: with its leading slash."""
        return (f"{ADMIN}/{self.domain}/{self.session}/0/{number}/{entity}/%/%/{mangled(self.name)}/{mangled(topic)}/"
                f"{dds_name(kind)}/{type_hash(kind)}/{qos}")


def attachment(sequence: int, ns: int, gid: bytes) -> bytes:
    return _ATTACHMENT.pack(sequence, ns, GID, gid)


def read_attachment(data: bytes) -> tuple[int, bytes]:
    """Number in sequence, and gid, of a request. Raises ValueError for what is none."""
    if len(data) != _ATTACHMENT.size or data[16] != GID:
        raise ValueError(f"an attachment of {len(data)} bytes")
    sequence, _, _, gid = _ATTACHMENT.unpack(data)
    return sequence, gid
