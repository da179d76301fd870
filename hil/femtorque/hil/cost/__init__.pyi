from .cost import Cost as Cost
from .measurement import measure as measure
