"""Shell completions of arguments, read from files and tables without slow imports."""

import ast
import os
import tomllib
from collections.abc import Iterable
from pathlib import Path

from femtorque.codegen.common import FIRMWARE, BadInput, house, read_text


def ports(incomplete: str) -> list[str]:
    """Return completions of --port."""
    from femtorque.host.link import candidates

    return _beginning(incomplete, ["auto", *(device for device, _ in candidates())])


def boards(incomplete: str) -> list[str]:
    """Return completions of --board."""
    return _beginning(incomplete, sorted(path.stem for path in (FIRMWARE / "boards").glob("*.toml")))


def arms(incomplete: str) -> list[str]:
    """Return completions of --arm."""
    from femtorque.codegen.verify import arm_names

    return _beginning(incomplete, arm_names())


def drives(incomplete: str) -> list[str]:
    """Return completions of --drive."""
    from femtorque.codegen.drive import DRIVES

    joint, equals, _ = incomplete.rpartition("=")
    return _beginning(incomplete, [f"{joint}{equals}{name}" for name in DRIVES])


def scenarios(incomplete: str) -> list[str]:
    """Return completions of `hil scenario`."""
    return _beginning(incomplete, sorted(path.stem for path in (house("hil") / "scenarios").glob("*.toml")))


def faults(incomplete: str) -> list[str]:
    """Return completions of --fault: the keys of the table, read from its source without an import."""
    table = _assigned(house("hil") / "board" / "faults.py", "FAULTS")
    names = [key.value for key in table.keys if isinstance(key, ast.Constant)] if isinstance(table, ast.Dict) else []
    return _beginning(incomplete, map(str, names))


def named(incomplete: str) -> list[str]:
    """Return completions of `docs`: the keys of its tables, read from their source."""
    source = house("codegen") / "wire" / "messages.py"
    tables = [_assigned(source, table) for table in ("FAULTS", "REFUSALS", "STATES", "LIMITS")]
    keys = [key for table in tables if isinstance(table, ast.Dict) for key in table.keys]
    return _beginning(incomplete.upper(), sorted({str(key.value) for key in keys if isinstance(key, ast.Constant)}))


def figures(incomplete: str) -> list[str]:
    """Return completions of `reproduce`: figures and papers, read from their source without an import."""
    source = house("hil") / "papers" / "reproduce.py"
    names = dict.fromkeys(name for table in ("SUBJECTS", "PAPERS") for name in _firsts(_assigned(source, table)))
    return _beginning(incomplete, names)


def joints(incomplete: str) -> list[str]:
    """Return completions of a joint's name from the mechanism file earlier on the command line."""
    typed = os.environ.get("COMP_WORDS") or os.environ.get("_TYPER_COMPLETE_ARGS") or ""  # bash; other shells
    file = next((word for word in typed.split() if word.endswith(".toml")), "")
    try:
        raw = tomllib.loads(read_text(Path(file)))
        return _beginning(incomplete, [str(joint["name"]) for joint in raw["joint"] if joint.get("type") != "fixed"])
    except (KeyError, TypeError, ValueError, RecursionError, BadInput):
        return []


def _beginning(incomplete: str, words: Iterable[str]) -> list[str]:
    return [word for word in words if word.startswith(incomplete)]


def _assigned(path: Path, name: str) -> ast.expr | None:
    """Return the value that a module assigns to a name, read from its source."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == name for t in node.targets):
            return node.value
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id == name:
            return node.value
    return None


def _firsts(table: ast.expr | None) -> list[str]:
    """Return the first argument of every call in a table."""
    calls = (item for item in getattr(table, "elts", ()) if isinstance(item, ast.Call) and item.args)
    return [str(call.args[0].value) for call in calls if isinstance(call.args[0], ast.Constant)]
