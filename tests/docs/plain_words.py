"""Search for sentences that break the rule of plain words."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

BEGINNINGS = re.compile(r"(?:^|(?<=[.;!?]\s))(What|Of|Where|Whether|The same)\b(?![^.;!?]*\?)")
# a parameter of this name is allowed, and "tell apart" too
TELLING = re.compile(r"\b(tells?|told|telling)\b(?!:|(\s\S+){0,3}\s+apart)", re.IGNORECASE)
ANY = re.compile(r"\b(What|Of|Where|Whether|The same|tells?|told|telling)\b", re.IGNORECASE)
C_COMMENT = re.compile(r"/\*(.*?)\*/", re.DOTALL)


def texts_of_python(source: str) -> Iterator[tuple[int, str]]:
    """Yield (line, text) of docstrings and comments."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node, clean=False)
            if text:
                yield node.body[0].lineno, text.strip()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string.lstrip("# ")


def texts_of_c(source: str) -> Iterator[tuple[int, str]]:
    """Yield (line, text) of comments."""
    for found in C_COMMENT.finditer(source):
        text = re.sub(r"\n\s*\*?\s*", "\n", found[1]).strip(" \n-*")
        yield source.count("\n", 0, found.start()) + 1, text


def against(path: Path) -> list[str]:
    """Return the sentences of a file's docstrings and comments that break the rule, as `line: text`."""
    source = path.read_text(encoding="utf-8")
    if not ANY.search(source):
        return []
    texts = texts_of_python(source) if path.suffix == ".py" else texts_of_c(source)
    found = []
    for line, text in texts:
        joined = " ".join(text.split())
        found += [f"{line}: {joined[m.start():m.start() + 60]}" for m in BEGINNINGS.finditer(joined)]
        found += [f"{line}: ... {joined[max(0, m.start() - 30):m.end() + 30]}" for m in TELLING.finditer(joined)]
    return sorted(found, key=lambda row: int(row.split(":")[0]))
