from .configuration_digest import (
    COMPILER as COMPILER, IDENTITY as IDENTITY, compiler_identity as compiler_identity, digest as digest,
    on_board as on_board)
from .sources import identity as identity, model_sources as model_sources, step_sources as step_sources
from .step_parameters import (
    METHOD as METHOD, at_an_instant as at_an_instant, beside as beside, parameters as parameters)
from .wrench import moving_links as moving_links
