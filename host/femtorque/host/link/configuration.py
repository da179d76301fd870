"""The configuration that host and board must share, from the board's report or from a mechanism file."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from femtorque.codegen.board import wires
from femtorque.codegen.common import BadInput
from femtorque.codegen.drive import family_of
from femtorque.codegen.mechanism import Joint, Mechanism
from femtorque.codegen.wire import Ident, position_unit
from femtorque.codegen.wire.codec import text

ASKED = 4  # ticks in which the board reads one setting of one drive, with lost answers
SERVOS_UP = 1.0  # time from power-up of the supply until servos answer and are set up, s


@dataclass(frozen=True)
class Configuration:
    name: str
    board: str
    digest: bytes  # 32 bytes
    joints: tuple[Joint, ...]  # the streamed joints, in the order of the messages
    rate_hz: int
    knot_hz: int
    source: str = ""  # path of the mechanism file
    baud: int = 1_000_000
    start_tolerance: tuple[float, ...] = ()  # maximum distance from the first knot at START, rad or m per joint
    pil: bool = False  # the plant is simulated by the host
    brake_s: float = 0.0  # time from arming until the brakes are open, s
    modes: tuple[str, ...] = ()  # names of the modes
    ages: tuple[float, ...] = ()  # typical age of each joint's measured position, s; empty if unknown
    outputs: bool = True  # False if the board only computes torques
    supply_s: float = 0.0  # longest time from power-up until drives and servos are set up, s

    @cached_property
    def units(self) -> NDArray[np.float64]:
        """Unit (J,) of the positions in messages, rad or m."""
        return np.array([position_unit(joint) for joint in self.joints])

    @property
    def tag(self) -> int:
        """The first two bytes of the digest, which every frame contains."""
        return int.from_bytes(self.digest[:2], "big")

    @property
    def mend(self) -> str:
        """Return the command that gives a board this configuration."""
        file = self.source or self.name
        if self.board == "pc":
            return f"start `femtorque board {file}`"
        return f"run `femtorque build {file}{' --pil' if self.pil else ''}` and flash the image"

    @staticmethod
    def of(mechanism: Mechanism, feedforward: bool = True, pil: bool = False,
           step: dict[str, str] | None = None) -> Configuration:
        """Return the configuration of a mechanism's image. step: its emitted step. Raises BadInput without a board."""
        # imported here since these imports take 0.3 s and are not needed to list ports
        from femtorque.codegen.board import load_board  # noqa: PLC0415
        from femtorque.codegen.control import ages, start_tolerance  # noqa: PLC0415
        from femtorque.codegen.emit import on_board  # noqa: PLC0415
        from femtorque.codegen.emit import sources  # noqa: PLC0415

        source = str(mechanism.source) if mechanism.source else mechanism.name
        if mechanism.board is None:
            raise BadInput(source, "board", None, "is missing, and without one there is no image to talk to",
                           'add [board] with use = "f405rg-4"')
        board, old = load_board(mechanism.board.use, mechanism.source or mechanism.name), ages(mechanism)
        return Configuration(
            mechanism.name, on_board(board, pil), sources.identity(mechanism, board, feedforward, step, pil),
            mechanism.streamed,
            mechanism.control.rate_hz, mechanism.control.knot_hz, source, board.baud,
            tuple(start_tolerance(joint) for joint in mechanism.streamed), pil,
            mechanism.safety.brake.release_s if mechanism.safety.brake else 0.0,
            tuple(mode.name for mode in mechanism.modes),
            tuple(old.get(joint.name, 0.0) for joint in mechanism.streamed),
            pil or board.is_pc or board.outputs is not None,
            (mechanism.safety.cutoff.off_s if mechanism.safety.cutoff else 0.0) + SERVOS_UP * bool(wires(mechanism))
            + ASKED * sum(len(family_of(joint.drive.type).settings) for joint in mechanism.streamed if joint.drive)
            / mechanism.control.rate_hz)

    @staticmethod
    def reported(ident: Ident) -> Configuration:
        """Return the configuration of an IDENT. The joints are named by their numbers and assumed to be revolute."""
        zero, axis = np.zeros(3), np.array([0.0, 0.0, 1.0])
        joints = tuple(
            Joint(f"joint{i}", "revolute", "base", f"link{i}", zero, zero, axis) for i in range(ident.joints))
        return Configuration(
            text(ident.name), text(ident.board), bytes(ident.digest), joints, ident.rate_hz, ident.knot_hz)
