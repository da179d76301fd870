"""Tests of continuous currents: keys in files, effect on the image, and lines printed by `check`."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from femtorque.codegen.board import description, reader as boards
from femtorque.codegen.common import BadInput
from femtorque.codegen.control import thermal_limits
from femtorque.codegen.mechanism import Mechanism, load_mechanism
from femtorque.codegen.verify import examine
from tests.support.rig import ROOT

FILE = ROOT / "mechanisms" / "three_link.toml"


def rated(continuous: float, thermal_s: float) -> Mechanism:
    mechanism = load_mechanism(FILE)
    return replace(mechanism,
                   joints=tuple(replace(j, motor=replace(j.motor, continuous=continuous, thermal_s=thermal_s))
                                           if j.motor else j for j in mechanism.joints))


def cooled(tmp_path, lines: str) -> description.Board:
    """Return f405rg-4 with a current rating for its motor drivers."""
    text = (boards.BOARDS / "f405rg-4.toml").read_text()
    path = tmp_path / "f405rg-4.toml"
    path.write_text(text.replace("[outputs]", f"[outputs]\n{lines}", 1))
    return boards.read(path)


def test_a_peak_lasts_as_long_as_the_equation_says():
    joint = rated(2.0, 30.0).moving[0]
    peak = 2.5 * thermal_limits.continuous_torque(joint, None)
    way = solve_ivp(lambda _, h: (2.5**2 - h) / 30.0, (0.0, 60.0), [0.0], events=lambda _, h: h[0] - 1.0, rtol=1e-10)
    assert thermal_limits.heat_lasts(joint, None, peak) == pytest.approx(way.t_events[0][0], rel=1e-6)
    assert math.isinf(thermal_limits.heat_lasts(joint, None, thermal_limits.continuous_torque(joint, None)))


def test_the_weaker_of_motor_and_driver_counts_and_each_has_its_row(tmp_path):
    board, mechanism = cooled(tmp_path, "continuous_a = 1.5\nthermal_s = 2.0"), rated(2.0, 30.0)
    joint = mechanism.moving[0]
    assert thermal_limits.continuous_torque(joint, board) == pytest.approx(1.5 * joint.motor.K * abs(joint.motor.gear))
    rows = thermal_limits.heats(mechanism, board)
    assert [row.what for row in rows[:2]] == ["shoulder: motor", "shoulder: driver"] and len(rows) == 6
    np.testing.assert_allclose([row.share for row in rows[:2]], [1e-3 / 30.0, 1e-3 / 2.0])


@pytest.mark.parametrize("key", ["continuous = 2.0", "thermal_s = 30.0"])
def test_half_a_rating_is_refused(tmp_path, key):
    path = tmp_path / "three_link.toml"
    text, n = re.subn(r"(\n\s*motor\s*=\s*\{)|(\[joint\.motor\]\n)",
                      lambda m: m[0] + (f" {key}," if m[1] else f"{key}\n"),
                      FILE.read_text(), count=1)
    assert n == 1
    path.write_text(text)
    with pytest.raises(BadInput, match="is required beside the other one"):
        load_mechanism(path)
    with pytest.raises(BadInput, match="goes with thermal_s"):
        cooled(tmp_path, "continuous_a = 1.5" if "continuous" in key else "thermal_s = 1.5")


def test_check_tells_peak_and_continuous():
    told, untold = examine(rated(2.0, 30.0)), examine(load_mechanism(FILE))
    assert re.fullmatch(r"shoulder: peak \S+ N m for \S+ s from cold, continuous \S+ N m", told.loads[0])
    assert untold.loads[0].startswith("no motor.continuous is given: these are taken to give their peak torque for "
                                      "good: shoulder ")
    heavy = replace(rated(0.01, 30.0), gravity=np.array([0.0, -9.81, 0.0]))
    assert any("held there it ends in OVERLOAD" in warning for warning in examine(heavy).warnings)
