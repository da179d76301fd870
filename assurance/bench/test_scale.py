"""Cost by the number of links, limits of memory, and a humanoid at 5 kHz."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from assurance.bench import table
from assurance.bench.cost import of_step
from femtorque.codegen.board.chip import family
from femtorque.codegen.common import BadInput, Refused
from femtorque.codegen.mechanism import BASE, Joint, Mechanism
from femtorque.codegen.mechanism.description import BoardUse
from femtorque.codegen.model import Model
from femtorque.codegen.toolchain import platformio
from femtorque.hil.cost import measure
from tests.support.arms import from_urdf, robots
from tests.support.oracle import planar_chain, random_chain
from tests.support.sampling import sampled_quintic

pytestmark = pytest.mark.bench

SPATIAL = (4, 8, 16, 32)
SEEDS = 3  # random trees for each size
GROWTH = 1.4  # the largest allowed growth of the cost of a link
GENERATION, COMPILATION = 2.0, 20.0  # processor time for 64 links, s
TICKS = 16

Cost = dict[str, float]  # n: number of links; instructions, cycles, stalls, stack: of the worst measured tick


def cost_of(model: Model) -> Cost:
    """Run some ticks in the middle of a quintic motion."""
    positions = sampled_quintic(model, np.linspace(-0.4, 0.6, model.n), np.linspace(0.9, -0.5, model.n))
    middle = len(positions) // 2
    found = of_step(model, positions, slice(middle, middle + TICKS))
    return {"n": model.n, "instructions": found.worst(), "cycles": found.worst("cycles"),
            "stalls": found.worst("fetch_stalls"), "flash_bytes": found.flash_bytes,
            "stack_bytes": found.worst("stack_bytes"), "generation": found.generation,
            "compilation": found.compilation}


def rooted_tree(rng: np.random.Generator, n: int) -> Mechanism:
    """Return a random tree of n revolute joints on one pedestal. The parent of each link is a random earlier link."""
    chain = random_chain(rng, n)
    parents = [int(rng.integers(0, i)) for i in range(1, n)]

    def hung(i: int, joint: Joint) -> Joint:
        return replace(joint, parent=f"link{parents[i - 1] + 1}" if i else BASE)

    return replace(chain, joints=tuple(hung(i, joint) for i, joint in enumerate(chain.joints)))


@cache
def spatial() -> list[Cost]:
    """Return the mean costs of random trees for each size."""
    every = [[cost_of(Model.of(rooted_tree(np.random.default_rng(seed), n))) for seed in range(SEEDS)] for n in SPATIAL]
    return [{key: float(np.mean([one[key] for one in trees])) for key in trees[0]} for trees in every]


def growth(of: list[Cost], key: str) -> float:
    """Return the cost of a link in the largest mechanism divided by its cost in the smallest."""
    first, last = of[0], of[-1]
    return (last[key] / last["n"]) / (first[key] / first["n"])


@pytest.mark.parametrize("key", ["instructions", "flash_bytes"])
def test_links_added_to_a_spatial_chain_cost_the_same_whatever_its_length(key):
    """One seed is enough, because chains of the same length hardly differ."""
    lengths = SPATIAL[1:]
    cost = [cost_of(Model.of(random_chain(np.random.default_rng(0), n)))[key] for n in lengths]
    added = np.diff(cost) / np.diff(lengths)
    print(f"{key} of a link more, {lengths[0]} to {lengths[1]} to {lengths[2]} links: {added[0]:.0f}, {added[1]:.0f}")
    assert added[1] <= 1.1 * added[0]


def test_a_link_of_a_large_tree_takes_hardly_more_flash_than_one_of_a_small_tree():
    assert growth(spatial(), "flash_bytes") <= GROWTH


def test_a_joint_of_a_large_tree_costs_its_board_hardly_more_than_one_of_a_small_tree(tmp_path):
    """The cost includes the whole control tick and the image, at 50 knots per second. If 32 joints catch up with live
    targets simultaneously, a tick takes longer than a millisecond."""
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
    made = {f"{kind} chain": cost_of(Model.of(chain)) for kind, chain in (
        ("planar", planar_chain(64)), ("31-link spatial", random_chain(np.random.default_rng(0), 31)),
        ("64-link spatial", random_chain(np.random.default_rng(0), 64)))}
    table.show("64 links", ["mechanism", *made["planar chain"]], [
        [name, *(f"{value:.4g}" for value in s.values())] for name, s in made.items()])
    for s in made.values():
        assert s["generation"] <= GENERATION and s["compilation"] <= COMPILATION


def test_the_step_of_a_humanoid_takes_half_of_the_processor_at_5_khz():
    """The G1 humanoid has 29 joints with a fixed pelvis. The cycles include flash wait states."""
    urdf = next(robots().rglob("g1_29dof_rev_1_0.urdf"))
    model = Model.of(from_urdf(urdf, rate_hz=5000))
    s = cost_of(model)
    budget = family("stm32f4").sysclk_hz / 5000 / 2
    table.show("G1, 29 joints, 5 kHz on an STM32F405", ["", "of the step"], [
        *s.items(), ["half a tick at 168 MHz", f"{budget:.0f}"]])
    assert model.n == 29
    assert s["cycles"] + s["stalls"] <= budget


def on_compute(n: int) -> Mechanism:
    return replace(planar_chain(n), board=BoardUse("compute"))


def test_an_image_of_32_links_fits_and_runs(tmp_path):
    """The rate is 50 knots per second, because the link at 1 Mbaud cannot transfer 250 knots of 32 joints. The control
    rate is 500 Hz, because the bound of a tick, with code that no tick has reached, exceeds a period at 1 kHz. The
    memory is too small for 40 joints with knots for a second and live targets."""
    mechanism = on_compute(32)
    mechanism = replace(mechanism, control=replace(mechanism.control, knot_hz=50, rate_hz=500))
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
