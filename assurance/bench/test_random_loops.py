"""Tests of random closed mechanisms from file to chip. The mechanisms are checked, emitted and verified, and their
loops must stay closed."""

from pathlib import Path

import numpy as np
import pytest

from assurance.bench import table
from assurance.bench.random_loops import KINDS, Kind, on_urdf, write
from femtorque.codegen.common import BadInput, Refused
from femtorque.codegen.mechanism import Mechanism, load_mechanism
from femtorque.codegen.model import Model, assemble
from femtorque.codegen.motion import random_motion
from femtorque.codegen.verify import examine, verify
from femtorque.hil.cost import chip_step
from tests.codegen.step.test_closed import closures
from tests.support.closed import Closed

pytestmark = pytest.mark.bench

SEEDS = 40
REGULAR = 0.3  # minimum margin at the start; a pose nearer to a singular pose is replaced by another random pose
COLUMNS = ("mechanism", "joints", "driven", "moves", "rows", "float32", "emitted, rnea", "float64", "closure, m",
           "bits", "instructions")


def drawn(kind: Kind, folder: Path) -> tuple[Mechanism, list[str]]:
    """Return the first mechanism of a type in a regular pose, and the reasons of earlier refusals."""
    refused: list[str] = []
    for seed in range(SEEDS):
        try:
            name = kind.name.replace(",", "").replace(" ", "-")
            mechanism = load_mechanism(write(kind, seed, folder / f"{name}.toml"))
            examine(mechanism)
            assembly = assemble(Model.of(mechanism))
        except (BadInput, Refused) as error:
            refused.append(str(error))
            continue
        if assembly.margin(assembly.start) > REGULAR:
            return mechanism, refused
    raise AssertionError(f"{kind.name}: none of {SEEDS} is regular: {refused}")


def test_random_closed_mechanisms_are_verified_on_the_chip(tmp_path: Path) -> None:
    rows, reasons = [], []
    given = [(kind.name, *drawn(kind, tmp_path)) for kind in KINDS]
    given += [(path.stem, load_mechanism(path), []) for path in on_urdf(tmp_path)]
    for name, mechanism, refused in given:
        model = Model.of(mechanism)
        assembly, oracle = assemble(model), Closed(mechanism)
        assert oracle.mobility(assembly.start) == assembly.mobility
        v = verify(mechanism, (), chip_step.run_step_on_chip, motions=1)
        motion = random_motion(mechanism, np.random.default_rng([0, 0]))
        positions = motion.middles(round(motion.duration / model.dt), model.dt)
        open_by = float(closures(model, positions).max())
        assert v.instructions is not None
        cells = (name, str(model.n), str(len(assembly.actuated)), str(assembly.mobility), str(len(assembly.kept)),
                 *(f"{v.worst(key).of_peak:.1e}" for key in ("single", "discretisation", "double")), f"{open_by:.1e}",
                 "same" if v.bit_identical else "DIFFER", str(v.instructions.max()))
        rows.append(cells)
        print(*cells, *refused, sep="  ", flush=True)
        reasons += [f"{name}: {reason}" for reason in v.reasons]
        if not (v.worst("single").of_peak <= 1e-4 and open_by <= 1e-6):
            reasons.append(f"{name}: {v.worst('single').of_peak:.1e} of peak, open by {open_by:.1e} m")
    table.show("Random closed mechanisms", COLUMNS, rows)
    assert reasons == [] and len(rows) >= 20
