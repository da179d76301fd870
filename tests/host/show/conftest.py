"""Runs of the flash image, with situations caused by changes of the plant, the line or the encoder."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from femtorque.codegen.mechanism import load_mechanism
from femtorque.codegen.motion import from_rows
from femtorque.hil.plant.rigid import Plant
from femtorque.hil.play import Result, run_closed_loop as play
from femtorque.host.record import log as logs
from femtorque.host.show.findings import Findings
from tests.support.suite import ROOT

SHIFT = 0.05  # rad


@dataclass(frozen=True)
class Played:
    result: Result
    run: logs.Run
    said: list[str]
    path: Path


SITUATIONS = {
    "good": {}, "shifted zero": {"pose": (SHIFT, 0.0, 0.0)}, "wrong inertia": {"mass_scale": 1.4},
    "wrong friction": {"friction_scale": 3.0}, "encoder-stuck": {"fault": "encoder-stuck"},
    "host-stall": {"fault": "host-stall", "resume": 1}, "host-gone": {"fault": "host-gone"},
}


@pytest.fixture(scope="session")
def played(tmp_path_factory):
    """Return a function that maps the name of a situation to its run. Each situation is simulated only once."""
    arm, folder, known = load_mechanism(ROOT / "mechanisms" / "three_link.toml"), tmp_path_factory.mktemp("runs"), {}
    t = np.linspace(0.0, 1.6, 161)
    s = (1.0 - np.cos(2 * np.pi * t / 1.6)) / 2.0
    start = np.array([j.start for j in arm.moving])
    motion = from_rows([j.name for j in arm.moving], t, start + np.outer(s * s, [1.4, -1.2, 1.5]))

    def of(name):
        if name not in known:
            how = dict(SITUATIONS[name])
            shift = how.pop("pose", None)
            plant = {key: how.pop(key) for key in ("mass_scale", "friction_scale") if key in how}
            path = folder / f"{name}.mcap"
            result = play(arm, motion,
                          plant=Plant(arm, pose=None if shift is None else start + shift, **plant), log=path,
                          **how)
            run = logs.read_log(path)
            known[name] = Played(result, run, Findings(run).sentences, path)
        return known[name]

    return of
