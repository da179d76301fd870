"""The choice of a scheme for files that name none, and its computation in single precision."""

from dataclasses import replace

import numpy as np
import pytest

from femtorque.codegen.emit.step import render
from femtorque.codegen.mechanism import Mechanism
from femtorque.codegen.model import Model
from femtorque.codegen.reference import discrete
from femtorque.codegen.step import scheme, search
from femtorque.codegen.step.scheme import model_of
from femtorque.codegen.step.single_precision import SinglePrecision
from femtorque.codegen.toolchain import CompiledStep
from femtorque.codegen.verify import check
from tests.support import sampling
from tests.support.arms import arms
from tests.support.oracle import peak, planar_chain, random_chain, random_quintic, random_tree
from tests.support.sampling import middles, slides


def asking(mechanism: Mechanism, **control: object) -> Mechanism:
    return sampling.asking(mechanism, **({"scheme": "auto"} | control))


def test_arms_that_are_quiet_or_expensive_keep_the_midpoint_rule():
    chosen = {name: scheme.choose(arm) for name, arm in arms().items()}
    assert {c.scheme for c in chosen.values()} == {"midpoint"}
    assert chosen["planar-3"].noise < chosen["planar-8"].noise < scheme.QUARTER
    assert all(chosen[name].price > scheme.COST_RATIO_LIMIT for name in ("ur5", "puma560", "panda-7"))


def test_a_fast_tick_is_noisier():
    """Twice the rate doubles the rounding of a momentum over a tick, until it is too much."""
    slow, fast = (scheme.choose(asking(planar_chain(3), rate_hz=hz)) for hz in (1000, 2000))
    assert slow.scheme == "midpoint" and fast.noise == pytest.approx(2.0 * slow.noise, rel=0.5)
    assert scheme.choose(asking(planar_chain(3), rate_hz=10_000, knot_hz=1000)).scheme == "newton-euler"


def test_a_cheaper_and_quieter_scheme_is_taken():
    chosen = scheme.choose(random_chain(np.random.default_rng(0), 1))
    assert chosen.scheme == "newton-euler" and chosen.price < 1.0


def test_a_scheme_that_the_file_names_is_taken():
    loud = random_chain(np.random.default_rng(87), 8)
    for name in ("midpoint", "newton-euler", "nodal"):
        asked = asking(loud, scheme=name)
        assert scheme.scheme_of(asked) == model_of(asked).scheme == name and scheme.chosen(asked) is None
    assert scheme.scheme_of(asking(loud)) == "newton-euler"


def test_a_model_made_without_a_choice_refuses_to_name_a_scheme():
    with pytest.raises(LookupError, match="no scheme was chosen"):
        assert Model.of(asking(planar_chain(3))).scheme


def test_the_choice_is_that_of_the_reference_the_plain_form_and_the_c():
    loud = random_chain(np.random.default_rng(87), 8)
    auto, named = (model_of(asking(loud, scheme=name)) for name in ("auto", "newton-euler"))
    assert discrete.form_of(auto) is discrete.central_torque
    assert render(auto) == render(named)


def test_the_choice_is_made_once_and_kept(tmp_path, monkeypatch):
    """Other processes use the kept choice. A broken file of a killed process is replaced."""
    monkeypatch.setenv("FEMTORQUE_CACHE", str(tmp_path))
    arm, made = asking(planar_chain(2)), []
    monkeypatch.setattr(scheme, "choose", lambda m, choose=scheme.choose: made.append(m) or choose(m))
    first = scheme.chosen(replace(arm, name="another"))
    for _ in range(2):
        monkeypatch.setattr(scheme, "_here", {})
        assert scheme.chosen(replace(arm, name="another")) == first
    assert len(made) == 1
    for file in tmp_path.rglob(scheme.FILE):
        file.write_text('{"scheme":')
    monkeypatch.setattr(scheme, "_here", {})
    assert scheme.chosen(replace(arm, name="another")) == first and len(made) == 2
    monkeypatch.setattr(scheme, "_here", {})
    assert scheme.chosen(asking(planar_chain(2, rate_hz=2000))) != first and len(made) == 3


def test_the_choice_needs_no_cache(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("FEMTORQUE_CACHE", str(tmp_path / "file"))
    monkeypatch.setattr(scheme, "_here", {})
    assert scheme.chosen(asking(planar_chain(2))) == scheme.choose(asking(planar_chain(2)))


def test_check_says_which_and_why():
    report = check.examine(asking(random_chain(np.random.default_rng(87), 8)))
    assert report.data()["control"]["scheme"] == "newton-euler"
    assert report.data()["control"]["scheme_chosen"]["bound"] == scheme.QUARTER
    assert check.examine(planar_chain(3)).data()["control"]["scheme_chosen"] is None


@pytest.mark.parametrize(
    "make", [lambda: planar_chain(5), lambda: random_chain(np.random.default_rng(3), 6),
             # fmt: skip
             lambda: random_tree(np.random.default_rng(4), 6)], ids=["planar", "chain", "tree with slides"])
@pytest.mark.parametrize("name", ["midpoint", "newton-euler"])
def test_without_a_compiler_single_precision_errs_by_as_much_as_the_compiled_c(name, make, monkeypatch):
    monkeypatch.setattr(search, "EFFORT", 0)
    model = model_of(asking(make(), scheme=name))
    step = search.step_of(model)
    ours, truly = [], []
    compiled = CompiledStep(model)
    for seed in range(4):
        positions = random_quintic(np.random.default_rng(seed), model.n)(middles(model, 1.0)) * slides(model)
        plain = discrete.midpoint_torque(model, positions)
        ours.append(peak(SinglePrecision(model, step, positions).torque() - plain) / peak(plain))
        truly.append(peak(compiled.torque(positions) - plain) / peak(plain))
    assert np.mean(ours) == pytest.approx(np.mean(truly), rel=0.4)


@pytest.mark.parametrize("make", [lambda: planar_chain(4), lambda: random_chain(np.random.default_rng(5), 4)])
def test_long_ticks_turn_frames_exactly(make):
    model = model_of(asking(make(), rate_hz=100, knot_hz=100, scheme="midpoint"))
    step = search.step_of(model)
    positions = random_quintic(np.random.default_rng(6), 4)(middles(model, 1.0))
    plain = discrete.midpoint_torque(model, positions)
    assert peak(SinglePrecision(model, step, positions).torque() - plain) < 1e-5 * peak(plain)
