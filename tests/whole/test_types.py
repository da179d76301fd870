"""Types of messages. Tests that `make lint` checks the types of the product."""

import subprocess
import sys

from tests.support.suite import ROOT

MISSPELT = """
from femtorque.codegen.wire.messages import Jog, Status

def names(status: Status) -> int:
    return status.refusal_jont

Jog(token=1, joint=0, rate="fast", torqe=1.0)
"""


def test_a_misspelt_field_of_a_message_is_an_error_of_types(tmp_path):
    file = tmp_path / "misspelt.py"
    file.write_text(MISSPELT)
    found = subprocess.run([sys.executable, "-m", "mypy", file], cwd=ROOT, capture_output=True, text=True).stdout
    assert found.count(": error: ") == 3, found
    for wrong in ('no attribute "refusal_jont"', 'argument "torqe" for "Jog"', 'expected "float"'):
        assert wrong in found, found
