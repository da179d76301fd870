"""One colour means one thing in all pictures, and joints have colours that colour-blind people can tell apart.

The colours are those of Okabe and Ito, *Color Universal Design* (2008), but for their yellow, which is hard to see on
white: a dark red takes its place.
"""

from __future__ import annotations

DESIRED, MEASURED, TRUE, ERROR = "#999999", "#0072B2", "#56B4E9", "#D55E00"
FEED_FORWARD, FEEDBACK, REST, ALL = "#009E73", "#E69F00", "#CC79A7", "#000000"  # torques; rest: friction and rotor
LIMIT, MARK = "#7F1D1D", "#AAAAAA"  # what must not be exceeded; changes of state, waypoints

_JOINTS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#7F1D1D")


def joints(count: int) -> list[str]:
    """A colour for every joint; after eight joints they begin anew, and pictures of so many name the joint too."""
    return [_JOINTS[k % len(_JOINTS)] for k in range(count)]
