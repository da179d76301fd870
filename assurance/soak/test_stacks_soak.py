"""Both integrations (LeRobot and ROS 2) run for half an hour with virtual boards in real time. After the first minutes
the numbers of threads, files and sockets and the memory do not grow. FEMTORQUE_SOAK_S limits the time.

LeRobot's classes run in LeRobot's environment (assurance.bench.lerobot.busy), with 30 actions a second and a new
connection every minute. For ROS 2 `femtorque ros` receives one goal after another."""

import os
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest

from assurance.bench.lerobot import environment
from assurance.bench.test_ros import ARM, Client, client, running, start  # noqa: F401
from tests.host.ros.test_motion import trajectory
from tests.support.suite import ROOT

pytestmark = pytest.mark.soak

SECONDS = min(1800.0, float(os.environ.get("FEMTORQUE_SOAK_S", "inf")))
FIRST = 0.2  # fraction of the time after which all permanent objects exist
LOOK = 10.0  # time between two measurements, s
# allowed growth of memory, and of threads and open files, above the largest values before this time
MEGABYTES, FEW = 12.0, 2


def held(pid: int) -> tuple[float, int, int]:
    """Return a process's memory, MB, number of threads, and number of open files and sockets."""
    lines = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    return (int(lines["VmRSS"].split()[0]) / 1024.0, int(lines["Threads"]),
            len(list(Path(f"/proc/{pid}/fd").iterdir())))


def test_neither_stack_grows(client, tmp_path):  # noqa: F811
    bin = environment.made(environment.OLD)
    assert bin is not None
    with ExitStack() as stack:
        url, _ = stack.enter_context(running("hil", "serve", ARM, "--port", "0"))
        busy = subprocess.Popen([bin / "python", "-m", "assurance.bench.lerobot.busy", ARM, url], cwd=ROOT,
                                env=environment.variables(bin, tmp_path), stderr=subprocess.PIPE, text=True)
        stack.callback(busy.kill)
        seen = {"femtorque ros": (client.process.pid, []), "LeRobot": (busy.pid, [])}
        began = last = time.monotonic()
        goals = 0
        while time.monotonic() < began + SECONDS:
            pose = start() + np.array([0.2, -0.2, 0.2]) * (-1) ** goals
            done = client.result(client.goal(trajectory([1.0, 2.0], [start(), pose])))
            assert (done.status, done.result.error_code) == (4, 0), done.result.error_string
            goals += 1
            assert busy.poll() is None, busy.stderr.read()[-2000:]
            if time.monotonic() > last + LOOK:
                last = time.monotonic()
                for pid, rows in seen.values():
                    rows.append(held(pid))
        print(f"{goals} goals in {time.monotonic() - began:.0f} s", file=sys.stderr)
        for name, (_, rows) in seen.items():
            table = np.array(rows)
            few = max(1, round(FIRST * len(table)))
            first, rest = table[:few].max(axis=0), table[few:].max(axis=0)
            print(f"{name}: MB, threads, files: {first} then {rest}, at last {table[-1]}", file=sys.stderr)
            assert np.all(rest - first <= (MEGABYTES, FEW, FEW)), name
