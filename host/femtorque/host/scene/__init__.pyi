from .description import scene as scene
from .meshes import CELLS as CELLS, FACES as FACES, Solid as Solid, clustered as clustered
from .motion import Mark as Mark, Motion as Motion, lengths as lengths, planned as planned
from .surroundings import (
    Contact as Contact, Moment as Moment, Place as Place, Surroundings as Surroundings, Thing as Thing)
