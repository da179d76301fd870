"""Tests that some proofs of the firmware's sources succeed, and that a proof that shows nothing is detected."""

from collections import Counter
from pathlib import Path

import pytest

from assurance.proofs import interrupts, prove as prover_of, prover, reached, registers, results, sample
from assurance.proofs.harness import Run, every
from assurance.proofs.prove import changed, digest, included, jobs, prove
from assurance.proofs.seeded import SEEDED
from docs import proofs_page
from femtorque.codegen.common import Refused
from tests.firmware.app import replace

THEOREMS = {theorem.name: theorem for theorem in every()}
CHOSEN_ERRORS = sample.seeded()


@pytest.fixture(scope="module")
def cbmc():
    """Return the prover. A missing prover makes the test fail with one line."""
    try:
        return prover.programs()
    except Refused as why:
        pytest.fail(str(why), pytrace=False)


def test_that_changed_and_chosen_theorems_are_proved_again(cbmc):
    """All theorems are in one test, because the search for changed theorems takes seconds."""
    chosen = sample.theorems(changed())
    results = [prove(theorem, mechanism, fresh=True) for theorem, mechanism in chosen]
    print(*(f"{it.theorem} ({it.mechanism}): {it.outcome}, {it.checks} claims" for it in results), sep="\n")
    assert chosen and [it for it in results if it.outcome != "proved" or it.failed or not it.checks] == []


def _refuted(seeded, fresh=False):
    theorem = THEOREMS[seeded.theorem]
    result = prove(theorem, seeded.mechanism, {seeded.file: replace(seeded.old, seeded.new)}, fresh)
    assert result.outcome == ("open" if theorem.run.intervals else "refuted") and result.failed, result


@pytest.mark.parametrize("seeded", CHOSEN_ERRORS, ids=lambda s: f"{s.theorem}-{s.file}")
def test_that_chosen_seeded_errors_are_refuted(cbmc, seeded):
    _refuted(seeded, fresh=True)


@pytest.mark.bench
@pytest.mark.parametrize("seeded", SEEDED, ids=lambda s: f"{s.theorem}-{s.file}")
def test_that_every_seeded_error_is_refuted(cbmc, seeded):
    _refuted(seeded)


def test_that_every_theorem_has_a_seeded_error_in_the_present_sources():
    assert set(THEOREMS) == {seeded.theorem for seeded in SEEDED}
    for seeded in SEEDED:
        text = prover_of._texts(THEOREMS[seeded.theorem], seeded.mechanism)[seeded.file]
        assert text.count(seeded.old) >= 1, seeded


def test_that_the_choice_follows_from_the_digest_and_keeps_its_bound():
    items = [f"item {i}" for i in range(200)]
    costs = {item: 0.1 * (i % 50) for i, item in enumerate(items)}
    chosen = [sample.within(items, str, costs.__getitem__, 20.0, by) for by in map(str, range(400))]
    assert chosen[0] == sample.within(reversed(items), str, costs.__getitem__, 20.0, "0") != chosen[1]
    assert all(19.0 < sum(costs[item] for item in some) < 20.0 + 1e-9 for some in chosen)
    assert set(Counter(item for some in chosen for item in some)) == set(items), "each has its turn"
    assert sample.THEOREMS_S + sample.SEEDED_S <= 60.0


def test_that_theorems_with_changed_sources_come_first():
    touched = [(THEOREMS["queue_struck"], "three_link"), (THEOREMS["outputs_off"], "f405rg-6:voltage")]
    chosen = sample.theorems(touched)
    assert [job in touched for job in chosen[:3]] == [True, True, False]
    assert len(chosen) == len({(theorem.name, mechanism) for theorem, mechanism in chosen})


def test_that_a_long_theorem_without_a_known_time_is_not_chosen(monkeypatch):
    monkeypatch.setattr(sample, "_costs", dict)
    long = {theorem.name for theorem in every() if theorem.run.seconds > sample.THEOREMS_S and
            theorem.run.seconds > Run.seconds}
    assert "cobs_encode" in long
    chosen = sample.theorems([(THEOREMS[name], mechanism) for name in long
                              for mechanism in THEOREMS[name].run.mechanisms])
    assert chosen and not long & {theorem.name for theorem, _ in chosen}
    assert not long & {error.theorem for error in sample.seeded()}


@pytest.mark.parametrize("old, new, outcome, said", [
    ("CLAIM(ft_crc32_more", "GIVEN(before != before);\n    CLAIM(ft_crc32_more", "vacuous", ""),
    ("~by_bits(~before, byte)", "by_bits(~before, byte)", "refuted", "by_bits"),
    ("uint8_t byte = nondet_u8();", "uint8_t byte = elsewhere();", "refuted", "no body for callee elsewhere"),
    ("i < 8u", "i < 80u", "refuted", "unwinding"),
], ids=["end not reached", "claim", "neighbour without contract", "loop cut short"])
def test_that_a_proof_that_shows_nothing_is_noticed(cbmc, old, new, outcome, said):
    declared = {"harness.c": lambda text: replace(old, new)(text).replace(
        '#include "proof.h"', '#include "proof.h"\nuint8_t elsewhere(void);', 1)}
    result = prove(THEOREMS["crc_step"], "three_link", declared)
    assert result.outcome == outcome
    assert said in " ".join(result.failed)


def test_that_a_missing_prover_is_reported_in_one_line(monkeypatch, tmp_path):
    monkeypatch.setenv("FEMTORQUE_CACHE", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    prover.programs.cache_clear()
    with pytest.raises(Refused, match=r"no apt-get and no dpkg-deb; .*apt install cbmc`") as why:
        prover.programs()
    prover.programs.cache_clear()
    assert "\n" not in str(why.value)


def test_that_the_page_is_up_to_date():
    assert proofs_page.PAGE.read_text(encoding="utf-8") == proofs_page.render(), "run python docs/proofs_page.py"
    rows, _ = results.read()
    asked = [(t.name, m) for t, m in jobs([])]
    assert [row.which for row in rows] == [which for which in asked if which in {row.which for row in rows}]
    assert all(row.outcome == "proved" for row in rows)


def test_that_the_page_marks_every_result_of_earlier_sources():
    text, (rows, _) = proofs_page.listed(), results.read()
    old = {(theorem.name, mechanism) for theorem, mechanism in changed()}
    for name in {theorem for theorem, _ in old}:
        line = next(line for line in text.splitlines() if line.startswith(f"**{name}.**"))
        assert "of earlier sources" in line or "not run yet" in line, name
    assert f". {sum(row.which not in old for row in rows)} of these results are for the present" in proofs_page.render()


def test_that_results_are_read_as_they_are_written(tmp_path):
    rows, files = results.read()
    results.write(rows, files, tmp_path / "results.txt")
    assert (tmp_path / "results.txt").read_bytes() == results.TABLE.read_bytes()


def test_that_reached_functions_are_joined_for_the_same_file_and_forgotten_for_a_changed_one():
    one = {"a.c": results.Reached("1", frozenset({"f"})), "b.c": results.Reached("1")}
    same, other = {"a.c": results.Reached("1", frozenset({"g"}))}, {"a.c": results.Reached("2")}
    assert results.join(one, same)["a.c"].functions == {"f", "g"}
    assert results.join(one, other) == {"a.c": results.Reached("2"), "b.c": results.Reached("1")}


def test_that_a_proof_reaches_every_function_or_there_is_a_reason():
    seen = {(file, name) for file, one in results.read()[1].items() for name in one.functions}
    functions = [(file, name) for files in reached.rooms().values() for file, names in files.items() for name in names]
    waits = {name for job in changed() for name in included(*job)}  # a pending proof may reach more functions
    assert not [which for which in functions
                if Path(which[0]).name not in waits and which not in seen and not reached.reason(*which)]
    text = proofs_page.listed()
    assert (proofs_page.EARLIER in text) == any(which not in seen and not reached.reason(*which) for which in functions)
    used = {key for which in functions if which not in seen for key in (f"{which[0]}:{which[1]}", which[0])}
    assert set(reached.REASONS) <= used, "a reason that no function needs"


def test_that_functions_with_a_reached_line_are_found(tmp_path):
    code = "static int one(int x)\n{\n    return x;\n}\n\nvoid two(void)\n{\n    a();\n    b();\n}\n"
    assert [(f.name, f.first, f.last) for f in reached.functions(code)] == [("one", 1, 4), ("two", 6, 10)]
    (tmp_path / "a.c").write_text(code, encoding="utf-8")
    report = tmp_path / "walk.xml"
    report.write_text('<coverage><class filename="a.c"><line number="3" hits="0"/><line number="8" hits="1"/>'
                      '<line number="9" hits="0"/></class></coverage>', encoding="utf-8")
    assert reached.walked(report, tmp_path) == {"a.c": ["two"]}


def test_that_a_result_depends_on_included_code_alone(monkeypatch):
    texts = prover_of._texts(THEOREMS["crc_step"], "three_link")
    before = digest(THEOREMS["crc_step"], "three_link")
    for name, old, new, same in (("ft_crc.c", "0x1db71064u", "0x1db71065u", False), ("ft_cobs.c", "code", "cede", True),
                                 ("ft_crc.c", "/* ", "/* not ", True), ("proof.h", "GIVEN(x)", "GIVEN(x) ", True)):
        other = texts | {name: replace(old, new)(texts[name])}
        monkeypatch.setattr(prover_of, "_texts", lambda theorem, mechanism, other=other: other)
        assert (digest(THEOREMS["crc_step"], "three_link") == before) == same, (name, old)


def test_that_every_read_of_a_register_returns_any_value_and_written_values_stay():
    code = """# 1 "ft_a.c"
    it->CR = it->SR & 3u;
    ((&at_rcc)->CR) |= 1u;
    (void)(&at_rcc)->CR;
    wait(&(&at_rcc)->CR, (uint8_t)it->T[i].DR);
    return &it->S[it->size];
# 1 "harness.c"
    CLAIM(it->CR == 3u);
"""
    assert registers.any_reading(code, {"ft_a.c"}) == """# 1 "ft_a.c"
    it->CR = (it->SR * 0u + told()) & 3u;
    ((&at_rcc)->CR) = told() |  1u;
    (void)((&at_rcc)->CR * 0u + told());
    wait(&(&at_rcc)->CR, (uint8_t)(it->T[i].DR * 0u + told()));
    return &it->S[it->size];
# 1 "harness.c"
    CLAIM(it->CR == 3u);
"""


def test_that_an_interrupt_strikes_after_every_store_of_one_file_alone():
    code = """# 1 "ft_a.c"
static int x = 3;
void f(int *at)
{
    _Bool
# 3 "ft_a.c"
    end = at[0] == 1;
    int *p = at;
    if (end)
        at[1] |= 2;
    else if (x >= at[2])
        *p = 4;
# 9 "ft_a.c"
#pragma GCC unroll 8
    for (x = 0; x < 3; x++)
        at[x]++;
    g(at);
    return;
}
# 1 "harness.c"
    x = 3;
"""
    after = interrupts.anywhere(code, {"ft_a.c"})
    assert after.replace(", struck()", "") == code
    assert [line.strip() for line in after.splitlines() if "struck" in line] == [
        "at[1] |= 2, struck();", "*p = 4, struck();", "at[x]++, struck();"]
    with pytest.raises(ValueError, match=r"no stores in ft_b.c"):
        interrupts.anywhere(code, {"ft_b.c"})
