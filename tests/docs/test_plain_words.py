"""Tests that docstrings and comments keep to the rule of plain words in every room."""

import pytest

from tests.docs.plain_words import against
from tests.support.suite import ROOT

ENDINGS = (".py", ".c", ".h", ".c.j2", ".h.j2")
ROOMS = ("femtorque/commands", "codegen", "host", "hil", "firmware", "tests", "docs", "examples",
         "integrations")


def files() -> list[str]:
    """Return the sources of all rooms, as paths in the checkout."""
    paths = [path for room in ROOMS for path in (ROOT / room).rglob("*") if path.name.endswith(ENDINGS)]
    return sorted(str(path.relative_to(ROOT)) for path in [*(ROOT / "femtorque").glob("*.py"), *paths])


def test_sentences_keep_to_the_rule():
    wrong = [f"{name}:{row}" for name in files() for row in against(ROOT / name)]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(("name", "text"), [
    ("a.py", '"""What a thing is."""\n'), ("a.py", '"""A thing. Of two kinds."""\n'),
    ("a.py", "# Where it is\nx = 1\n"), ("a.py", "x = 1  # as the board tells it\n"),
    ("a.c", "/* Whether it\n * holds. */\n"), ("a.h", "/* Told once. */\n"),
])
def test_a_sentence_against_the_rule_is_found(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    assert len(against(tmp_path / name)) == 1


@pytest.mark.parametrize(("name", "text"), [
    ("a.py", '"""A thing; what it does is elsewhere."""\n'), ("a.py", 'told = "What now"  # Who are you?\n'),
    ("a.c", "/* Colours that people can tell apart. */\n"), ("a.py", '"""What is left? Nothing."""\n'),
])
def test_other_sentences_pass(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    assert against(tmp_path / name) == []
