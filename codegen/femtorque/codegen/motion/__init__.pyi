from .random import DURATION as DURATION, random_motion as random_motion
from .trajectory import (
    LARGEST_FILE as LARGEST_FILE, Knots as Knots, Trajectory as Trajectory, check_limits as check_limits,
    check_streamable as check_streamable, from_rows as from_rows, knots as knots)
