"""Test that a new measurement reproduces the table in docs/theory.md of steps."""

import re
import runpy

import pytest

from femtorque.codegen.model import supported
from tests.support.rig import ROOT

STEPS = runpy.run_path(str(ROOT / "docs" / "steps.py"))
MOTIONS = 1  # of the twelve random motions


def table() -> dict[str, list[str]]:
    """Return the cells of the page's rows, by scheme and mechanism."""
    page = (ROOT / "docs" / "theory.md").read_text(encoding="utf-8")
    part = page.split("<!-- made: steps -->")[1].split("<!-- end -->")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in part.strip().splitlines()[2:]]
    return {f"{row[0]}, {row[1]}".replace("`", ""): row[2:] for row in rows}


def test_the_table_has_the_rows_of_its_command():
    assert list(table()) == [", ".join(row) for row in STEPS["ROWS"]]


@pytest.mark.parametrize("name", [", ".join(row) for row in STEPS["ROWS"]])
def test_the_figures_of_a_step_are_measured_again(name):
    """Another compiler may change the number of instructions, cycles and flash bytes by a tenth.

    With fewer motions the measured error is at most the error in the table."""
    mechanism = STEPS["named"](*name.split(", "))
    supported(mechanism)
    instructions, cycles, ram, flash, *errors = table()[name]
    found = STEPS["costs"](mechanism)
    assert (found[0], found[1], found[3]) == pytest.approx((int(instructions), int(cycles), int(flash)), rel=0.1)
    assert found[2] == int(ram)
    for measured, said in zip(STEPS["errors"](mechanism, MOTIONS), errors, strict=True):
        assert said == "" or re.fullmatch(r"[\d.]+e-\d+", said) and float(said) / 20.0 < measured <= 1.05 * float(said)
