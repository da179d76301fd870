"""The tracking observer, which estimates a joint's velocity from encoder counts (THEORY.md section 7).

At every tick, with the measured position y and the position predicted at the previous tick:

    e  = y - predicted
    qd = qd + rate_gain e / dt
    predicted = y - e + position_gain e + dt qd

Both poles are at exp(-2 pi f dt), so the observer is critically damped with bandwidth f, and stable at any tick. In
motion, the target's velocity change per tick is added to qd, and half of the change to the prediction. Accelerations
then cause no lag. The change comes from outside the loop, so the poles do not change.
"""

import math

from femtorque.codegen.common import exp, square


def observer_gains(bandwidth_hz: float, dt: float) -> tuple[float, float]:
    """Return (position_gain, rate_gain), dimensionless, for a bandwidth in Hz and a tick in s."""
    pole = exp(-2.0 * math.pi * bandwidth_hz * dt)
    return 1.0 - square(pole), square(1.0 - pole)
