"""One colour means one thing in all pictures, and joints have colours that colour-blind people can tell apart.

The colours are those of Okabe and Ito, *Color Universal Design* (2008), but for their yellow, which is hard to see on
white: a dark red takes its place.
"""

DESIRED, MEASURED, TRUE, ERROR = "#999999", "#0072B2", "#56B4E9", "#D55E00"
FEED_FORWARD, FEEDBACK, REST, ALL = "#009E73", "#E69F00", "#CC79A7", "#000000"  # torques; rest: friction and rotor.
# Runs by what moved them: with PD alone FEEDBACK, with feed-forward too FEED_FORWARD.
LIMIT, MARK = "#7F1D1D", "#AAAAAA"  # what must not be exceeded; changes of state, waypoints

_JOINTS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#7F1D1D")


def joint(k: int) -> str:
    """The colour of joint k, or of the k-th of other things that lie in one plot."""
    return _JOINTS[k % len(_JOINTS)]


def joints(count: int) -> list[str]:
    """A colour for every joint; after eight joints they begin anew, and pictures of so many name the joint too."""
    return [joint(k) for k in range(count)]
