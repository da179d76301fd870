"""Families of drives that are not femtorque's own: FEMTORQUE_FAMILIES names folders, as PATH does, that have them at
the same places as a checkout."""

import os
from pathlib import Path

from femtorque.codegen.common import BadInput

VARIABLE = "FEMTORQUE_FAMILIES"


def elsewhere(place: str) -> list[str]:
    """Folders at `place` of those that the variable names. BadInput for one that has none."""
    found = []
    for folder in filter(None, os.environ.get(VARIABLE, "").split(os.pathsep)):
        path = Path(folder).absolute() / place
        if not path.is_dir():
            raise BadInput("environment", VARIABLE, folder, f"has no folder {place}")
        found.append(str(path))
    return found
