"""Drive families from folders outside this project. FEMTORQUE_FAMILIES lists the folders in the format of PATH. Each
folder has the same layout as a checkout of this project."""

import os
from pathlib import Path

from femtorque.codegen.common import BadInput

VARIABLE = "FEMTORQUE_FAMILIES"


def elsewhere(place: str) -> list[str]:
    """Return the folders `place` within the folders of the variable. Raise BadInput if a folder has no `place`."""
    found = []
    for folder in filter(None, os.environ.get(VARIABLE, "").split(os.pathsep)):
        path = Path(folder).absolute() / place
        if not path.is_dir():
            raise BadInput("environment", VARIABLE, folder, f"has no folder {place}")
        found.append(str(path))
    return found
