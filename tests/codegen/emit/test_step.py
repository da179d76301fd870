"""The emitted C: against the plain discretisation, against its own noise floor, against the chip, against the rules."""

import shutil
import subprocess
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from femtorque.codegen.common import Refused
from femtorque.codegen.emit import step as step_source
from femtorque.codegen.mechanism import Control, Mechanism
from femtorque.codegen.model import Model
from femtorque.codegen.reference import discrete
from femtorque.codegen.step import model_of, noise_floor, search
from femtorque.codegen.toolchain import (
    ARITHMETIC, WARNINGS, CompiledStep, Precision, Turns, host_compiler, step_library)
from femtorque.codegen.toolchain.host_compiler import build
from femtorque.hil.chip.chip_library import MACHINE
from femtorque.hil.cost import chip_step
from tests.support.oracle import peak, planar_chain, quintic, random_chain, random_quintic, random_tree, torque_at
from tests.support.sampling import middles, sampled_quintic

BATCH = 20  # chains that are compiled together
BATCHES, CAMPAIGN = 3, 10


def moving_tree(seed: int, n: int) -> tuple[Model, np.ndarray]:
    """A tree with slides and a quintic of a second for it (slides move within 0.3 m), sampled at the middles."""
    rng = np.random.default_rng(seed)
    model = model_of(random_tree(rng, n))
    slides = np.array([0.1 if b.prismatic else 1.0 for b in model.bodies])
    start = rng.uniform(-1, 1, n) * slides
    motion = quintic(start, start + rng.uniform(-1.5, 1.5, n) * slides)
    return model, motion(middles(model, 1.0))


# ---- double precision against the plain discretisation


class Batch:
    """Many mechanisms' steps in one library and one compilation: every name of one gets its own prefix."""

    NAMES = ("ft_real", "ft_turn", "ft_angle", "ft_sample", "ft_pair", "ft_link_vector", "ft_swung",
             "ft_cos_sin_eighth", "ft_cos_sin",
             "ft_sin", "ft_advance", "ft_swing", "ft_turn_on", "ft_step", "ft_step_start",
             "ft_step_pairs", "ft_step_take",
             "ft_step_anchor", "ft_step_state",
             "ft_make_next_exact", "ft_theta", "ft_radius", "ft_host_torque", "ft_host_state", "ft_host_start",
             "ft_host_stuck", "ft_host_step")  # fmt: skip
    AGAIN = ("FT_MODEL_H", "FT_TRIG_H", "FT_STEP_H", "FT_JOINTS", "FT_UNITS", "FT_STEP_PAIRS",
             "FT_STEP_USES_POSITIONS", "FT_STEP_USES_CHANGES")

    def __init__(self, models: list[Model], precision: Precision = "double") -> None:
        self.precision: Precision = precision
        real, bits = ("double", 64) if precision == "double" else ("float", 32)
        text, cdef = "#include <stdint.h>\n", f"typedef {real} ft_real; typedef int{bits}_t ft_turn;\n"
        for i, model in enumerate(models):
            files = step_source.render(model) | {"ft_host.c": step_library.HOST_SOURCE}
            text += "".join(f"#undef {name}\n" for name in self.AGAIN)
            text += "".join(f"#define {name} m{i}_{name}\n" for name in self.NAMES)
            for name in ("ft_model.h", "ft_trig.h", "ft_step.h", "ft_step.c", "ft_host.c"):
                text += "".join(line for line in files[name].splitlines(True) if not line.startswith('#include "'))
            text += "".join(f"#undef {name}\n" for name in self.NAMES)
            cdef += (
                f"void *m{i}_ft_host_state(void); void m{i}_ft_step_start(void *, const ft_turn *);"
                f"long m{i}_ft_host_torque(void *, long, const void *, const uint32_t *, ft_real *);\n"
            )
        self.ffi, self.lib = build({"all.c": text}, cdef, precision, flags=("-O0",))

    def torque(self, i: int, model: Model, positions: np.ndarray) -> np.ndarray:
        turns = Turns(model, self.precision)
        samples, tau = turns.samples(positions), np.empty((len(positions) - 1, model.n), turns.real)
        state = getattr(self.lib, f"m{i}_ft_host_state")()
        getattr(self.lib, f"m{i}_ft_step_start")(state, self.ffi.from_buffer("ft_turn[]", turns.of(positions[0])))
        getattr(self.lib, f"m{i}_ft_host_torque")(
            state, len(samples), self.ffi.from_buffer(samples), self.ffi.NULL, self.ffi.from_buffer("ft_real[]", tau)
        )
        return tau[1:]


chains = given(st.lists(st.tuples(st.integers(0, 2**32 - 1), st.integers(1, 8)), min_size=BATCH,
                        max_size=BATCH, unique=True))
same = settings(deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))


@settings(same, max_examples=BATCHES)
@chains
def test_double_precision_equals_the_discretisation_on_random_chains(seeds):
    hold_against_the_discretisation(seeds)


@pytest.mark.bench
@settings(same, max_examples=CAMPAIGN)
@chains
def test_double_precision_equals_the_discretisation_on_many_random_chains(seeds):
    hold_against_the_discretisation(seeds)


def hold_against_the_discretisation(seeds: list[tuple[int, int]]) -> None:
    """Without the search for cheap frames: tests/codegen/step/test_graph.py tries every choice of them."""
    rngs = [np.random.default_rng(seed) for seed, _ in seeds]
    models = [model_of(random_chain(rng, n)) for rng, (_, n) in zip(rngs, seeds, strict=True)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "EFFORT", 0)
        batch = Batch(models)
    for i, (model, rng) in enumerate(zip(models, rngs, strict=True)):
        positions = random_quintic(rng, model.n, 0.03, travel=0.05)(middles(model, 0.03))
        plain = discrete.midpoint_torque(model, positions)
        assert peak(batch.torque(i, model, positions) - plain) <= 1e-10 * peak(plain)


@pytest.mark.parametrize("seed", range(3))
def test_double_precision_equals_the_discretisation_on_trees_with_slides(seed):
    model, positions = moving_tree(seed, 7)
    plain = discrete.midpoint_torque(model, positions)
    assert peak(CompiledStep(model, "double").torque(positions) - plain) <= 1e-10 * peak(plain)


@pytest.mark.parametrize("make", [random_chain, random_tree])
def test_values_kept_in_memory_by_long_functions_are_the_right_ones(make):
    rng = np.random.default_rng(12)
    model = model_of(make(rng, 14))
    assert "kept." in step_source.render(model)["ft_step.c"]
    slides = np.array([0.1 if b.prismatic else 1.0 for b in model.bodies])
    positions = quintic(0.1 * slides, rng.uniform(-1, 1, 14) * slides)(middles(model, 0.2))
    plain = discrete.midpoint_torque(model, positions)
    assert peak(CompiledStep(model, "double").torque(positions) - plain) <= 1e-10 * peak(plain)


@pytest.mark.parametrize("n", [1, 3, 8])
def test_double_precision_equals_the_discretisation_on_planar_chains(n):
    model = model_of(planar_chain(n))
    positions = random_quintic(np.random.default_rng(n), n)(middles(model, 1.0))
    plain = discrete.midpoint_torque(model, positions)
    assert peak(CompiledStep(model, "double").torque(positions) - plain) <= 1e-10 * peak(plain)


def test_springs_and_sliding_joints_take_their_positions_from_the_integers():
    model, positions = moving_tree(11, 6)
    assert any(b.prismatic for b in model.bodies)
    joints = tuple(replace(j, stiffness=30.0, rest=0.2) for j in model.mechanism.joints)
    sprung = model_of(replace(model.mechanism, joints=joints))
    plain = discrete.midpoint_torque(sprung, positions)
    assert peak(plain - discrete.midpoint_torque(model, positions)) > 0.1
    assert peak(CompiledStep(sprung, "double").torque(positions) - plain) <= 1e-10 * peak(plain)


# ---- single precision


LOUD = (54, 55, 87, 92, 93, 94, 100, 166, 189)  # chains on which the midpoint rule errs by more than 1e-4


def by_default(mechanism: Mechanism) -> Model:
    """With the scheme that it gets if its file names none."""
    return model_of(replace(mechanism, control=replace(mechanism.control, scheme="auto")))


def test_single_precision_is_within_1e_4_of_peak_and_under_the_noise_floor(monkeypatch):
    """By default, over chains of one to eight joints; assurance/bench/test_noise.py takes 200."""
    monkeypatch.setattr(search, "EFFORT", 0)
    rngs = [np.random.default_rng(seed) for seed in (*range(22), *LOUD)]
    models = [by_default(random_chain(rng, 1 + seed % 8))
              for rng, seed in zip(rngs, (*range(22), *LOUD), strict=True)]
    assert {model.scheme for model in models} == {"midpoint", "newton-euler"}
    batch = Batch(models, "single")
    for i, (model, rng) in enumerate(zip(models, rngs, strict=True)):
        positions = random_quintic(rng, model.n)(middles(model, 1.0))
        plain = discrete.midpoint_torque(model, positions)
        wrong = np.abs(batch.torque(i, model, positions) - plain)
        assert wrong.max() <= 1e-4 * peak(plain)
        assert np.all(wrong.max(axis=0) <= noise_floor(model, positions))


@pytest.mark.parametrize("seed", [87, 166])
def test_the_midpoint_rule_is_noisier_than_that_and_still_under_the_noise_floor(seed):
    rng = np.random.default_rng(seed)
    model = model_of(random_chain(rng, 1 + seed % 8))
    positions = random_quintic(rng, model.n)(middles(model, 1.0))
    plain = discrete.midpoint_torque(model, positions)
    wrong = np.abs(CompiledStep(model).torque(positions) - plain)
    assert wrong.max() > 1e-4 * peak(plain)
    assert np.all(wrong.max(axis=0) <= noise_floor(model, positions))


@pytest.mark.parametrize("rate_hz", [100, 1000, 5000])
@pytest.mark.parametrize("make", [lambda: planar_chain(8), lambda: random_chain(np.random.default_rng(7), 6)])
def test_the_noise_floor_holds_at_every_rate_and_is_not_idle(make, rate_hz):
    model = model_of(replace(make(), control=Control(rate_hz=rate_hz, knot_hz=rate_hz, scheme="midpoint")))
    positions = random_quintic(np.random.default_rng(8), model.n)(middles(model, 1.0))
    plain = discrete.midpoint_torque(model, positions)
    share = np.abs(CompiledStep(model).torque(positions) - plain).max(axis=0) / noise_floor(model, positions)
    assert np.all(share <= 1.0)
    assert share.max() > 0.01


@pytest.mark.parametrize("duration", [1.0, 10.0])
def test_single_precision_against_newton_euler(duration):
    model = model_of(planar_chain(8))
    start, end = [0.1] * 8, np.linspace(-0.5, 0.6, 8)
    truth = torque_at(model, quintic(start, end, duration), middles(model, duration)[1:-1])
    tau = CompiledStep(model).torque(sampled_quintic(model, start, end, duration))
    assert peak(tau - truth) <= 1e-4 * peak(truth)


@pytest.mark.parametrize("make", [lambda: planar_chain(3), lambda: random_chain(np.random.default_rng(9), 4)])
def test_a_million_ticks_do_not_drift(make):
    """A continuous turn and swings: the last second is as good as the first, and no worse than the floor."""
    model = model_of(make())
    step = CompiledStep(model)
    ticks = 1_000_000
    t = (np.arange(-1, ticks + 1) + 0.5) * model.dt
    swing = 0.4 * np.sin(np.outer(t, np.linspace(1.0, 2.0, model.n)))
    swing[:, 0] = 1.5 * t  # round and round: 239 turns
    tau = step.torque(swing)
    for part in (slice(0, 2000), slice(ticks - 2000, ticks)):
        window = swing[part.start : part.stop + 2]
        plain = discrete.midpoint_torque(model, window)
        assert np.all(np.abs(tau[part] - plain).max(axis=0) <= noise_floor(model, window))


def test_at_rest_the_torque_never_changes_by_a_bit():
    model, _ = moving_tree(5, 6)
    tau = CompiledStep(model).torque(np.tile(np.full(6, 0.1), (1000, 1)))
    assert np.all(tau[2 * 6:] == tau[-1])  # once all components have been made exact in their turn


@pytest.mark.parametrize("make", [lambda: planar_chain(3), lambda: random_tree(np.random.default_rng(6), 6)])
def test_pairs_formed_early_and_taken_later_are_the_anchor(make):
    """The two halves of the anchor and the whole give ft_step the same results, bit for bit."""
    model = model_of(make())
    ffi, lib = build(
        step_source.render(model) | {"ft_host.c": step_library.HOST_SOURCE},
        step_library.cdef_of("single") + "void ft_step_pairs(const ft_turn *q, void *p);"
        "void ft_step_take(void *s, const void *p);",
    )
    slides = np.array([0.1 if b.prismatic else 1.0 for b in model.bodies])
    positions = quintic(0.2 * slides, np.linspace(-1.0, 1.2, model.n) * slides)(middles(model, 0.2))
    turns = Turns(model, "single")
    q, samples = turns.of(positions), turns.samples(positions)
    pairs, results = ffi.new("float[]", 2 * model.n), []
    for split in (False, True):
        state, tau = lib.ft_host_state(), np.empty_like(samples["u"])
        lib.ft_step_start(state, ffi.from_buffer("ft_turn[]", q[0]))
        for k in range(len(samples)):
            q_next = ffi.from_buffer("ft_turn[]", q[k + 1])
            if split and k % 4 == 0:
                lib.ft_step_pairs(q_next, pairs)  # before the step: it needs the position alone
            lib.ft_step(state, ffi.from_buffer(samples[k : k + 1]), ffi.from_buffer("ft_real[]", tau[k]))
            if k % 4 == 0:
                lib.ft_step_take(state, pairs) if split else lib.ft_step_anchor(state, q_next)
        results.append(tau.view(np.uint32))
    assert np.array_equal(*results)


# ---- the chip


@pytest.mark.parametrize(
    "make", [lambda: planar_chain(4), lambda: random_chain(np.random.default_rng(1), 6), lambda: moving_tree(2, 6)[0],
             lambda: random_chain(np.random.default_rng(1), 12)]
)
def test_host_and_chip_agree_bit_for_bit_over_a_whole_motion(make):
    model = model_of(make()) if not isinstance(make(), Model) else make()
    slides = np.array([0.1 if b.prismatic else 1.0 for b in model.bodies])
    positions = quintic(0.1 * slides, np.linspace(-1.0, 1.2, model.n) * slides)(middles(model, 1.0))
    assert_same_bits(model, positions)


def assert_same_bits(model: Model, positions: np.ndarray) -> None:
    host = CompiledStep(model).torque(positions)
    assert np.array_equal(chip_step.run_step_on_chip(model, positions).tau.view(np.uint32), host.view(np.uint32))


# ---- the rules


MODELS = {
    "planar": lambda: model_of(planar_chain(3)),
    "chain": lambda: model_of(random_chain(np.random.default_rng(2), 6)),
    "tree": lambda: moving_tree(3, 7)[0],
    "long chain": lambda: model_of(random_chain(np.random.default_rng(2), 12)),
    "one joint": lambda: model_of(random_chain(np.random.default_rng(3), 1)),
    "slow ticks": lambda: model_of(replace(planar_chain(3),
                                           control=Control(rate_hz=100, knot_hz=100, scheme="midpoint"))),
}


@cache
def rendered(name: str) -> dict[str, str]:
    return step_source.render(MODELS[name]())


C, CPP = ("gcc", *WARNINGS), ("g++", "-x", "c++", "-std=c++11", *WARNINGS[1:])


@pytest.mark.parametrize(("precision", "compiler"), [
    ("single", C), ("double", CPP), *(pytest.param(precision, compiler, marks=pytest.mark.bench)
    for precision, compiler in (("double", C), ("single", CPP)))])
@pytest.mark.parametrize("name", MODELS)
def test_it_compiles_without_a_warning(name, precision, compiler, tmp_path):
    assert shutil.which(compiler[0]), f"{compiler[0]} is missing: apt install {compiler[0]}"
    for file, text in rendered(name).items():
        (tmp_path / file).write_text(text)
    flags = (*ARITHMETIC, *host_compiler.precision_flags(precision), "-O2", "-c", "-o", "step.o", "ft_step.c")
    done = subprocess.run([*compiler, *flags], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("scheme", ["midpoint", "newton-euler", "nodal"])
def test_a_rotor_alone_and_a_link_without_mass_compile_too(scheme):
    """A drone's case: neither turning frames nor rates are asked for."""
    arm = planar_chain(1)
    link, control = arm.links[0], replace(arm.control, scheme=scheme)
    rotor = replace(link, com=np.zeros(3), inertia=np.diag([0.0, 0.0, 1e-5]))
    nothing = replace(link, mass=0.0, com=np.zeros(3), inertia=np.zeros((3, 3)))
    for body, torque in ((rotor, True), (nothing, False)):
        model = model_of(replace(arm, links=(body,), control=control))
        for precision in ("single", "double"):
            tau = CompiledStep(model, precision).torque(sampled_quintic(model, np.zeros(1), np.ones(1)))
            assert bool(np.any(tau)) == torque


@pytest.mark.parametrize("name", MODELS)
def test_the_object_needs_nothing_and_holds_no_double_routine(name, tmp_path):
    for file, text in rendered(name).items():
        (tmp_path / file).write_text(text)
    flags = (*MACHINE, "-O2", *ARITHMETIC, "-std=c99", "-c", "-o", "step.o", "ft_step.c")
    subprocess.run(["arm-none-eabi-gcc", *flags], cwd=tmp_path, check=True)
    undefined = subprocess.run(
        ["arm-none-eabi-nm", "-u", "step.o"], cwd=tmp_path, check=True, capture_output=True, text=True
    ).stdout.split()
    assert set(undefined) - {"U", "memset"} == set()


def test_output_is_reproducible_and_says_which_link_is_which():
    model = MODELS["chain"]()
    files = step_source.render(model)
    assert files == step_source.render(model)
    assert set(files) == {"ft_model.h", "ft_trig.h", "ft_step.h", "ft_step.c"}
    for body in model.bodies[1:]:
        assert f'"{body.joint.child}": momenta and torque' in files["ft_step.c"]
    assert max(len(line) for text in files.values() for line in text.splitlines()) <= 100


def test_without_a_compiler_it_says_what_to_install(monkeypatch):
    host_compiler.compiler.cache_clear()
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CC", raising=False)
    try:
        with pytest.raises(Refused, match="install"):
            CompiledStep(MODELS["one joint"]())
    finally:
        host_compiler.compiler.cache_clear()


# ---- the tests of the tests: a wrong sign anywhere is seen


@pytest.mark.parametrize("old, new", [(" - ", " + "), ("r2.s", "r2.c"), ("FT_C(0.", "FT_C(1.")])
def test_a_mutation_of_the_emitted_c_is_noticed(monkeypatch, old, new):
    model = MODELS["chain"]()
    positions = random_quintic(np.random.default_rng(4), model.n)(middles(model, 0.2))
    plain = discrete.midpoint_torque(model, positions)
    good = step_source.render(model)
    head, body = good["ft_step.c"].split("void ft_step(")
    assert old in body
    monkeypatch.setattr(
        step_source, "render", lambda *_: good | {"ft_step.c": f"{head}void ft_step({body.replace(old, new, 1)}"}
    )
    assert peak(CompiledStep(model, "double").torque(positions) - plain) > 1e-6 * peak(plain)
