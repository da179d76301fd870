"""The C of a graph of expressions: one statement a named value, block by block, nothing that is not needed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from codegen.step.graph import Expr, Graph, Statement

NEVER = 1_000_000
WIDTH = 92  # columns, without the indentation of a function


@dataclass
class Block:
    """Consecutive lines of C under one comment."""

    comment: str
    lines: list[str]
    kept: list[str] = field(default_factory=list)  # values that blocks much later load from memory


def blocks_of(graph: Graph, call_text: Callable[[str], str], far: int = NEVER) -> list[Block]:
    """The live statements in order; call_text finishes the text of calls (which turning frame has which index).

    What a block needs that another one computed `far` or more blocks earlier is stored there in a member of `kept` and
    loaded again: a compiler that has to find this out by itself, in a function this long, copies values from register
    to register instead.
    """
    seen, kept = graph.live()
    shared = _shared(graph, seen, kept)
    defining = {id(s.expr): s for i, s in enumerate(graph.statements) if i in kept and s.kind == "value"}
    calls = {name: graph.statements[i] for name, i in graph.calls.items() if i in kept}
    wanted = {i for name, i in graph.calls.items() if name in graph.loads and graph.loads[name].index in seen}
    ignored = {id(s) for i, s in enumerate(graph.statements) if s.acts and i not in wanted}
    printed: set[int] = set()
    home: dict[int, tuple[int, str]] = {}  # of a value: the block it was computed or loaded in, and its name there
    number = 0

    def emit(statement: Statement) -> list[str]:
        """The lines of a statement, after those of what it needs that is not printed yet."""
        if id(statement) in printed:
            return []
        printed.add(id(statement))
        lines: list[str] = []
        operands = statement.needs if statement.expr is None or statement.kind == "store" else statement.expr.args
        for operand in operands:
            lines += define(operand)
        if statement.expr is not None and statement.kind == "value":
            home[statement.expr.index] = number, statement.target
        if id(statement) in ignored:
            statement.text = "(void)" + statement.text.split(" = ", 1)[1] if " = " in statement.text else statement.text
        return lines + _line(statement, call_text)

    def again(e: Expr) -> list[str]:
        """Load a value again that was computed long ago."""
        block, name = home.setdefault(e.index, (number, e.text))
        if number - block < far:
            return []
        member = name.split("_again")[0].replace(".", "_")
        if "_again" not in name:
            blocks[block].kept.append(member)
            blocks[block].lines.append(f"kept.{member} = {name};")
        count = int(name.split("_again")[1] or 1) + 1 if "_again" in name else ""
        e.name = f"{member}_again{count}"
        home[e.index] = number, e.name
        return [f"const ft_real {e.name} = kept.{member};"]

    def define(e: Expr) -> list[str]:
        if id(e) in defining:
            return emit(defining[id(e)]) or again(e)
        if e.op == "load" and e.text in calls:
            return emit(calls[e.text]) or again(e)
        if e.name:
            return again(e)
        lines = [line for a in e.args for line in define(a)]
        if e.index in shared:
            e.name = shared[e.index]
            home[e.index] = number, e.name
            lines += wrap(f"const ft_real {e.name} = {text(e, inside=True)};")
        return lines

    blocks: list[Block] = []
    for block, title in enumerate(graph.blocks):
        number, lines = len(blocks), []
        for i, statement in enumerate(graph.statements):
            if i in kept and statement.block == block:
                lines += emit(statement)
        if lines:
            blocks.append(Block(title, lines))
    return blocks


def _shared(graph: Graph, seen: set[int], kept: set[int]) -> dict[int, str]:
    """Names for the expressions that are needed more than once and have none."""
    uses: dict[int, int] = {}
    for i in seen:
        for a in graph.nodes[i].args:
            uses[a.index] = uses.get(a.index, 0) + 1
    for i in kept:
        for e in graph.statements[i].needs:
            uses[e.index] = uses.get(e.index, 0) + 1
    more = [i for i in sorted(uses) if uses[i] > 1 and graph.nodes[i].op in ("add", "sub", "mul")]
    more = [i for i in more if not graph.nodes[i].name]
    return {i: f"k{number}" for number, i in enumerate(more, 1)}


def _line(s: Statement, call_text: Callable[[str], str]) -> list[str]:
    if s.kind == "value":
        assert s.expr is not None
        return wrap(f"const ft_real {s.target} = {text(s.expr, inside=True)};")
    if s.kind == "store":
        assert s.expr is not None
        return wrap(f"{s.target} = {text(s.expr)};")
    return wrap(call_text(s.text.format(*(text(e) for e in s.needs))))


def text(e: Expr, inside: bool = False, tight: bool = False) -> str:
    """C of an expression; named ones by name unless `inside` asks for what the name stands for."""
    if e.name and not inside:
        return e.name
    if e.op == "load":
        return e.text
    if e.op == "const":
        return ("-" if e.value < 0 else "") + literal(abs(e.value))
    if e.op == "neg":
        return f"-{text(e.args[0], tight=True)}"
    a, b = e.args
    if e.op == "mul":
        return f"({_factor(a)} * {_factor(b)})" if tight else f"{_factor(a)} * {_factor(b)}"
    left, right = text(a), text(b)
    if not b.name and (b.op in ("add", "sub", "neg") or b.op == "const" and b.value < 0):
        right = f"({right})"
    joined = f"{left} {'+' if e.op == 'add' else '-'} {right}"
    return f"({joined})" if tight else joined


def _factor(e: Expr) -> str:
    plain = e.name or e.op in ("load", "const")
    return text(e) if plain else f"({text(e)})"


def literal(value: float) -> str:
    """A literal of the chosen precision that reads back as this very number."""
    shown = repr(float(value))
    if "e" not in shown and "." not in shown:
        shown += ".0"
    return f"FT_C({shown})"


def wrap(line: str, room: int = WIDTH) -> list[str]:
    """A statement as lines of at most `room` columns, cut before operators and after the commas of calls."""
    lines = []
    while len(line) > room:
        cut = max(line.rfind(operator, 0, room - 1) for operator in (" + ", " - "))
        cut = max(cut, line.rfind(", ", 0, room - 1) + 1)
        if cut <= 8:
            break
        lines.append(line[:cut])
        line = f"    {line[cut + 1 :]}"
    return [*lines, line]
