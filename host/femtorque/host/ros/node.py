"""A ROS 2 node on zenoh by rmw_zenoh's conventions. The node's threads queue messages. `handle` processes the messages
in the board's thread."""

from __future__ import annotations

import queue
import time
import uuid
from collections.abc import Callable
from typing import Any

import zenoh
from zenoh.ext import CacheConfig, declare_advanced_publisher

from femtorque.codegen.common import BadInput
from femtorque.host.ros import keys
from femtorque.host.ros.interfaces import kinds, packed, unpacked

ROUTER = "tcp/localhost:7447"  # address of `ros2 run rmw_zenoh_cpp rmw_zenohd`
WAITING = 1000  # queued messages at most; further messages are dropped and counted


class Publisher:
    """Publisher of a topic in each type that subscribers may expect. latched: late subscribers get the last message."""

    def __init__(self, node: Node, topic: str, kind: str, latched: bool) -> None:
        self._sequence, self._gid = 0, uuid.uuid4().bytes
        self._publishers: dict[str, Any] = {}
        for one in kinds(kind):
            key = keys.key(node.domain, topic, one)
            self._publishers[one] = declare_advanced_publisher(
                node.session, key, cache=CacheConfig(max_samples=1), publisher_detection=True) \
                if latched else node.session.declare_publisher(key)

    def publish(self, message: Any) -> None:
        self._sequence += 1
        for kind, publisher in self._publishers.items():
            publisher.put(packed(kind, message), attachment=keys.attachment(self._sequence, time.time_ns(), self._gid))


class Node:
    """A context with a router's address, e.g. tcp/localhost:7447. The router may start or restart later. refused:
    number of unreadable or surplus messages. why: the last reason. alone: a sentence if no router was there, or ''."""

    def __init__(self, name: str, domain: int = 0, router: str = ROUTER) -> None:
        self.name, self.domain, self.refused, self.why = name, domain, 0, ""
        self._router = router
        self._events: queue.Queue[Callable[[], None]] = queue.Queue(WAITING)
        self._kept: list[Any] = []
        self._endpoints = 0

    def __enter__(self) -> Node:
        configuration = zenoh.Config()
        for place, value in (("mode", '"peer"'), ("connect/endpoints", f'["{self._router}"]'),
                             ("connect/exit_on_failure", "false"), ("connect/timeout_ms", "-1"),
                             ("listen/endpoints", '["tcp/localhost:0"]'), ("scouting/multicast/enabled", "false"),
                             ("scouting/gossip/enabled", "true"), ("timestamping/enabled", "true")):
            try:
                configuration.insert_json5(place, value)
            except zenoh.ZError as error:
                raise BadInput("command line", "--router", self._router, f"cannot be used: {error}",
                               f"for example {ROUTER}") from None
        try:
            self.session = zenoh.open(configuration)
        except zenoh.ZError as error:
            raise BadInput("command line", "--router", self._router, f"cannot be opened: {error}",
                           f"for example {ROUTER}") from None
        self.alone = "" if self.session.info.routers_zid() else (
            f"no router is at {self._router}: `ros2 run rmw_zenoh_cpp rmw_zenohd` starts one; then the node connects")
        self._node = keys.Node(self.domain, str(self.session.info.zid()), self.name)
        self._announce(self._node.token())
        return self

    def __exit__(self, *how: object) -> None:
        self._kept.clear()
        self.session.close()

    def publisher(self, topic: str, kind: str, latched: bool = False) -> Publisher:
        made = Publisher(self, topic, kind, latched)
        self._kept.append(made)
        for one in kinds(kind):
            self._endpoint(keys.PUBLISHER, topic, one, keys.quality(latched, 1 if latched else 10))
        return made

    def subscribe(self, topic: str, kind: str, take: Callable[[Any], None]) -> None:
        """Let `handle` call `take` with every message."""
        def heard(sample: Any) -> None:
            data = sample.payload.to_bytes()
            self._put(lambda: take(unpacked(kind, data)))

        self._kept.append(self.session.declare_subscriber(keys.key(self.domain, topic, kind), heard))
        self._endpoint(keys.SUBSCRIPTION, topic, kind, keys.quality(False))

    def serve(self, name: str, kind: str, answer: Callable[[Any, Callable[[Any], None]], None]) -> None:
        """Offer a service. `handle` calls `answer` with each request and a function that sends the response."""
        key = keys.key(self.domain, name, kind)

        def asked(query: Any) -> None:
            def handled() -> None:
                if query.payload is None or query.attachment is None:
                    raise ValueError("a request without payload or attachment")
                sequence, gid = keys.read_attachment(query.attachment.to_bytes())
                request = unpacked(f"{kind}_Request", query.payload.to_bytes())

                def reply(response: Any) -> None:
                    query.reply(key, packed(f"{kind}_Response", response),
                                attachment=keys.attachment(sequence, time.time_ns(), gid))
                    query.drop()

                answer(request, reply)

            self._put(handled)

        self._kept.append(self.session.declare_queryable(key, asked, complete=True))
        self._endpoint(keys.SERVICE, name, kind, keys.quality(False))

    def handle(self) -> None:
        """Handle the messages since the last call, and count unreadable ones, which never stop the node or the arm."""
        for _ in range(self._events.qsize()):
            try:
                self._events.get_nowait()()
            except Exception as error:
                self.refused, self.why = self.refused + 1, repr(error)

    def _put(self, event: Callable[[], None]) -> None:
        try:
            self._events.put_nowait(event)
        except queue.Full:
            self.refused += 1

    def _endpoint(self, entity: str, topic: str, kind: str, qos: str) -> None:
        self._endpoints += 1
        self._announce(self._node.endpoint(self._endpoints, entity, topic, kind, qos))

    def _announce(self, token: str) -> None:
        self._kept.append(self.session.liveliness().declare_token(token))
