"""A transformation of C after which reads of registers may return any value. In preprocessed C every read of a register
becomes a call of told(). A peripheral is represented by a variable in theorems/peripherals.h. The peripheral's
registers are the members with capital names that the chip's source files use. Written values remain in the variable, so
that the harness can read them."""

import re

_MARK = re.compile(r'^# \d+ "([^"]+)"')
_REGISTER = re.compile(r"->[A-Z]\w*|\bat_(?:demcr|adc_clock|timer_input)\b|(?<=\()\*reg(?= &)")
_PARTS = re.compile(r"(?:->FILTERS|->(?:S|T|C|R|R0)\[[^\]]*\])$")  # members that are arrays of registers, not registers
_CHANGE = re.compile(r"\s*([|&])=")
_CLOSE = {")": "(", "]": "["}


def any_reading(text: str, files: set[str]) -> str:
    """Return preprocessed text in which some files read any value from registers."""
    ours, done = False, []
    for piece in re.split(r"(?m)^(?=# \d+ \")", text):
        if mark := _MARK.match(piece):
            ours = mark[1] in files
        done.append(_changed(piece) if ours else piece)
    return "".join(done)


def _changed(text: str) -> str:
    at = 0
    while found := _REGISTER.search(text, at):
        first, last = _in_brackets(text, _begin(text, found.start()), _end(text, found.end()))
        rest, which = text[last:], text[first:last]
        change = _CHANGE.match(rest)
        if change:
            text = f"{text[:last]} = told() {change[1]} {rest[change.end():]}"
            at = last
        elif re.match(r"\s*=[^=]", rest) or text[:first].endswith("&") or _PARTS.search(which):
            at = last
        else:
            new = f"({which} * 0u + told())" if not which.startswith("*") else "told()"
            text, at = text[:first] + new + rest, first + len(new)
    return text


def _in_brackets(text: str, first: int, last: int) -> tuple[int, int]:
    """Return the first and last index of the expression, including brackets that macros add."""
    while text[first - 1] == "(" and text[last] == ")" and not re.match(r"\w", text[first - 2]):
        first, last = first - 1, last + 1
    return first, last


def _begin(text: str, at: int) -> int:
    """Return the index at which the expression before a member begins."""
    while at > 0:
        if text[at - 1] in _CLOSE:
            if text[at] not in "-.[":
                break  # the bracket belongs to a cast
            at = _opened(text, at - 1)
        elif re.match(r"\w", text[at - 1]):
            at -= 1
        elif text[at - 2:at] == "->":
            at -= 2
        elif text[at - 1] == ".":
            at -= 1
        else:
            break
    return at


def _opened(text: str, at: int) -> int:
    """Return the index of the bracket that is closed here."""
    depth = 0
    while True:
        depth += (text[at] in ")]") - (text[at] in "([")
        if depth == 0:
            return at
        at -= 1


def _end(text: str, at: int) -> int:
    """Return the index of the end of an expression, including its array indices and members."""
    while found := re.match(r"\[[^\[\]]*(?:\[[^\[\]]*\][^\[\]]*)*\]|\.[A-Z]\w*", text[at:]):
        at += found.end()
    return at
