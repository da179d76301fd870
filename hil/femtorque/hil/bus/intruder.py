"""An intruder: a node that sends the same frame again and again. If the intruder and the node with the same identifier
send together, the errors can put the intruder bus off. After a bus off, the intruder joins the bus again."""

from femtorque.hil.bus.frame import Frame
from femtorque.hil.bus.node import BitTiming, TimedNode
from femtorque.hil.bus.wire import Wire

RETURNS = 5.3e-3  # time between checks for bus off, s; not a multiple of the board's tick


class Intruder(TimedNode):
    """The intruder. period: time between frames, s; 0 for as many frames as the bus accepts. timing, fast: bit timings.
    """

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

    def offer(self) -> Frame | None:
        return self.frame if self._ready and self.listening else None

    def sent(self) -> None:
        self._ready = not self.period

    def _again(self) -> None:
        """Offer the frame again. The period begins when the frame is offered, not when the frame is sent. If the period
        began at the transmission, the frames would synchronise with the board's tick on a busy bus."""
        self._ready = True
        self.wire.ask(self)
        self.wire.clock.after(self.period, self._again)

    def _return(self) -> None:
        if self.counters.off:
            self.counters.clear()
            self.wire.ask(self)
        self.wire.clock.after(RETURNS, self._return)
