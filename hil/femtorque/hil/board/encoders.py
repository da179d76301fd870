"""The encoders of a board convert the motion of a plant into timer counts and signals on index pins."""

from collections.abc import Callable
from functools import partial

from femtorque.codegen.board import Board, ChannelEncoder
from femtorque.hil.board.bridges import Served, pin_of
from femtorque.hil.board.encoder_fault import EncoderFault
from femtorque.hil.chip import Gpio, Stm32, Timer
from femtorque.hil.plant import Driven

Wires = list[tuple[Gpio, int, int]]


class Encoders:
    """faults: faults of each joint's encoder (J)."""

    def __init__(self, board: Board, chip: Stm32, joints: Served,
                 plant: Driven) -> None:
        self._board, self._chip, self._plant = board, chip, plant
        self.faults = [EncoderFault() for _ in joints]
        self._counters: dict[int, tuple[Timer, Wires, Callable[[], int]]] = {}  # by joint
        for j, (_, channel) in enumerate(joints):
            if channel:
                timer, wires = chip.timers[channel.encoder.timer], self._wires(channel.encoder)
                timer.counts = self._counter(j, wires)
                self._counters[j] = timer, wires, timer.counts
                if channel.encoder.index:
                    port, pin = pin_of(chip, channel.encoder.index)
                    port.sources[pin] = partial(self._index, j)

    def _wires(self, encoder: ChannelEncoder) -> Wires:
        """Return port, pin and alternate function of an encoder's two lines."""
        return [(*pin_of(self._chip, pin), self._board.function(f"{encoder.timer}_CH{n}", pin))
                for n, pin in ((1, encoder.a), (2, encoder.b))]

    def describe(self) -> None:
        """Describe to C which timers count an encoder without errors."""
        for j, (timer, wires, counter) in self._counters.items():
            plainly = self.faults[j].none and timer.counts is counter and _connected(wires)
            timer.state.joint = j if plainly else -1

    def _counter(self, j: int, wires: Wires) -> Callable[[], int]:
        """Return a function for the counts of a timer: 0 while the encoder's pins are not connected to it."""
        plant, fault = self._plant, self.faults[j]

        def counts() -> int:
            if fault.stall:
                self._chip.core.stall(fault.stall)
                fault.stall = 0
            return fault.seen(int(plant.counts()[j])) if _connected(wires) else 0

        return counts

    def _index(self, j: int) -> bool:
        """Return true during the index pulse of an encoder, if the plant has an index."""
        self._chip.parts.announce_read()
        pulse = getattr(self._plant, "index", None)
        return bool(pulse is not None and pulse(j))


def _connected(wires: Wires) -> bool:
    """Return true if the pins are switched to the timer."""
    return all(port.alternate(pin) == function for port, pin, function in wires)
