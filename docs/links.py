"""Edits Markdown pages: replaces the parts between marks, and changes the targets of links."""

import re
from collections.abc import Callable
from pathlib import Path

LINK = re.compile(r"(!?)\[((?:[^\[\]]|`[^`]*`)*)\]\(([^)\s]+)\)")


def filled(page: Path, made: dict[str, str]) -> str:
    """Return the text of a page with new parts between its marks. Raise KeyError for an unknown mark."""
    return re.sub(r"(<!-- made: (\w+) -->\n\n).*?(\n<!-- end -->)", lambda mark: mark[1] + made[mark[2]] + mark[3],
                  page.read_text(encoding="utf-8"), flags=re.DOTALL)


def relinked(text: str, moved: Callable[[str], str | None]) -> str:
    """Return the page with new link targets. A link to None becomes plain text; a picture to None is removed."""
    def one(found: re.Match[str]) -> str:
        picture, words, target = found.groups()
        if (new := moved(target)) is None:
            return "" if picture else words
        return f"{picture}[{words}]({new})"

    blocks = re.split(r"(^```.*?^```)", text, flags=re.DOTALL | re.MULTILINE)
    return "".join(block if block.startswith("```") else LINK.sub(one, block) for block in blocks)
