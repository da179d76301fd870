"""Cost of a tick of a closed mechanism's step on a Cortex-M4F: instructions, and time at 168 MHz by the cycle model."""

from pathlib import Path

import numpy as np
import pytest

from femtorque.codegen.emit import sources
from femtorque.codegen.mechanism import load_mechanism
from femtorque.codegen.model import Model, assemble
from femtorque.codegen.motion import Trajectory
from femtorque.codegen.step import model_of
from femtorque.codegen.toolchain import Turns
from femtorque.hil.chip import ChipLibrary
from femtorque.hil.cost.chip_step import STATE_ROOM

MECHANISMS = Path(__file__).parents[2] / "mechanisms"
CLOCK = 168e6
LIMITS = {  # microseconds a tick
    "four_bar": 12.0, "five_bar": 16.0, "five_bar_3": 16.0, "five_bar_4": 16.0, "three_rrr": 30.0, "palletizer": 16.0,
    "delta": 53.0,  # of which 2.2 are the friction of its passive joints
}
TICKS = 40


def worst_tick(name: str) -> tuple[Model, int, int, int]:
    """(model, instructions, cycles, waits for flash) of the dearest of some ticks in the middle of the motion."""
    mechanism = load_mechanism(MECHANISMS / f"{name}.toml")
    model, motion = model_of(mechanism), Trajectory.load(MECHANISMS / f"{name}.csv", mechanism)
    positions = motion.middles(round(0.3 * motion.duration * 1000) + TICKS, model.dt)[-TICKS:]
    turns, chip = Turns(model, "single"), ChipLibrary(sources.step_sources(model))
    samples = turns.samples(positions)[1:]
    state, next_at, tau = chip.put(STATE_ROOM), chip.put(samples[0]), chip.put(samples["u"][0])
    chip.call("ft_step_start", state, chip.put(turns.of(positions[1])))
    found = []
    for sample in samples:
        chip.write(next_at, sample)
        call = chip.call("ft_step", state, next_at, tau, measure_cycles=True)
        found.append((call.instructions, call.cycles, call.fetch_stalls))
    return model, *(int(x) for x in np.max(found, axis=0))


@pytest.mark.bench
def test_a_tick_of_a_closed_mechanism_is_short() -> None:
    print(f"\n{'':14}{'joints':>7}{'rows':>6}{'moves':>7}{'instructions':>14}{'cycles':>8}"
          f"{'us at 168 MHz':>15}{'with flash':>12}")
    for name, limit in LIMITS.items():
        model, instructions, cycles, stalls = worst_tick(name)
        assembly = assemble(model)
        time, slow = cycles / CLOCK * 1e6, (cycles + stalls) / CLOCK * 1e6
        print(f"{name:14}{model.n:>7}{len(assembly.kept):>6}{assembly.mobility:>7}{instructions:>14}{cycles:>8}"
              f"{time:>15.1f}{slow:>12.1f}")
        assert slow < limit
