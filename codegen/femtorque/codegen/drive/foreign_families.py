"""Families of drives from other folders. FEMTORQUE_FAMILIES lists the folders as PATH does. Each folder has families at
the same places as a checkout."""

import os
from pathlib import Path

from femtorque.codegen.common import BadInput

VARIABLE = "FEMTORQUE_FAMILIES"


def elsewhere(place: str) -> list[str]:
    """Return the folders at `place` below the variable's folders. Raise BadInput for a folder without `place`."""
    found = []
    for folder in filter(None, os.environ.get(VARIABLE, "").split(os.pathsep)):
        path = Path(folder).absolute() / place
        if not path.is_dir():
            raise BadInput("environment", VARIABLE, folder, f"has no folder {place}")
        found.append(str(path))
    return found
