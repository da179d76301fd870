from .effort import Load as Load
from .exact_link import Chain as Chain, swung as swung
from .figure import draw_plan as draw_plan
from .flexible_plan import FlexiblePlan as FlexiblePlan, draw_flexible as draw_flexible, plan_flexible as plan_flexible
from .plan_coordinates import Space as Space
from .planning import BEGINNING as BEGINNING, SAME as SAME, Plan as Plan, shares as shares
from .replan import repeat as repeat
from .task_space import forward_kinematics as forward_kinematics, jacobian as jacobian
from .tip import ends as ends
from .tip_exact import corrected as corrected
from .tip_file import timed_tip as timed_tip
from .tip_path import chord_motion as chord_motion
from .tip_torques import (
    FlexibleArm as FlexibleArm, TipMotion as TipMotion, elastic_problem as elastic_problem,
    flexible_arm as flexible_arm, tip_motion as tip_motion)
from .waypoints import load_waypoints as load_waypoints, tip_option as tip_option, waypoints_of as waypoints_of
