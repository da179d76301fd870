"""The Python API, and the notebook that shows it, run as its reader would run it."""

import re
import runpy
import subprocess
import sys

import numpy as np
import pytest

from codegen.common.errors import BadInput
from femtorque import Mechanism, Trajectory, report
from tests.conftest import ROOT

ARM = ROOT / "mechanisms" / "three_link.toml"


def test_every_name_of_the_api_is_there_and_says_what_it_does():
    code = ("import femtorque\n"
            "for name in femtorque.__all__:\n"
            "    thing = getattr(femtorque, name)\n"
            "    assert thing.__doc__ and len(thing.__doc__) > 40, name\n")
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT).returncode == 0


def test_public_methods_have_docstrings():
    from femtorque import Board

    for kind in (Mechanism, Board, Trajectory):
        for name, thing in vars(kind).items():
            if callable(getattr(kind, name)) and not name.startswith("_"):
                assert (thing.__doc__ or getattr(thing, "__func__", thing).__doc__), f"{kind.__name__}.{name}"


def test_torques_of_a_motion():
    arm = Mechanism.load(ARM)
    path = ROOT / "mechanisms" / "three_link.csv"
    by_path, by_motion = arm.torque(path), arm.torque(Trajectory.load(path, arm))
    np.testing.assert_array_equal(by_path.tau, by_motion.tau)
    assert by_path.tau.shape == (3000, 3) and by_path.error < 1e-5
    assert np.max(np.abs(arm.torque(path, total=True).tau)) > np.max(np.abs(by_path.tau))


def test_the_notebook_runs_and_says_how_it_went(capsys):
    names = runpy.run_path(str(ROOT / "examples" / "three_link.py"))
    said = capsys.readouterr().out
    assert names["outcome"].ended == "done" and np.max(names["outcome"].tracking_max) < 2e-3
    assert "before moving: " in said and "every limit kept" in said and "Tracking was worst at" in said
    assert (names["out"] / "run.html").stat().st_size > 50_000
    assert names["board"].session.configuration.name == "three-link"


def test_a_log_that_is_not_there():
    with pytest.raises(BadInput, match="does not exist"):
        report("absent.mcap")


def test_the_names_are_few_and_have_a_version():
    import femtorque

    assert femtorque.__version__.count(".") == 2 and set(femtorque.__all__) == {
        "BadInput", "Board", "Mechanism", "Refused", "Trajectory", "plan_motion", "report", "virtual_board"}
    assert all(getattr(femtorque, name) for name in femtorque.__all__)
    with pytest.raises(AttributeError, match="no attribute 'API'"):
        _ = femtorque.API


def test_importing_the_package_imports_nothing_that_is_slow():
    code = "import femtorque, sys; sys.exit(' '.join({'numpy', 'typer', 'host', 'hil'} & set(sys.modules)) or 0)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True).stderr == ""


def test_every_public_member_stands_on_the_page_with_words():
    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    sections = re.split(r"^##+ ", page, flags=re.MULTILINE)[1:]
    assert len(sections) > 20
    for section in sections:
        head, _, words = section.partition("\n")
        assert len(words.strip()) > 15, head
    assert "`.stream(" in page and "`.torque(" in page
