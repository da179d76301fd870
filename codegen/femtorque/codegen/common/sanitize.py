"""Numbers without rounding residue, and text without terminal control characters."""

SHORT, AGREEING = 12, 15  # digits of a short number; digits that must agree with the long number


def tidied(value: float) -> float:
    """Return 0.6 for 0.6000000000000001. A number with more digits, like 1/3, does not change."""
    short = float(f"{value:.{SHORT}g}")
    return short if f"{short:.{AGREEING}g}" == f"{value:.{AGREEING}g}" else float(value)


def printable(text: str) -> str:
    """Return foreign text on one line, with '?' for every control character."""
    return "".join(character if character.isprintable() else "?" for character in text)
