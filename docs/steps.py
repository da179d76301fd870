"""The README's table of costs and errors of the emitted steps, measured: run `python docs/steps.py`."""

import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "docs")]

import numpy as np  # noqa: E402

from femtorque.codegen.emit import step_sources  # noqa: E402
from femtorque.codegen.mechanism import Mechanism, load_mechanism  # noqa: E402
from femtorque.codegen.model import Model  # noqa: E402
from femtorque.codegen.motion import random_motion  # noqa: E402
from femtorque.codegen.reference import schemes  # noqa: E402
from femtorque.codegen.toolchain import CompiledStep, Turns  # noqa: E402
from femtorque.codegen.verify import object_files  # noqa: E402
from femtorque.hil.chip import ChipLibrary  # noqa: E402
from femtorque.hil.cost.chip_step import STATE_ROOM  # noqa: E402
from links import filled  # noqa: E402

PAGE, MARK = ROOT / "docs" / "theory.md", "steps"
ROWS = (("nodal", "three_link"), ("nodal", "eight_link"), ("nodal", "six_axis"), ("nodal", "four_bar"),
        ("nodal", "flexible_arm"), ("printed", "three_link"), ("printed", "six_axis"), ("printed", "four_bar"))
MOTIONS, SECONDS, TICKS = 12, 1.0, 60
SIZE = """#include "ft_step.h"
uint32_t ft_size(void);
uint32_t ft_size(void)
{
    return (uint32_t)sizeof(ft_step_state);
}
"""
HEAD = ("step", "of", "instructions", "cycles", "RAM", "flash", "rounding adds", "the tick adds")


def named(scheme: str, name: str) -> Mechanism:
    """Return an example mechanism whose file has the given scheme in [control]."""
    mechanism = load_mechanism(ROOT / "mechanisms" / f"{name}.toml")
    return replace(mechanism, control=replace(mechanism.control, scheme=scheme))


def costs(mechanism: Mechanism) -> tuple[int, int, int, int]:
    """Return instructions and cycles of the longest tick on a Cortex-M4F, and bytes of RAM and flash."""
    model = Model.of(mechanism)
    sources, turns = step_sources(model), Turns(model, "single")
    positions = random_motion(mechanism, np.random.default_rng([0, 0])).middles(TICKS, model.dt)
    samples, chip = turns.samples(positions), ChipLibrary(sources | {"ft_size.c": SIZE})
    state, next_at, tau_at = chip.put(STATE_ROOM), chip.put(samples[0]), chip.put(samples["u"][0])
    chip.call("ft_step_start", state, chip.put(turns.of(positions[0])))
    worst = 0, 0
    for sample in samples:
        chip.write(next_at, sample)
        call = chip.call("ft_step", state, next_at, tau_at, measure_cycles=True)
        worst = max(worst[0], call.instructions), max(worst[1], call.cycles)
    return *worst, chip.call("ft_size").result, object_files.examine(sources).flash_bytes


def errors(mechanism: Mechanism, motions: int = MOTIONS) -> tuple[float, float]:
    """Return two torque errors in random motions of 1 s, over the peak torque: float32 against float64, and float64
    against exact torques (NaN for flexible links, whose vibrations decide the latter)."""
    model = Model.of(mechanism)
    sources, worst = step_sources(model), (0.0, 0.0)
    single, double = (CompiledStep(model, precision, sources) for precision in ("single", "double"))
    for number in range(motions):
        motion = random_motion(mechanism, np.random.default_rng([0, number]))
        ticks = round(SECONDS / model.dt)
        positions, t = motion.middles(ticks, model.dt), (np.arange(ticks) + 0.5) * model.dt
        plain = double.torque(positions)
        exact = plain if mechanism.flexible else schemes.exact(model, motion, t)
        found = single.torque(positions) - plain, plain - exact
        rounding, tick = (float(np.abs(x).max() / np.abs(exact).max()) for x in found)
        worst = max(worst[0], rounding), max(worst[1], tick)
    return worst[0], float("nan") if mechanism.flexible else worst[1]


def row(scheme: str, name: str) -> tuple[str, ...]:
    mechanism = named(scheme, name)
    rounding, tick = errors(mechanism)
    said = "" if np.isnan(tick) else f"{tick:.1e}"
    return (f"`{scheme}`", f"`{name}`", *map(str, costs(mechanism)), f"{rounding:.1e}", said)


def table(rows: Iterable[tuple[str, ...]]) -> str:
    lines = (HEAD, ("---",) * len(HEAD), *rows)
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


if __name__ == "__main__":
    made = [row(*which) for which in ROWS]
    PAGE.write_text(filled(PAGE, {MARK: table(made)}), encoding="utf-8", newline="\n")
