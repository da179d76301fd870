"""Arms that differ from their mechanism files: masses by +-20 %, centres of gravity by 10 mm, friction by a factor of
two."""

from dataclasses import replace

import numpy as np

from femtorque.codegen.mechanism import Mechanism


def differing(mechanism: Mechanism, seed: int = 5, mass: float = 0.2, centre: float = 0.01,
              friction: float = 2.0) -> Mechanism:
    """Return the real arm that differs from a file. mass: largest relative error of each link's mass. centre:
    displacement of the centre of gravity in a random direction, m. friction: factor on the file's friction."""
    rng = np.random.default_rng(seed)
    links = []
    for link in mechanism.links:
        factor, away = 1.0 + mass * rng.choice([-1.0, 1.0]), rng.normal(size=3)
        links.append(replace(link, mass=factor * link.mass, inertia=factor * link.inertia,
                             com=link.com + centre * away / np.linalg.norm(away)))
    return replace(mechanism, links=tuple(links), joints=tuple(
        replace(j, friction=replace(j.friction, viscous=friction * j.friction.viscous,
                                    coulomb=friction * j.friction.coulomb)) for j in mechanism.joints))
