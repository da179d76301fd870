"""Colours of all pictures. Each colour has one meaning, and colour-blind people can distinguish the joints' colours.
The colours come from Okabe and Ito, *Color Universal Design* (2008). A dark red replaces the yellow there, which is
hard to see on white.
"""

DESIRED, MEASURED, TRUE, ERROR = "#999999", "#0072B2", "#56B4E9", "#D55E00"
FEED_FORWARD, FEEDBACK, REST, ALL = "#009E73", "#E69F00", "#CC79A7", "#000000"  # torques; `rest`: friction and rotor
# Runs with PD only are drawn in FEEDBACK, runs with feed-forward in FEED_FORWARD.
LIMIT, MARK = "#7F1D1D", "#AAAAAA"  # limits; changes of state and waypoints

_JOINTS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#7F1D1D")


def joint(k: int) -> str:
    """Return the colour of joint k, or of another item k in one plot."""
    return _JOINTS[k % len(_JOINTS)]


def joints(count: int) -> list[str]:
    """Return a colour for every joint. After eight joints the colours repeat, and pictures also name the joint."""
    return [joint(k) for k in range(count)]
