"""Expressions of the emitted step. Each expression exists only once, constants are folded, and unused expressions are
not printed.

A `Graph` owns its expressions. Equal expressions are one object (hash-consing), so common subexpressions are computed
once. Multiplication by 0 and 1 and addition of 0 are removed when the expression is formed. Negative signs move
outwards and end in a subtraction. A named expression becomes a C statement if a live value depends on it. Nodes contain
no C text: only c_text.py knows the names in C."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias


@dataclass(frozen=True)
class Place:
    """An element of an array: an input (u[3]), state (P[2]) or result (tau[0])."""

    array: str
    index: int = -1  # none: all of it
    part: str = ""  # member of a struct


@dataclass(frozen=True)
class Function:
    """A C function that a step calls."""

    name: str
    returns: str
    parts: tuple[str, ...] = ()  # members of its result; empty for a plain number or no result
    cost: int = 0  # instructions
    acts: bool = False  # true if it changes the state, so that it must be called even if its results are not used


class Expr:
    """A node of the graph. name: name of the value; if `negated`, name of the value's negative."""

    __slots__ = ("graph", "index", "name", "negated")
    args: tuple[Expr, ...] = ()
    is_zero = False
    minus: Expr | None = None  # the node's negative

    def __init__(self, graph: Graph) -> None:
        self.graph, self.name, self.negated = graph, "", False
        self.index = len(graph.nodes)
        graph.nodes.append(self)

    def __add__(self, other: Number) -> Expr:
        return self.graph.add(self, other if isinstance(other, Expr) else self.graph.const(other))

    __radd__ = __add__

    def __sub__(self, other: Number) -> Expr:
        return self.graph.sub(self, other if isinstance(other, Expr) else self.graph.const(other))

    def __rsub__(self, other: Number) -> Expr:
        return self.graph.sub(self.graph.const(other), self)

    def __mul__(self, other: Number) -> Expr:
        if isinstance(other, Expr):
            return self.graph.mul(self, other)
        if not isinstance(other, float | int):
            return NotImplemented  # a vector knows
        return self.graph.mul(self, self.graph._constant(other))

    __rmul__ = __mul__

    def __neg__(self) -> Expr:
        return self.graph.neg(self)


class Const(Expr):
    __slots__ = ("value", "is_zero")

    def __init__(self, graph: Graph, value: float) -> None:
        super().__init__(graph)
        self.value, self.is_zero = value, value == 0.0


class Input(Expr):
    """Argument of the tick."""

    __slots__ = ("place",)

    def __init__(self, graph: Graph, place: Place) -> None:
        super().__init__(graph)
        self.place = place


class Fixed(Input):
    """An element of a constant table."""

    __slots__ = ("value",)

    def __init__(self, graph: Graph, place: Place, value: float) -> None:
        super().__init__(graph, place)
        self.value = value


class Result(Expr):
    """The result of a call, or a member of this result."""

    __slots__ = ("call", "part")

    def __init__(self, graph: Graph, call: Call, part: str) -> None:
        super().__init__(graph)
        self.call, self.part = call, part

    @property
    def in_state(self) -> Place | None:
        """Return the state variable that receives the result; None if the function returns the result."""
        place = self.call.arguments[0]
        return place if isinstance(place, Place) and self.call.function.returns == "void" else None


class Op(Expr):
    """An operation on other nodes: add | sub | mul | neg | inverse."""

    __slots__ = ("op", "args", "minus")

    def __init__(self, graph: Graph, op: str, args: tuple[Expr, ...]) -> None:
        self.graph, self.name, self.negated = graph, "", False  # a search creates a million nodes
        self.op, self.args, self.minus = op, args, args[0] if op == "neg" else None
        nodes = graph.nodes
        self.index = len(nodes)
        nodes.append(self)


Number: TypeAlias = Expr | float | int


@dataclass(eq=False)
class Statement:
    """One statement of the step, which belongs to a block."""

    block: int

    @property
    def needs(self) -> tuple[Expr, ...]:
        return ()


@dataclass(eq=False)
class Value(Statement):
    """A named expression."""

    expr: Op

    @property
    def needs(self) -> tuple[Expr, ...]:
        return self.expr.args


@dataclass(eq=False)
class Store(Statement):
    """A result of the tick."""

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
    after: tuple[Expr, ...] = ()  # results of earlier calls that change the state which this call reads

    @property
    def needs(self) -> tuple[Expr, ...]:
        return (*(a for a in self.arguments if isinstance(a, Expr)), *self.after)


@dataclass
class Graph:
    nodes: list[Expr] = field(default_factory=list)
    statements: list[Statement] = field(default_factory=list)
    blocks: list[str] = field(default_factory=list)
    provenance: dict[int, int] = field(default_factory=dict)  # {block: the link whose parameters it contains}
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
        return value if isinstance(value, Expr) else self._constant(value)

    def _constant(self, value: float) -> Const:
        value = float(value) + 0.0  # no negative zero
        found = self.constants.get(value)
        if found is None:
            found = self.constants[value] = Const(self, value)
        return found

    def input(self, array: str, index: int, part: str = "") -> Expr:
        """Argument of the tick."""
        place = Place(array, index, part)
        if place not in self.places:
            self.places[place] = Input(self, place)
        return self.places[place]

    def fixed(self, array: str, index: int, part: str, value: float) -> Expr:
        """Return the text of a number in a table. A zero is not read."""
        if value == 0.0:
            return self._constant(0.0)
        place = Place(array, index, part)
        if place not in self.places:
            self.places[place] = Fixed(self, place, value)
        return self.places[place]

    def neg(self, a: Expr) -> Expr:
        if isinstance(a, Const):
            return self.const(-a.value)
        return a.minus or self._node("neg", a)

    def inverse(self, a: Expr) -> Expr:
        """Return 1 / a."""
        return self._node("inverse", a)

    def add(self, a: Expr, b: Expr) -> Expr:
        if a.is_zero:
            return b
        if b.is_zero:
            return a
        if isinstance(a, Const) and isinstance(b, Const):
            return self.const(a.value + b.value)
        if b.minus:
            return self.neg(self.add(a.minus, b.minus)) if a.minus else self.sub(a, b.minus)
        if a.minus:
            return self.sub(b, a.minus)
        return self._node("add", a, b) if a.index <= b.index else self._node("add", b, a)

    def sub(self, a: Expr, b: Expr) -> Expr:
        if a is b:
            return self.const(0.0)
        if a.is_zero:
            return self.neg(b)
        if b.is_zero:
            return a
        if isinstance(a, Const) and isinstance(b, Const):
            return self.const(a.value - b.value)
        if b.minus:
            return self.add(a, b.minus)
        if a.minus:
            return self.neg(self.add(a.minus, b))
        opposite = self.table.get(("sub", b.index, a.index))
        return self._node("neg", opposite) if opposite else self._node("sub", a, b)

    def mul(self, a: Expr, b: Expr) -> Expr:
        if isinstance(a, Const):
            return self._scale(a, b)
        if isinstance(b, Const):
            return self._scale(b, a)
        if a.minus:
            return self.mul(a.minus, b.minus) if b.minus else self.neg(self.mul(a.minus, b))
        if b.minus:
            return self.neg(self.mul(a, b.minus))
        return self._node("mul", a, b) if a.index <= b.index else self._node("mul", b, a)

    def _scale(self, a: Const, b: Expr) -> Expr:
        """Return a constant times an expression."""
        if isinstance(b, Const):
            return self.const(a.value * b.value)
        if a.is_zero:
            return a
        if a.value == 1.0:
            return b
        if a.value < 0.0:
            return self.neg(self._scale(self._constant(-a.value), b))
        if b.minus:
            return self.neg(self._scale(a, b.minus))
        if isinstance(b, Op) and b.op == "mul" and isinstance(b.args[0], Const) and not b.name:
            return self._scale(self._constant(a.value * b.args[0].value), b.args[1])
        return self._node("mul", a, b)

    # ---- statements
    def block(self, title: str, of: int = -1) -> int:
        """Begin a new block of the C with this comment. of: the link whose parameters its numbers have."""
        self.blocks.append(title)
        self.current = len(self.blocks) - 1
        if of >= 0:
            self.provenance[self.current] = of
        return self.current

    def enter(self, block: int) -> int:
        """Continue in a different block, and return the present block."""
        left, self.current = self.current, block
        return left

    def bind(self, expr: Expr, name: str) -> Expr:
        """Give a computed expression a name.

        If the expression is a copy or negative of a named expression, the old name remains. A difference is reversed if
        this gives it the sign of the name. If a change of sign would cost an instruction, the expression keeps its
        sign, and the name says that the value is negated."""
        minus = expr.minus
        inner = minus or expr
        if isinstance(inner, Op) and not inner.name:
            inner.negated = minus is not None and inner.op == "sub"
            inner.name = f"{name}_neg" if minus and not inner.negated else name
            self.statements.append(Value(self.current, inner))
        return expr

    def output(self, array: str, index: int, expr: Expr) -> None:
        """Store a result. All expressions that the result needs are then live."""
        self.statements.append(Store(self.current, Place(array, index), expr))

    def call(self, function: Function, name: str, *arguments: Argument,
             after: tuple[Expr, ...] = ()) -> tuple[Expr, ...]:
        """Return the results of a function by members. name: common name of the results."""
        call = Call(self.current, function, name, arguments, after)
        self.statements.append(call)
        return tuple(Result(self, call, part) for part in function.parts or ("",))

    # ---- analysis
    def stored(self) -> dict[Place, Expr]:
        """Return the results and the state of the next tick."""
        return {s.place: s.expr for s in self.statements if isinstance(s, Store)}

    def live(self) -> tuple[set[int], set[Statement]]:
        """Return the indices of live expressions and live statements, by a backward search from the stores."""
        needed = bytearray(len(self.nodes))
        kept: set[Statement] = {
            s for s in self.statements if isinstance(s, Store) or isinstance(s, Call) and s.function.acts}
        for s in kept:
            for e in s.needs:
                needed[e.index] = 1
        for e in reversed(self.nodes):  # operands come before the node that uses them
            if needed[e.index]:
                for a in e.args:
                    needed[a.index] = 1
                if isinstance(e, Result) and e.call not in kept:
                    kept.add(e.call)
                    for a in e.call.needs:
                        needed[a.index] = 1
        kept.update(s for s in self.statements if isinstance(s, Value) and needed[s.expr.index])
        return {i for i, live in enumerate(needed) if live}, kept

    def inputs(self) -> set[str]:
        """Return the arrays, inputs and state, that live expressions read."""
        seen, kept = self.live()
        read = {e.place.array for i in seen if isinstance(e := self.nodes[i], Input) and not isinstance(e, Fixed)}
        return read | {a.array for s in kept if isinstance(s, Call) for a in s.arguments if isinstance(a, Place)}

    def cost(self) -> int:
        """Return the estimated instructions: one per operation, load, store and constant, and the functions' cost."""
        seen, kept = self.live()
        nodes, total = self.nodes, len(seen)
        for i in seen:
            total -= isinstance(e := nodes[i], Op) and e.op == "neg"
        for s in kept:
            total += s.function.cost if isinstance(s, Call) else isinstance(s, Store)
        return total


class Values:
    """Values of nodes, in the number type that `leaf` returns."""

    def __init__(self, leaf: Callable[[Expr], Any]) -> None:
        self.leaf = leaf  # gives the value of a node without operands
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

