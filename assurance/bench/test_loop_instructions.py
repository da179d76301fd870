"""The cost of a closed mechanism's step on a Cortex-M4F: instructions, and time at 168 MHz by the cycle model."""

from pathlib import Path

import pytest

from assurance.bench.cost import Calls, of_step
from femtorque.codegen.mechanism import load_mechanism
from femtorque.codegen.model import Model, assemble
from femtorque.codegen.motion import Trajectory

MECHANISMS = Path(__file__).parents[2] / "mechanisms"
CLOCK = 168e6
LIMITS = {  # upper limits, microseconds per tick
    "four_bar": 12.0, "five_bar": 16.0, "five_bar_3": 16.0, "five_bar_4": 16.0, "three_rrr": 30.0, "palletizer": 16.0,
    "delta": 53.0,  # includes 2.2 us for the friction of its passive joints
}
TICKS = 40


def worst_tick(name: str) -> tuple[Model, Calls]:
    """Run some ticks in the middle of the motion."""
    mechanism = load_mechanism(MECHANISMS / f"{name}.toml")
    model, motion = Model.of(mechanism), Trajectory.load(MECHANISMS / f"{name}.csv", mechanism)
    positions = motion.middles(round(0.3 * motion.duration * 1000) + TICKS, model.dt)[-TICKS:]
    return model, of_step(model, positions, slice(1, None))


@pytest.mark.bench
def test_a_tick_of_a_closed_mechanism_is_short() -> None:
    print(f"\n{'':14}{'joints':>7}{'rows':>6}{'moves':>7}{'instructions':>14}{'cycles':>8}"
          f"{'us at 168 MHz':>15}{'with flash':>12}")
    for name, limit in LIMITS.items():
        model, found = worst_tick(name)
        assembly, cycles, stalls = assemble(model), found.worst("cycles"), found.worst("fetch_stalls")
        time, slow = cycles / CLOCK * 1e6, (cycles + stalls) / CLOCK * 1e6
        print(f"{name:14}{model.n:>7}{len(assembly.kept):>6}{assembly.mobility:>7}{found.worst():>14}{cycles:>8}"
              f"{time:>15.1f}{slow:>12.1f}")
        assert slow < limit
