"""Tests by coverage-guided fuzzing of frames, messages, knots and ticks under sanitizers."""

import json
import os

import pytest

from assurance.fuzz import fuzz
from assurance.mutation.test_mutants import ALL
from tests.firmware.app import replace

TARGETS = {"arm": fuzz.ARM, "buses": fuzz.BUSES}
EXECUTIONS = {"arm": 20_000, "buses": 1_500}  # number of inputs, including the corpus
# minimum number of coverage features that the corpus reaches without further inputs
FEATURES = dict.fromkeys(TARGETS, 2_000)
# the other families and the common code have mutants instead
FAMILIES = ("ft_dxl.c", "ft_dynamixel.c", "ft_moteus.c", "ft_odrive_can.c")
SECONDS = 60  # of fuzzing
SOAK_EXECUTIONS = {"arm": 100_000_000, "buses": 10_000_000}
SOAK_PIECE = 120  # s


@pytest.mark.parametrize("name", TARGETS)
def test_that_a_short_fuzzing_breaks_no_promise(name, tmp_path):
    """The number of inputs is fixed, but not the time."""
    target = TARGETS[name]
    outcome = fuzz.run(fuzz.build(target), tmp_path / "corpus", 0, EXECUTIONS[name], target=target)
    assert outcome.failure == ""
    assert outcome.executions > 0.04 * EXECUTIONS[name]
    assert outcome.features > FEATURES[name]


def test_that_every_branch_of_families_without_mutants_is_gone_both_ways(tmp_path):
    """The corpus takes every branch in both directions. fuzz.py describes how to extend the corpus."""
    assert not set(FAMILIES) & set(ALL)
    found = fuzz.branches(fuzz.BUSES, FAMILIES, tmp_path)
    assert len(found) > 100 and {branch.file for branch in found} == set(FAMILIES)
    one_way = [branch.text for branch in found if not (branch.true and branch.false)]
    assert one_way == ["FT_SERVO_LOOP == 0"]  # a constant of the build


@pytest.mark.bench
@pytest.mark.parametrize("name", TARGETS)
def test_that_a_minute_of_fuzzing_breaks_no_promise(name, tmp_path):
    target = TARGETS[name]
    outcome = fuzz.run(fuzz.build(target), tmp_path / "corpus", SECONDS, target=target)
    assert outcome.failure == ""
    assert outcome.executions > 2_000
    assert outcome.features > FEATURES[name]


@pytest.mark.bench
@pytest.mark.parametrize("name, old, new, found", [
    ("ft_port.c", "rx.size < sizeof rx.bytes", "rx.size < 100000u", "overflow|runtime error|SEGV"),
    ("ft_knots.c", "ft_queue_credit(q) == 0u", "ft_queue_credit(q) == 1000u", "ring"),
    ("ft_conditions.c", "return joint < FT_JOINTS ? FT_GOOD : FT_NO_JOINT;",
     "return joint < 255u ? FT_GOOD : FT_NO_JOINT;",
     "overflow|runtime error|SEGV"),
    ("ft_capture.c", "row < ROWS && first", "row < 64u * ROWS && first", "overflow|runtime error|SEGV"),
    ("ft_safety.c", "        outputs_off(s, c);\n    else if (how == FT_REACTION_BRAKE)",
     "        brake(s, c);\n    else if (how == FT_REACTION_BRAKE)",
     "outputs are off"),
    ("ft_conditions.c", "return found == cause ? joint : FT_GOOD;", "return found == cause + 100u ? joint : FT_GOOD;",
     "a current loop that fails"),
], ids=["frame buffer", "ring", "joint number", "recording", "outputs", "current loops"])
def test_that_what_is_broken_is_found(tmp_path, name, old, new, found):
    import re

    fuzzer = fuzz.build(patches={name: replace(old, new)})
    outcome = fuzz.run(fuzzer, tmp_path / "corpus", 120)
    assert re.search(found, outcome.failure), outcome


@pytest.mark.soak
@pytest.mark.parametrize("name", TARGETS)
def test_that_long_fuzzing_breaks_no_promise(name):
    """The fuzzing is divided into pieces. The number of executions is stored next to the corpus, and the next run
    continues from it. FEMTORQUE_SOAK_S limits the time of one run."""
    target, folder = TARGETS[name], fuzz.default_folder() / name
    fuzzer = fuzz.build(target)
    ledger = folder / f"executions-{fuzz.identity(fuzzer.parent)}.json"
    done = json.loads(ledger.read_text()) if ledger.exists() else {"executions": 0, "seconds": 0.0}
    budget = float(os.environ.get("FEMTORQUE_SOAK_S", "inf"))
    spent = 0.0
    while done["executions"] < SOAK_EXECUTIONS[name] and spent < budget:
        longest = fuzz.LONGEST if int(done["seconds"]) % (5 * SOAK_PIECE) == 0 else fuzz.SHORT
        outcomes = fuzz.run_all(fuzzer, folder / "corpus", SOAK_PIECE, 1 + int(done["seconds"]), longest, target)
        assert [o.failure for o in outcomes] == [""] * len(outcomes)
        done["executions"] += sum(o.executions for o in outcomes)
        done["seconds"] += SOAK_PIECE
        spent += SOAK_PIECE
        ledger.write_text(json.dumps(done))
        print(f"fuzzing: {done['executions']:.3g} of {SOAK_EXECUTIONS[name]:.0e} executions, "
              f"{sum(o.executions for o in outcomes) / SOAK_PIECE:.0f}/s")
