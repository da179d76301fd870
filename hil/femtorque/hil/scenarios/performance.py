"""Plays a scenario by its name on the virtual board or a real board: the possible runs, and the verdict."""

from dataclasses import dataclass
from functools import partial
from typing import Any

from femtorque.codegen.common import BadInput, hint
from femtorque.hil.board import FAULTS
from femtorque.hil.play import Result, run_closed_loop, run_in_the_loop
from femtorque.hil.scenarios import scenario
from femtorque.hil.scenarios.scenario import Check, PlannedRun, Runner, Scenario


@dataclass(frozen=True)
class Performance:
    """results: results of the played runs, by name. left_out: reasons why other runs or comparisons were not played."""

    scenario: Scenario
    results: dict[str, Result]
    checks: list[Check]
    left_out: dict[str, str]

    @property
    def good(self) -> bool:
        return all(check.good for check in self.checks)

    def report(self) -> dict[str, Any]:
        """Return the JSON object of `femtorque hil scenario`."""
        return {
            "scenario": self.scenario.name, "good": self.good,
            "runs": {name: result.report() for name, result in self.results.items()},
            "checks": [vars(check) for check in self.checks], "left_out": self.left_out,
        }

    def lines(self) -> list[str]:
        """Return the verdict, one line per check."""
        held = [f"{'holds' if c.good else 'FAILS'}  {c.what}: {c.found} ({c.allowed})" for c in self.checks]
        return held + [f"left out  {name}: {why}" for name, why in self.left_out.items()]


def perform(name: str, only: str | None = None, *, short: bool = False, fault: str | None = None,
            board: str | None = None, wall: Any = None) -> Performance:
    """Play all runs of a scenario, or one of them, and check the file's requirements. fault: injected instead of the
    run's fault, without this check. board: port of a real board with the pil image, by default the virtual board. wall:
    clock that limits the wait for the board. Raises BadInput for an unknown or unplayable scenario, Refused for a
    run."""
    chosen = scenario.load_scenario(name)
    cases = chosen.runs(short) if only is None else [_named(chosen, only)]
    left_out = {case.name: why for case in cases if (why := _why_not(case, board))}
    played = [case for case in cases if case.name not in left_out]
    if not played:
        reasons = "; ".join(f"{run}: {why}" for run, why in left_out.items())
        raise BadInput("hil scenario", "NAME", name, "has nothing that can be played on this board",
                       reasons or "no board takes part in it; `femtorque reproduce` shows it")
    runner: Runner = run_closed_loop if board is None else partial(run_in_the_loop, board, wall=wall)
    results = {case.name: scenario.play_scenario(chosen, case, short=short, fault=fault,
                                                 runner=runner) for case in played}
    checks = scenario.checks(chosen, results, short) if fault is None else []
    left_out |= {f"{case.name} against {other}": "that was not played" for case in played
                 for other in case.references.values() if fault is None and other not in results}
    return Performance(chosen, results, checks, left_out)


def _named(chosen: Scenario, only: str) -> PlannedRun:
    names = [case.name for case in chosen.file.run]
    if only not in names:
        raise BadInput("command line", "--run", only, f"no such run of {chosen.name}", hint(only, names))
    return chosen.run(only)


def _why_not(case: PlannedRun, board: str | None) -> str:
    """Return why this board cannot play a run, or "". A real board has only the image with feed-forward."""
    if case.design:
        return "its motors have to be chosen first, as `femtorque reproduce` does"
    if board is not None and not case.feedforward:
        return "it needs an image without feed-forward"
    if board is not None and case.fault is not None and FAULTS[case.fault].chip:
        return f"fault {case.fault} happens to the virtual board only"
    return ""
