"""Prints tables of benches, and keeps them as Markdown in build/."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

BUILD = Path(__file__).resolve().parents[2] / "build"


def show(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]], notes: Sequence[str] = ()) -> str:
    """Print a table and return it as Markdown. The first column is left-aligned, the others right."""
    table = Table(title=title, title_justify="left")
    for i, column in enumerate(columns):
        table.add_column(column, justify="right" if i else "left")
    text = [list(map(str, row)) for row in rows]
    for row in text:
        table.add_row(*row)
    console = Console(width=150)
    console.print(table)
    for note in notes:
        console.print(note, highlight=False, markup=False)
    lines = [f"## {title}", "", _line(columns), _line(["---", *("---:" for _ in columns[1:])])]
    return "\n".join([*lines, *map(_line, text), "", *(f"{note}\n" for note in notes)]) + "\n"


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def keep(name: str, text: str) -> Path:
    """Write build/<name>."""
    BUILD.mkdir(exist_ok=True)
    path = BUILD / name
    path.write_text(text, encoding="utf-8")
    return path


def note(section: str, figures: Mapping[str, object]) -> Path:
    """Write figures for programs to their section of build/bench.json."""
    path = BUILD / "bench.json"
    before = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return keep(path.name, json.dumps(before | {section: figures}, indent=2) + "\n")
