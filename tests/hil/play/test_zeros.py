"""Zeros of an arm that repeats its motion from the end of the last one."""

import json
import re

import numpy as np
import pytest

from femtorque.codegen.mechanism.reader import load_mechanism
from femtorque.codegen.motion.trajectory import from_rows
from femtorque.host.record import log as logs
from femtorque.host.show.findings import ZERO_FIRST, Findings
from tests.support.plugged import plugged_in
from tests.support.suite import ROOT

MECHANISM = ROOT / "mechanisms" / "three_link.toml"
COUNT = 2.0 * np.pi / 8192  # rad, of the arm's encoders
RIGHT = 0.5e-3  # rad rms of the elbow's tracking, with right zeros


@pytest.fixture
def arm():
    with plugged_in(load_mechanism(MECHANISM)) as board:
        yield board


@pytest.fixture
def stream(here, arm, tmp_path):
    """Play a motion that ends 0.2 rad from where it begins, which is the start pose."""
    joints = load_mechanism(MECHANISM).moving
    t = np.linspace(0.0, 0.6, 31)
    s = t / t[-1]
    q = np.array([j.start for j in joints]) + 0.2 * (10 * s**3 - 15 * s**4 + 6 * s**5)[:, None]
    from_rows([j.name for j in joints], t, q).save(tmp_path / "motion.csv")
    return lambda *options: here("stream", MECHANISM, tmp_path / "motion.csv", "--port", "auto", "--json", *options)


def test_five_runs_from_where_the_last_one_ended_keep_the_zeros(stream, arm):
    first = stream("--home")
    assert first.returncode == 0, first.stderr
    end = arm.plant.q.copy()
    for _ in range(4):
        refused = stream("--home")
        assert refused.returncode == 1
        assert re.search(r"joints have their zeros, and shoulder stands 0\.\d+ rad from its start.*`stream "
                         r"--approach`.*"
                         r"`--rezero`", refused.stderr), refused.stderr
        np.testing.assert_allclose(arm.plant.q, end, atol=COUNT)
        again = stream("--approach")
        assert again.returncode == 0, again.stderr
        assert json.loads(again.stdout)["tracking_rms"]["elbow"] < RIGHT
        np.testing.assert_allclose(arm.plant.q, end, atol=4 * COUNT)


def test_homing_again_at_the_start_keeps_the_zeros(here, arm):
    home = ("home", MECHANISM, "--port", "auto", "--json")
    assert here(*home).returncode == 0 and here(*home).returncode == 0
    assert here("jog", MECHANISM, "wrist", "--rate", "0.5", "--seconds", "0.3", "--home", "--port",
                "auto").returncode == 0
    for verb in ("home", "float"):
        refused = here(verb, MECHANISM, "--port", "auto", *(["--home", "--seconds", "0"] if verb == "float" else []))
        assert refused.returncode == 1 and re.search("wrist stands 0.[12]", refused.stderr), refused.stderr
        assert "`--rezero`" in refused.stderr, refused.stderr


def test_a_zero_that_is_shifted_on_purpose_is_named_before_the_model(here, arm, tmp_path):
    def sentences(how):
        log = tmp_path / f"{how}.mcap"
        done = here("stream", MECHANISM, MECHANISM.with_suffix(".csv"), "--port", "auto", f"--{how}", "--log", log)
        assert done.returncode == 0, done.stderr
        return Findings(logs.read(log)).sentences

    assert ZERO_FIRST not in sentences("home")
    said = sentences("rezero")  # the motion ends away from its beginning
    blamed = next(i for i, line in enumerate(said) if line.startswith("The model was farthest"))
    assert said[blamed - 1] == ZERO_FIRST, said
    assert re.search(r"at (shoulder: .* is as inertia of 0\.\d+ kg m\^2 more than the mechanism file says"
                     r"|elbow: .* is a constant torque of -0\.0\d+ N m, as of a load)", said[blamed]), said  # as likely
