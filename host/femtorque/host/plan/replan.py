"""Turns a recorded motion into a plan. The motion is unchanged, or slowed if the motors need more time."""

from dataclasses import dataclass
from pathlib import Path

from femtorque.codegen.common import Refused
from femtorque.codegen.mechanism import Mechanism
from femtorque.codegen.motion import Trajectory
from femtorque.host.plan import effort
from femtorque.host.plan.planning import Plan, Slowed, shares

SLOWER = 0.9  # factor between two tries
SLOWEST = 0.05


@dataclass(frozen=True)
class Repeated(Plan):
    """A plan without waypoints."""

    def words(self) -> str:
        lines = [f"{self.trajectory.duration:.3f} s, as recorded and smoothed, every limit kept"]
        lines += [f"{s.factor:.2f} times slower than recorded: {s.because}" for s in self.slowed]
        return "\n".join(lines)


def repeat(mechanism: Mechanism, recording: Path, speed: float = 1.0, reserve: float = 0.1) -> Repeated:
    """Return a log's motion, slowed so that all limits hold. reserve: fraction of the effort for the feedback. speed:
    factor on the recorded speed, at most 1. Raises BadInput for a log without a motion, and Refused if the motors are
    too weak at any speed."""
    recorded = Trajectory.load(recording, mechanism)
    played, because = (recorded.faster(speed) if speed != 1.0 else recorded), ""
    while (worst := effort.heaviest(mechanism, played)) is not None and worst.share > 1.0 - reserve:
        because = because or str(worst)
        if played.duration * SLOWEST > recorded.duration:
            raise Refused(f"{recording}: no speed is slow enough: {worst}")
        played = played.faster(SLOWER)
    factor = played.duration / recorded.duration * speed
    slowed = (Slowed(0, "its end", factor, because),) if because else ()
    return Repeated(played, (), slowed, shares(mechanism, played), None, ())
