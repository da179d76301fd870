"""Voltages that a board's encoder inputs bear."""

from __future__ import annotations

from collections.abc import Iterable

from femtorque.codegen.board.description import Board, ChannelEncoder
from femtorque.codegen.board.reader import load
from femtorque.codegen.mechanism.description import Mechanism


def bears(board: Board, encoder: ChannelEncoder) -> str:
    """The highest level that an encoder may give there."""
    if board.chip.low_volt.intersection(encoder.pins):
        return "3.3 V"
    return "5 V" if encoder.pull == "float" else '3.3 V; 5 V with pull = "float"'


def levels(mechanism: Mechanism) -> list[str]:
    """In words, a line each: encoder inputs that a signal of 5 V would destroy, and those that must have no pull."""
    if mechanism.board is None:
        return []
    board = load(mechanism.board.use, mechanism.source or mechanism.name)
    encoders = [(joint.name, board.channels[joint.motor.channel].encoder) for joint in mechanism.streamed
                if joint.motor and not joint.drive and joint.motor.channel < len(board.channels)]
    low = [(name, pin) for name, encoder in encoders for pin in encoder.pins if pin in board.chip.low_volt]
    pulled = [name for name, encoder in encoders
              if encoder.pull == "up" and not board.chip.low_volt.intersection(encoder.pins)]
    lines = []
    if low:
        lines.append(f"never 5 V at the encoder inputs of {_names(name for name, _ in low)}: "
                     f"{', '.join(pin for _, pin in low)} of the {board.chip.part} bear 3.6 V; supply the encoder with "
                     f"3.3 V, or put a level shifter in between")
    if pulled:
        lines.append(f"the encoder inputs of {_names(pulled)} bear 5 V only with their pulls off: for an encoder "
                     f'with 5 V outputs write encoder.pull = "float" into the board file')
    return lines


def _names(names: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(names))
