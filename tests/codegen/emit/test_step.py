"""Comparison of the emitted step with the discretisation in NumPy and with the noise floor, also over very long
motions."""

from dataclasses import replace

import numpy as np
import pytest

from femtorque.codegen.common import Refused
from femtorque.codegen.emit import step as step_source
from femtorque.codegen.model import Model
from femtorque.codegen.reference import discrete
from femtorque.codegen.step import noise_floor
from femtorque.codegen.toolchain import CompiledStep, Turns, host_compiler, step_library
from femtorque.codegen.toolchain.host_compiler import build
from tests.support.oracle import peak, planar_chain, random_chain, random_quintic, random_tree
from tests.support.sampling import asking, middles, moved, sampled_quintic, slides, sprung


def tree(seed: int, n: int):
    return random_tree(np.random.default_rng(seed), n)


def chain(seed: int, n: int):
    return random_chain(np.random.default_rng(seed), n)


@pytest.mark.parametrize("mechanism", [
    planar_chain(1), planar_chain(8), chain(2, 6), tree(1, 7), tree(2, 7), sprung(tree(11, 6)), chain(12, 14),
    tree(12, 14)], ids=lambda m: f"{m.name} {len(m.joints)}")
def test_double_precision_equals_the_discretisation(mechanism):
    model = Model.of(mechanism)
    positions = moved(model, 1)
    plain = discrete.emitted_torque(model, positions)
    assert peak(CompiledStep(model, "double").torque(positions) - plain) <= 1e-10 * peak(plain)


@pytest.mark.parametrize("rate_hz", [100, 1000, 10_000])
@pytest.mark.parametrize("make", [lambda: planar_chain(8), lambda: chain(7, 6)])
def test_the_noise_floor_holds_at_every_rate_and_is_not_idle(make, rate_hz):
    model = Model.of(asking(make(), rate_hz=rate_hz, knot_hz=rate_hz))
    positions = random_quintic(np.random.default_rng(8), model.n)(middles(model, 1.0))
    plain = discrete.emitted_torque(model, positions)
    share = np.abs(CompiledStep(model).torque(positions) - plain).max(axis=0) / noise_floor(model, positions)
    assert np.all(share <= 1.0)
    assert share.max() > 0.01


@pytest.mark.parametrize("make", [lambda: planar_chain(3), lambda: chain(9, 4)])
def test_a_million_ticks_do_not_drift(make):
    """One joint turns in one direction without end, the other joints oscillate.

    The error in the last two seconds is within the noise floor. After two ticks {P} no longer depends on the jump of
    the velocity at the start."""
    model = Model.of(make())
    step = CompiledStep(model)
    ticks = 1_000_000
    t = (np.arange(-1, ticks + 1) + 0.5) * model.dt
    swing = 0.4 * np.sin(np.outer(t, np.linspace(1.0, 2.0, model.n)))
    swing[:, 0] = 1.5 * t  # 239 turns
    tau = step.torque(swing)
    for part in (slice(2, 2000), slice(ticks - 2000, ticks)):
        window = swing[part.start : part.stop + 2]
        plain = discrete.emitted_torque(model, window)
        assert np.all(np.abs(tau[part] - plain).max(axis=0) <= noise_floor(model, window))


def test_at_rest_the_torque_never_changes_by_a_bit():
    tau = CompiledStep(Model.of(tree(5, 6))).torque(np.tile(np.full(6, 0.1), (1000, 1)))
    assert np.all(tau[2 * 6:] == tau[-1])  # by then every frame's sine and cosine were recomputed exactly


@pytest.mark.parametrize("make", [lambda: planar_chain(3), lambda: tree(6, 6)])
def test_pairs_formed_early_and_taken_later_are_the_anchor(make):
    """ft_step gives bitwise equal results if the caller computes the exact sines and cosines in two halves.

    The comparison is with one call of the step alone."""
    model = Model.of(make())
    ffi, lib = build(
        step_source.render(model) | {"ft_host.c": step_library.HOST_SOURCE},
        step_library.cdef_of("single") + "void ft_step_pairs(const ft_turn *q, void *p);"
        "void ft_step_take(void *s, const void *p);",
    )
    start, end = 0.2 * slides(model), np.linspace(-1.0, 1.2, model.n) * slides(model)
    turns, positions = Turns(model, "single"), sampled_quintic(model, start, end, 0.2)
    q, samples = turns.of(positions), turns.samples(positions)
    pairs, results = ffi.new("float[]", 2 * model.n), []
    for split in (False, True):
        state, tau = lib.ft_host_state(), np.empty_like(samples["u"])
        lib.ft_step_start(state, ffi.from_buffer("ft_turn[]", q[0]))
        for k in range(len(samples)):
            q_next = ffi.from_buffer("ft_turn[]", q[k + 1])
            if split and k % 4 == 0:
                lib.ft_step_pairs(q_next, pairs)  # called before the step, since this half needs only the position
            lib.ft_step(state, ffi.from_buffer(samples[k : k + 1]), ffi.from_buffer("ft_real[]", tau[k]))
            if k % 4 == 0:
                lib.ft_step_take(state, pairs) if split else lib.ft_step_anchor(state, q_next)
        results.append(tau.view(np.uint32))
    assert np.array_equal(*results)


@pytest.mark.parametrize("scheme", ["nodal", "printed"])
def test_a_rotor_alone_and_a_link_without_mass_compile_too(scheme):
    """A drone has a joint that needs neither a rotating frame nor angular velocities."""
    arm = asking(planar_chain(1), scheme=scheme)
    rotor = replace(arm.links[0], com=np.zeros(3), inertia=np.diag([0.0, 0.0, 1e-5]))
    nothing = replace(rotor, mass=0.0, inertia=np.zeros((3, 3)))
    for body, torque in ((rotor, True), (nothing, False)):
        model = Model.of(replace(arm, links=(body,)))
        for precision in ("single", "double"):
            tau = CompiledStep(model, precision).torque(sampled_quintic(model, np.zeros(1), np.ones(1)))
            assert bool(np.any(tau)) == torque


def test_without_a_compiler_it_says_what_to_install(monkeypatch):
    host_compiler.compiler.cache_clear()
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CC", raising=False)
    try:
        with pytest.raises(Refused, match="install"):
            CompiledStep(Model.of(planar_chain(1)))
    finally:
        host_compiler.compiler.cache_clear()
