"""The applied forces of a system: weight, springs at joints, and beams."""


from femtorque.codegen.common import Array
from femtorque.hil.plant.articulated.beam import Beams
from femtorque.hil.plant.articulated.system import Structure
from femtorque.hil.plant.plant_library import Row, Rows


class Loads:
    """springs: stiffness, N m/rad or N/m, and rest position of each coordinate, (n,) each. torques: (n,) of the springs
    at the last evaluation (point_loads.c)."""

    stiffness, rest, torques = Row(), Row(), Row()

    def __init__(self, structure: Structure, beams: Beams | None = None,
                 springs: tuple[Array, Array] | None = None) -> None:
        self.structure, self.beams = structure, beams
        self.rows = Rows(**dict.fromkeys(("stiffness", "rest", "torques"), len(structure.system.coordinates)))
        if springs is not None:
            self.stiffness, self.rest = springs

    def potential(self, z: Array, q: Array) -> float:
        """Return the potential energy, J; zero with all masses at the origin and no load on springs and beams."""
        s = self.structure
        result = -float(s.weight @ z) + 0.5 * float(self.stiffness @ (q - self.rest) ** 2)
        if self.beams is not None:
            result += self.beams.energy(s.system.points(z))
        return result
