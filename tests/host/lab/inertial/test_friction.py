"""The fit finds friction that falls with velocity or rises with load, at the joints that have this friction alone."""

from dataclasses import replace
from itertools import starmap

import numpy as np
import pytest

from femtorque.codegen.model import Model
from femtorque.host.lab.inertial import friction
from femtorque.host.lab.inertial.excitation import base_columns, excite, ranges, sweep
from femtorque.host.lab.inertial.fitting import fit
from femtorque.host.lab.inertial.friction import _better, fit_friction
from femtorque.host.lab.inertial.regressor import FrictionTerm, Unknowns
from femtorque.host.plan import effort
from tests.host.lab.inertial.conftest import recorded
from tests.support import rig
from tests.support.differing import differing
from tests.support.oracle import rnea

RATE = 100.0


def friction_torque(truth, v, tau):
    """Return the torque (S, J) of friction, by the file's definition."""
    total = np.zeros_like(v)
    for j, joint in enumerate(truth.streamed):
        f = joint.friction
        dry = f.coulomb + f.load * np.abs(tau[:, j])
        if f.stribeck:
            dry = dry + f.stribeck / (1.0 + (v[:, j] / f.stribeck_velocity) ** 2)
        total[:, j] = f.viscous * v[:, j] + np.sign(v[:, j]) * dry
    return total


def played(truth, motion, seed, noise):
    """Simulate a motion of the three-link arm, and return its recording."""
    t = np.arange(int(motion.duration * RATE)) / RATE
    q, v, a = motion.at(t)
    links = rnea(Model.of(truth), q, v, a)
    tau = links + a * [joint.rotor for joint in truth.streamed] + friction_torque(truth, v, links)
    return recorded(truth, t, q, v, tau, noise, np.random.default_rng(seed))


@pytest.fixture(scope="module")
def motions():
    """Return columns and base of the unknowns, and motions for fit and test. The plans use the file's model."""
    unknowns = Unknowns.of(rig.three_link())
    within = ranges(unknowns.space.joints, {})
    columns, base = base_columns(unknowns, within)
    of = [[make(unknowns, within, columns, k).trajectory for make in (excite, sweep)] for k in (1, 2)]
    return (columns, base), [*of[0], excite(unknowns, within, columns, 3).trajectory], of[1]


def fitted(motions, file, truth, seed, noise=0.003):
    """Return the result of the fit, and the recordings that test the result."""
    unseen = [played(truth, motion, 10 * seed + k, noise) for k, motion in enumerate(motions[2], 5)]
    takes, columns, base = found_by(motions, truth, seed, noise)
    return fit_friction(Unknowns.of(file), takes, unseen, columns, base), unseen


def found_by(motions, truth, seed, noise=0.003):
    """Return recordings for the fit, and the columns and base of the unknowns."""
    (columns, base), takes, _ = motions
    return [played(truth, motion, 10 * seed + k, noise) for k, motion in enumerate(takes)], columns, base


def of_field(arm, part):
    """Return the arm with an extra friction term at its first two joints."""
    more = {"stribeck": {"stribeck": 1.2, "stribeck_velocity": 0.15}, "load": {"load": 0.15}}
    own = {"both": {**more["stribeck"], **more["load"]}}.get(part) or more[part]
    grown = [{k: x * (j.friction.coulomb if k == "stribeck" else 1.0) for k, x in own.items()} for j in arm.joints]
    joints = [j if n == 2 else replace(j, friction=replace(j.friction, **grown[n])) for n, j in enumerate(arm.joints)]
    return replace(arm, joints=tuple(joints))


@pytest.mark.parametrize("part", ["stribeck", "load", "both"])
def test_it_is_found_at_the_joints_that_have_it(part, motions):
    """Each number is within its interval or within a tenth of the truth. The test motions confirm the friction."""
    file = rig.three_link()
    truth = of_field(differing(file, 2), part)
    found, unseen = fitted(motions, file, truth, 1)
    parts = {"stribeck", "load"} if part == "both" else {part}
    unknowns = found.unknowns
    assert {(term.joint, term.part) for term in unknowns.terms} == {(j, p) for j in (0, 1) for p in parts}
    for k, term in enumerate(unknowns.terms):
        friction, at = truth.streamed[term.joint].friction, unknowns.plain + k
        true, half = getattr(friction, term.part), 1.96 * found.deviation[at]
        print(term, f"{found.values[at]:.4g} +- {half:.2g}, truly {true:.4g}; +- {1.96 * found.slow[k]:.2g}")
        assert abs(found.values[at] - true) < max(half, 0.1 * true) and half < 0.3 * true
        if term.slow:
            assert abs(term.slow - friction.stribeck_velocity) < max(1.96 * found.slow[k], 0.1 * term.slow)
    judged, plain = found.left(unseen), fit(Unknowns.of(file), *found_by(motions, truth, 1)).left(unseen)
    print("unexplained", judged.after, "without", plain.after)
    assert np.all(judged.after[:2] < 0.8 * plain.after[:2]) and np.all(judged.after < judged.before / 3.0)
    known = unknowns.mechanism(found.values)
    for term, value in zip(unknowns.terms, found.values[unknowns.plain:], strict=True):
        assert getattr(known.streamed[term.joint].friction, term.part) == value
        assert not term.slow or known.streamed[term.joint].friction.stribeck_velocity == term.slow


@pytest.mark.parametrize("seed", range(4))
def test_nothing_is_invented(seed, motions, monkeypatch):
    """Three friction terms at three joints give nine trials. In each trial a friction term may be found by chance."""
    file, trials = rig.three_link(), set()
    monkeypatch.setattr(friction, "_better", lambda *asked: trials.add(asked[2]) or _better(*asked))
    found, _ = fitted(motions, file, differing(file, seed), seed)
    assert found.unknowns.terms == () and trials == {9}


def test_one_of_nine_trials_has_to_be_surer_than_a_single_one():
    """Ten fractions alternate between 0 and 0.2. The mean of the fractions, 0.1, is 3 standard errors. Student's t
    of 9 degrees: 2.26 at 95 %, 3.69 at 1 - 0.05/10."""
    share = np.tile([0.0, 0.2], 5)
    assert _better(1.0 + share, 1.0 - share, 1) and not _better(1.0 + share, 1.0 - share, 9)


def test_what_the_file_has_rightly_stays_and_what_it_has_wrongly_goes(motions):
    """The first joint really has the friction that the file gives. The second joint has no friction of this kind."""
    file = of_field(rig.three_link(), "stribeck")
    first, second, third = file.joints
    bare = replace(second, friction=replace(second.friction, stribeck=0.0, stribeck_velocity=0.0))
    found, _ = fitted(motions, file, replace(file, joints=(first, bare, third)), 3)
    assert [term.joint for term in found.unknowns.terms] == [1]
    assert found.values[-1] < 0.1 * second.friction.stribeck
    assert found.unknowns.mechanism(found.values).joints[0].friction.stribeck == first.friction.stribeck


def test_known_and_unknown_parts_are_the_whole_torque_with_friction_that_is_looked_for():
    unknowns = replace(Unknowns.of(of_field(rig.three_link(), "both")),
                       terms=tuple(starmap(FrictionTerm, [(0,), (0, 0.15), (1, 0.15)])))
    rng = np.random.default_rng(4)
    moves = tuple(rng.normal(size=(3, 30, 3)))
    whole = effort.of_space(unknowns.space, *moves)
    assert np.allclose(unknowns.matrix(moves) @ unknowns.prior + unknowns.known(moves), whole, atol=1e-12)
