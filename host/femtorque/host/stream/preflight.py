"""Checks before a board is armed for a motion. A motion that cannot succeed is refused here."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from femtorque.codegen.common import BadInput
from femtorque.codegen.mechanism import Mechanism
from femtorque.codegen.motion import Trajectory, check_limits, check_streamable
from femtorque.host.plan import Load, effort

SLACK = 1e-3  # fraction of the effort by which a torque may exceed its limit
SLOWER = (0.95, 0.9, 0.85, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1)  # factors that a hint may suggest


@dataclass(frozen=True)
class Preflight:
    duration: float  # duration of one round, s
    heaviest: Load | None  # the motors' largest load; None if no effort is known

    def words(self) -> str:
        if self.heaviest is None:
            return f"{self.duration:.3f} s, every limit kept"
        most = f"at most {self.heaviest.share:.0%} of the effort: {self.heaviest}"
        return f"{self.duration:.3f} s, every limit kept; {most}"

    def data(self) -> dict[str, Any]:
        worst = self.heaviest
        return {"duration": self.duration, "effort": None if worst is None else
                {"joint": worst.joint, "t": worst.t, "torque": worst.torque, "available": worst.available}}


def examine(trajectory: Trajectory, mechanism: Mechanism, loop: bool = False) -> Preflight:
    """Check limits, rest at both ends, and for repetition equal ends. Raises BadInput with joint, time and remedy."""
    check_limits(trajectory, mechanism)
    check_streamable(trajectory, mechanism)
    if loop:
        _check_loop(trajectory, mechanism)
    worst = effort.heaviest(mechanism, trajectory)
    if worst is not None and worst.share > 1.0 + SLACK:
        raise BadInput(trajectory.source or "trajectory", f"{worst.joint} at t = {worst.t:.6g} s", None,
                       f"needs {abs(worst.torque):.3g} {worst.unit}, {worst.available:.3g} {worst.unit} is there",
                       _slower(trajectory, mechanism))
    return Preflight(trajectory.duration, worst)


def _slower(trajectory: Trajectory, mechanism: Mechanism) -> str:
    for speed in SLOWER:
        worst = effort.heaviest(mechanism, trajectory.faster(speed))
        if worst is None or worst.share <= 1.0:
            return f"`--speed {speed:g}` is slow enough"
    return "no speed is slow enough: the joint cannot hold the arm there"


def _check_loop(trajectory: Trajectory, mechanism: Mechanism) -> None:
    """Check that the motion ends at its beginning; for a continuous joint, up to whole turns."""
    apart = trajectory.positions[-1] - trajectory.positions[0]
    endless = np.array([joint.type == "continuous" for joint in mechanism.streamed])
    apart -= np.where(endless, 2.0 * np.pi * np.round(apart / (2.0 * np.pi)), 0.0)
    for j in np.flatnonzero(np.abs(apart) > 1e-6)[:1]:
        raise BadInput(trajectory.source or "trajectory", "--loop", None,
                       f"{trajectory.joints[j]} ends {apart[j]:+.4g} from where it begins",
                       "a loop ends where it begins: `femtorque plan --back` makes one")
