"""Makes docs/architecture.svg from the imports of the code: `python docs/architecture.py`. A room is a package or
module directly below codegen, host or hil (the houses), drawn above all rooms that it imports. Arrows for indirect
imports are left out. A test compares the picture with this script's output."""

import ast
from collections.abc import Iterable
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PICTURE = ROOT / "docs" / "architecture.svg"
HOUSES = ("codegen", "host", "hil")  # packages of femtorque; each may import the packages to its left
WIDTH, HEIGHT, GAP, RISE, MARGIN = 128, 40, 20, 86, 30  # sizes of a room and distances between rooms, pixels

Uses = dict[str, set[str]]


def modules() -> dict[str, Path]:
    """Return the path of every module in the houses, by its dotted name."""
    return {".".join(path.relative_to(ROOT / house).with_suffix("").parts).removesuffix(".__init__"): path
            for house in HOUSES for path in sorted((ROOT / house).rglob("*.py"))}


def imported(tree: ast.AST, known: Iterable[str]) -> set[str]:
    """Return the known modules that a syntax tree imports, also inside functions."""
    names = set(known)
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {f"{node.module}.{alias.name}" if f"{node.module}.{alias.name}" in names else node.module
                      for alias in node.names}
    return found & names


def room(module: str) -> str:
    """Return the room that contains a module, e.g. codegen.model for femtorque.codegen.model.bodies."""
    return ".".join(module.removeprefix("femtorque.").split(".")[:2])


def uses() -> Uses:
    """Return the rooms that each room imports. The __init__ module of a house does not count as a room."""
    known = modules()
    found: Uses = {room(name): set() for name in known if "." in room(name)}
    for name, path in known.items():
        if room(name) in found:
            others = {room(other) for other in imported(ast.parse(path.read_text(encoding="utf-8")), known)}
            found[room(name)] |= others & found.keys() - {room(name)}
    return found


def floors(rooms: Uses) -> dict[str, int]:
    """Return each room's floor, its longest chain of imports in its house. Raise ValueError for a circle."""
    found: dict[str, int] = {}

    def floor(name: str, above: tuple[str, ...]) -> int:
        if name in above:
            raise ValueError(f"rooms use each other: {' -> '.join([*above, name])}")
        if name not in found:
            inside = [other for other in rooms[name] if house(other) == house(name)]
            found[name] = max((floor(other, (*above, name)) + 1 for other in inside), default=0)
        return found[name]

    for name in rooms:
        floor(name, ())
    return found


def house(name: str) -> str:
    return name.split(".")[0]


def reduced(rooms: Uses) -> Uses:
    """Return the direct imports that are not also indirect imports."""
    below: Uses = {}

    def reach(name: str) -> set[str]:
        if name not in below:
            below[name] = rooms[name].union(*(reach(other) for other in rooms[name]))
        return below[name]

    return {name: {other for other in used if not any(other in reach(third) for third in used - {other})}
            for name, used in rooms.items()}


def places(rooms: Uses) -> dict[str, tuple[float, float]]:
    """Return the middle of every room, px. Houses are side by side, and each room is above the rooms that it uses."""
    level = floors(rooms)
    top = max(level.values())
    at: dict[str, tuple[float, float]] = {}
    left = float(MARGIN)
    for name in HOUSES:
        rows = [sorted(r for r in rooms if house(r) == name and level[r] == k) for k in range(top + 1)]
        widest = max(map(len, rows))
        for k, row in enumerate(rows):
            row.sort(key=lambda r: _below(r, rooms, at))
            start = left + (widest - len(row)) * (WIDTH + GAP) / 2.0
            for i, r in enumerate(row):
                at[r] = (start + i * (WIDTH + GAP) + WIDTH / 2.0, MARGIN + 40 + (top - k) * RISE + HEIGHT / 2.0)
        left += widest * (WIDTH + GAP) + 2 * MARGIN
    return at


def _below(name: str, rooms: Uses, at: dict[str, tuple[float, float]]) -> float:
    """Return the mean x position of the placed packages that this package imports, to keep the arrows short."""
    own = [at[other][0] for other in sorted(rooms[name]) if other in at and house(other) == house(name)]
    return sum(own) / len(own) if own else 0.0


def svg() -> str:
    rooms = uses()
    at = places(rooms)
    width = max(x for x, _ in at.values()) + WIDTH / 2.0 + MARGIN
    height = max(y for _, y in at.values()) + HEIGHT / 2.0 + MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" font-family="sans-serif" '
        f'font-size="13">',
        '<defs><marker id="head" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0 L8 4 L0 8 z" fill="#667"/></marker></defs>',
        f'<rect width="{width:.0f}" height="{height:.0f}" fill="white"/>']
    end = 0.0
    for name in HOUSES:
        xs = [x for r, (x, _) in at.items() if house(r) == name]
        x0, x1 = min(xs) - WIDTH / 2.0 - 12, max(xs) + WIDTH / 2.0 + 12
        if end:
            parts.append(f'<line x1="{x0:.0f}" y1="{MARGIN}" x2="{end:.0f}" y2="{MARGIN}" stroke="#667" '
                         f'stroke-width="2" '
                         'marker-end="url(#head)"/>')
        end = x1
        parts.append(f'<rect x="{x0:.0f}" y="{MARGIN - 18}" width="{x1 - x0:.0f}" height="{height - MARGIN:.0f}" '
                     f'rx="10" '
                     f'fill="#f4f6fa" stroke="#ccd"/><text x="{x0 + 12:.0f}" y="{MARGIN + 6}" font-size="18" '
                     f'fill="#334">{name}/</text>')
    for name, used in sorted(reduced(rooms).items()):
        for other in sorted(used):
            if house(other) == house(name):
                (x0, y0), (x1, y1) = at[name], at[other]
                parts.append(f'<line x1="{x0:.0f}" y1="{y0 + HEIGHT / 2:.0f}" x2="{x1:.0f}" y2="{y1 - HEIGHT / 2:.0f}" '
                             'stroke="#667" marker-end="url(#head)"/>')
    for name, (x, y) in sorted(at.items()):
        parts.append(f'<rect x="{x - WIDTH / 2:.0f}" y="{y - HEIGHT / 2:.0f}" width="{WIDTH}" height="{HEIGHT}" rx="6" '
                     f'fill="white" stroke="#446"/><text x="{x:.0f}" y="{y + 5:.0f}" text-anchor="middle">'
                     f'{escape(name.split(".")[1])}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def main() -> None:
    PICTURE.write_text(svg(), encoding="utf-8", newline="\n")
    print(PICTURE.relative_to(ROOT).as_posix())


if __name__ == "__main__":
    main()
