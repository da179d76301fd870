"""Removal of rounding residues from numbers, and of terminal control characters from text."""

SHORT, AGREEING = 12, 15  # number of digits of a short number, and of digits in which it agrees with the long number


def tidied(value: float) -> float:
    """Return 0.6 for 0.6000000000000001. A number that really has more digits, like 1/3, does not change."""
    short = float(f"{value:.{SHORT}g}")
    return short if f"{short:.{AGREEING}g}" == f"{value:.{AGREEING}g}" else float(value)


def printable(text: str) -> str:
    """Return text from another source on one line, with '?' for every control character."""
    return "".join(character if character.isprintable() else "?" for character in text)
