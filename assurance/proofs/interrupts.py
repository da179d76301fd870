"""Interrupts between any two stores: in preprocessed C every assignment of the named files is followed by a call of
struck(), which a harness lets an interrupt come in or not."""

import re

_MARK = re.compile(r'^# \d+ "([^"]+)"')
_HEAD = re.compile(r"\s*(?:else\b|do\b|(?:if|for|while|switch)\s*(?=\())")
_STORE = re.compile(r"[^=!<>]=(?!=)|\+\+|--")
_DECLARES = re.compile(r"(?:\w+\s+)+\**\s*\w+\s*(?:\[[^\]]*\]\s*)*(?:=|$|,)|\w+\s*\*+\s*\w+\s*=")


def anywhere(text: str, files: set[str]) -> str:
    """Preprocessed text in which an interrupt may strike after each assignment in those files. Raises ValueError where
    a file has none."""
    file, done, seen, statement = "", list[str](), set[str](), ""
    depth = 0
    for line in text.splitlines(keepends=True):
        if line.startswith("#"):
            mark = _MARK.match(line)
            file = mark[1] if mark else file
            done.append(line)
            continue
        for char in line:
            depth += (char in "([") - (char in ")]")
            if depth == 0 and char in ";{}":
                if char == ";" and file in files and _stores(statement):
                    done.append(", struck()")
                    seen.add(file)
                statement = ""
            else:
                statement += char
            done.append(char)
    if files - seen:
        raise ValueError(f"no stores in {', '.join(sorted(files - seen))}")
    return "".join(done)


def _stores(statement: str) -> bool:
    """Return whether what is left of a statement behind its if, else or loop is an assignment."""
    while head := _HEAD.match(statement):
        statement = statement[head.end():]
        if statement.startswith("("):
            statement = statement[_closed(statement):]
    statement = statement.strip()
    return bool(_STORE.search(statement)) and not _DECLARES.match(statement)


def _closed(text: str) -> int:
    """Return where the bracket that a text begins with is closed."""
    depth = 0
    for at, char in enumerate(text):
        depth += (char == "(") - (char == ")")
        if depth == 0:
            return at + 1
    raise ValueError(f"not closed: {text}")
