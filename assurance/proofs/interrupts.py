"""Inserts possible interrupts between any two stores: a call of struck() after every assignment in the named files.

The harness defines struck(), which may or may not run an interrupt."""

import re

_MARK = re.compile(r'^# \d+ "([^"]+)"')
_HEAD = re.compile(r"\s*(?:else\b|do\b|(?:if|for|while|switch)\s*(?=\())")
_STORE = re.compile(r"[^=!<>]=(?!=)|\+\+|--")
_DECLARES = re.compile(r"(?:\w+\s+)+\**\s*\w+\s*(?:\[[^\]]*\]\s*)*(?:=|$|,)|\w+\s*\*+\s*\w+\s*=")


def anywhere(text: str, files: set[str]) -> str:
    """Return preprocessed text with a call of struck() after each assignment in some files.

    Raise ValueError for a file without any assignment."""
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
    """Return whether a statement, without its if, else or loop, is an assignment."""
    while head := _HEAD.match(statement):
        statement = statement[head.end():]
        if statement.startswith("("):
            statement = statement[_closed(statement):]
    statement = statement.strip()
    return bool(_STORE.search(statement)) and not _DECLARES.match(statement)


def _closed(text: str) -> int:
    """Return the index after the bracket that closes the first bracket."""
    depth = 0
    for at, char in enumerate(text):
        depth += (char == "(") - (char == ")")
        if depth == 0:
            return at + 1
    raise ValueError(f"not closed: {text}")
