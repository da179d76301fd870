"""Formats lengths and angles in readable units, such as 151 µrad, and defines the two errors."""

SMALLEST = 0.5  # smallest number that is shown in a unit; smaller values get the next smaller unit
# definitions that are printed under tables, in the terminal and on pages
ERROR = "Error: desired - measured; for positions over a bus, desired at the time of the measurement."
TRUE = "True: desired - true position of the simulated arm."


def readable(largest: float, unit: str) -> tuple[float, str]:
    """Return factor and unit for values up to `largest`: rad, mrad or µrad; m, mm or µm. Other units stay."""
    if unit not in ("rad", "m") or not largest > 0.0:
        return 1.0, unit
    return next(((f, p + unit) for f, p in ((1.0, ""), (1e3, "m")) if largest * f >= SMALLEST), (1e6, "µ" + unit))
