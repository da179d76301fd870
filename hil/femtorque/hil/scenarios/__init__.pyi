from .closed_loops import (
    CHANGING as CHANGING, EXAMPLES as EXAMPLES, LAWS as LAWS, Played as Played, example as example,
    on_board as on_board, play_closed_loops as play_closed_loops)
from .demo import PAGE as PAGE, demonstrate as demonstrate
from .design import DESIGN_COLUMNS as DESIGN_COLUMNS, optimise as optimise
from .ideal_board import without_friction as without_friction
from .performance import perform as perform
from .scenario import (
    FOLDER as FOLDER, Check as Check, Contact as Contact, Scenario as Scenario, checks as checks,
    difference as difference, form as form, load_scenario as load_scenario, plant_of as plant_of,
    play_scenario as play_scenario)
from .slew import SMOOTH as SMOOTH, Slew as Slew
from .wall_arm import STEP as STEP, Slide as Slide, pressed as pressed
