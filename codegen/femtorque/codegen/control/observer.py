"""The tracking observer that makes a joint velocity of encoder counts (THEORY.md section 7), as difference equations.

At every tick, with the measured position y and the position predicted at the tick before:

    e  = y - predicted
    qd = qd + rate_gain e / dt
    predicted = y - e + position_gain e + dt qd

Both poles are at exp(-2 pi f dt): critically damped with bandwidth f, stable at any tick. In motion the change of the
target's velocity from tick to tick is added to qd, half of it in the prediction: a motion that is followed is then
observed without the lag that accelerations cause. It comes from outside the loop and leaves the poles where they are.
"""

import math

from femtorque.codegen.common import exp, square


def observer_gains(bandwidth_hz: float, dt: float) -> tuple[float, float]:
    """(position_gain, rate_gain), dimensionless, for a bandwidth in Hz and a tick in s."""
    pole = exp(-2.0 * math.pi * bandwidth_hz * dt)
    return 1.0 - square(pole), square(1.0 - pole)
