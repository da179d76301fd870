"""An intruder: a node that sends one frame over and over. If the intruder and the node with its identifier send
together, errors can put the intruder off the bus. The intruder then comes back."""

from femtorque.hil.bus.frame import Frame
from femtorque.hil.bus.node import BitTiming, TimedNode
from femtorque.hil.bus.wire import Wire

RETURNS = 5.3e-3  # s between two checks for bus off; the checks drift through the board's tick


class Intruder(TimedNode):
    """The intruder. period: s between frames; 0: as fast as the wire takes them. timing, fast: of its bits."""

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
        """Offer the frame again. The period does not begin when the frame is sent. Otherwise the frames would come in
        step with the board's tick on a busy wire."""
        self._ready = True
        self.wire.ask(self)
        self.wire.clock.after(self.period, self._again)

    def _return(self) -> None:
        if self.counters.off:
            self.counters.clear()
            self.wire.ask(self)
        self.wire.clock.after(RETURNS, self._return)
