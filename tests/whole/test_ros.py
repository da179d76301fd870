"""Tests `femtorque ros` on the command line, without a board and without a network."""

import pytest

ARM = "mechanisms/three_link.toml"


@pytest.mark.parametrize("arguments, rule", [
    (("--controller", "a b"), "--controller = 'a b': must be a name"),
    (("--node", "/x"), "--node = '/x': must be a name"), (("--domain", "900"), "must be at most 232"),
    (("--router", "nonsense"), "--router = 'nonsense': cannot be used"),
])
def test_bad_names_and_addresses_are_refused_in_one_line(here, fake, arguments, rule):
    shown = here("ros", ARM, "--port", "any", *arguments)
    assert shown.returncode == 2 and shown.stderr.count("\n") == 1 and rule in shown.stderr, shown.stderr


def test_a_bad_domain_of_the_environment_is_refused(here, fake, monkeypatch):
    monkeypatch.setenv("ROS_DOMAIN_ID", "x")
    shown = here("ros", ARM, "--port", "any")
    assert shown.returncode == 2 and "ROS_DOMAIN_ID = 'x': must be 0 to 232" in shown.stderr, shown.stderr
