"""Coverage-guided fuzzing of frames, messages, knots and ticks under sanitizers; see tests/firmware/fuzz."""

import json
import os

import pytest

from tests.firmware.app import replace
from tests.firmware.fuzz import fuzz

EXECUTIONS = 50_000  # of inputs, those of the corpus among them
SECONDS = 60  # of fuzzing
SOAK_EXECUTIONS = 100_000_000
SOAK_PIECE = 120  # s


def test_that_a_short_fuzzing_breaks_no_promise(tmp_path):
    """So many inputs, however long they take."""
    outcome = fuzz.run(fuzz.build(tmp_path / "build"), tmp_path / "corpus", 0, EXECUTIONS)
    assert outcome.failure == ""
    assert outcome.executions > 2_000
    assert outcome.features > 2_000  # the corpus alone reaches as much: it leads far into the application


@pytest.mark.bench
def test_that_a_minute_of_fuzzing_breaks_no_promise(tmp_path):
    outcome = fuzz.run(fuzz.build(tmp_path / "build"), tmp_path / "corpus", SECONDS)
    assert outcome.failure == ""
    assert outcome.executions > 2_000
    assert outcome.features > 2_000  # the corpus alone reaches as much: it leads far into the application


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

    fuzzer = fuzz.build(tmp_path / "build", {name: replace(old, new)})
    outcome = fuzz.run(fuzzer, tmp_path / "corpus", 120)
    assert re.search(found, outcome.failure), outcome


@pytest.mark.soak
def test_that_long_fuzzing_breaks_no_promise():
    """In pieces: what is done is kept beside the corpus, and counted on the next time. FEMTORQUE_SOAK_S bounds one
    run."""
    folder = fuzz.default_folder()
    fuzzer = fuzz.build(folder / "build")
    ledger = folder / f"executions-{fuzz.identity(folder / 'build')}.json"
    done = json.loads(ledger.read_text()) if ledger.exists() else {"executions": 0, "seconds": 0.0}
    budget = float(os.environ.get("FEMTORQUE_SOAK_S", "inf"))
    spent = 0.0
    while done["executions"] < SOAK_EXECUTIONS and spent < budget:
        longest = fuzz.LONGEST if int(done["seconds"]) % (5 * SOAK_PIECE) == 0 else fuzz.SHORT
        outcomes = fuzz.run_all(fuzzer, folder / "corpus", SOAK_PIECE, 1 + int(done["seconds"]), longest)
        assert [o.failure for o in outcomes] == [""] * len(outcomes)
        done["executions"] += sum(o.executions for o in outcomes)
        done["seconds"] += SOAK_PIECE
        spent += SOAK_PIECE
        ledger.write_text(json.dumps(done))
        print(f"fuzzing: {done['executions']:.3g} of {SOAK_EXECUTIONS:.0e} executions, "
              f"{sum(o.executions for o in outcomes) / SOAK_PIECE:.0f}/s")
