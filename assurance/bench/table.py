"""Prints tables of benches, and writes them as Markdown to build/."""

from collections.abc import Sequence
from pathlib import Path

BUILD = Path(__file__).resolve().parents[2] / "build"


def show(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]], notes: Sequence[str] = ()) -> str:
    """Print a table and return it as Markdown, with the first column to the left and all further to the right."""
    cells = [columns, ["---", *("---:" for _ in columns[1:])], *rows]
    lines = ["| " + " | ".join(map(str, row)) + " |" for row in cells]
    text = "\n".join(["", f"## {title}", "", *lines, "", *(f"{note}\n" for note in notes)]) + "\n"
    print(text)
    return text


def keep(name: str, text: str) -> None:
    """Write build/<name>."""
    BUILD.mkdir(exist_ok=True)
    (BUILD / name).write_text(text, encoding="utf-8")
