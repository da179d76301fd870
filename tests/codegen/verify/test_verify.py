"""Tests that `verify` accepts the examples, and detects every inserted error with its name."""

import re
from dataclasses import replace
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest

from femtorque.codegen.board import reader as boards
from femtorque.codegen.common import MECHANISMS, BadInput
from femtorque.codegen.emit import identity, step_sources
from femtorque.codegen.mechanism import Mechanism, Payload, load_mechanism
from femtorque.codegen.model import Model
from femtorque.codegen.motion import Trajectory, check_limits
from femtorque.codegen.motion.random import TRAVEL
from femtorque.codegen.reference import pinocchio
from femtorque.codegen.toolchain import CompiledStep
from femtorque.codegen.verify import object_files, report, verification as verify
from femtorque.hil.cost import chip_step
from tests.support import oracle


@cache
def arm() -> Mechanism:
    return load_mechanism(MECHANISMS / "six_axis.toml")


@cache
def small() -> Mechanism:
    """Return a smaller mechanism for tests with inserted errors."""
    return load_mechanism(MECHANISMS / "three_link.toml")


@cache
def verified() -> verify.Verification:
    own = Trajectory.load(MECHANISMS / "six_axis.csv", arm())
    return verify.verify(arm(), [own], chip_step.run_step_on_chip, motions=1)


def reasons(monkeypatch, **wrong) -> tuple[str, ...]:
    """Return the reasons for which `verify` refuses if the C in one precision gives wrong torques."""
    torque = CompiledStep.torque

    def computed(self, positions):
        tau = torque(self, positions)
        precision = "double" if tau.dtype == np.float64 else "single"
        return wrong[precision](tau.copy()) if precision in wrong else tau

    monkeypatch.setattr(CompiledStep, "torque", computed)
    return verify.verify(small(), (), lambda model, x, c: Run(CompiledStep(model, sources=c).torque(x)),
                         motions=1).reasons


class Run:
    def __init__(self, tau):
        self.tau, self.instructions = tau, np.ones(len(tau), np.int64)


def put(k, j, value):
    def change(tau):
        tau[k, j] += value
        return tau
    return change


# ---- what is right


def test_the_emitted_c_of_an_example_meets_every_criterion():
    v = verified()
    assert v.good and v.reasons == () and v.bit_identical is True
    assert [t.name for t in v.trials] == ["random motion 1", "motion 1, six_axis.csv"]
    assert 0.0 < v.worst("reference").of_peak <= 1e-5 and 0.0 < v.worst("double").of_peak <= 1e-10
    assert 0.0 < v.worst("single").of_peak <= 1e-4 and 0.0 < v.over_floor < 1.0


def test_numbers_are_those_of_the_arrays():
    v = verified()
    for key, these, those in (("single", "single", "discretisation"), ("reference", "reference", "rnea"),
                              ("single_rnea", "single", "rnea")):
        worst = v.worst(key)
        trial = next(t for t in v.trials if t.name == worst.motion)
        error = np.abs(getattr(trial, these) - getattr(trial, those))
        k, j = int(np.flatnonzero(trial.t == worst.t)[0]), [x.name for x in v.joints].index(worst.joint)
        assert worst.error == error[k, j] == error.max()
        assert worst.of_peak == pytest.approx(error.max() / np.abs(trial.rnea).max(), rel=1e-12)


def test_without_pinocchio_the_report_says_so(monkeypatch):
    monkeypatch.setattr(pinocchio, "find_spec", lambda name: None)
    v = verify.verify(small(), (), chip_step.run_step_on_chip, motions=1)
    assert v.good and v.data()["pinocchio"] == "not installed"
    assert any("against our own Newton-Euler" in c.name for c in v.criteria)
    assert "Pinocchio is not installed" in report.page(v)


def test_the_json_object_has_the_agreed_names():
    told = verified().data()
    assert {"max_error_single", "max_error_double", "bit_identical", "instructions_step", "flash_bytes", "stack_bytes",
            "digest"} <= told.keys()
    board = boards.load_board(arm().board.use) if arm().board else None
    assert told["digest"] == identity(arm(), board).hex()
    assert told["instructions_step"] >= told["instructions_step_mean"] > 100
    assert told["flash_bytes"] > 500 and 0 < told["stack_bytes"] < 4096
    assert [j["name"] for j in told["joints"]] == [j.name for j in arm().moving]


def test_the_page_stands_on_its_own(tmp_path):
    page = report.write_verification(verified(), tmp_path / "r.html").read_text()
    assert page.count("data:image/png;base64,") == 1 + len(verified().trials)
    assert not re.search(r"(src|href)=\"(?!data:)", page)
    for c in verified().criteria:
        assert c.found in page
    for joint in arm().moving:
        assert f"<td>{joint.name}</td>" in page
    assert page == report.page(verified())


def test_it_reports_the_share_of_every_allowed_error():
    v = verified()
    shares = {c.name: c.share for c in v.criteria}
    assert shares["C in float64 against the emitted form"] == pytest.approx(v.worst("double").of_peak / 1e-10)
    single = v.comparison("single")
    used = [np.max(single.error(t) / np.maximum(1e-4 * t.peak, t.floor)) for t in v.trials]
    assert shares["C in float32 against the emitted form"] == pytest.approx(max(used))
    assert sum(share is not None for share in shares.values()) == 5 and all(0.0 < s <= 1.0
                                                                            for s in shares.values() if s)
    page = report.page(v)
    assert all(f"<td>{share:.1%}</td>" in page for share in shares.values() if share is not None)


def test_a_page_that_cannot_be_written_is_bad_input(tmp_path):
    with pytest.raises(BadInput, match="report"):
        report.write_verification(verified(), tmp_path)


def test_random_motions_stay_within_limits_and_differ():
    motions = [verify.random_motion(arm(), np.random.default_rng([0, i])) for i in range(20)]
    for motion in motions:
        check_limits(motion, arm())
        assert motion.duration == 1.0
        assert np.max(np.abs(motion.positions[-1] - motion.positions[0])) <= TRAVEL
    assert len({motion.positions[-1].tobytes() for motion in motions}) == 20


def test_a_longer_tick_is_allowed_the_square_of_its_length():
    assert verify.scheme_bound(1000.0) == verify.scheme_bound(5000.0) == 1e-5
    assert verify.scheme_bound(100.0) == pytest.approx(1e-3)
    slow = load_mechanism(MECHANISMS / "three_link_10ms.toml")
    v = verify.verify(slow, (), chip_step.run_step_on_chip, motions=1)
    assert v.good and 1e-5 < v.worst("reference").of_peak < 1e-3


def test_an_error_beyond_the_bound_must_fall_with_the_square_of_the_tick():
    """The start of a horizontal mechanism with dry friction at 1 kHz: 5.9e-5 of a small peak."""
    rrr = load_mechanism(MECHANISMS / "three_rrr.toml")
    motion = verify.random_motion(rrr, np.random.default_rng([0, 1]))
    model = Model.of(rrr)
    t, tau = verify.schemes.torque(model, motion, 100)
    rnea, plain = verify._rnea(model, motion, t), verify.emitted_torque(model, verify.samples(model, motion, 100))
    assert np.max(np.abs(tau - rnea)) > 1e-5 * np.max(np.abs(rnea))
    assert verify._second_order(model, motion, (tau, plain), rnea)


def test_springs_slides_branches_and_payloads_are_verified_against_pinocchio():
    rng = np.random.default_rng(2)
    tree = oracle.random_tree(rng, 6)
    joints = tuple(replace(j, stiffness=float(rng.uniform(1.0, 50.0)), rest=float(rng.uniform(-1.0, 1.0)))
                   for j in tree.joints)
    load = Payload("load", tree.links[-1].name, 0.7, np.array([0.1, -0.2, 0.05]), 0.01 * np.eye(3))
    sprung = replace(tree, joints=joints, payloads=(load,), lock={tree.joints[1].name: 0.3})
    assert {j.type for j in sprung.moving} == {"revolute", "prismatic"}
    v = verify.verify(sprung, (), chip_step.run_step_on_chip, motions=1)
    assert v.good, v.reasons
    for joint in sprung.moving:
        if joint.type == "revolute":  # the chip knows a spring's position only within half a turn
            j = [x.name for x in sprung.moving].index(joint.name)
            motion = verify.random_motion(sprung, np.random.default_rng([0, 0]))
            assert np.max(np.abs(motion.positions[:, j])) < np.pi


# ---- what is wrong


@pytest.mark.parametrize("wrong, name, place", [
    ({"double": put(500, 1, 1e-6)}, "C in float64 against the emitted form: ",
     "elbow at t = 0.5005 s of random motion 1; allowed: 1e-10 of peak"),
    ({"single": put(250, 2, 0.05)}, "C in float32 against the emitted form: ", "wrist at t = 0.2505 s"),
    ({"single": put(10, 2, np.nan)}, "C in float32 against the emitted form: nan of peak", "wrist at t = 0.0105 s")])
def test_a_wrong_torque_of_the_c_is_named(monkeypatch, wrong, name, place):
    first, *others = reasons(monkeypatch, **wrong)
    assert first.startswith(name) and place in first
    assert [x.startswith("C in float32 against rnea: ") for x in others] == [True] * ("single" in wrong)


def test_a_chip_that_differs_in_the_last_bit_is_named():
    def chip(model: Model, positions, sources):
        tau = CompiledStep(model, sources=sources).torque(positions)
        tau[-1, 0] = np.nextafter(tau[-1, 0], np.float32(np.inf))
        return Run(tau)

    v = verify.verify(small(), (), chip, motions=1)
    assert v.bit_identical is False and not v.good
    assert v.reasons == ("C in float32 on the chip against this computer: 1 of 3000 torques differ, random motion 1; "
                         "allowed: every bit the same",)


def test_without_a_chip_the_answer_is_no():
    v = verify.verify(small(), motions=1)
    assert v.bit_identical is None and not v.good and "pip install 'unicorn>=2.1' 'capstone>=5'" in v.reasons[0]
    assert v.data()["instructions_step"] is None


def test_a_wrong_offset_of_the_model_is_seen_by_pinocchio(monkeypatch):
    """All computations of the project have the same error, so they agree with each other.

    Only Pinocchio differs, because it reads the mechanism file independently."""
    of = Model.of

    def wrong(mechanism):
        model = of(mechanism)
        first = model.bodies[1]
        return replace(model, bodies=(model.bodies[0], replace(first, p0=first.p0 * 1.01), *model.bodies[2:]))

    monkeypatch.setattr(verify, "Model", SimpleNamespace(of=wrong))
    v = verify.verify(small(), (), chip_step.run_step_on_chip, motions=1)
    assert v.kept(v.comparison("double")) and v.bit_identical
    assert not v.kept(v.comparison("reference")) and not v.kept(v.comparison("discretisation"))


# ---- compilers and the object


def with_line(line: str, after: str) -> dict[str, str]:
    sources = step_sources(Model.of(arm()))
    assert after in sources["ft_step.c"]
    return sources | {"ft_step.c": sources["ft_step.c"].replace(after, f"{after}\n{line}", 1)}


INCLUDE = '#include "ft_step.h"'


def test_every_compiler_takes_the_emitted_c():
    found = object_files.compilations(step_sources(Model.of(arm())))
    assert [(c.language, c.precision) for c in found] == [
        ("C99", "single"), ("C++11", "single"), ("C99", "double"), ("C++11", "double"), ("C99", "single")]
    assert all(c.error is None and c.compiler for c in found)
    assert {"-Wconversion", "-Wdouble-promotion", "-Werror", "-pedantic", "-ffp-contract=off"} <= set(found[0].flags)


@pytest.mark.parametrize("line, refused", [
    ("static float ft_x(double x) { return x; }", 5),
    ("double ft_y(float x);\ndouble ft_y(float x) { return x * 2.0; }", 5),
    ("int ft_z(void);\nint ft_z(void) { int class = 1; return class; }", 2),  # valid in C, but not in C++
])
def test_a_warning_is_an_error(line, refused):
    found = object_files.compilations(with_line(line, INCLUDE))
    errors = [c.error for c in found if c.error]
    assert len(errors) == refused and all("error" in e for e in errors)


def test_a_missing_cplusplus_compiler_is_reported(monkeypatch):
    which = object_files.shutil.which
    monkeypatch.setattr(object_files.shutil, "which", lambda n: None if n.endswith("++") else which(n))
    v = replace(verified(), compilations=object_files.compilations(step_sources(Model.of(arm()))))
    criterion = next(c for c in v.criteria if "C++" in c.name)
    assert criterion.verdict is None and criterion.found == "not checked: no C++ compiler installed"


@pytest.mark.parametrize("line, symbol", [
    ("double ft_d(double x);\ndouble ft_d(double x) { return x * 1.1; }", "__aeabi_dmul"),
    ("#include <stdlib.h>\nvoid *ft_m(void);\nvoid *ft_m(void) { return malloc(8); }", "malloc"),
    ("#include <math.h>\nfloat ft_s(float x);\nfloat ft_s(float x) { return sinf(x); }", "sinf"),
])
def test_forbidden_symbols_of_the_object_are_found(line, symbol):
    clean = object_files.examine(step_sources(Model.of(arm())))
    found = object_files.examine(with_line(line, INCLUDE))
    assert clean.forbidden == () and found.forbidden == (symbol,)
    reason, = replace(verified(), object=found).reasons
    assert reason.startswith("object for the chip: ") and symbol in reason


def test_the_stack_bound_covers_the_chips_use():
    from femtorque.hil.chip import ChipLibrary

    sources = step_sources(Model.of(arm()))
    chip = ChipLibrary(sources)
    arguments = [chip.put(1 << 14), chip.put(64), chip.put(64), chip.put(64)]
    used = max(chip.call(name, *arguments, measure_stack=True).stack_bytes for name in ("ft_step_start", "ft_step"))
    bound = object_files.examine(sources).stack_bytes
    assert 0 < used <= bound <= used + 64
