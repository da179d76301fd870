"""A node that nobody has asked for: it sends one frame over and over."""

from __future__ import annotations

from femtorque.hil.bus.frame import Frame
from femtorque.hil.bus.node import BitTiming, TimedNode
from femtorque.hil.bus.wire import Wire


class Intruder(TimedNode):
    """period: s between its frames; 0: as fast as the wire takes them. timing, fast: its bits."""

    def __init__(self, wire: Wire, frame: Frame, period: float, timing: BitTiming,
                 fast: BitTiming | None = None) -> None:
        super().__init__(timing, fast)
        self.wire, self.frame, self.period = wire, frame, period
        self._ready = True
        wire.attach(self)
        wire.ask(self)

    @property
    def listening(self) -> bool:
        return not self.counters.off

    def offer(self) -> Frame | None:
        return self.frame if self._ready and self.listening else None

    def sent(self) -> None:
        if self.period:
            self._ready = False
            self.wire.clock.after(self.period, self._again)

    def _again(self) -> None:
        self._ready = True
        self.wire.ask(self)
