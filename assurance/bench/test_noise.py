"""Tests of the numerical error on random chains. In single precision the error of every chain is below 1e-4 of its peak
torque. In double precision the error is only the discretisation error of the step. `make assure` tests 31 chains, `make
bench` 200."""

import numpy as np
import pytest

from femtorque.codegen.model import Model
from femtorque.codegen.reference import discrete
from femtorque.codegen.step import noise_floor
from femtorque.codegen.toolchain import CompiledStep
from tests.support.oracle import peak, random_chain, random_quintic
from tests.support.sampling import middles


@pytest.fixture(scope="module", ids=len,
                params=[tuple(range(31)), pytest.param(range(200), marks=pytest.mark.bench)])
def errors(request) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return each chain's worst errors: single precision over the peak torque, single precision over the noise floor,
    and double precision over the peak torque. The motions are quintics of 1 s under gravity at 1 kHz."""
    of_peak, of_floor, exact = [], [], []
    for seed in request.param:
        rng = np.random.default_rng(seed)
        chain = random_chain(rng, 1 + seed % 8)
        model = Model.of(chain)
        positions = random_quintic(rng, model.n).at(middles(model, 1.0))[0]
        plain = discrete.emitted_torque(model, positions)
        wrong = np.max(np.abs(CompiledStep(model).torque(positions) - plain), axis=0)
        of_peak.append(wrong.max() / peak(plain))
        of_floor.append(np.max(wrong / noise_floor(model, positions)))
        exact.append(peak(CompiledStep(model, "double").torque(positions) - plain) / peak(plain))
    print(f"\nfloat32 over {len(of_peak)} chains: median {np.median(of_peak):.1e}, worst {np.max(of_peak):.2e} of peak")
    print(f"at most {np.max(of_floor):.2f} of the floor")
    return np.array(of_peak), np.array(of_floor), np.array(exact)


def test_no_chain_is_above_its_noise_floor(errors):
    assert np.all(errors[1] <= 1.0)


def test_every_chain_is_within_1e_4_of_its_peak(errors):
    assert np.all(errors[0] <= 1e-4)


def test_double_precision_equals_the_discretisation(errors):
    assert np.all(errors[2] <= 1e-10)
