"""A node on ROS 2's rclpy, with any middleware: Fast DDS, Cyclone, zenoh. Messages to be sent have the fields of the
installed release. An action consists of its services and topics. All callbacks are reentrant, so a service that waits,
e.g. for a goal's result, blocks no other."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from femtorque.codegen.common import BadInput, Refused

ROUNDS = 50  # callbacks per call of `handle`, at most


def own(kind: str) -> Any:
    """Return rclpy's class of a message or service. Raises BadInput if the package of the message type is missing."""
    package, group, name = kind.split("/")
    try:
        module = importlib.import_module(f"{package}.{group}")
    except ImportError:
        raise BadInput("command line", "--over", "rclpy", f"needs {package}, which this ROS 2 lacks",
                       f"apt install ros-$ROS_DISTRO-{package.replace('_', '-')}") from None
    outer = getattr(module, name.partition("_")[0])
    # the request and response types of a service, e.g. Trigger_Response, are in the same module as the service
    return getattr(sys.modules[outer.__module__], name)


def theirs(value: Any) -> Any:
    """Convert a message, or a field of a message, to rclpy's classes."""
    if isinstance(value, list):
        return [theirs(one) for one in value]
    if isinstance(value, np.ndarray):
        return value.tolist()
    if (kind := getattr(value, "__msgtype__", None)) is None:
        return value
    made = own(kind)()
    for field, base in made.get_fields_and_field_types().items():
        if hasattr(value, field):  # a later release may have more fields
            told = theirs(getattr(value, field))
            setattr(made, field, bytes([told]) if base == "octet" else told)
    return made


class Publisher:
    """A topic of one kind."""

    def __init__(self, publisher: Any) -> None:
        self._publisher = publisher

    def publish(self, message: Any) -> None:
        self._publisher.publish(theirs(message))


class RclpyNode:
    """A context like host.ros.node.Node. refused, why: count and last reason of unreadable messages."""

    alone = ""

    def __init__(self, name: str, domain: int = 0) -> None:
        self.name, self.domain, self.refused, self.why = name, domain, 0, ""
        self._handled, self._ended = 0, False

    def __enter__(self) -> RclpyNode:
        try:
            rclpy = importlib.import_module("rclpy")
        except ImportError:
            raise Refused("rclpy cannot be imported: source ROS 2's setup.bash, and install femtorque into the Python "
                          "of that ROS 2") from None
        self._qos = importlib.import_module("rclpy.qos")
        self._context = rclpy.Context()
        self._context.init(domain_id=self.domain)
        self._node = rclpy.create_node(self.name, context=self._context)
        self._executor = importlib.import_module("rclpy.executors").SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self._node)
        self._group = importlib.import_module("rclpy.callback_groups").ReentrantCallbackGroup()
        return self

    def __exit__(self, *how: object) -> None:
        self._ended = True
        for _ in range(ROUNDS):  # send responses that waited for the end
            self._counted(lambda: self._executor.spin_once(timeout_sec=0.0))
        self._executor.shutdown()
        self._node.destroy_node()
        self._context.shutdown()

    def publisher(self, topic: str, kind: str, latched: bool = False) -> Publisher:
        durability = self._qos.DurabilityPolicy
        quality = self._qos.QoSProfile(
            depth=1 if latched else 10, durability=durability.TRANSIENT_LOCAL if latched else durability.VOLATILE)
        return Publisher(self._node.create_publisher(own(kind), topic, quality))

    def subscribe(self, topic: str, kind: str, take: Callable[[Any], None]) -> None:
        def heard(message: Any) -> None:
            self._handled += 1
            if not self._ended:
                self._counted(lambda: take(message))

        self._node.create_subscription(own(kind), topic, heard, 10, callback_group=self._group)

    def serve(self, name: str, kind: str, answer: Callable[[Any, Callable[[Any], None]], None]) -> None:
        future = importlib.import_module("rclpy.task").Future

        async def asked(request: Any, response: Any) -> Any:
            self._handled += 1
            later = future(executor=self._executor)
            if self._ended or not self._counted(lambda: answer(request, later.set_result)) and not later.done():
                return response  # return an empty response, since otherwise the client would wait forever
            return theirs(await later)

        self._node.create_service(own(kind), name, asked, callback_group=self._group)

    def _counted(self, do: Callable[[], None]) -> bool:
        """Run a function. If the function raises an error, count the error and return False."""
        try:
            do()
        except Exception as error:
            self.refused, self.why = self.refused + 1, repr(error)
            return False
        return True

    def handle(self) -> None:
        for _ in range(ROUNDS):
            before = self._handled
            if self._counted(lambda: self._executor.spin_once(timeout_sec=0.0)) and self._handled == before:
                break
