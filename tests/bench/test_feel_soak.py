"""Long motions of an arm that feels, against plants of 5 % less and more mass than its file says: no touch is felt that
there is not.

Without FEMTORQUE_SOAK_S 24 h are simulated, 12 for each plant, which takes about 3 h of a processor (measured: 0.162 h
by 0.0204 h of a processor). With it a run begins with the same motions each time, and ends when so many seconds are
over: 600 of a processor are 1.3 h of the arm. A run prints how far it came."""

from __future__ import annotations

import os
import time

import numpy as np
import pytest

from femtorque.hil.plant.rigid import Plant
from femtorque.host.plan.plan import straight
from tests.support.feeling import feeling, six_axis

pytestmark = pytest.mark.soak

SECONDS = float(os.environ.get("FEMTORQUE_SOAK_S", "inf"))
SIMULATED = 24.0 * 3600.0
AWAY = 0.7  # rad from the start pose


@pytest.mark.parametrize("mass", [0.95, 1.05])
def test_no_motion_is_a_touch(mass):
    mechanism, rng = six_axis(), np.random.default_rng(round(100 * mass))
    start = np.array([j.start for j in mechanism.streamed])
    with feeling(mechanism, Plant(mechanism, mass_scale=mass)) as arm:
        used = time.process_time()
        until, motions, worst, began = time.monotonic() + 0.5 * SECONDS, 0, np.zeros(6), arm.board.seconds
        here = start
        while time.monotonic() < until and arm.board.seconds - began < 0.5 * SIMULATED:
            goal = start + rng.uniform(-AWAY, AWAY, 6)
            assert arm.move(straight(mechanism, here, goal, rng.uniform(0.1, 0.5))) == "done"
            off = np.abs(arm.external - [report.mean for report in arm.reports])
            worst = np.maximum(worst, (off / [report.threshold for report in arm.reports]).max(axis=0))
            here, motions = goal, motions + 1
            del arm.reports[:-1]
            assert arm.reports[-1].touches == 0, (motions, arm.reports[-1].joint)
        print(f"mass {mass:g}: {motions} motions in {(arm.board.seconds - began) / 3600.0:.3f} h, by "
              f"{(time.process_time() - used) / 3600.0:.4f} h of a processor; at most {np.round(worst, 2)} of the "
              "thresholds")
