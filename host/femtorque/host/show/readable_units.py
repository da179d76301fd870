"""Lengths and angles in the unit that makes them easy to read: 151 µrad, not 1.51e-04 rad; two errors defined."""

SMALLEST = 0.5  # of a value as it is shown in a unit
# definitions under tables, in the terminal and on pages
ERROR = "Error: desired - measured; of positions that come over a bus, desired when they were measured."
TRUE = "True: desired - true, as the simulated arm did it."


def readable(largest: float, unit: str) -> tuple[float, str]:
    """Factor and unit for values of this size: rad, mrad or µrad; m, mm or µm. Others stay as they are."""
    if unit not in ("rad", "m") or not largest > 0.0:
        return 1.0, unit
    return next(((f, p + unit) for f, p in ((1.0, ""), (1e3, "m")) if largest * f >= SMALLEST), (1e6, "µ" + unit))
