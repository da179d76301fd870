"""A host's adapter on a CAN bus. The adapter sends the given frames in turn and passes received frames on."""

from collections.abc import Callable

from femtorque.hil.bus.frame import Frame
from femtorque.hil.bus.node import BitTiming, TimedNode
from femtorque.hil.bus.wire import Wire


class Adapter(TimedNode):
    """The adapter. timing, fast: its bit timings."""

    def __init__(self, wire: Wire, timing: BitTiming, fast: BitTiming | None = None) -> None:
        super().__init__(timing, fast)
        self.wire = wire
        self._queue: list[Frame] = []
        self.take: Callable[[Frame], None] = lambda frame: None  # called with each frame of other nodes
        wire.attach(self)

    @property
    def waiting(self) -> int:
        """Number of frames that have not been sent yet."""
        return len(self._queue)

    def offer(self) -> Frame | None:
        return self._queue[0] if self._queue and self.listening else None

    def send(self, frames: list[Frame]) -> None:
        self._queue += frames
        self.wire.ask(self)

    def sent(self) -> None:
        self._queue.pop(0)

    def heard(self, frame: Frame) -> None:
        self.take(frame)
