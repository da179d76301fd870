"""A node on ROS 2's own rclpy, with any of its middlewares: Fast DDS, Cyclone, zenoh.

Messages cross the border as CDR, so that the rest knows one kind of them alone. An action is the services and topics of
which it is made, as on zenoh; their types are in rclpy's `Impl` of it. It never met a running ROS 2.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from femtorque.codegen.common.errors import BadInput, Refused
from femtorque.host.ros.interfaces import is_service, packed, unpacked

ROUNDS = 50  # callbacks of one `handle`, at most


def own(kind: str) -> Any:
    """rclpy's class of a message or service. Raises BadInput if its package is not in this environment of ROS 2."""
    package, group, name = kind.split("/")
    try:
        module = importlib.import_module(f"{package}.{group}")
    except ImportError:
        raise BadInput("command line", "--over", "rclpy", f"needs {package}, which this ROS 2 has not",
                       f"apt install ros-$ROS_DISTRO-{package.replace('_', '-')}") from None
    if group != "action":
        return getattr(module, name)
    action, _, part = name.partition("_")
    return getattr(getattr(module, action).Impl, f"{part}Service" if is_service(kind) else part)


class Publisher:
    """A topic of one kind."""

    def __init__(self, publisher: Any, kind: str) -> None:
        self._publisher, self._kind = publisher, kind

    def publish(self, message: Any) -> None:
        self._publisher.publish(packed(self._kind, message))  # bytes go out as they are


class RclpyNode:
    """As host.ros.node.Node, a context. domain: ROS_DOMAIN_ID. refused: messages that could not be read."""

    def __init__(self, name: str, domain: int = 0) -> None:
        self.name, self.domain, self.refused = name, domain, 0
        self._handled = 0

    def __enter__(self) -> RclpyNode:
        try:
            rclpy = importlib.import_module("rclpy")
        except ImportError:
            raise Refused("rclpy cannot be imported: source ROS 2's setup.bash, and install femtorque into the Python "
                          "that it is for") from None
        self._serial = importlib.import_module("rclpy.serialization")
        self._qos = importlib.import_module("rclpy.qos")
        self._context = rclpy.Context()
        self._context.init(domain_id=self.domain)
        self._node = rclpy.create_node(self.name, context=self._context)
        self._executor = importlib.import_module("rclpy.executors").SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self._node)
        return self

    def __exit__(self, *how: object) -> None:
        self._executor.shutdown()
        self._node.destroy_node()
        self._context.shutdown()

    def publisher(self, topic: str, kind: str, latched: bool = False) -> Publisher:
        durability = self._qos.DurabilityPolicy
        quality = self._qos.QoSProfile(
            depth=1 if latched else 10, durability=durability.TRANSIENT_LOCAL if latched else durability.VOLATILE)
        return Publisher(self._node.create_publisher(own(kind), topic, quality), kind)

    def subscribe(self, topic: str, kind: str, take: Callable[[Any], None]) -> None:
        """take is called with every message by `handle`."""
        def heard(data: bytes) -> None:
            self._handled += 1
            with self._counted():
                take(unpacked(kind, data))

        self._node.create_subscription(own(kind), topic, heard, 10, raw=True)

    def serve(self, name: str, kind: str, answer: Callable[[Any, Callable[[Any], None]], None]) -> None:
        """answer is called by `handle` with each request and a function that takes the response, now or later."""
        service = own(kind)
        future = importlib.import_module("rclpy.task").Future

        async def asked(request: Any, blank: Any) -> Any:
            self._handled += 1
            later = future(executor=self._executor)
            before = self.refused
            with self._counted():
                answer(unpacked(f"{kind}_Request", self._serial.serialize_message(request)), later.set_result)
            if self.refused > before:
                return blank
            return self._serial.deserialize_message(packed(f"{kind}_Response", await later), service.Response)

        self._node.create_service(service, name, asked)

    @contextmanager
    def _counted(self) -> Iterator[None]:
        """Count a message that cannot be read, or makes anything fail: none ends the node."""
        try:
            yield
        except Exception:
            self.refused += 1

    def handle(self) -> None:
        """Let rclpy call for what has come since the last time."""
        for _ in range(ROUNDS):
            before = self._handled
            self._executor.spin_once(timeout_sec=0.0)
            if self._handled == before:
                break
