"""Numbers without what rounding has left in their last digits, text without what steers a terminal."""

SHORT, AGREEING = 12, 15  # digits of a number as somebody would write it; of one that is the same but for rounding


def tidied(value: float) -> float:
    """0.6 for 0.6000000000000001; a number of more digits, such as 1/3, as it is."""
    short = float(f"{value:.{SHORT}g}")
    return short if f"{short:.{AGREEING}g}" == f"{value:.{AGREEING}g}" else float(value)


def printable(text: str) -> str:
    """Text of somebody else on one line: '?' for every character that a terminal would obey and not print."""
    return "".join(character if character.isprintable() else "?" for character in text)
