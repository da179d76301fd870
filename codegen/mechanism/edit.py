"""Write a joint's numbers back into its mechanism file: only these change, comments and layout stay."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError

from femtorque.codegen.common.errors import BadInput
from femtorque.codegen.common.files import read_text
from femtorque.codegen.common.output import write_text
from femtorque.codegen.mechanism.description import Gains

DIGITS = 4  # significant ones


Tables = Mapping[str, Mapping[str, float | int]]


def set_joint(path: Path, joint: str, values: Tables, comment: str = "", beside: Tables | None = None) -> None:
    """Set keys of a joint's inline tables: {"friction": {"viscous": 1e-3}}. comment: put behind the first table's line.
    beside: keys that go into a table that is not there yet.

    Raises BadInput if the file is no TOML or has no [[joint]] of that name; nothing is written then.
    """
    document = _parsed(path)
    table = _table(path, document, joint)
    for place, (name, changes) in enumerate(values.items()):
        if name not in table:
            table[name] = tomlkit.inline_table()
            changes = {**(beside or {}).get(name, {}), **changes}
        for key, value in changes.items():
            table[name][key] = _rounded(value)
        if comment and place == 0:
            table[name].comment(comment)
    write_text(path, tomlkit.dumps(document))


def set_gains(path: Path, gains: Mapping[str, Gains], share: float) -> None:
    """Set ku and kv of each of these joints to a share of its gains, rounded down. Raises BadInput as `set_joint` does;
    nothing is written then."""
    document = _parsed(path)
    for joint, of in gains.items():
        table = _table(path, document, joint)
        if "gains" not in table:
            table["gains"] = tomlkit.inline_table()
        for key in ("ku", "kv"):
            table["gains"][key] = _down(share * getattr(of, key))
    write_text(path, tomlkit.dumps(document))


def _parsed(path: Path) -> tomlkit.TOMLDocument:
    try:
        return tomlkit.parse(read_text(path))
    except TOMLKitError as error:
        raise BadInput(path, "file", None, f"is not TOML: {error}") from None


def _table(path: Path, document: tomlkit.TOMLDocument, joint: str) -> Any:
    table = next((t for t in document.get("joint", []) if t.get("name") == joint), None)
    if table is None:
        raise BadInput(path, f"joint.{joint}", None, "has no [[joint]] table in this file to be written to",
                       "add one with the joint's name")
    return table


def _down(value: float) -> float:
    """In DIGITS significant digits, no more than it is."""
    if value <= 0.0:
        return 0.0
    scale = 10.0 ** (math.floor(math.log10(value)) - DIGITS + 1)
    return float(f"{math.floor(value / scale) * scale:.{DIGITS}g}")


def _rounded(value: float | int) -> Any:
    return value if isinstance(value, int) else float(f"{value:.{DIGITS}g}")
