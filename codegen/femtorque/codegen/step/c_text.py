"""Conversion of a graph of expressions to C: one statement per named live value, block by block.

Only this module knows how a node is written in C: names of arrays and frames, units of positions, signs, literals."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from femtorque.codegen.step.graph import (
    Argument, Call, Const, Expr, Graph, Input, Op, Place, Result, Statement, Store, Value)

WIDTH = 76  # columns, excluding the indentation of a function
DIGITS = 14  # digits of a constant; further digits depend on the computer's linear-algebra library
LITERAL = re.compile(r"\bFT_C\((-?[0-9.]+(?:e[-+]?[0-9]+)?)\)")  # a constant in the C
SHORT, AGREEING = 9, 12  # a number with SHORT digits replaces a constant if both agree to AGREEING digits

METRE, TURN = "FT_METRE_UNIT", "FT_TURN_UNIT"


@dataclass
class Block:
    """Consecutive lines of C with one comment."""

    comment: str
    lines: list[str]
    provenance: list[str] = field(default_factory=list)  # text about the parameters behind the block's numbers


@dataclass(frozen=True)
class Names:
    """C names of a graph's variables."""

    structs: Mapping[str, str] = field(default_factory=dict)  # structs of which the arrays are members
    results: str = ""  # struct of all results
    units: Sequence[str] = ()  # units of positions, one per joint
    whole: str = "q_next"  # array of the integer positions
    frames: Mapping[int, int] = field(default_factory=dict)  # numbers of rotating frames in the state

    def result(self, place: Place) -> str:
        return (self.results if place.array not in self.structs else "") + self.of(place)

    def of(self, place: Place) -> str:
        array, index = place.array, place.index
        if array == "q":
            return f"(ft_real){self.whole}[{index}] * {self.units[index]}"
        if array == "turn":
            index = self.frames[index]
        text = self.structs.get(array, "") + array + (f"[{index}]" if index >= 0 else "")
        return f"{text}.{place.part}" if place.part else text


def unit_of(prismatic: bool) -> str:
    """Return the C name of a position's unit, rad or m."""
    return METRE if prismatic else TURN


class Printer:
    """Printer of a graph."""

    def __init__(self, graph: Graph, names: Names | None = None, provenance: Sequence[list[str]] = ()) -> None:
        """Print the graph as C. provenance: the C's comment on each link's parameters."""
        self.graph, self.names = graph, names or Names()
        self.seen, self.live = graph.live()
        self.defining = {s.expr.index: s for s in graph.statements if isinstance(s, Value) and s in self.live}
        self.wanted = {e.call for i in self.seen if isinstance(e := graph.nodes[i], Result)}
        self.shared = self._shared()
        self.printed: set[Statement] = set()
        self.called: dict[int, str] = {}  # {index: name}, where the name differs from the graph's name
        self.blocks: list[Block] = []  # live statements in order
        for number, title in enumerate(graph.blocks):
            lines = [line for s in graph.statements if s in self.live and s.block == number for line in self._lines(s)]
            if lines:
                said = provenance[graph.provenance[number]] if provenance and number in graph.provenance else []
                self.blocks.append(Block(title, lines, provenance=said))

    def _shared(self) -> dict[int, str]:
        """Return names for unnamed expressions that are used more than once."""
        uses: dict[int, int] = {}
        operands = [a for i in self.seen for a in self.graph.nodes[i].args]
        for e in operands + [e for s in self.live if not isinstance(s, Value) for e in s.needs]:
            uses[e.index] = uses.get(e.index, 0) + 1
        more = [e for i in sorted(uses) if uses[i] > 1 and isinstance(e := self.graph.nodes[i], Op) and e.op != "neg"]
        again = {e.index: e.call.name for i in uses if uses[i] > 1 and isinstance(e := self.graph.nodes[i], Result)
                 and e.in_state}
        return again | {e.index: f"k{number}" for number, e in enumerate((e for e in more if not e.name), 1)}

    # ---- statements
    def _lines(self, s: Statement) -> list[str]:
        """Return the lines of a statement, after the lines of operands that are not printed yet."""
        if s in self.printed:
            return []
        self.printed.add(s)
        lines = [line for operand in s.needs for line in self._defined(operand)]
        return lines + wrapped_c(self._statement(s))

    def _statement(self, s: Statement) -> str:
        if isinstance(s, Value):
            return f"const ft_real {s.expr.name} = {self._value(s.expr)};"
        if isinstance(s, Store):
            return f"{self.names.result(s.place)} = {self.text(s.expr)};"
        assert isinstance(s, Call)
        called = f"{s.function.name}({', '.join(map(self._argument, s.arguments))});"
        if s in self.wanted and s.function.returns != "void":
            return f"const {s.function.returns} {s.name} = {called}"
        return called if s.function.returns == "void" else f"(void){called}"

    def _argument(self, a: Argument) -> str:
        if isinstance(a, Place):
            return f"&{self.names.of(a)}"
        return f"{a}u" if isinstance(a, int) else self.text(a)

    def _defined(self, e: Expr) -> list[str]:
        """Return the lines that define an operand, if they are not printed yet."""
        if e.index in self.defining:
            return self._lines(self.defining[e.index])
        if isinstance(e, Result):
            return self._lines(e.call) + self._loaded(e)
        if e.index in self.called:
            return []
        lines = [line for a in e.args for line in self._defined(a)]
        if e.index in self.shared:
            value = self._value(e)
            self.called[e.index] = self.shared[e.index]
            lines += wrapped_c(f"const ft_real {self.shared[e.index]} = {value};")
        return lines

    def _loaded(self, e: Result) -> list[str]:
        """Load a number of the state that is used more than once."""
        if e.index not in self.shared or e.index in self.called:
            return []
        line = f"const ft_real {self.shared[e.index]} = {self._name(e)};"
        self.called[e.index] = self.shared[e.index]
        return wrapped_c(line)

    # ---- expressions
    def text(self, e: Expr) -> str:
        return _with_sign(*self._signed(e))

    def _value(self, e: Expr) -> str:
        """Return the C text of the value that a name denotes."""
        minus, text, kind = self._formula(e, e.negated)
        return self._all_negative(e) if minus and kind == "sum" else _with_sign(minus, text, kind)

    def _all_negative(self, e: Expr) -> str:
        """Return a sum's negative. The negated sum begins with a product, because a product's sign costs no
        instruction."""
        (_, a, kind_a), (_, b, kind_b) = sorted(map(self._signed, e.args), key=lambda part: part[2] != "product")
        return f"-{f'({a})' if kind_a == 'sum' else a} - {f'({b})' if kind_b == 'sum' else b}"

    def _name(self, e: Expr) -> str:
        """Return the C name of a value, or "" for a value without a statement."""
        if e.index in self.called:
            return self.called[e.index]
        if isinstance(e, Result):
            if e.in_state:
                return self.names.of(e.in_state)
            return f"{e.call.name}.{e.part}" if e.part else e.call.name
        return self.names.of(e.place) if isinstance(e, Input) else e.name

    def _signed(self, e: Expr) -> tuple[bool, str, str]:
        """Return a text for an expression or for its negative (True), and the text's type: sum, product or atom."""
        if name := self._name(e):
            return e.negated, name, "atom"
        if isinstance(e, Const):
            return e.value < 0.0, literal(abs(e.value)), "atom"
        return self._formula(e)

    def _formula(self, e: Expr, negate: bool = False) -> tuple[bool, str, str]:
        """Return sign, text and type of an unnamed operation."""
        assert isinstance(e, Op)
        if e.op == "neg":
            minus, text, kind = self._signed(e.args[0])
            return minus == negate, text, kind
        if e.op == "inverse":
            minus, text, kind = self._signed(e.args[0])
            return minus != negate, f"{literal(1.0)} / {_atom(text, kind)}", "product"
        (minus_a, a, kind_a), (minus_b, b, kind_b) = map(self._signed, e.args)
        minus_a ^= negate
        if e.op == "mul" and a == literal(1.0):  # to rounding
            return minus_a != minus_b, b, kind_b
        if e.op == "mul":
            return minus_a != minus_b, f"{_atom(a, kind_a)} * {_atom(b, kind_b)}", "product"
        minus_b ^= negate ^ (e.op == "sub")
        if minus_a and not minus_b:
            minus_a, minus_b, a, b, kind_a, kind_b = minus_b, minus_a, b, a, kind_b, kind_a
        return minus_a, f"{a} {'+' if minus_a == minus_b else '-'} {f'({b})' if kind_b == 'sum' else b}", "sum"


def _with_sign(minus: bool, text: str, kind: str) -> str:
    return text if not minus else f"-({text})" if kind == "sum" else f"-{text}"


def _atom(text: str, kind: str) -> str:
    return text if kind == "atom" else f"({text})"


def literal(value: float) -> str:
    """Return a literal with 14 digits, in the selected precision.

    If a shorter number differs from it only by rounding, this number replaces it."""
    size = abs(float(value))
    short = float(f"{size:.{SHORT}g}")
    shown = repr(short if short == float(f"{size:.{AGREEING}g}") else float(f"{size:.{DIGITS}g}"))
    if "e" not in shown and "." not in shown:
        shown += ".0"
    return f"{'-' if value < 0.0 else ''}FT_C({shown})"


def wrapped_c(line: str, room: int = WIDTH) -> list[str]:
    """Return a statement as lines of at most `room` columns, broken before operators and after the commas of calls."""
    lines = []
    while len(line) > room:
        cut = max(line.rfind(operator, 0, room - 1) for operator in (" + ", " - "))
        cut = max(cut, line.rfind(", ", 0, room - 1) + 1)
        if cut <= 8:
            break
        lines.append(line[:cut])
        line = f"    {line[cut + 1 :]}"
    return [*lines, line]
