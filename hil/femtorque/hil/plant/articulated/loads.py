"""The applied forces of a system: weight, laws along mechanisms, beams, forces put on from outside."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from femtorque.hil.plant.articulated.beam import Beams
from femtorque.hil.plant.articulated.laws import Acting
from femtorque.hil.plant.articulated.system import Structure
from femtorque.hil.plant.plant_library import Row, Rows

Array = NDArray[np.float64]


class Loads:
    """external: (size,) forces on the degrees of freedom that stay until changed. torques: (n,) of the laws along the
    coordinates, as last evaluated (point_loads.c)."""

    external, torques = Row(), Row()

    def __init__(self, structure: Structure, laws: Sequence[Acting] = (), beams: Beams | None = None) -> None:
        self.structure, self.laws, self.beams = structure, tuple(laws), beams
        self.rows = Rows(external=structure.system.size, torques=len(structure.system.coordinates))

    def potential(self, z: Array, q: Array) -> float:
        """J; zero with all weight at the origin, springs and beams at rest."""
        s = self.structure
        result = -float(s.weight @ z)
        result += sum(float(acting.law.energy(acting.B @ q).sum()) for acting in self.laws)
        if self.beams is not None:
            result += self.beams.energy(s.system.points(z))
        return result
