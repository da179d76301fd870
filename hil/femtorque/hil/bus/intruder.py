"""A node that nobody has asked for: it sends one frame over and over, and comes back if its errors have put it off the
bus, as they do where it sends together with the node whose name it takes."""

from femtorque.hil.bus.frame import Frame
from femtorque.hil.bus.node import BitTiming, TimedNode
from femtorque.hil.bus.wire import Wire

RETURNS = 5.3e-3  # s from one look to the next whether it is off the bus: at another moment of a tick


class Intruder(TimedNode):
    """period: s from the moment when one frame is due to the next; 0: as fast as the wire takes them. timing, fast: its
    bits."""

    def __init__(self, wire: Wire, frame: Frame, period: float, timing: BitTiming,
                 fast: BitTiming | None = None) -> None:
        super().__init__(timing, fast)
        self.wire, self.frame, self.period = wire, frame, period
        self._ready = True
        wire.attach(self)
        wire.ask(self)
        if period:
            wire.clock.after(period, self._again)
        wire.clock.after(RETURNS, self._return)

    @property
    def listening(self) -> bool:
        return not self.counters.off

    def offer(self) -> Frame | None:
        return self.frame if self._ready and self.listening else None

    def sent(self) -> None:
        self._ready = not self.period

    def _again(self) -> None:
        """Not from when it was sent: on a busy wire it would come in step with those who are asked every tick."""
        self._ready = True
        self.wire.ask(self)
        self.wire.clock.after(self.period, self._again)

    def _return(self) -> None:
        if self.counters.off:
            self.counters.clear()
            self.wire.ask(self)
        self.wire.clock.after(RETURNS, self._return)
