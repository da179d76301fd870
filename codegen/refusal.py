"""One line that refuses what a mechanism file says."""

from __future__ import annotations

from codegen.errors import BadInput
from codegen.mechanism import Mechanism
from codegen.nearest import shown


def refuse(mechanism: Mechanism, key: str, value: object, rule: str, hint: str = "") -> None:
    raise BadInput(mechanism.source or mechanism.name, key, shown(value), rule, hint)
