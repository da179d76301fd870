"""Test that every URDF of the package example-robot-data is verified, or refused for a correct reason. The root links
are fixed to the ground."""

import time

import pytest

from assurance.bench import table
from femtorque.codegen.common import BadInput
from femtorque.codegen.mechanism import load_mechanism
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
    """Errors are fractions of the peak torque, instructions are the worst step's, in three random motions."""
    root, rows, refused, failed = ROBOTS.resolve(), [], {}, {}
    for urdf in sorted({path.resolve() for path in ROBOTS.rglob("*.urdf")}):
        name, start = urdf.relative_to(root).as_posix(), time.perf_counter()
        try:
            mechanism = load_mechanism(urdf)
            compare_with_pinocchio(mechanism, urdf)
            v = verify(mechanism, (), chip_step.run_step_on_chip)
            following = sum(joint.mimic is not None for joint in mechanism.moving)
            short = urdf.stem + (f" ({following} mimic)" if following else "")
            rows.append(row(short, v, time.perf_counter() - start))
            print(*rows[-1], flush=True)
            assert_verified(v)
        except BadInput as error:
            refused[name] = str(error).removeprefix(f"{urdf}: ")
        except Exception as error:  # the test reports all further robots first
            failed[name] = f"{type(error).__name__}: {error}"
    table.show("robots of example-robot-data, 1 kHz", COLUMNS, rows,
               [f"refused: {name}: {reason}" for name, reason in refused.items()])
    assert failed == {}
    assert refused.keys() == TRULY_REFUSED.keys()
    assert all(reason in refused[name] for name, reason in TRULY_REFUSED.items())
    assert len(rows) > 60
