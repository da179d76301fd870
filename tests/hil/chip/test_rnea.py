"""The emulated core's torques equal the host's bit for bit, in as many instructions as the README says."""

import numpy as np
import pytest

from femtorque.codegen.emit import rnea
from femtorque.codegen.mechanism.reader import load_mechanism
from femtorque.codegen.model import Model
from femtorque.codegen.model.modes import has_modes
from femtorque.hil.chip.chip_library import ChipLibrary
from tests.support.instant import Compiled, CompiledDerivatives, sources
from tests.support.suite import ROOT

ENTRY = """
#include "ft_rnea.h"

int motion(const ft_real *q, const ft_real *qd, const ft_real *qdd, ft_real *tau);
int weight(const ft_real *q, ft_real *tau);
NEAR

int motion(const ft_real *q, const ft_real *qd, const ft_real *qdd, ft_real *tau)
{
    return ft_rnea(GIVEN q, qd, qdd, tau);
}

int weight(const ft_real *q, ft_real *tau)
{
    return ft_gravity(GIVEN q, tau);
}
"""
CALLS = 5


@pytest.mark.parametrize("name",
                         ["three_link", "six_axis", "three_axis", "industrial_robot", "pick_and_place", "five_bar",
                                  "three_rrr", "palletizer", "delta"])
def test_the_chip_gives_the_hosts_bits_in_as_many_instructions_as_are_told(name):
    mechanism = load_mechanism(ROOT / "mechanisms" / f"{name}.toml")
    model, files = Model.of(mechanism), sources(Model.of(mechanism))
    near = "near" in files["ft_rnea.h"]
    given = ("&near, " if near else "") + ("0, " if has_modes(mechanism) else "")
    entry = ENTRY.replace("GIVEN ", given).replace("NEAR", "static ft_rnea_near near;" if near else "")
    chip, told, n = ChipLibrary(files | {"entry.c": entry}), rnea.cost(model)[0], len(mechanism.streamed)
    rng = np.random.default_rng(0)
    q = np.float32([j.start for j in mechanism.streamed]) + np.float32(0.002) * np.arange(CALLS,
                                                                                          dtype=np.float32)[:, None]
    qd, qdd = (rng.standard_normal((CALLS, n)).astype(np.float32) for _ in range(2))
    at = [chip.put(4 * n) for _ in range(4)]
    tau, counts = np.empty_like(q), []
    for k in range(CALLS):
        for address, x in zip(at, (q[k], qd[k], qdd[k]), strict=False):
            chip.write(address, x)
        counts.append(chip.call("motion", *at))
        tau[k] = chip.read(at[3], np.float32, n)
    assert all(call.result & 1 for call in counts)
    here = Compiled(model, "single").torque(q, qd, qdd)
    np.testing.assert_array_equal(tau.view(np.uint32), here.view(np.uint32))
    assert counts[-1].instructions == pytest.approx(told.calls["ft_rnea"], rel=0.15)  # almost as in the last call
    assert chip.call("weight", at[0], at[3]).instructions == pytest.approx(told.calls["ft_gravity"], rel=0.15)


@pytest.mark.parametrize("name", ["three_link", "six_axis", "three_axis", "industrial_robot", "five_bar", "delta"])
def test_the_chip_gives_the_hosts_bits_of_derivatives_in_as_many_instructions_as_are_told(name):
    """Loops have only their mass matrix. They start from the pose of the call before: the last of two calls counts."""
    mechanism = load_mechanism(ROOT / "mechanisms" / f"{name}.toml")
    model, n = Model.of(mechanism), len(mechanism.streamed)
    chip, here = ChipLibrary(sources(model, derivatives=True)), CompiledDerivatives(model, "single")
    given = np.random.default_rng(0).standard_normal((3, 1, n)).astype(np.float32)
    given[0] = [j.start for j in mechanism.streamed]
    at, found = chip.put(given), chip.put(4 * n * (3 * n + 1))
    parts = {"mass": [here.mass(given[0].repeat(2, 0))[1]]}
    if not mechanism.loops:
        parts["slopes"] = here.slopes(*given)
    for call, told in zip(parts, [*rnea.cost(model, derivatives=True)[0].calls.values()][2:], strict=True):
        _, last = (chip.call(call, 0, at, found) for _ in range(2))
        bits = np.concatenate([part.ravel() for part in parts[call]]).view(np.uint32)
        np.testing.assert_array_equal(chip.read(found, np.uint32, len(bits)), bits)
        assert last.instructions == pytest.approx(told, rel=0.15)
