"""Things that go wrong, by name: what `femtorque hil --fault NAME` does to the board in mid-motion."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hil.board.virtual import PlayedBoard, VirtualBoard, VirtualClock

Strike = Callable[[PlayedBoard, VirtualClock], None]


@dataclass(frozen=True)
class Fault:
    """doc: one line. strike: does it. early: at power-on, not in mid-motion. settle: s until the board has come to
    its last state after the host has given up. chip: to the virtual board itself, which no real one lets be done."""

    doc: str
    strike: Strike
    early: bool = False
    settle: float = 0.3
    chip: bool = False


def _noise(board: PlayedBoard, clock: VirtualClock) -> None:
    for line in (board.incoming, board.outgoing):
        line.flip, line.drop = 0.1, 0.1


def _duplicates(board: PlayedBoard, clock: VirtualClock) -> None:
    board.incoming.duplicate = board.outgoing.duplicate = 0.3


def _cut(board: PlayedBoard, clock: VirtualClock) -> None:
    board.incoming.cut = board.outgoing.cut = True


def _stuck(board: PlayedBoard, clock: VirtualClock) -> None:
    board.encoder_faults[0].frozen = int(board.plant.counts()[0])


def _jump(board: PlayedBoard, clock: VirtualClock) -> None:
    encoder = board.joints[0][0].encoder
    assert encoder is not None
    board.encoder_faults[0].offset += encoder.counts // 8


def _bus(share: float) -> Strike:
    def strike(board: PlayedBoard, clock: VirtualClock) -> None:
        assert board.mechanism.board is not None
        board.bus_voltage = share * board.mechanism.board.bus_voltage

    return strike


def _on_chip(strike: Callable[[VirtualBoard], None]) -> Strike:
    """Of a fault that only the virtual board can have."""
    def on_virtual(board: PlayedBoard, clock: VirtualClock) -> None:
        assert isinstance(board, VirtualBoard)
        strike(board)

    return on_virtual


def _heat(board: VirtualBoard) -> None:
    board.temperatures = [120.0 for _ in board.temperatures]


def _no_crystal(board: VirtualBoard) -> None:
    board.chip.rcc.hse_alive = False


_HOST_LOST = 1.5  # s: two-stage failsafe, first stop on the path, then power off or hold

FAULTS = {
    "estop": Fault("the e-stop loop opens", _on_chip(lambda board: board.estop(True)), chip=True),
    "noise": Fault("10 % of all frames have a wrong bit and 10 % are lost, from power-on", _noise, early=True),
    "duplicates": Fault("30 % of all frames come twice, from power-on", _duplicates, early=True),
    "random-bytes": Fault("20 kB of random bytes on the line to the board", lambda b, c: b.incoming.inject(20_000),
                          settle=_HOST_LOST),
    "host-stall": Fault("the host does nothing for 400 ms", lambda board, clock: clock.stall(0.4), settle=_HOST_LOST),
    "host-gone": Fault("the cable is pulled", _cut, settle=_HOST_LOST),
    "reset": Fault("the reset pin is pulled low for a moment", _on_chip(lambda board: board.reset("pin")), chip=True),
    "brown-out": Fault("the supply of the chip dips", _on_chip(lambda board: board.reset("brownout")), chip=True),
    "crystal": Fault("the external oscillator stops", _on_chip(VirtualBoard.kill_crystal), chip=True),
    "dead-crystal": Fault("the external oscillator never starts", _on_chip(_no_crystal), early=True, chip=True),
    "encoder-stuck": Fault("the first joint's encoder stops counting", _stuck),
    "encoder-jump": Fault("the first joint's encoder jumps by an eighth of a turn", _jump),
    "over-voltage": Fault("the motors' supply rises to one and a half of the nominal voltage", _bus(1.5), chip=True),
    "over-temperature": Fault("the drivers heat up to 120 deg C", _on_chip(_heat), chip=True),
    "supply-off": Fault("the motors' supply is switched off", _bus(0.0)),
}


def inject(name: str, board: PlayedBoard, clock: VirtualClock, middle: float) -> None:
    """Let a fault of FAULTS strike: `middle` seconds from now, or, if it is an early one, now."""
    fault = FAULTS[name]
    board.at(board.seconds + (0.0 if fault.early else middle), lambda: fault.strike(board, clock))
