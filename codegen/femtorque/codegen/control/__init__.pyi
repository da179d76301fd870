from .constants import (
    follow_limits as follow_limits, joint_constants as joint_constants, lab_row as lab_row,
    start_tolerance as start_tolerance)
from .contact import SLOW_HZ as SLOW_HZ, hidden as hidden
from .drives import count as count, fitted as fitted, placed as placed, watchdog_s as watchdog_s
from .feedback_age import ages as ages
from .follow import BUILD_UP as BUILD_UP, OF_NO_LOAD as OF_NO_LOAD, RISE as RISE, unfollowed as unfollowed
from .gains import (
    DAMPING as DAMPING, MARGIN as MARGIN, SampledLoop as SampledLoop, Stability as Stability,
    apparent_inertia as apparent_inertia, loop_stability as loop_stability, sample_poses as sample_poses,
    stiffest_gains as stiffest_gains)
from .gravity_load import (
    falls as falls, loaded as loaded, overweight as overweight, resolved as resolved, weights as weights)
from .lab_constants import WHOLE as WHOLE, reactions as reactions
from .motors import Motor as Motor, Motors as Motors, current_range as current_range
from .observer import observer_gains as observer_gains
from .park import park_words as park_words
from .thermal_limits import continuous_torque as continuous_torque, heat_lasts as heat_lasts
