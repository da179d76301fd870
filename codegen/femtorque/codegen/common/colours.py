"""Colours of all pictures. Each colour has one meaning, and people with colour blindness can distinguish the joints'
colours. The colours come from Okabe and Ito, *Color Universal Design* (2008). A dark red replaces the yellow of this
source, because yellow is hard to see on white."""

DESIRED, MEASURED, TRUE, ERROR = "#999999", "#0072B2", "#56B4E9", "#D55E00"
FEED_FORWARD, FEEDBACK, REST, ALL = "#009E73", "#E69F00", "#CC79A7", "#000000"  # REST: friction and rotor torques
# Runs with PD control only have the colour FEEDBACK, runs with feed-forward the colour FEED_FORWARD.
LIMIT, MARK = "#7F1D1D", "#AAAAAA"  # colour of limits; colour of changes of state and of waypoints

_JOINTS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#7F1D1D")


def joint(k: int) -> str:
    """Return the colour of joint k, or of a different item k in a plot."""
    return _JOINTS[k % len(_JOINTS)]


def joints(count: int) -> list[str]:
    """Return a colour for every joint. The colours repeat after eight joints, so pictures also name the joint."""
    return [joint(k) for k in range(count)]
