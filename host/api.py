"""What scripts and notebooks call beside Mechanism, Trajectory and Board."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

from numpy.typing import ArrayLike

from codegen.mechanism import description
from codegen.mechanism.reader import load_mechanism
from codegen.motion.trajectory import Trajectory
from codegen.verify.torque import Torque, torque
from host.plan import plan, waypoints
from host.record import log
from host.show import report as pages
from host.show.findings import Findings


class Mechanism(description.Mechanism):
    """A validated mechanism (all that codegen.mechanism.description.Mechanism has), and what a script does with it
    first."""

    @staticmethod
    def load(path: str | Path) -> Mechanism:
        """Read and validate a mechanism file. Raises BadInput with one line on anything that is not right."""
        read = load_mechanism(path)
        return Mechanism(**{f.name: getattr(read, f.name) for f in fields(read)})

    def torque(self, trajectory: Trajectory | str | Path, total: bool = False) -> Torque:
        """Feed-forward torques of every control tick of a motion, by the float64 reference (codegen.verify.torque).

        total adds what the motors themselves need (Eq. 19). Raises BadInput if the motion cannot be used.

        >>> arm = Mechanism.load("mechanisms/three_link.toml")
        >>> arm.torque("mechanisms/three_link.csv").tau.shape
        (3000, 3)
        """
        if not isinstance(trajectory, Trajectory):
            trajectory = Trajectory.load(trajectory, self)
        return torque(self, trajectory, total=total)


def plan_motion(mechanism: description.Mechanism, points: str | Path, *, tip: str | None = None,
                begin: ArrayLike | None = None,
                back: bool = False, speed: float = 1.0, reserve: float = plan.RESERVE) -> plan.Plan:
    """A jerk-limited motion within all limits through the waypoints of a TOML or CSV file (host.plan.waypoints).

    tip: LINK or LINK:x,y,z. begin: joint positions (J,), by default the start pose. back: return there at the end.
    Raises BadInput for waypoints that cannot be right, Refused for those that cannot be reached or held.
    """
    return plan.plan(mechanism, waypoints.load(Path(points), mechanism, tip), begin=begin, back=back, speed=speed,
                     reserve=reserve)


def report(run: str | Path, page: str | Path | None = None) -> list[str]:
    """What was worst in a logged run, in words; with `page` (.html) also the report with its figures."""
    what = log.read(Path(run))
    if page is not None:
        pages.write(what, Path(page))
    return Findings(what).sentences
