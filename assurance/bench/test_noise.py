"""Single precision over 200 random chains, with the scheme that each gets by default: below 1e-4 of the peak, all."""

from dataclasses import replace

import numpy as np
import pytest

from femtorque.codegen.reference import discrete
from femtorque.codegen.step import model_of, noise_floor
from femtorque.codegen.toolchain import CompiledStep
from tests.support.oracle import peak, random_chain, random_quintic
from tests.support.sampling import middles

pytestmark = pytest.mark.bench
CHAINS = 200


@pytest.fixture(scope="module")
def errors() -> tuple[np.ndarray, np.ndarray]:
    """Worst error of each chain, over its peak and over its noise floor; 1 s quintics under gravity at 1 kHz."""
    of_peak, of_floor, schemes = [], [], []
    for seed in range(CHAINS):
        rng = np.random.default_rng(seed)
        chain = random_chain(rng, 1 + seed % 8)
        model = model_of(replace(chain, control=replace(chain.control, scheme="auto")))
        positions = random_quintic(rng, model.n).at(middles(model, 1.0))[0]
        plain = discrete.midpoint_torque(model, positions)
        wrong = np.max(np.abs(CompiledStep(model).torque(positions) - plain), axis=0)
        of_peak.append(wrong.max() / peak(plain))
        of_floor.append(np.max(wrong / noise_floor(model, positions)))
        schemes.append(model.scheme)
    for name in ("midpoint", "newton-euler"):
        mine = np.array(of_peak)[np.array(schemes) == name]
        print(f"\nfloat32 over {len(mine)} chains that get {name}: median {np.median(mine):.1e}, worst "
              f"{np.max(mine):.2e} "
              "of peak")
    print(f"at most {np.max(of_floor):.2f} of the floor")
    return np.array(of_peak), np.array(of_floor)


def test_no_chain_is_above_its_noise_floor(errors):
    assert np.all(errors[1] <= 1.0)


def test_every_chain_is_within_1e_4_of_its_peak(errors):
    assert np.all(errors[0] <= 1e-4)
