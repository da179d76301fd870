"""`verify` finds nothing wrong with the examples, and finds what is made wrong."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from codegen import verify
from codegen.compiled import CompiledStep
from codegen.errors import BadInput
from codegen.mechanism import Mechanism
from codegen.model import Model
from codegen.trajectory import check_limits
from hil import chip_step

MECHANISMS = Path(__file__).resolve().parents[2] / "mechanisms"


@pytest.fixture(scope="module")
def arm():
    return Mechanism.load(MECHANISMS / "three_link_10ms.toml")


def test_the_emitted_c_of_an_example_is_what_was_meant(arm):
    result = verify.verify(arm, chip_step.torque)
    assert result.good and result.bit_identical is True
    assert result.double < 1e-12 and result.single < 1e-4 and 1e-5 < result.scheme < 1e-2
    assert "bit for bit the same on the chip" in result.text()


def test_the_papers_scheme_in_double_precision_is_the_reference():
    eight = Mechanism.load(MECHANISMS / "eight_link.toml")
    damped = replace(eight, control=replace(eight.control, rate_hz=100, knot_hz=100, scheme="newmark", beta=0.3025,
                                            gamma=0.6))
    result = verify.verify(damped, motions=1)
    assert result.double < 1e-10 and result.bit_identical is None


@pytest.mark.parametrize("precision, error", [("double", 1e-8), ("single", 1e-2)])
def test_an_error_in_the_emitted_c_is_found(arm, monkeypatch, precision, error):
    torque = CompiledStep.torque

    def wrong(self, positions):
        off = error if np.dtype(self.turns.real).itemsize == (8 if precision == "double" else 4) else 0.0
        return torque(self, positions) * self.turns.real(1.0 + off)

    monkeypatch.setattr(CompiledStep, "torque", wrong)
    assert not verify.verify(arm, motions=1).good


def test_a_chip_that_differs_in_the_last_bit_is_found(arm):
    def chip(model: Model, positions):
        tau = CompiledStep(model, "single").torque(positions)
        tau[-1, 0] = np.nextafter(tau[-1, 0], np.float32(np.inf))
        return tau

    result = verify.verify(arm, chip, motions=1)
    assert result.bit_identical is False and not result.good and "NOT THE SAME" in result.text()


def test_motions_stay_within_limits_and_differ(arm):
    motions = [verify.random_motion(arm, np.random.default_rng(seed)) for seed in range(20)]
    for motion in motions:
        check_limits(motion, arm)
    assert len({motion.positions[-1].tobytes() for motion in motions}) == 20


def test_what_cannot_be_emitted_is_refused(arm):
    with pytest.raises(BadInput, match="newton-euler"):
        verify.verify(replace(arm, control=replace(arm.control, scheme="newton-euler")))
