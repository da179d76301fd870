"""Friction and inertia, identified on the virtual board, whose plant differs from the file."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from femtorque.codegen.mechanism import load_mechanism, set_joint
from femtorque.hil.plant.rigid import Plant
from femtorque.host.lab.joint_identification import Estimate, Identified
from tests.support import rig
from tests.support.plugged import plugged_in

NUMBERS = ("viscous", "coulomb", "inertia")


def test_results_of_identification_have_units():
    numbers = [Estimate(x, 0.01) for x in (0.1, 0.2, 0.3, 0.4, 0.5)]
    told = Identified("lift", *numbers, rms=0.02, samples=7)
    assert told.words() == (
        "lift: viscous friction 0.1 +- 0.01 N m s/rad, Coulomb friction 0.2 +- 0.01 N m, apparent inertia 0.4 +- 0.01 "
        "kg m^2, motor.inertia 0.5 +- 0.01 kg m^2 (+-: 95 % interval); 0.02 N m rms unexplained")
    sliding = told.words(slides=True)
    assert "0.1 +- 0.01 N s/m, Coulomb friction 0.2 +- 0.01 N, apparent inertia 0.4 +- 0.01 kg," in sliding


def check(result, joint):
    motor, friction = joint.motor, joint.friction
    for estimate, truth in ((result.viscous, friction.viscous), (result.coulomb, friction.coulomb),
                            (result.inertia, motor.inertia)):
        assert abs(estimate.value - truth) <= max(0.05 * truth, estimate.half), (joint.name, str(estimate), truth)
        assert estimate.half < 0.5 * truth, (joint.name, str(estimate), truth)  # the interval is narrow enough


def test_friction_and_inertia_of_a_joint_are_found_and_written(here, tmp_path):
    """Run the command in the way that a user types it. The mechanism file contains neither friction nor inertia."""
    truth, file = rig.three_link(), tmp_path / "arm.toml"
    file.write_text(Path(truth.source).read_text().replace('name = "three-link"', 'name = "unknown-arm"'))
    for joint in truth.moving:
        set_joint(file, joint.name, {"friction": {"viscous": 0.0, "coulomb": 0.0}, "motor": {"inertia": 0.0}})
    joint = truth.moving[0]
    with plugged_in(load_mechanism(file), Plant(truth)):
        done = here("identify", file, "--port", "auto", "--home", "--joint", joint.name, "--write", "--json")
    assert done.returncode == 0, done.stderr
    found, = json.loads(done.stdout)["joints"]
    check(SimpleNamespace(**{n: Estimate(found[n]["value"], found[n]["interval"]) for n in NUMBERS}), joint)
    written = load_mechanism(file).moving
    assert written[0].friction.viscous == pytest.approx(found["viscous"]["value"], rel=1e-3)
    assert written[0].motor.inertia == pytest.approx(found["inertia"]["value"], rel=1e-3)
    assert written[1].friction.coulomb == 0.0 and "95 %" in file.read_text()
