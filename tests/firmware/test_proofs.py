"""Proofs over the firmware's own sources: the quick ones hold, and a proof that shows nothing is told apart."""

import json

import pytest

from docs import proofs_page
from femtorque.codegen.common.errors import Refused
from tests.firmware.app import replace
from tests.firmware.proofs import prove as prover_of
from tests.firmware.proofs import prover, reached, registers
from tests.firmware.proofs.harness import every
from tests.firmware.proofs.prove import RESULTS, digest, jobs, prove
from tests.firmware.proofs.seeded import SEEDED

QUICK = jobs([], quick=True)
THEOREMS = {theorem.name: theorem for theorem in every()}


@pytest.mark.parametrize("theorem, mechanism", QUICK, ids=[f"{t.name}-{m}" for t, m in QUICK])
def test_that_it_is_proved(theorem, mechanism):
    result = prove(theorem, mechanism)
    assert (result.outcome, result.failed) == ("proved", ())
    assert result.checks > 0


def _refuted(seeded):
    result = prove(THEOREMS[seeded.theorem], seeded.mechanism, {seeded.file: replace(seeded.old, seeded.new)})
    assert result.outcome == "refuted", result


@pytest.mark.parametrize("seeded", [s for s in SEEDED if s.quick], ids=lambda s: f"{s.theorem}-{s.file}")
def test_that_a_seeded_error_is_refuted(seeded):
    _refuted(seeded)


@pytest.mark.bench
@pytest.mark.parametrize("seeded", [s for s in SEEDED if not s.quick], ids=lambda s: f"{s.theorem}-{s.file}")
def test_that_every_seeded_error_is_refuted(seeded):
    _refuted(seeded)


@pytest.mark.parametrize("old, new, outcome, said", [
    ("CLAIM(ft_crc32_more", "GIVEN(before != before);\n    CLAIM(ft_crc32_more", "vacuous", ""),
    ("~by_bits(~before, byte)", "by_bits(~before, byte)", "refuted", "by_bits"),
    ("uint8_t byte = nondet_u8();", "uint8_t byte = elsewhere();", "refuted", "no body for callee elsewhere"),
    ("i < 8u", "i < 80u", "refuted", "unwinding"),
], ids=["end not reached", "claim", "neighbour without contract", "loop cut short"])
def test_that_what_shows_nothing_is_told_apart(old, new, outcome, said):
    declared = {"harness.c": lambda text: replace(old, new)(text).replace(
        '#include "proof.h"', '#include "proof.h"\nuint8_t elsewhere(void);', 1)}
    result = prove(THEOREMS["crc_step"], "three_link", declared)
    assert result.outcome == outcome
    assert said in " ".join(result.failed)


def test_that_a_prover_that_cannot_be_had_is_said_in_one_line(monkeypatch, tmp_path):
    monkeypatch.setenv("FEMTORQUE_CACHE", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    prover.programs.cache_clear()
    with pytest.raises(Refused, match=r"no apt-get and no dpkg-deb; .*apt install cbmc kissat") as why:
        prover.programs()
    prover.programs.cache_clear()
    assert "\n" not in str(why.value)


def test_that_the_page_says_what_is_proved():
    assert proofs_page.PAGE.read_text(encoding="utf-8") == proofs_page.render(), "run python docs/proofs_page.py"
    rows = json.loads(RESULTS.read_text(encoding="utf-8"))
    assert {(row["theorem"], row["mechanism"]) for row in rows} == {(t.name, m)
                                                                    for t, m in jobs([], quick=False)}, "run make prove"
    assert all(row["outcome"] == "proved" for row in rows)


def test_that_every_result_is_of_the_sources_that_there_are_now():
    rows = json.loads(RESULTS.read_text(encoding="utf-8"))
    kept = {(row["theorem"], row["mechanism"]): row.get("digest") for row in rows}
    changed = [f"{theorem.name} ({mechanism})" for theorem, mechanism in jobs([], quick=False)
               if kept.get((theorem.name, mechanism)) != digest(theorem, mechanism)]
    assert not changed, "their sources have changed since they were proved: run make prove"


def test_that_every_function_is_gone_through_by_a_proof_or_there_is_a_reason_why_not():
    rows = json.loads(RESULTS.read_text(encoding="utf-8"))
    seen = reached.missed(rows)
    functions = [(file, name) for files in reached.rooms().values() for file, names in files.items() for name in names]
    assert not [which for which in functions if which not in seen and not reached.reason(*which)]
    used = {key for which in functions if which not in seen for key in (f"{which[0]}:{which[1]}", which[0])}
    assert set(reached.REASONS) <= used, "a reason that no function needs"


def test_that_functions_are_found_with_the_lines_that_a_walk_misses(tmp_path):
    code = "static int one(int x)\n{\n    return x;\n}\n\nvoid two(void)\n{\n    a();\n    b();\n}\n"
    assert [(f.name, f.first, f.last) for f in reached.functions(code)] == [("one", 1, 4), ("two", 6, 10)]
    (tmp_path / "a.c").write_text(code, encoding="utf-8")
    report = tmp_path / "walk.xml"
    report.write_text('<coverage><class filename="a.c"><line number="3" hits="0"/><line number="8" hits="1"/>'
                      '<line number="9" hits="0"/></class></coverage>', encoding="utf-8")
    words = reached.walked(report, tmp_path)
    assert words == {"a.c": "two-3"}
    assert reached.missed([{"mechanism": "three_link", "reached": words}]) == {("three_link/a.c", "two"): {3}}


def test_that_a_result_follows_from_code_that_is_included_and_from_nothing_else(monkeypatch):
    texts = prover_of._texts(THEOREMS["crc_step"], "three_link")
    before = digest(THEOREMS["crc_step"], "three_link")
    for name, old, new, same in (("ft_crc.c", "0x1db71064u", "0x1db71065u", False), ("ft_cobs.c", "code", "cede", True),
                                 ("ft_crc.c", "/* ", "/* not ", True), ("proof.h", "GIVEN(x)", "GIVEN(x) ", True)):
        other = texts | {name: replace(old, new)(texts[name])}
        monkeypatch.setattr(prover_of, "_texts", lambda theorem, mechanism, other=other: other)
        assert (digest(THEOREMS["crc_step"], "three_link") == before) == same, (name, old)


def test_that_every_look_at_a_register_of_the_chip_tells_anything_and_what_is_written_stays():
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
