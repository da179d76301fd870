"""The nearest right thing, for the hint at the end of a bad-input line."""

import difflib
import reprlib
from collections.abc import Iterable

_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = 60
_SHORT.maxlist = _SHORT.maxdict = 6
_SHORT.maxlevel = 3


class Shown(str):
    """Text that stands for a value too long or too deep to be printed; its repr is itself."""

    def __repr__(self) -> str:
        return str(self)


def shown(value: object) -> object:
    """The value itself, or a shortened text of it: what an error line can carry."""
    if value is None or isinstance(value, bool | float):
        return value
    return Shown(_SHORT.repr(value))


def nearest(word: str, choices: Iterable[str]) -> str | None:
    """The choice most like `word`, or None when none resembles it."""
    found = difflib.get_close_matches(word, list(choices), n=1, cutoff=0.5)
    return found[0] if found else None


def hint(word: str, choices: Iterable[str], what: str = "known", most: int = 8) -> str:
    """'did you mean ...?', or else the list of what there is, cut at `most`."""
    names = list(choices)
    if found := nearest(str(word)[:200], names):
        return f"did you mean {found!r}?"
    if not names:
        return ""
    listed = ", ".join(names[:most]) + (", ..." if len(names) > most else "")
    return f"{what}: {listed}"
