"""A host's adapter on a CAN bus. The adapter sends the given frames in turn and passes received frames on (adapter.c).
"""

from collections.abc import Callable
from typing import Any

from femtorque.hil.bus.frame import Frame, give, taken
from femtorque.hil.bus.node import BitTiming, Counters, OnWire
from femtorque.hil.bus.wire import Wire
from femtorque.hil.clock import Member


class Adapter(OnWire):
    """The adapter. timing, fast: its bit timings. waiting: number of frames that have not been sent yet."""

    waiting = Member(int)

    def __init__(self, wire: Wire, timing: BitTiming, fast: BitTiming | None = None) -> None:
        self.wire, self.parts = wire, wire.clock.parts
        self.state: Any = self.parts.ffi.new("adapter *")
        self.node = self.parts.ffi.addressof(self.state.node)
        self.counters = Counters(self.node)
        self.node.timing = timing.state[0]
        if fast is not None:
            self.node.fd, self.node.fast = True, fast.state[0]
        self.parts.lib.adapter_begin(self.state, wire.state)
        wire.attach(self)

    def hear(self, take: Callable[[Frame], None]) -> None:
        """Call a function with each frame of other nodes."""
        self._take = self.parts.ffi.callback("void(void *, const can_frame *)", lambda of, frame: take(taken(frame)),
                                             onerror=self.parts.refuse)
        self.state.take = self._take

    def send(self, frames: list[Frame]) -> None:
        """Queue frames. Frames beyond the queue of a tenth of a second are lost."""
        place = self.parts.ffi.new("can_frame *")
        for frame in frames:
            give(frame, place)
            self.parts.lib.adapter_send(self.state, place)
        self.parts.check()
