"""Tests of links in pages that readers see without other files."""

import re
import runpy
import sys

from tests.support.suite import ROOT


def links():
    return runpy.run_path(str(ROOT / "docs" / "links.py"))["relinked"]


def test_a_target_is_moved_or_leaves_its_words_and_a_picture_nothing():
    text = "See [a `b`](x.md#c), ![drawn](d.png)[the web](https://e.org).\n```\n[f](x.md)\n```\n[g](gone.py)\n"
    moved = {"x.md#c": "y.html#c", "https://e.org": "https://e.org"}.get
    assert links()(text, moved) == ("See [a `b`](y.html#c), [the web](https://e.org).\n```\n[f](x.md)\n```\ng\n")


def test_the_readme_of_a_package_index_leads_nowhere_but_to_the_web(monkeypatch):
    """Links to the repository follow when pyproject.toml names the repository."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    made = runpy.run_path(str(ROOT / "docs" / "generate.py"))
    assert all(target.startswith("https://") for target in re.findall(r"\]\(([^)\s]+)\)", made["package"]()))
    named = {"project": {"urls": {"Repository": "https://git.example/femtorque"}}}
    monkeypatch.setitem(made["package"].__globals__, "tomllib", type("T", (), {"loads": staticmethod(lambda _: named)}))
    assert "](https://git.example/femtorque/blob/main/docs/tours.md)" in made["package"]()
