"""What scripts and notebooks call beside Mechanism, Trajectory and Board."""

from __future__ import annotations

from pathlib import Path

from numpy.typing import ArrayLike

from codegen.mechanism import Mechanism
from host import log, plan, waypoints
from host import report as pages
from host.findings import Findings


def plan_motion(mechanism: Mechanism, points: str | Path, *, tip: str | None = None, begin: ArrayLike | None = None,
                back: bool = False, speed: float = 1.0, reserve: float = plan.RESERVE) -> plan.Plan:
    """A jerk-limited motion within all limits through the waypoints of a TOML or CSV file (host.waypoints).

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
