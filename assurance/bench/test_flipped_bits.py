"""A thousand logs and motions of which one bit is another: none is read as something else in silence."""

from functools import partial
from pathlib import Path

import pytest

from assurance.bench import table
from femtorque.codegen.motion import Trajectory
from femtorque.hil.play import run_closed_loop as play
from femtorque.host.record import log
from tests.support import rig
from tests.support.damage import flipped

pytestmark = pytest.mark.bench

FLIPS = 1000


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    """The packed log of a motion on the virtual board."""
    path = tmp_path_factory.mktemp("run") / "run.mcap"
    assert play(rig.three_link(), rig.short_motion(), log=path).ended == "done"
    return path


def test_no_flipped_bit_of_a_log_changes_it_in_silence(run):
    readers = {"a log, as `plot` reads it": log.read_log,
               "a log, as a motion": partial(Trajectory.load, mechanism=rig.three_link())}
    rows = []
    for name, read in readers.items():
        found = flipped(run, read, FLIPS, seed=1)
        rows.append([name, *(found[kind] for kind in ("the same", "said", "refused"))])
        assert sum(found[kind] for kind in ("the same", "said", "refused")) == FLIPS, found
    table.keep("bench-flips.md", table.show(f"{FLIPS} copies of a log of {run.stat().st_size} bytes, one bit flipped",
                                            ["", "the same", "said to be damaged", "refused"], rows))
