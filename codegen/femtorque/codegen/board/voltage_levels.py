"""Check of the voltages that a board's encoder inputs and half-duplex pins tolerate."""

from collections.abc import Iterable, Iterator, Sequence

from femtorque.codegen.board.description import Board
from femtorque.codegen.board.pin_uses import Pull
from femtorque.codegen.board.reader import load_board
from femtorque.codegen.mechanism import Mechanism


def bears(board: Board, pins: Sequence[str], pull: Pull) -> str:
    """Return the highest voltage, as text, that an external signal may have at these pins."""
    if board.chip.low_volt.intersection(pins):
        return "3.3 V"
    return "5 V" if pull == "float" else '3.3 V; 5 V with pull = "float"'


def levels(mechanism: Mechanism) -> list[str]:
    """Return warnings about inputs that 5 V would destroy, encoder inputs that tolerate 5 V only without a pull, and
    servo buses with another signal voltage than the chip."""
    if mechanism.board is None:
        return []
    board = load_board(mechanism.board.use, mechanism.source or mechanism.name)
    return [*_encoders(mechanism, board), *_wires(mechanism, board)]


def _encoders(mechanism: Mechanism, board: Board) -> Iterator[str]:
    encoders = [(joint.name, board.channels[joint.motor.channel].encoder) for joint in mechanism.streamed
                if joint.motor and not joint.drive and joint.motor.channel < len(board.channels)]
    low = [(name, pin) for name, encoder in encoders for pin in encoder.pins if pin in board.chip.low_volt]
    pulled = [name for name, encoder in encoders
              if encoder.pull == "up" and not board.chip.low_volt.intersection(encoder.pins)]
    if low:
        yield (f"never 5 V at the encoder inputs of {_names(name for name, _ in low)}: "
               f"{', '.join(pin for _, pin in low)} of the {board.chip.part} bear 3.6 V; supply the encoder with "
               f"3.3 V, or put a level shifter in between")
    if pulled:
        yield (f"the encoder inputs of {_names(pulled)} bear 5 V only with their pulls off: for an encoder "
               f'with 5 V outputs write encoder.pull = "float" into the board file')


def _wires(mechanism: Mechanism, board: Board) -> Iterator[str]:
    """Yield one warning per half-duplex bus whose servos work at 5 V and whose pin has no buffer."""
    for name, wire in board.half_duplex.items():
        types = [j.drive.type for j in mechanism.moving if j.drive is not None and j.drive.bus == name]
        strong = _names(t.name for t in types if t.servo is not None and t.servo.logic == 5.0)
        if wire.transceiver is not None or not types:
            continue
        if strong:
            yield (f"{strong} on the wire {name!r} take and give 5 V: put a level-shifting buffer between {wire.pin} "
                   f"and the wire, which finds its direction by itself")
        elif wire.pin in board.chip.low_volt:
            yield (f"never 5 V at the wire {name!r}: {wire.pin} of the {board.chip.part} bears 3.6 V; measure the wire "
                   f"of the servos alone, and put a level shifter in between where it is higher")


def _names(names: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(names))
