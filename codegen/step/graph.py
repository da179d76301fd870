"""Expressions of the emitted step: built once each, constants folded, dead ones never printed.

A `Graph` owns its expressions. Equal expressions are one object (hash-consing), so common subexpressions cost
nothing; multiplication by 0 and 1 and addition of 0 vanish while building; signs are moved outwards so that they end
in a subtraction. What is bound to a name becomes a statement of the C if something live needs it.

Nodes say what they are, not how they are written: only c_text.py knows the names that C gives them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias


@dataclass(frozen=True)
class Place:
    """A number of an array: what a tick is given (u[3]), keeps (X[2]) or puts out (tau[0]). part: a member of it."""

    array: str
    index: int = -1  # none: all of it
    part: str = ""


@dataclass(frozen=True)
class Function:
    """A C function that a step calls. parts: members of what it returns; none where that is a plain number or nothing.

    acts: it changes state, and is called even if nothing needs its results. cost: in instructions.
    """

    name: str
    returns: str
    parts: tuple[str, ...] = ()
    cost: int = 0
    acts: bool = False


class Expr:
    """A node of the graph. name: that of its value, or of minus its value where it was bound with that sign."""

    __slots__ = ("graph", "index", "name", "negated")
    args: tuple[Expr, ...] = ()

    def __init__(self, graph: Graph) -> None:
        self.graph, self.name, self.negated = graph, "", False
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
        if not isinstance(other, Number):
            return NotImplemented  # a vector knows
        return self.graph.mul(self, self.graph.const(other))

    __rmul__ = __mul__

    def __neg__(self) -> Expr:
        return self.graph.neg(self)

    @property
    def is_zero(self) -> bool:
        return False


class Const(Expr):
    __slots__ = ("value",)

    def __init__(self, graph: Graph, value: float) -> None:
        super().__init__(graph)
        self.value = value

    @property
    def is_zero(self) -> bool:
        return self.value == 0.0


class Input(Expr):
    """What the tick is given."""

    __slots__ = ("place",)

    def __init__(self, graph: Graph, place: Place) -> None:
        super().__init__(graph)
        self.place = place


class State(Input):
    """What the tick before has left."""

    __slots__ = ()


class Result(Expr):
    """What a call returns, or a part of it."""

    __slots__ = ("call", "part")

    def __init__(self, graph: Graph, call: Call, part: str) -> None:
        super().__init__(graph)
        self.call, self.part = call, part


class Op(Expr):
    """add | sub | mul | neg | inverse of other nodes."""

    __slots__ = ("op", "args")

    def __init__(self, graph: Graph, op: str, args: tuple[Expr, ...]) -> None:
        super().__init__(graph)
        self.op, self.args = op, args


Number: TypeAlias = Expr | float | int


@dataclass(eq=False)
class Statement:
    """One line of the step, in a block."""

    block: int

    @property
    def needs(self) -> tuple[Expr, ...]:
        return ()


@dataclass(eq=False)
class Value(Statement):
    """An expression with a name."""

    expr: Op

    @property
    def needs(self) -> tuple[Expr, ...]:
        return self.expr.args


@dataclass(eq=False)
class Store(Statement):
    """A result of the tick, or what it leaves to the next one."""

    place: Place
    expr: Expr

    @property
    def needs(self) -> tuple[Expr, ...]:
        return (self.expr,)


Argument = Expr | Place | int  # a place: its address


@dataclass(eq=False)
class Call(Statement):
    function: Function
    name: str
    arguments: tuple[Argument, ...]
    after: tuple[Expr, ...] = ()  # results of calls that change the state which this one reads

    @property
    def needs(self) -> tuple[Expr, ...]:
        return (*(a for a in self.arguments if isinstance(a, Expr)), *self.after)


@dataclass
class Graph:
    nodes: list[Expr] = field(default_factory=list)
    statements: list[Statement] = field(default_factory=list)
    blocks: list[str] = field(default_factory=list)
    table: dict[tuple[str, int, int], Op] = field(default_factory=dict)
    constants: dict[float, Const] = field(default_factory=dict)
    places: dict[Place, Input] = field(default_factory=dict)
    current: int = -1

    # ---- expressions
    def _node(self, op: str, a: Expr, b: Expr | None = None) -> Expr:
        key = (op, a.index, -1 if b is None else b.index)
        found = self.table.get(key)
        if found is None:
            found = self.table[key] = Op(self, op, (a,) if b is None else (a, b))
        return found

    def const(self, value: Number) -> Expr:
        if isinstance(value, Expr):
            return value
        value = float(value) + 0.0  # no negative zero
        found = self.constants.get(value)
        if found is None:
            found = self.constants[value] = Const(self, value)
        return found

    def input(self, array: str, index: int, part: str = "") -> Expr:
        """What the tick is given."""
        return self._load(Input, Place(array, index, part))

    def state(self, array: str, index: int, part: str = "") -> Expr:
        """What the tick before has left, see `keep`."""
        return self._load(State, Place(array, index, part))

    def _load(self, kind: type[Input], place: Place) -> Expr:
        found = self.places.get(place)
        if found is None:
            found = self.places[place] = kind(self, place)
        return found

    def neg(self, a: Expr) -> Expr:
        if isinstance(a, Const):
            return self.const(-a.value)
        if isinstance(a, Op) and a.op == "neg":
            return a.args[0]
        return self._node("neg", a)

    def inverse(self, a: Expr) -> Expr:
        """1 / a."""
        return self._node("inverse", a)

    def add(self, a: Expr, b: Expr) -> Expr:
        if isinstance(a, Const) and isinstance(b, Const):
            return self.const(a.value + b.value)
        if a.is_zero:
            return b
        if b.is_zero:
            return a
        minus_a, minus_b = _negative(a), _negative(b)
        if minus_a and minus_b:
            return self.neg(self.add(minus_a, minus_b))
        if minus_b:
            return self.sub(a, minus_b)
        if minus_a:
            return self.sub(b, minus_a)
        if a.index > b.index:
            a, b = b, a
        return self._node("add", a, b)

    def sub(self, a: Expr, b: Expr) -> Expr:
        if isinstance(a, Const) and isinstance(b, Const):
            return self.const(a.value - b.value)
        if a is b:
            return self.const(0.0)
        if a.is_zero:
            return self.neg(b)
        if b.is_zero:
            return a
        if minus_b := _negative(b):
            return self.add(a, minus_b)
        if minus_a := _negative(a):
            return self.neg(self.add(minus_a, b))
        opposite = self.table.get(("sub", b.index, a.index))
        return self._node("neg", opposite) if opposite else self._node("sub", a, b)

    def mul(self, a: Expr, b: Expr) -> Expr:
        if isinstance(b, Const):
            a, b = b, a
        if isinstance(a, Const):
            if isinstance(b, Const):
                return self.const(a.value * b.value)
            if a.value == 0.0:
                return a
            if a.value == 1.0:
                return b
            if a.value < 0.0:
                return self.neg(self.mul(self.const(-a.value), b))
            if isinstance(b, Op) and b.op == "mul" and isinstance(b.args[0], Const) and not b.name:
                return self.mul(self.const(a.value * b.args[0].value), b.args[1])
        minus_a, minus_b = _negative(a), _negative(b)
        if minus_a and minus_b:
            return self.mul(minus_a, minus_b)
        if minus_a:
            return self.neg(self.mul(minus_a, b))
        if minus_b:
            return self.neg(self.mul(a, minus_b))
        if not isinstance(a, Const) and a.index > b.index:
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
        """Give a computed expression a name; a plain copy or sign change of something keeps its own.

        A difference is turned round to have the sign of its name; what would cost an instruction for that keeps its own
        sign, and says so in its name.
        """
        minus = _negative(expr)
        inner = minus or expr
        if isinstance(inner, Op) and not inner.name:
            inner.negated = minus is not None and inner.op == "sub"
            inner.name = f"{name}_neg" if minus and not inner.negated else name
            self.statements.append(Value(self.current, inner))
        return expr

    def output(self, array: str, index: int, expr: Expr) -> None:
        """A result: what it needs is live."""
        self.statements.append(Store(self.current, Place(array, index), expr))

    keep = output  # a number of the state, for the next tick

    def call(self, function: Function, name: str, *arguments: Argument,
             after: tuple[Expr, ...] = ()) -> tuple[Expr, ...]:
        """What a function returns, by its parts; `name` is that of all of it."""
        call = Call(self.current, function, name, arguments, after)
        self.statements.append(call)
        return tuple(Result(self, call, part) for part in function.parts or ("",))

    # ---- analysis
    def live(self) -> tuple[set[int], set[Statement]]:
        """Indices of the live expressions, and the live statements, from the stores back."""
        seen: set[int] = set()
        kept: set[Statement] = {
            s for s in self.statements if isinstance(s, Store) or isinstance(s, Call) and s.function.acts}
        stack = [e for s in kept for e in s.needs]
        values = {s.expr.index: s for s in self.statements if isinstance(s, Value)}
        while stack:
            e = stack.pop()
            if e.index in seen:
                continue
            seen.add(e.index)
            stack.extend(e.args)
            if e.index in values:
                kept.add(values[e.index])
            if isinstance(e, Result) and e.call not in kept:
                kept.add(e.call)
                stack.extend(e.call.needs)
        return seen, kept

    def inputs(self) -> set[str]:
        """The arrays that something live reads, of what the tick is given and of what it has kept."""
        return {e.place.array for i in self.live()[0] if isinstance(e := self.nodes[i], Input)} | {
            a.array for s in self.live()[1] if isinstance(s, Call) for a in s.arguments if isinstance(a, Place)}

    def cost(self) -> int:
        """Instructions, estimated: one an operation, load, store and constant; calls say their own."""
        seen, kept = self.live()
        total = sum(1 for i in seen if not (isinstance(e := self.nodes[i], Op) and e.op == "neg"))
        return total + sum(s.function.cost if isinstance(s, Call) else isinstance(s, Store) for s in kept)

    def operations(self) -> tuple[int, int]:
        """Multiplications and additions of the live expressions."""
        seen, _ = self.live()
        ops = [e.op for i in seen if isinstance(e := self.nodes[i], Op)]
        return ops.count("mul"), ops.count("add") + ops.count("sub")


class Values:
    """Values of nodes, in whatever numbers `leaf` has for those that are not computed from others."""

    def __init__(self, leaf: Callable[[Expr], Any]) -> None:
        self.leaf = leaf
        self.known: dict[int, Any] = {}

    def of(self, e: Expr) -> Any:
        stack = [e]
        while stack:
            x = stack[-1]
            missing = [a for a in x.args if a.index not in self.known]
            stack.extend(missing)
            if not missing:
                stack.pop()
                if x.index not in self.known:
                    self.known[x.index] = self._value(x)
        return self.known[e.index]

    def _value(self, e: Expr) -> Any:
        if not isinstance(e, Op):
            return self.leaf(e)
        a, *rest = (self.known[x.index] for x in e.args)
        match e.op:
            case "neg":
                return -a
            case "inverse":
                return 1.0 / a
            case "mul":
                return a * rest[0]
        return a + rest[0] if e.op == "add" else a - rest[0]


def _negative(e: Expr) -> Expr | None:
    """What e is minus of, if it is."""
    return e.args[0] if isinstance(e, Op) and e.op == "neg" else None
