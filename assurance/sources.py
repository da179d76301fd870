"""Sources without comments, for digests: a better sentence does not make a result outdated."""

import ast
import re
from pathlib import Path

_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)


def bare_c(text: str) -> str:
    """Return C without comments."""
    return _COMMENT.sub(" ", text)


def bare(path: Path) -> str:
    """Return a file of C or Python without comments and docstrings, in one line."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        return " ".join(bare_c(text).split())
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            node.value.value = ""
    return ast.dump(tree)
