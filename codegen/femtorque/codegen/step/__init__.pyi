from .base_parameters import Tree as Tree
from .c_text import (
    LITERAL as LITERAL, Block as Block, Names as Names, Printer as Printer, literal as literal, unit_of as unit_of,
    wrapped_c as wrapped_c)
from .closed import LoopStep as LoopStep, allocation as allocation
from .derivatives import derivatives_of as derivatives_of
from .flexible import FlexibleStep as FlexibleStep
from .frames import EXACT_BELOW_HZ as EXACT_BELOW_HZ, Members as Members, tidy as tidy
from .graph import Fixed as Fixed, Graph as Graph
from .instant import (
    HALF_TICK_OF_A_SECOND as HALF_TICK_OF_A_SECOND, InstantTorque as InstantTorque, InstantWeight as InstantWeight)
from .linearised import Derivatives as Derivatives, derivatives_at as derivatives_at, linear_at as linear_at
from .nodal import NodalStep as NodalStep
from .number_origins import (
    AXES as AXES, PAIRS as PAIRS, Parameter as Parameter, comment as comment, of_friction as of_friction,
    of_pieces as of_pieces, provenance as provenance, solids as solids)
from .printed import GROUNDS as GROUNDS, TABLE as TABLE, PrintedStep as PrintedStep
from .rounding_noise import noise_floor as noise_floor
from .search import Step as Step, instant_of as instant_of, plain_step as plain_step, step_of as step_of
