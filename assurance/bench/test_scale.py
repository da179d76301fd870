"""Cost against the number of links, limits of memory, and a humanoid at 5 kHz. Writes build/bench-scale.md and .png."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import cache

import matplotlib
import numpy as np
import pytest

from assurance.bench import table
from assurance.bench.cost import compilation
from femtorque.codegen.board.chip import family
from femtorque.codegen.common import BadInput, Refused
from femtorque.codegen.emit import step
from femtorque.codegen.mechanism import BASE, Joint, Mechanism
from femtorque.codegen.mechanism.description import BoardUse
from femtorque.codegen.model import Model
from femtorque.codegen.step import model_of
from femtorque.codegen.toolchain import Turns, platformio
from femtorque.codegen.verify import object_files
from femtorque.hil.chip import ChipLibrary
from femtorque.hil.cost import measure
from tests.support.arms import from_urdf, robots
from tests.support.oracle import planar_chain, random_chain
from tests.support.sampling import sampled_quintic

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402

pytestmark = pytest.mark.bench

PLANAR, SPATIAL = (4, 8, 16, 32, 64), (4, 8, 16, 32)
SEEDS = 3  # random trees of each size
GROWTH = 1.4  # at most, of the cost a link from the smallest size to the largest
GENERATION, COMPILATION = 2.0, 20.0  # s of processor time, 64 links
TICKS = 16


@dataclass(frozen=True)
class Scaled:
    """Cost of one mechanism: the worst of some ticks; cycles by the model, stalls what waiting for flash adds."""

    n: int
    instructions: float
    cycles: float
    stalls: float
    flash_bytes: float
    stack_bytes: float
    generation: float
    compilation: float

    @staticmethod
    def of(model: Model) -> Scaled:
        start = time.process_time()
        sources = step.render(model)
        generation = time.process_time() - start
        chip, turns = ChipLibrary(sources), Turns(model, "single")
        positions = sampled_quintic(model, np.linspace(-0.4, 0.6, model.n), np.linspace(0.9, -0.5, model.n))
        samples = turns.samples(positions)
        state, next_at, tau_at = chip.put(1 << 16), chip.put(samples[0]), chip.put(4 * model.n)
        chip.call("ft_step_start", state, chip.put(turns.of(positions[0])))
        calls = []
        for k in range(len(samples) // 2, len(samples) // 2 + TICKS):
            chip.write(next_at, samples[k])
            calls.append(chip.call("ft_step", state, next_at, tau_at, measure_stack=True, measure_cycles=True))
        return Scaled(model.n,
                      *(max(getattr(c, key) for c in calls) for key in ("instructions", "cycles", "fetch_stalls")),
                      object_files.examine(sources).flash_bytes, max(c.stack_bytes for c in calls), generation,
                      compilation(sources))

    @staticmethod
    def mean(of: list[Scaled]) -> Scaled:
        return Scaled(*(np.mean([getattr(s, key) for s in of]).item() for key in Scaled.__dataclass_fields__))


def rooted_tree(rng: np.random.Generator, n: int) -> Mechanism:
    """A random tree of n revolute joints on one pedestal, any poses, axes, inertias; every link may carry any later
    one."""
    chain = random_chain(rng, n)
    parents = [int(rng.integers(0, i)) for i in range(1, n)]

    def hung(i: int, joint: Joint) -> Joint:
        return replace(joint, parent=f"link{parents[i - 1] + 1}" if i else BASE)

    return replace(chain, joints=tuple(hung(i, joint) for i, joint in enumerate(chain.joints)))


@cache
def planar() -> list[Scaled]:
    return [Scaled.of(model_of(planar_chain(n))) for n in PLANAR]


@cache
def spatial() -> list[Scaled]:
    return [Scaled.mean([Scaled.of(model_of(rooted_tree(np.random.default_rng(seed), n))) for seed in range(SEEDS)])
            for n in SPATIAL]


def growth(of: list[Scaled], key: str) -> float:
    """Cost a link of the largest over that of the smallest."""
    first, last = of[0], of[-1]
    return (getattr(last, key) / last.n) / (getattr(first, key) / first.n)


def test_costs_are_kept():
    rows = [[f"{kind}-{s.n:.0f}", f"{s.instructions:.0f}", f"{s.instructions / s.n:.1f}", f"{s.cycles:.0f}",
             f"{s.cycles + s.stalls:.0f}", f"{s.flash_bytes:.0f}", f"{s.flash_bytes / s.n:.0f}", f"{s.stack_bytes:.0f}",
             f"{s.generation:.2f}", f"{s.compilation:.2f}"]
            for kind, sizes in (("planar", planar()), ("tree", spatial())) for s in sizes]
    ratios = [f"{kind}: a link of the largest costs {growth(of, 'instructions'):.2f} times the instructions and "
              f"{growth(of, 'flash_bytes'):.2f} times the flash of one of the smallest"
              for kind, of in (("planar chains", planar()), ("trees", spatial()))]
    text = table.show(
        "Cost of the step against the number of links, worst tick, all in the tick",
        ["mechanism", "instructions", "a link", "cycles", "with flash", "flash, bytes", "a link",
         "stack", "generate, s",
         "compile, s"], rows,
        [*ratios, f"Trees: mean of {SEEDS} random ones on one pedestal, revolute, any axes. Cycles by the model of "
         "hil/chip/timing.py, without and with waiting for flash. Seconds of processor time."])
    table.keep("bench-scale.md", text)
    assert _picture().stat().st_size > 10_000


def _picture():
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
    for name, of, colour in (("planar chains", planar(), "#0b5394"), ("random spatial trees", spatial(), "#cc4125")):
        n = np.array([s.n for s in of])
        for axes, key in ((left, "instructions"), (right, "flash_bytes")):
            axes.plot(n, np.array([getattr(s, key) for s in of]) / n, "o-", color=colour, label=name)
    left.set_ylabel("executed instructions per link, step, worst tick")
    right.set_ylabel("flash a link, bytes")
    for axes in (left, right):
        axes.set_xscale("log", base=2)
        axes.set_xticks(PLANAR, [str(n) for n in PLANAR])
        axes.set_xlabel("links")
        axes.set_ylim(bottom=0)
        axes.grid(alpha=0.3)
        axes.legend(fontsize=8, loc="center right")
    table.BUILD.mkdir(exist_ok=True)
    path = table.BUILD / "bench-scale.png"
    figure.savefig(path, dpi=150)
    pyplot.close(figure)
    return path


@pytest.mark.parametrize("key", ["instructions", "flash_bytes"])
def test_a_link_of_a_long_planar_chain_costs_hardly_more_than_one_of_a_short_chain(key):
    assert growth(planar(), key) <= GROWTH


@pytest.mark.parametrize("key", ["instructions", "flash_bytes"])
def test_links_added_to_a_spatial_chain_cost_the_same_whatever_its_length(key):
    """Any axes, one seed: chains of one length hardly differ."""
    lengths = SPATIAL[1:]
    cost = [getattr(Scaled.of(model_of(random_chain(np.random.default_rng(0), n))), key) for n in lengths]
    added = np.diff(cost) / np.diff(lengths)
    print(f"{key} of a link more, {lengths[0]} to {lengths[1]} to {lengths[2]} links: {added[0]:.0f}, {added[1]:.0f}")
    assert added[1] <= 1.1 * added[0]


def test_a_link_of_a_large_tree_takes_hardly_more_flash_than_one_of_a_small_tree():
    assert growth(spatial(), "flash_bytes") <= GROWTH


def test_a_joint_of_a_large_tree_costs_its_board_hardly_more_than_one_of_a_small_tree(tmp_path):
    """The whole control tick and the whole image, at 50 knots per second. With 32 joints, a tick in which all that
    follow targets catch up at once takes longer than a millisecond."""
    rows = []
    for n in (4, 16):
        tree = rooted_tree(np.random.default_rng(0), n)
        tree = replace(tree, board=BoardUse("compute"), control=replace(tree.control, knot_hz=50))
        built = platformio.build_image(tree, tmp_path / str(n))
        found = measure(tree, built)
        rows.append((n, found.instructions_tick / n, found.cycles_tick_flash / n, built.flash_bytes / n))
    table.show("Cost of the whole image on board compute, worst tick", ["joints", "instructions per joint",
               "cycles per joint, with flash", "flash bytes per joint"],
               [[n, *(f"{x:.0f}" for x in row)] for n, *row in rows])
    assert all(large <= GROWTH * small for small, large in zip(rows[0][1:], rows[1][1:], strict=True))


@pytest.mark.xfail(strict=True, reason="not reached, 1.6: the arithmetic alone grows from 67 to 134 "
                   "operations a link, as of 4 links the first two are next to the ground")
def test_a_link_of_a_large_tree_takes_hardly_more_instructions_than_one_of_a_small_tree():
    assert growth(spatial(), "instructions") <= GROWTH


def test_64_links_are_generated_and_compiled_quickly():
    """By default: what the choice of the scheme takes is part of the generation."""
    made = {f"{kind} chain": by_default(chain) for kind, chain in (
        ("planar", planar_chain(64)), ("31-link spatial", random_chain(np.random.default_rng(0), 31)),
        ("64-link spatial", random_chain(np.random.default_rng(0), 64)))}
    found = {name: (model.scheme, s) for name, model in made.items() for s in [Scaled.of(model)]}
    rows = [[name, scheme, f"{s.generation:.2f}", f"{s.compilation:.2f}", f"{s.instructions:.0f}",
             f"{s.flash_bytes:.0f}"]
            for name, (scheme, s) in found.items()]
    table.show("64 links", ["mechanism", "scheme", "generate, s", "compile, s", "instructions", "flash, bytes"], rows)
    for _, s in found.values():
        assert s.generation <= GENERATION and s.compilation <= COMPILATION


def by_default(mechanism: Mechanism) -> Model:
    """With the scheme that it gets if its file names none."""
    return model_of(replace(mechanism, control=replace(mechanism.control, scheme="auto")))


def test_the_step_of_a_humanoid_takes_half_of_the_processor_at_5_khz():
    """The 29 joints of a G1, its pelvis fixed; cycles with what waiting for flash adds (hil/chip/timing.py says
    what)."""
    urdf = next(robots().rglob("g1_29dof_rev_1_0.urdf"))
    model = model_of(from_urdf(urdf, rate_hz=5000))
    s = Scaled.of(model)
    budget = family("stm32f4").sysclk_hz / 5000 / 2
    table.show("G1, 29 joints, 5 kHz on an STM32F405", ["", "of the step"], [
        ["scheme", model.scheme], ["instructions", s.instructions], ["cycles, flash without waiting", s.cycles],
        ["stalls for flash", s.stalls],
        ["cycles, flash with 5 wait states", s.cycles + s.stalls], ["half a tick at 168 MHz", f"{budget:.0f}"],
        ["flash, bytes", s.flash_bytes], ["stack, bytes", s.stack_bytes]])
    assert model.n == 29
    assert s.cycles + s.stalls <= budget


def on_compute(n: int) -> Mechanism:
    return replace(planar_chain(n), board=BoardUse("compute"))


def test_an_image_of_32_links_fits_and_runs(tmp_path):
    """With 50 knots per second: 250 of 32 joints are more than the link at 1 Mbaud carries. 40 joints are more than the
    memory holds, with knots for a second and all that following targets takes."""
    mechanism = on_compute(32)
    mechanism = replace(mechanism, control=replace(mechanism.control, knot_hz=50))
    built = platformio.build_image(mechanism, tmp_path)
    chip = family("stm32f4")
    assert built.flash_bytes < chip.flash_bytes and built.ram_bytes < chip.ram_bytes
    found = measure(mechanism, built)
    print(f"32 links on board compute: flash {built.flash_bytes}, RAM {built.ram_bytes}, stack at most "
          f"{built.stack_bytes} "
          f"of {built.stack_reserved} bytes; the worst tick {found.instructions_tick} instructions")
    assert found.cycles_tick < found.cycles_budget


def test_an_image_that_does_not_fit_is_refused_in_one_clear_line(tmp_path):
    with pytest.raises(Refused, match=r"^the image does not fit: RAM is too small by \d+ bytes \(there are 131072\)$"):
        platformio.build_image(on_compute(254), tmp_path / "254")
    with pytest.raises(BadInput, match=r"joint = 255: at most 254 joints may move on one board; lock some"):
        platformio.build_image(on_compute(255), tmp_path / "255")
