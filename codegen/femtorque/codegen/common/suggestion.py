"""Suggestion of the nearest valid value, for the hint at the end of an error line."""

import difflib
import reprlib
from collections.abc import Iterable

_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = 60
_SHORT.maxlist = _SHORT.maxdict = 6
_SHORT.maxlevel = 3


class Shown(str):
    """A text whose repr is the text itself. The text replaces a value that is too long or too deep."""

    def __repr__(self) -> str:
        return str(self)


def shown(value: object) -> object:
    """Return the value, or a short text for it, as an error line shows it."""
    if value is None or isinstance(value, bool | float):
        return value
    return Shown(_SHORT.repr(value))


def nearest(word: str, choices: Iterable[str]) -> str | None:
    """Return the choice that is most similar to `word`; None if no choice is similar."""
    found = difflib.get_close_matches(word, list(choices), n=1, cutoff=0.5)
    return found[0] if found else None


def hint(word: str, choices: Iterable[str], what: str = "known", most: int = 8) -> str:
    """Return 'did you mean ...?', or the list of the choices if there are at most `most`."""
    names = list(choices)
    if found := nearest(str(word)[:200], names):
        return f"did you mean {found!r}?"
    if not names:
        return ""
    listed = ", ".join(names[:most]) + (", ..." if len(names) > most else "")
    return f"{what}: {listed}"
