"""Mechanism files of arms on the market, for `femtorque init --arm`.

Each file in the folder `arms` has a table of the sources of its numbers. A line `# invented:` names numbers without a
source, and a line `# accepted:` a danger that the file accepts.
"""

import re
from pathlib import Path

from femtorque.codegen.common import BadInput, hint, read_text

ARMS = Path(__file__).parent / "arms"
TOLD = ("# invented: ", "# accepted: ")  # beginnings of lines that `init` prints


def arm_names() -> list[str]:
    return sorted(path.stem for path in ARMS.glob("*.toml"))


def arm_text(arm: str, name: str) -> str:
    """Return the text of an arm's file with another name. Raise BadInput for an unknown arm."""
    if arm not in (known := arm_names()):
        raise BadInput("femtorque init", "--arm", arm, "no such arm", hint(arm, known, "arms"))
    return re.sub(r'^name = ".*"$', f'name = "{name}"', read_text(ARMS / f"{arm}.toml"), count=1, flags=re.MULTILINE)
