"""One line that refuses what a mechanism file says."""

from __future__ import annotations

from codegen.common.errors import BadInput
from codegen.common.nearest import shown
from codegen.mechanism.description import Mechanism


def refuse(mechanism: Mechanism, key: str, value: object, rule: str, hint: str = "") -> None:
    raise BadInput(mechanism.source or mechanism.name, key, shown(value), rule, hint)
