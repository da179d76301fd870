"""Tests that rounding residues appear neither in emitted code nor in printed text."""

import math
import re

import numpy as np
import pytest

from femtorque.codegen.board import reader as boards
from femtorque.codegen.common.errors import BadInput
from femtorque.codegen.common.sanitize import printable, tidied
from femtorque.codegen.emit import sources
from femtorque.codegen.mechanism import load_mechanism
from tests.support.suite import ROOT

RESIDUE = re.compile(r"\d\.\d*?(?:0{7,}[1-9]|9{8,}\d*)\d{0,2}(?!\d)")


@pytest.mark.parametrize(("value", "expected"), [
    (0.1 + 0.2, 0.3), (13.999999999999998, 14.0), (-62.400000000000006, -62.4), (1.2e-5 * 3.0, 3.6e-5), (0.0, 0.0)])
def test_a_round_number_loses_its_residue(value, expected):
    assert tidied(value) == expected


@pytest.mark.parametrize("value", [1.0 / 3.0, math.pi, 2.0**-32, 0.123456789012345, math.inf])
def test_a_number_of_many_digits_stays(value):
    assert tidied(value) == value


@pytest.mark.parametrize("name", sorted(path.stem for path in (ROOT / "mechanisms").glob("*.toml")))
def test_no_constant_of_control_or_board_has_residue(name):
    mechanism = load_mechanism(ROOT / "mechanisms" / f"{name}.toml")
    board = boards.load_board(mechanism.board.use) if mechanism.board else None
    files = sources.sources(mechanism, board, step={})
    found = {file: RESIDUE.findall(text) for file, text in files.items()}
    assert not {file: numbers for file, numbers in found.items() if numbers}


def test_residue_is_seen():
    assert RESIDUE.search("FT_C(33.599999999999994)") and RESIDUE.search("FT_C(0.30000000000000004)")
    assert not RESIDUE.search("FT_C(0.49999999826058)")


@pytest.mark.parametrize("value", [0.1 + 0.2, np.float64(0.1) + 0.2])
def test_an_error_line_shows_a_computed_number_as_one_would_write_it(value):
    assert str(BadInput("arm.toml", "link.a.mass", value,
                        "is too small")) == "arm.toml: link.a.mass = 0.3: is too small"


def test_what_steers_a_terminal_is_not_printed():
    assert printable("arm \x1b]0;x\x07\x1b[2J\r\n\x7f\x9b\u202e é") == "arm ?]0;x??[2J????? é"
