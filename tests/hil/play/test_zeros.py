"""Zero positions of an arm that is homed a second time."""

import re

import pytest

from femtorque.codegen.mechanism import load_mechanism
from femtorque.host.record import log as logs
from femtorque.host.show import Findings
from femtorque.host.show.findings import ZERO_FIRST
from tests.support.plugged import plugged_in
from tests.support.suite import ROOT

MECHANISM = ROOT / "mechanisms" / "three_link.toml"


@pytest.fixture
def arm():
    with plugged_in(load_mechanism(MECHANISM)) as board:
        yield board


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
        return Findings(logs.read_log(log)).sentences

    assert ZERO_FIRST not in sentences("home")
    said = sentences("rezero")  # the motion ends at a pose that differs from its start
    blamed = next(i for i, line in enumerate(said) if line.startswith("The model was farthest"))
    assert said[blamed - 1] == ZERO_FIRST, said
    assert re.search(r"at (shoulder: .* looks like 0\.\d+ kg m\^2 more inertia than the mechanism file says"
                     r"|elbow: .* is a constant torque of -0\.0\d+ N m, for example of a load)",
                     said[blamed]), said  # as likely
