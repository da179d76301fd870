"""Tests of links in pages that readers see without other files."""

import runpy

from tests.support.suite import ROOT


def links():
    return runpy.run_path(str(ROOT / "docs" / "links.py"))["relinked"]


def test_a_target_is_moved_or_leaves_its_words_and_a_picture_nothing():
    text = "See [a `b`](x.md#c), ![drawn](d.png)[the web](https://e.org).\n```\n[f](x.md)\n```\n[g](gone.py)\n"
    moved = {"x.md#c": "y.html#c", "https://e.org": "https://e.org"}.get
    assert links()(text, moved) == ("See [a `b`](y.html#c), [the web](https://e.org).\n```\n[f](x.md)\n```\ng\n")
