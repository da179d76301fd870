"""Links of Markdown pages, for places where the files beside them are not: a package index, the documentation site."""

import re
from collections.abc import Callable

LINK = re.compile(r"(!?)\[((?:[^\[\]]|`[^`]*`)*)\]\(([^)\s]+)\)")


def relinked(text: str, moved: Callable[[str], str | None]) -> str:
    """The page with every target replaced; one that is None leaves a link's words alone, and nothing of a picture."""
    def one(found: re.Match[str]) -> str:
        picture, words, target = found.groups()
        if (new := moved(target)) is None:
            return "" if picture else words
        return f"{picture}[{words}]({new})"

    blocks = re.split(r"(^```.*?^```)", text, flags=re.DOTALL | re.MULTILINE)
    return "".join(block if block.startswith("```") else LINK.sub(one, block) for block in blocks)
