"""Expressions of the emitted step: built once each, constants folded, dead ones never printed.

A `Graph` owns its expressions. Equal expressions are one object (hash-consing), so common subexpressions cost
nothing; multiplication by 0 and 1 and addition of 0 vanish while building; signs are moved outwards so that they end
in a subtraction. What is bound to a name becomes a statement of the C if something live needs it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Union

Number = Union["Expr", float, int]


class Expr:
    """One node: op is const | load | add | sub | mul | neg."""

    __slots__ = ("graph", "op", "args", "value", "text", "name", "index")

    def __init__(self, graph: Graph, op: str, args: tuple[Expr, ...] = (), value: float = 0.0, text: str = "") -> None:
        self.graph, self.op, self.args, self.value, self.text = graph, op, args, value, text
        self.name = ""
        self.index = len(graph.nodes)
        graph.nodes.append(self)

    def __add__(self, other: Number) -> Expr:
        return self.graph.add(self, self.graph.const(other))

    __radd__ = __add__

    def __sub__(self, other: Number) -> Expr:
        return self.graph.sub(self, self.graph.const(other))

    def __rsub__(self, other: Number) -> Expr:
        return self.graph.sub(self.graph.const(other), self)

    def __mul__(self, other: Number) -> Expr:
        return self.graph.mul(self, self.graph.const(other))

    __rmul__ = __mul__

    def __neg__(self) -> Expr:
        return self.graph.neg(self)

    @property
    def is_zero(self) -> bool:
        return self.op == "const" and self.value == 0.0


@dataclass
class Statement:
    """One line of C: a value with a name, a store, or (kind "call") a line of text that defines several loads."""

    kind: str  # value | store | call
    block: int
    target: str
    expr: Expr | None = None
    needs: tuple[Expr, ...] = ()
    text: str = ""
    cost: int = 0
    acts: bool = False  # changes state: live even if its results are not needed


@dataclass
class Graph:
    nodes: list[Expr] = field(default_factory=list)
    statements: list[Statement] = field(default_factory=list)
    blocks: list[str] = field(default_factory=list)
    table: dict[tuple[str, int, int], Expr] = field(default_factory=dict)
    constants: dict[float, Expr] = field(default_factory=dict)
    loads: dict[str, Expr] = field(default_factory=dict)
    current: int = -1
    calls: dict[str, int] = field(default_factory=dict)  # load name -> statement that defines it

    # ---- expressions
    def _node(self, op: str, a: Expr, b: Expr | None = None) -> Expr:
        key = (op, a.index, -1 if b is None else b.index)
        found = self.table.get(key)
        if found is None:
            found = self.table[key] = Expr(self, op, (a,) if b is None else (a, b))
        return found

    def const(self, value: Number) -> Expr:
        if isinstance(value, Expr):
            return value
        value = float(value) + 0.0  # no negative zero
        found = self.constants.get(value)
        if found is None:
            found = self.constants[value] = Expr(self, "const", value=value)
        return found

    def load(self, text: str) -> Expr:
        """A value that is there already: an input, a word of state, a result of a call."""
        found = self.loads.get(text)
        if found is None:
            found = self.loads[text] = Expr(self, "load", text=text)
        return found

    def neg(self, a: Expr) -> Expr:
        if a.op == "const":
            return self.const(-a.value)
        if a.op == "neg":
            return a.args[0]
        return self._node("neg", a)

    def add(self, a: Expr, b: Expr) -> Expr:
        if a.op == "const" and b.op == "const":
            return self.const(a.value + b.value)
        if a.is_zero:
            return b
        if b.is_zero:
            return a
        if a.op == "neg" and b.op == "neg":
            return self.neg(self.add(a.args[0], b.args[0]))
        if b.op == "neg":
            return self.sub(a, b.args[0])
        if a.op == "neg":
            return self.sub(b, a.args[0])
        if a.index > b.index:
            a, b = b, a
        return self._node("add", a, b)

    def sub(self, a: Expr, b: Expr) -> Expr:
        if a.op == "const" and b.op == "const":
            return self.const(a.value - b.value)
        if a is b:
            return self.const(0.0)
        if a.is_zero:
            return self.neg(b)
        if b.is_zero:
            return a
        if b.op == "neg":
            return self.add(a, b.args[0])
        if a.op == "neg":
            return self.neg(self.add(a.args[0], b))
        opposite = self.table.get(("sub", b.index, a.index))
        return self._node("neg", opposite) if opposite else self._node("sub", a, b)

    def mul(self, a: Expr, b: Expr) -> Expr:
        if b.op == "const":
            a, b = b, a
        if a.op == "const":
            if b.op == "const":
                return self.const(a.value * b.value)
            if a.value == 0.0:
                return a
            if a.value == 1.0:
                return b
            if a.value < 0.0:
                return self.neg(self.mul(self.const(-a.value), b))
            if b.op == "mul" and b.args[0].op == "const" and not b.name:
                return self.mul(self.const(a.value * b.args[0].value), b.args[1])
        if a.op == "neg" and b.op == "neg":
            return self.mul(a.args[0], b.args[0])
        if a.op == "neg":
            return self.neg(self.mul(a.args[0], b))
        if b.op == "neg":
            return self.neg(self.mul(a, b.args[0]))
        if a.op != "const" and a.index > b.index:
            a, b = b, a
        return self._node("mul", a, b)

    # ---- statements
    def block(self, title: str) -> int:
        """What is bound or stored from now on belongs to a new block of the C, under this comment."""
        self.blocks.append(title)
        self.current = len(self.blocks) - 1
        return self.current

    def enter(self, block: int) -> int:
        """Go on in another block; returns the one left."""
        left, self.current = self.current, block
        return left

    def bind(self, expr: Expr, name: str) -> Expr:
        """Give a computed expression a name; a plain copy or sign change of something keeps its own."""
        inner = expr
        if expr.op == "neg" and expr.args[0].op in ("add", "sub", "mul"):
            inner, name = expr.args[0], f"minus_{name}"
        if inner.op in ("add", "sub", "mul") and not inner.name:
            inner.name = name
            self.statements.append(Statement("value", self.current, name, inner))
        return expr

    def store(self, target: str, expr: Expr) -> None:
        """A result: what it needs is live."""
        self.statements.append(Statement("store", self.current, target, expr, (expr,)))

    def call(self, text: str, results: tuple[str, ...], needs: tuple[Expr, ...], cost: int,
             acts: bool = False) -> tuple[Expr, ...]:
        """A line of C with {0}, {1}.. for what it needs, that defines the loads `results`."""
        for result in results:
            self.calls[result] = len(self.statements)
        self.statements.append(Statement("call", self.current, results[0], None, needs, text, cost, acts))
        return tuple(self.load(result) for result in results)

    # ---- analysis
    def live(self) -> tuple[set[int], set[int]]:
        """Indices of the live expressions and of the live statements, from the stores back."""
        seen: set[int] = set()
        kept = {i for i, s in enumerate(self.statements) if s.kind == "store" or s.acts}
        stack = [e for i in kept for e in self.statements[i].needs]
        by_name = {id(s.expr): i for i, s in enumerate(self.statements) if s.kind == "value"}
        while stack:
            e = stack.pop()
            if e.index in seen:
                continue
            seen.add(e.index)
            stack.extend(e.args)
            if id(e) in by_name:
                kept.add(by_name[id(e)])
            if e.op == "load" and e.text in self.calls and self.calls[e.text] not in kept:
                kept.add(self.calls[e.text])
                stack.extend(self.statements[self.calls[e.text]].needs)
        return seen, kept

    def cost(self) -> int:
        """Instructions, estimated: one an operation, load, store and constant; calls say their own."""
        seen, kept = self.live()
        total = sum(1 for i in seen if self.nodes[i].op != "neg")
        return total + sum(1 if self.statements[i].kind == "store" else self.statements[i].cost for i in kept)

    def operations(self) -> tuple[int, int]:
        """Multiplications and additions of the live expressions."""
        seen, _ = self.live()
        ops = [self.nodes[i].op for i in seen]
        return ops.count("mul"), ops.count("add") + ops.count("sub")
