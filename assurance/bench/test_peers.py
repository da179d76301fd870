"""The emitted step compared with CasADi's C on the five arms, with equal compiler, flags, motion and emulator.

The bench writes build/bench.md."""

from dataclasses import replace

import numpy as np
import pytest

from assurance.bench import cost, table
from assurance.bench.cost import Calls
from assurance.bench.test_step_instructions import LIMITS
from femtorque.codegen.mechanism.description import BoardUse
from femtorque.codegen.model import Model
from femtorque.codegen.toolchain import platformio
from femtorque.hil.cost import measure
from tests.support.arms import arms
from tests.support.oracle import peak, quintic, rnea
from tests.support.sampling import middles, sampled_quintic

pytestmark = pytest.mark.bench

SPREAD, TRAVEL = 2.0, (1.3, -1.1)  # size of the poses, rad: large arguments for the library's sine function
ERRORS = {
    "femtorque": 1e-5,  # fraction of the peak torque: the discretisation error, of second order in the tick
    "CasADi, made single": 1e-6,  # fraction of the peak torque: a float32 recursion without time differences
}


def motion(model: Model):
    """Return a quintic's positions (N+2, J) at s_-1..s_N, and its q, qd, qdd (N, J) at s_0..s_N-1."""
    start = np.linspace(-SPREAD, SPREAD, model.n)
    end = start + np.linspace(*TRAVEL, model.n)
    return sampled_quintic(model, start, end), quintic(start, end).at(middles(model, 1.0)[1:-1])


@pytest.fixture(scope="module")
def costs() -> dict[str, dict[str, tuple[Calls, float]]]:
    """Return the cost and the worst error over the peak torque, by arm and method."""
    found = {}
    for name, mechanism in arms().items():
        model = Model.of(mechanism)
        positions, states = motion(model)
        truth = rnea(model, *states)
        calls = (cost.of_step(model, positions), cost.of_casadi(model, states))
        found[name] = {method: (one, peak(one.torque[-len(truth):] - truth) / peak(truth))
                       for method, one in zip(ERRORS, calls, strict=True)}
    return found


def test_every_method_computes_the_torque_of_pinocchio(costs):
    assert not [(name, method, error) for name, methods in costs.items() for method, (_, error) in methods.items()
                if error > ERRORS[method]]


@pytest.mark.parametrize("name", LIMITS)
def test_step_stays_within_its_budget_and_below_casadi(costs, name):
    (ours, _), *_, (casadi, _) = costs[name].values()
    assert ours.worst() <= LIMITS[name] and ours.worst() < casadi.mean


def test_derivatives_take_fewer_instructions_than_casadis_and_agree_with_them():
    """Both give torques and all three matrices in single precision, at the same states."""
    rows = []
    for name, mechanism in arms().items():
        model = Model.of(mechanism)
        states = tuple(x[::100] for x in motion(model)[1])
        ours, theirs = cost.of_derivatives(model, states), cost.of_casadi(model, states, derivatives=True)
        n, parts = model.n, []
        for k in range(3):
            at = slice(n + k * n * n, n + (k + 1) * n * n)
            parts.append(peak(ours.torque[:, at] - theirs.torque[:, at]) / peak(theirs.torque[:, at]))
        assert max(parts) < 2e-5 and ours.worst() < theirs.mean
        rows.append([name, ours.worst(), f"{theirs.mean:.0f}", f"{ours.worst() / theirs.mean:.2f}", ours.flash_bytes,
                     theirs.flash_bytes, ours.worst("stack_bytes"), theirs.worst("stack_bytes"), f"{max(parts):.1e}"])
    table.keep("derivatives.md", table.show(
        "Torques, dtau/dq, dtau/dq' and M in one call on a Cortex-M4F",
        ["arm", "femtorque", "CasADi, made single", "ratio", "flash", "CasADi's", "stack", "CasADi's",
         "largest difference"], rows,
        ["gcc -O2 -ffp-contract=off. CasADi: SX, jacobian, cse, folded constants, one triangle of M."]))


def test_figures_are_kept(costs, tmp_path_factory):
    """Write the table of all methods. The column `tick` is the worst control tick of an image on board `compute`."""
    rows = []
    for name, mechanism in arms().items():
        image = replace(mechanism, board=BoardUse("compute"))
        tick = measure(image, platformio.build_image(image, tmp_path_factory.mktemp(name))).instructions_tick
        rows += [[f"{name}: {method}", found.worst(), f"{found.mean:.1f}", found.flash_bytes,
                  found.worst("stack_bytes"), found.ram_bytes, f"{found.generation:.2f}",
                  f"{found.compilation:.2f}", f"{error:.1e}",
                  tick if method == "femtorque" else ""] for method, (found, error) in costs[name].items()]
    table.keep("bench.md", table.show(
        "One inverse-dynamics call on a Cortex-M4F, worst of a motion",
        ["arm and method", "instructions", "mean", "flash", "stack", "RAM", "generate, s", "compile, s",
         "error of peak", "tick"], rows,
        ["gcc -O2 -ffp-contract=off, single precision. Bytes include those of the mathematical library."]))
