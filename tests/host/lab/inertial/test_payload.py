"""A known weight determines the motors' torque constants, with Pinocchio's torques and motors unlike the file."""

from dataclasses import replace

import numpy as np
import pytest

from femtorque.codegen.common import MECHANISMS, Refused
from femtorque.codegen.control import current_range
from femtorque.codegen.mechanism import Payload, load_mechanism
from femtorque.codegen.model import Model
from femtorque.host.lab.inertial.excitation import base_columns
from femtorque.host.lab.inertial.experiment import GUESSED
from femtorque.host.lab.inertial.fitting import doubt_file, fit, fit_rows
from femtorque.host.lab.inertial.payload import difference, weigh
from femtorque.host.lab.inertial.regressor import Unknowns, phi_of
from tests.host.lab.inertial.conftest import recorded, smooth
from tests.support.boards import driven
from tests.support.differing import differing
from tests.support.oracle import rnea

ARM = load_mechanism(MECHANISMS / "three_axis.toml")
WEIGHT = Payload("weight", "gripper", 2.0, np.array([0.06, 0.01, -0.02]), np.diag([2e-3, 3e-3, 3e-3]))
GUESS = replace(WEIGHT, com=np.zeros(3), inertia=1e-3 * np.eye(3))


def played(truth, given, seed, constants, shape, noise, full):
    """Return a recording of 10 s. The motors' R and K (J, 2) differ from the file's."""
    t, q, qd, qdd = smooth([j.start for j in truth.streamed], 10.0, np.random.default_rng(shape), 0.15)
    tau = rnea(Model.of(truth), q, qd, qdd)
    for j, joint in enumerate(truth.streamed):
        tau[:, j] += joint.rotor * qdd[:, j] + joint.friction.viscous * qd[:, j]
        tau[:, j] += joint.friction.coulomb * np.sign(qd[:, j])
    return recorded(given, t, q, qd, tau, noise, np.random.default_rng(seed), constants, full)


def passes(constants, weight, truth, given, noise, full, seed=0):
    """Return two recordings without the weight, and two with it."""
    return [[played(mechanism, given, 4 * seed + 2 * k + n, constants, k + 1, noise, full) for k in range(2)]
            for n, mechanism in enumerate((truth, replace(truth, payloads=(weight,))))]


def weighed(constants, weight=WEIGHT, guess=GUESS, truth=None, given=ARM, noise=1e-4, full=()):
    return weigh(given, guess, *passes(constants, weight, truth or differing(ARM, 3), given, noise, full))


def file_constants(factor_r=(1.0, 1.0, 1.0), factor_k=(1.0, 1.0, 1.0)):
    return [(j.motor.R * r, j.motor.K * k) for j, r, k in zip(ARM.streamed, factor_r, factor_k, strict=True)]


@pytest.mark.parametrize("r, k", [((1.0, 1.0, 1.0), (1.0, 1.0, 1.0)), ((1.25, 1.0, 0.8), (1.0, 1.0, 1.0)),
                                  ((1.0, 1.0, 1.0), (0.85, 1.2, 1.0)), ((1.3, 0.9, 1.1), (1.1, 1.1, 0.9))])
def test_torques_are_told_whatever_the_file_says_of_masses_and_friction(r, k):
    found = weighed(file_constants(r, k))
    true = np.array(k) / np.array(r)
    assert np.all(found.sure) and np.all(np.abs(found.scale - true) < found.half) and np.all(found.half < 0.05)


def test_intervals_hold_the_truth_under_noise():
    """Encoder quantisation causes noise of about 1 % in the duties."""
    true = np.array([0.8, 1.0, 1.25])
    off = []
    for seed in range(8):
        found = weighed(file_constants(1.0 / true), truth=differing(ARM, seed), noise=0.01)
        off.append(np.abs(found.scale - true) / found.half)
    assert np.mean(np.array(off) > 1.0) <= 0.1


def test_an_interval_is_the_same_share_of_a_torque_for_each_torque_of_the_file():
    """The files' motors have 0.5, 1 and 4 times the real resistance, so 2, 1 and 0.25 times the torque per volt."""
    sizes = (0.5, 1.0, 4.0)
    files = [replace(ARM, joints=tuple(replace(j, motor=j.motor and replace(j.motor, R=r * j.motor.R))
                                       for j in ARM.joints)) for r in sizes]
    found = [weighed(file_constants(), given=file) for file in files]
    for one, r in zip(found, sizes, strict=True):
        assert one.scale == pytest.approx(r * found[1].scale, rel=0.02)
        assert one.half / one.scale == pytest.approx(found[1].half / found[1].scale, rel=0.1)


def test_joints_that_a_weight_hardly_loads_are_named_and_keep_their_numbers():
    """A weight on the column only loads the waist joint, and the load is an unknown inertia."""
    weight = replace(WEIGHT, link="column")
    found = weighed(file_constants((1.3, 1.3, 1.3)), weight, replace(GUESS, link="column"))
    assert not np.any(found.sure) and found.words().count("not determined") == 3
    assert [found.keys(j) for j in range(3)] == [{}, {}, {}]


def test_a_current_loops_constant_is_what_is_written():
    arm = driven(ARM, "current")
    full = [current_range(arm, joint) for joint in arm.streamed]
    found = weighed(file_constants((1.3, 1.0, 1.0), (0.9, 1.0, 1.2)), given=arm, full=full)
    constants = [found.keys(j)["K"] for j in range(3)]
    assert constants == pytest.approx([k * j.motor.K for k, j in zip((0.9, 1.0, 1.2), ARM.streamed, strict=True)],
                                      rel=0.02)


def test_a_payload_is_known_by_difference_and_one_pass_doubts_a_file_that_errs():
    """The drawn arms differ from the file by 5 % in mass, 3 mm in the centres and a fifth in friction."""
    own, true = Unknowns.of_payload(replace(ARM, payloads=(GUESS,)), GUESS), phi_of(WEIGHT)
    found = base_columns(own, np.array([[-1.0, 1.0]] * 3) + np.array([[j.start] for j in ARM.streamed]))
    z = []
    for seed in range(6):
        empty, loaded = passes(None, WEIGHT, differing(ARM, seed, 0.05, 0.003, 1.2), ARM, 2e-4, (), seed)
        two = fit_rows(own, difference(own, empty, loaded), *found, GUESSED)
        assert two.values[0] == pytest.approx(WEIGHT.mass, rel=0.02)
        assert np.linalg.norm(two.values[1:4] / two.values[0] - WEIGHT.com) < 4e-3
        one = doubt_file(fit(own, loaded, *found, GUESSED), loaded)
        assert abs(one.values[0] - WEIGHT.mass) > 0.04 * WEIGHT.mass
        z.append([(x.values - true)[:4] / x.deviation[:4] for x in (two, one)])
    assert np.mean(np.abs(z) > 1.96) <= 0.1 and np.all(np.sqrt(np.mean(np.square(z), axis=0))[:, 0] < 1.2), z


def test_two_different_motions_are_refused_by_the_name_of_the_joint():
    own = Unknowns.of_payload(replace(ARM, payloads=(GUESS,)), GUESS)
    empty, loaded = passes(None, WEIGHT, ARM, ARM, 1e-3, ())
    slow = [replace(take, positions=take.positions - [0.0, 0.0, 0.3] * np.sin(take.t)[:, None]) for take in loaded]
    with pytest.raises(Refused, match="elbow: the motions without and with the payload differ by 0.2"):
        difference(own, empty, slow)
