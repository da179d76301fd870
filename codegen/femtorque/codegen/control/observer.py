"""The tracking observer, which estimates a joint's velocity from encoder counts (THEORY.md section 7).

At every tick, with the measured position y and the position predicted at the previous tick:

    e  = y - predicted
    qd = qd + rate_gain e / dt
    predicted = y - e + position_gain e + dt qd

Both poles are at exp(-2 pi f dt), so the observer is critically damped with bandwidth f, and stable at any tick. During
a motion, the observer adds the target's velocity change per tick to qd, and half of this change times dt to the
prediction. The estimate then does not lag during accelerations. This change does not depend on the loop's state, so the
poles stay where they are."""

import math

from femtorque.codegen.common import exp, square


def observer_gains(bandwidth_hz: float, dt: float) -> tuple[float, float]:
    """Return (position_gain, rate_gain), dimensionless, for a bandwidth in Hz and a tick in s."""
    pole = exp(-2.0 * math.pi * bandwidth_hz * dt)
    return 1.0 - square(pole), square(1.0 - pole)
