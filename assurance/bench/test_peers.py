"""Ours beside its peers on the five arms: same compiler, same flags, same motion, same emulator, same run.

Writes build/bench.json, build/bench.md and build/bench.png.
"""

from dataclasses import replace

import matplotlib
import numpy as np
import pytest

from assurance.bench import cost, table
from assurance.bench.cost import Cost
from assurance.bench.test_step_instructions import LIMITS
from femtorque.codegen.mechanism import Mechanism
from femtorque.codegen.mechanism.description import BoardUse
from femtorque.codegen.model import Model
from femtorque.codegen.step import model_of
from femtorque.codegen.toolchain import platformio
from femtorque.hil.cost import measure
from tests.support.arms import arms

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402

pytestmark = pytest.mark.bench

SINGLE = 1e-6  # of peak: what a float32 recursion without differences over time reaches
OURS_SINGLE = 1e-4  # of peak: momenta are differenced over a tick of 1 ms
QUIET_SINGLE = 1e-5  # of peak: they are not, and what is left is the error of the scheme, second order in the tick

METHODS = {
    "femtorque": "femtorque",
    "femtorque_newton_euler": "femtorque, newton-euler",
    "casadi": "CasADi, made single",
    "loop": "hand-written loop, newlib",
}
# Mean of 20 random states with arm-none-eabi-gcc 12.2 -O2, single precision, library included, in the same emulator.
RECORDED = {
    "SymPyBotics, single": (522, 1523, 1366, 1383, 1926),
    "SymPyBotics, numeric base parameters": (507, 1470, 1108, 1231, 1734),
    "RobCoGen2, C++ and Eigen, float": (1899, 5613, 4190, 4170, 4901),
}


@pytest.fixture(scope="module")
def costs() -> dict[str, dict[str, Cost]]:
    """Arm, method."""
    found = {}
    for name, mechanism in arms().items():
        model = model_of(mechanism)
        found[name] = {
            "femtorque": cost.femtorque(model),
            "femtorque_newton_euler": cost.femtorque(_newton_euler(mechanism)),
            "casadi": cost.casadi(model),
            "loop": cost.loop(model),
        }
    return found


@pytest.fixture(scope="module")
def ticks(tmp_path_factory) -> dict[str, int]:
    """Instructions of the whole control tick of an image on board `compute`, the worst one, by arm."""
    return {name: _tick(mechanism, tmp_path_factory.mktemp(name)) for name, mechanism in arms().items()}


def _newton_euler(mechanism: Mechanism) -> Model:
    return model_of(replace(mechanism, control=replace(mechanism.control, scheme="newton-euler")))


def _tick(mechanism: Mechanism, folder) -> int:
    image = replace(mechanism, board=BoardUse("compute"))
    return measure(image, platformio.build_image(image, folder)).instructions_tick


def test_every_method_computes_the_torque_that_pinocchio_does(costs):
    for name, methods in costs.items():
        for method, found in methods.items():
            quiet = QUIET_SINGLE if "newton_euler" in method else OURS_SINGLE
            assert found.error <= (quiet if method.startswith("femtorque") else SINGLE), (name, method)


@pytest.mark.parametrize("name", LIMITS)
def test_step_stays_within_its_budget_and_below_every_peer(costs, name):
    found = costs[name]
    assert found["femtorque"].worst <= LIMITS[name]
    recorded = min(row[list(LIMITS).index(name)] for row in RECORDED.values())
    assert found["femtorque"].worst < min(found["casadi"].mean, found["loop"].mean, recorded)


def test_figures_are_kept(costs, ticks):
    """The table of all methods, its picture, and the figures for programs."""
    cases = {name: {method: {
        "instructions_step": found.worst, "instructions_step_mean": round(found.mean, 1),
        "instructions_tick": ticks[name] if method == "femtorque" else None,
        "flash_bytes": found.flash_bytes, "stack_bytes": found.stack_bytes, "ram_bytes": found.ram_bytes,
        "error_of_peak": found.error,
    } for method, found in methods.items()} for name, methods in costs.items()}
    table.note("cases", cases)
    table.keep("bench.md", "# Bench\n\n" + _instructions(costs) + _sizes(costs, ticks))
    picture = _picture(costs)
    assert set(cases) == set(LIMITS) and all(set(methods) == set(METHODS) for methods in cases.values())
    assert picture.stat().st_size > 10_000


def _instructions(costs: dict[str, dict[str, Cost]]) -> str:
    rows: list[list[object]] = []
    for method, title in METHODS.items():
        of = [costs[name][method] for name in LIMITS]
        rows.append([title, *(f"{c.worst} ({c.mean:.0f})" for c in of)])
    rows += [[f"{title}: recorded, not run here", *(f"({x})" for x in row)] for title, row in RECORDED.items()]
    return table.show(
        "Instructions of one inverse-dynamics call, Cortex-M4F, worst (mean) of a motion", ["method", *LIMITS], rows,
        ["gcc -O2 -ffp-contract=off, single precision, mathematical library included, every executed instruction "
         "counted.",
         "Recorded rows: the same arms, compiler and emulator at an earlier time, mean of 20 random states. "
         "SymPyBotics:"
         " github.com/cdsousa/SymPyBotics; RobCoGen2: robcogenteam.bitbucket.io."])


def _sizes(costs: dict[str, dict[str, Cost]], ticks: dict[str, int]) -> str:
    rows = [[name, METHODS[method], c.flash_bytes, c.stack_bytes, c.ram_bytes, f"{c.generation:.2f}",
             f"{c.compilation:.2f}", f"{c.error:.1e}", ticks[name] if method == "femtorque" else ""]
            for name, methods in costs.items() for method, c in methods.items()]
    return table.show(
        "Size, time and error",
        ["arm", "method", "flash", "stack", "RAM", "generate, s", "compile, s", "error", "tick"],
        rows,
        ["Bytes; flash with what is pulled out of the mathematical library. Seconds of processor time. Error: worst of "
               "the motion, of peak torque, against Pinocchio.",
               "tick: instructions of the whole control tick of an image on board `compute`, worst."])


def _picture(costs: dict[str, dict[str, Cost]]):
    """Instructions of a call of every method on every arm; height is logarithmic."""
    bars = {title: [costs[name][method].worst for name in LIMITS] for method, title in METHODS.items()}
    bars |= {f"{title} (recorded)": list(row) for title, row in RECORDED.items()}
    colours = ["#0b5394", "#38761d", "#e69138", "#cc4125", "#b7b7b7", "#999999", "#666666"]
    figure, axes = pyplot.subplots(figsize=(11, 5.5), layout="constrained")
    width = 0.9 / len(bars)
    at = np.arange(len(LIMITS))
    for i, ((title, heights), colour) in enumerate(zip(bars.items(), colours, strict=True)):
        drawn = axes.bar(at + (i - (len(bars) - 1) / 2) * width, heights, width, label=title, color=colour)
        axes.bar_label(drawn, fontsize=6.5, padding=1, rotation=90)
    axes.set_yscale("log")
    axes.set_ylim(50, 9000)
    axes.set_xticks(at, list(LIMITS))
    axes.set_ylabel("executed instructions of one call")
    axes.set_title("Inverse dynamics on a Cortex-M4F: gcc -O2 -ffp-contract=off, float, library included, worst of a "
                   "motion")
    figure.legend(fontsize=8, ncols=4, loc="outside lower center")
    axes.grid(axis="y", alpha=0.3)
    path = table.BUILD / "bench.png"
    figure.savefig(path, dpi=150)
    pyplot.close(figure)
    return path
