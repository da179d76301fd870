"""Functions that write values of joints and bodies to a mechanism file. Comments and layout stay."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import tomlkit
import tomlkit.items
from tomlkit.exceptions import TOMLKitError

from femtorque.codegen.common import BadInput, read_text, write_text
from femtorque.codegen.mechanism.description import Gains

DIGITS, FINE = 4, 7  # significant digits; masses and inertias have FINE digits and stay physically possible


Tables = Mapping[str, Mapping[str, float | int | str]]


def set_joint(path: Path, joint: str, values: Tables, comment: str = "", beside: Tables | None = None) -> None:
    """Set keys of a joint's inline tables, as {"friction": {"viscous": 1e-3}}. comment: comment at the end of the first
    table's line. beside: further keys of a table that the file does not have yet. If the file is no TOML or lacks the
    [[joint]], raise BadInput and leave the file unchanged."""
    document = _parsed(path)
    table = _table(path, document, joint)
    for place, (name, changes) in enumerate(values.items()):
        if name not in table:
            table[name] = tomlkit.inline_table()
            changes = {**(beside or {}).get(name, {}), **changes}
        for key, value in changes.items():
            table[name][key] = value if isinstance(value, int | str) else float(f"{value:.{DIGITS}g}")
        if comment and place == 0:
            table[name].comment(comment)
    write_text(path, tomlkit.dumps(document))


def set_solid(path: Path, name: str, values: Mapping[str, float | Sequence[float]], on: str | None = None) -> None:
    """Set mass, com and inertia of a link, or of a payload on the link `on`. Remove `rod`, because com and inertia
    replace it. For a link of a URDF, the function adds a table to the mechanism file, which overrides the URDF. If the
    file is no TOML, raise BadInput and leave the file unchanged."""
    document = _parsed(path)
    kind = "link" if on is None else "payload"
    table = next((t for t in document.get(kind, []) if t.get("name") == name), None)
    if table is None:
        table = tomlkit.table() if not isinstance(document.get(kind), tomlkit.items.Array) else tomlkit.inline_table()
        table["name"] = name
        if on is not None:
            table["link"] = on
        if kind not in document:
            document[kind] = tomlkit.aot()
        document[kind].append(table)
    table.pop("rod", None)
    for key, value in values.items():
        table[key] = _fine(value) if isinstance(value, float | int) else [_fine(x) for x in value]
    write_text(path, tomlkit.dumps(document))


def set_gains(path: Path, gains: Mapping[str, Gains], share: float) -> None:
    """Set each joint's ku and kv to `share` times `gains`, rounded down. Raise BadInput as set_joint does."""
    document = _parsed(path)
    for joint, of in gains.items():
        table = _table(path, document, joint)
        if "gains" not in table:
            table["gains"] = tomlkit.inline_table()
        for key in ("ku", "kv"):
            table["gains"][key] = _down(share * getattr(of, key))
    write_text(path, tomlkit.dumps(document))


def set_bus(path: Path, name: str, values: Mapping[str, float]) -> None:
    """Set keys of a [[bus]]. Raise BadInput like set_joint."""
    document = _parsed(path)
    table = _table(path, document, name, "bus")
    for key, value in values.items():
        table[key] = float(f"{value:.{DIGITS}g}")
    write_text(path, tomlkit.dumps(document))


def _parsed(path: Path) -> tomlkit.TOMLDocument:
    try:
        return tomlkit.parse(read_text(path))
    except TOMLKitError as error:
        raise BadInput(path, "file", None, f"is not TOML: {error}") from None


def _table(path: Path, document: tomlkit.TOMLDocument, name: str, kind: str = "joint") -> Any:
    table = next((t for t in document.get(kind, []) if t.get("name") == name), None)
    if table is None:
        raise BadInput(path, f"{kind}.{name}", None, f"has no [[{kind}]] table in this file to be written to",
                       f"add one with the {kind}'s name")
    return table


def _down(value: float) -> float:
    """Return the value rounded down to DIGITS significant digits."""
    if value <= 0.0:
        return 0.0
    scale = 10.0 ** (math.floor(math.log10(value)) - DIGITS + 1)
    return float(f"{math.floor(value / scale) * scale:.{DIGITS}g}")


def _fine(value: float) -> float:
    return float(f"{value:.{FINE}g}")
