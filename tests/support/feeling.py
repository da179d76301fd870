"""Arms with [feel] on virtual boards, and their FELT reports."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from femtorque.codegen.common import Array
from femtorque.codegen.mechanism import Contact, Mechanism, load_mechanism
from femtorque.codegen.mechanism.description import Feel
from femtorque.codegen.motion import Trajectory, knots
from femtorque.codegen.wire import Felt
from femtorque.hil.board import VirtualBoard
from femtorque.hil.plant.rigid import Plant
from femtorque.host.link import Session
from femtorque.host.stream import stream
from tests.support.rig import ROOT, connected, pump

SETTLED = 1.0  # longer than the time from power-up until contacts are detected, s
# Thresholds of each joint: N m, slightly above twice the joint's dry friction; N m per rad/s; N m per rad/s^2.
THRESHOLDS = (Contact(7.5, 1.0, 0.3), Contact(8.5, 1.5, 0.5), Contact(5.0, 0.8, 0.2), Contact(1.4, 0.05, 0.01),
              Contact(1.4, 0.05, 0.01), Contact(1.0, 0.05, 0.01))


def six_axis(reaction: str = "none", bandwidth_hz: float = 30.0) -> Mechanism:
    """Return the six-joint arm with [feel], on a board with six motor bridges."""
    it = load_mechanism(ROOT / "mechanisms" / "six_axis.toml")
    assert it.board is not None
    joints = tuple(replace(j, contact=c) for j, c in zip(it.joints, THRESHOLDS, strict=True))
    return replace(it, name=f"six_axis_{reaction}", joints=joints, board=replace(it.board, use="f405rg-6"),
                   feel=Feel(reaction, bandwidth_hz))


@dataclass
class Feeling:
    """An arm in HOLD after its transients have decayed, and all FELT reports from then on."""

    board: VirtualBoard
    session: Session
    reports: list[Felt]

    def wait(self, seconds: float) -> None:
        for _ in range(round(100.0 * seconds)):
            pump(self.board, self.session, 1)

    def push(self, torque: Array) -> int:
        """Apply an external torque to the joints from now on. Return the number of the next tick."""
        self.board.plant.hand = lambda plant: torque  # type: ignore[attr-defined]
        return self.board.ticks

    def play(self, file: Path) -> str:
        """Play the motion of a file. Return how the motion ended."""
        return self.move(Trajectory.load(file, self.board.mechanism))

    def move(self, motion: Trajectory) -> str:
        """Play a motion. Return how the motion ended."""
        return stream(self.session, knots(motion, self.board.mechanism)).ended

    @property
    def external(self) -> Array:
        """Return the estimated external torques (reports, joints), N m."""
        return np.array([report.external for report in self.reports])


@contextmanager
def feeling(mechanism: Mechanism, plant: Plant | None = None) -> Iterator[Feeling]:
    """Run the arm on a virtual board and store its reports."""
    with connected(mechanism, plant=plant, armed=True) as (board, session):
        arm = Feeling(board, session, [])
        pumped = session.pump

        def pump_and_keep() -> None:
            pumped()
            if session.felt is not None and (not arm.reports or arm.reports[-1].tick != session.felt.tick):
                arm.reports.append(session.felt)

        session.pump = pump_and_keep  # type: ignore[method-assign]
        arm.wait(SETTLED)
        del arm.reports[:-1]
        yield arm
