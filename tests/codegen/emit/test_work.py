"""Tests of the cost of code generation, counted in calls of Python functions.

The count does not depend on the speed or the load of the computer."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
MOST = 1_200_000  # maximum number of calls; a processor core made in 2020 makes about two million calls a second
COUNTED = """
import sys
from femtorque.codegen.board import load_board
from femtorque.codegen.emit.sources import sources
from femtorque.codegen.mechanism.reader import load_mechanism

def emitted():
    mechanism = load_mechanism("mechanisms/six_axis.toml")
    return sources(mechanism, load_board(mechanism.board.use))

def calls(work):
    count = 0
    def called(frame, event, argument):
        nonlocal count
        count += event == "call"
    sys.setprofile(called)
    work()
    sys.setprofile(None)
    return count

print(calls(emitted), calls(emitted))
"""


def test_six_axis_is_read_and_emitted_in_less_than_a_second_s_work(tmp_path):
    """The second run has the step's choices in the cache. A separate process excludes other tests' results."""
    alone = os.environ | {"FEMTORQUE_CACHE": str(tmp_path)}
    counted = subprocess.run([sys.executable, "-c", COUNTED], cwd=ROOT, env=alone,
                             stdout=subprocess.PIPE, check=True, text=True).stdout
    anew, kept = map(int, counted.split())
    assert kept < anew < MOST
