"""The number of executed instructions of one feed-forward step on a Cortex-M4F, in the worst tick, on the five arms.

The documentation promises these figures as upper bounds, with -O2 -ffp-contract=off. The figures include sines and
cosines."""

from dataclasses import replace

import numpy as np
import pytest

from assurance.bench.cost import Calls, of_step
from femtorque.codegen.model import Model
from femtorque.codegen.reference import discrete
from femtorque.codegen.step import noise_floor
from femtorque.codegen.toolchain import CompiledStep
from tests.support.arms import arms
from tests.support.oracle import planar_chain, quintic, torque_at
from tests.support.sampling import middles, sampled_quintic

LIMITS = {"planar-3": 185, "planar-8": 442, "ur5": 491, "puma560": 569, "panda-7": 919}
PRINTED = {"planar-3": 320, "planar-8": 905, "ur5": 1236, "puma560": 1249, "panda-7": 1944}
TICKS = 48  # more than two cycles in which each sine and cosine is recomputed exactly


def measure(model: Model, positions: np.ndarray) -> Calls:
    """Run the first ticks of a motion on the emulated chip."""
    return of_step(model, positions, slice(TICKS))


def test_planar_chains_cost_little_more_a_link_when_they_are_long():
    per_link = {}
    for n in (4, 64):
        model = Model.of(planar_chain(n))
        measured = measure(model, sampled_quintic(model, np.zeros(n), np.linspace(0.1, -0.1, n)))
        per_link[n] = np.array([measured.worst(), measured.flash_bytes]) / n
    assert np.all(per_link[64] <= 1.4 * per_link[4])


@pytest.mark.parametrize("name", LIMITS)
def test_the_printed_step_takes_no_more_instructions_than_it_did(name):
    mechanism = arms()[name]
    model = Model.of(replace(mechanism, control=replace(mechanism.control, scheme="printed")))
    positions = sampled_quintic(model, np.linspace(-0.4, 0.6, model.n), np.linspace(0.9, -0.5, model.n))
    measured = measure(model, positions)
    assert measured.worst() <= PRINTED[name]
    plain = discrete.emitted_torque(model, positions)[:TICKS]
    assert np.abs(measured.torque[1:] - plain[: TICKS - 1]).max() <= 1e-4 * np.abs(plain).max()


@pytest.mark.parametrize("name", LIMITS)
def test_step_takes_no_more_instructions_than_promised(name):
    model = Model.of(arms()[name])
    start, end = np.linspace(-0.4, 0.6, model.n), np.linspace(0.9, -0.5, model.n)
    positions = sampled_quintic(model, start, end)
    measured = measure(model, positions)
    assert measured.worst() <= LIMITS[name]
    # the torque must also be correct
    truth = torque_at(model, quintic(start, end), middles(model, 1.0)[1:-1])
    single = CompiledStep(model, "single")
    error = np.abs(single.torque(positions) - truth)
    assert error.max() <= 1e-4 * np.abs(truth).max()
    assert np.all(error.max(axis=0) <= noise_floor(model, positions) + 1e-5 * np.abs(truth).max())
    single.start(positions[0])
    host = single.run(single.turns.samples(positions))
    assert np.array_equal(measured.torque.view(np.uint32), host[:TICKS].view(np.uint32))
