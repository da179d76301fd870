"""A test bench for CAN controllers: tests write registers on one side, and a simple node is on the other side of the
bus."""

from collections.abc import Callable

from femtorque.hil.bus import BitTiming, Frame, Wire
from femtorque.hil.bus.node import Error, Node
from femtorque.hil.chip.registers import Bus
from femtorque.hil.chip.reset_values import after_reset
from femtorque.hil.clock import EventClock, Events

MEGABIT = BitTiming(50e-9, 15, 5, 4)
FIVE_MEGABITS = BitTiming(12.5e-9, 12, 4, 4)


class Other(Node):
    """A node on the bus that acknowledges and stores the controllers' frames, and sends frames."""

    timing, fast = MEGABIT, FIVE_MEGABITS

    def __init__(self, wire: Wire) -> None:
        super().__init__()
        self.wire, self.here = wire, True
        self.queue: list[Frame] = []
        self.got: list[Frame] = []
        self.errors: list[Error] = []
        wire.attach(self)

    @property
    def listening(self) -> bool:
        return self.here and not self.counters.off

    def offer(self) -> Frame | None:
        return self.queue[0] if self.queue and self.listening else None

    def send(self, *frames: Frame) -> None:
        self.queue += frames
        self.wire.ask(self)

    def sent(self) -> None:
        self.queue.pop(0)

    def heard(self, frame: Frame) -> None:
        self.got.append(frame)

    def disturbed(self, error: Error) -> None:
        self.errors.append(error)


class Bench:
    """A bench with a clock, registers and a bus. hz: rate of the processor's clock."""

    def __init__(self, family: str, hz: float) -> None:
        self.hz, self.events = hz, Events()
        self.bus = Bus(after_reset(family))
        self.events.parts.state.hz = hz
        self.wire = Wire(EventClock(self.events))
        self.other = Other(self.wire)

    @property
    def seconds(self) -> float:
        return self.events.now / self.hz

    def run(self, seconds: float, until: Callable[[], bool] = lambda: False) -> bool:
        """Run until until() is true, or until the time has passed. Return until()."""
        end = self.events.now + round(seconds * self.hz)
        while not until() and self.events.next() <= end:
            self.events.now = self.events.next()
            self.events.fire()
        if not until():
            self.events.now = end
        return until()

    def read(self, address: int) -> int:
        part = self.bus.find(address)
        return part.read(address - part.base, 4)

    def write(self, address: int, value: int) -> None:
        part = self.bus.find(address)
        part.write(address - part.base, 4, value)

    def writes(self, base: int, *values: tuple[int, int]) -> None:
        """Write values in turn, at offsets from the base address."""
        for at, value in values:
            self.write(base + at, value)
