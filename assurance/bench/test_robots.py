"""Every URDF of the package example-robot-data, fixed at its root link: loaded and verified, or refused for a
reason."""

import time
from pathlib import Path

import pytest
from rich.console import Console
from rich.table import Table

from femtorque.codegen.common import BadInput
from femtorque.codegen.mechanism import Mechanism, load_mechanism
from femtorque.codegen.verify import verify
from femtorque.codegen.verify.verification import Verification
from femtorque.hil.cost import chip_step
from tests.codegen.mechanism.test_urdf import ROBOTS, TRULY_REFUSED, compare_with_pinocchio
from tests.codegen.reference.test_robots import assert_verified

pytestmark = pytest.mark.bench

COLUMNS = ("robot", "joints", "reference, rnea", "float64", "float32", "of floor", "float32, rnea", "bits",
           "instructions", "flash", "stack", "s")


def row(name: str, v: Verification, seconds: float) -> tuple[str, ...]:
    assert v.instructions is not None
    errors = [f"{v.worst(key).of_peak:.1e}" for key in ("reference", "double", "single")]
    return (name, str(len(v.joints)), *errors, f"{v.over_floor:.2f}", f"{v.worst('single_rnea').of_peak:.1e}",
            "same" if v.bit_identical else "DIFFER", str(v.instructions.max()), str(v.object.flash_bytes),
            str(v.object.stack_bytes), f"{seconds:.0f}")


def test_every_robot_is_verified_or_refused_with_a_true_reason() -> None:
    """Errors are of peak torque, the worst of three random motions; instructions of the step, the worst tick."""
    root, console = ROBOTS.resolve(), Console(width=150)
    table, refused, failed = Table(*COLUMNS, title="robots of example-robot-data, 1 kHz"), {}, {}
    for urdf in sorted({path.resolve() for path in ROBOTS.rglob("*.urdf")}):
        name, start = urdf.relative_to(root).as_posix(), time.perf_counter()
        try:
            mechanism = load_mechanism(urdf)
            compare_with_pinocchio(mechanism, urdf)
            v = verify(mechanism, (), chip_step.run_step_on_chip)
            cells = row(_short(urdf, mechanism), v, time.perf_counter() - start)
            table.add_row(*cells)
            print(*cells, flush=True)
            assert_verified(v)
        except BadInput as error:
            refused[name] = str(error).removeprefix(f"{urdf}: ")
        except Exception as error:  # look at all the others before saying no
            failed[name] = f"{type(error).__name__}: {error}"
    console.print(table)
    for name, reason in refused.items():
        console.print(f"refused: {name}: {reason}")
    assert failed == {}
    assert refused.keys() == TRULY_REFUSED.keys()
    assert all(reason in refused[name] for name, reason in TRULY_REFUSED.items())
    assert len(table.rows) > 60


def _short(urdf: Path, mechanism: Mechanism) -> str:
    """The file's name, and how many joints follow others."""
    following = sum(joint.mimic is not None for joint in mechanism.moving)
    return urdf.stem + (f" ({following} mimic)" if following else "")
