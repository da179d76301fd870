"""An interpreter that runs emitted C over intervals, operation by operation, and so bounds its floating-point results.

A single-precision number is represented by an interval. The ends of an interval are rounded as on the chip. Rounding
never changes the order of two numbers. So the results at the ends bound the results for all numbers between the ends.
An angle may have any value. All further values are single integers. Code that the interpreter does not know, a division
by an interval that contains zero, and an overflow are errors."""

from __future__ import annotations

import copy
import math
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pycparser import c_ast, c_parser

TRIG = 1.0 + 1.8e-7  # bound of a cosine or sine: theorem angles_sines
ROTATION = 1.0 + 2e-6  # bound of a rotation's cosine and sine: theorem rotation_bounds,
ROTATED = 1e6  # and the largest rotated number in that theorem
WORD = 0xFFFFFFFF
ROUNDS = 1000  # number of ticks after which bounds must hold
HEADERS = {
    "stdint.h": "typedef signed char int8_t; typedef unsigned char uint8_t; typedef short int16_t;\n"
                "typedef unsigned short uint16_t; typedef int int32_t; typedef unsigned int uint32_t;\n"
                "typedef long long int64_t; typedef unsigned long long uint64_t;\n"
                "#define INT64_C(x) x##LL\n#define UINT64_C(x) x##ULL\n#define UINT32_C(x) x##U\n",
    "stdbool.h": "typedef _Bool bool;\n#define true 1\n#define false 0\n",
    "stddef.h": "typedef unsigned int size_t;\n",
    "string.h": "void *memcpy(void *to, const void *from, unsigned int size);\n",
}


class Unbounded(Exception):
    """A number has no bound, or the interpreter does not know the C."""


class _Any:
    """An unknown angle."""

    def __deepcopy__(self, memo: object) -> _Any:
        return self


ANY = _Any()


def single(x: float) -> float:
    """Round to single precision."""
    try:
        return float(struct.unpack("<f", struct.pack("<f", x))[0])
    except OverflowError:
        raise Unbounded("a number may be too large") from None


@dataclass(frozen=True)
class Interval:
    """An interval."""

    low: float
    high: float
    apart: float = 0.0  # the minimum distance of its numbers from zero

    def __add__(self, b: Interval) -> Interval:
        return Interval(single(self.low + b.low), single(self.high + b.high))

    def __sub__(self, b: Interval) -> Interval:
        return Interval(single(self.low - b.high), single(self.high - b.low))

    def __neg__(self) -> Interval:
        return Interval(-self.high, -self.low)

    def __mul__(self, b: Interval) -> Interval:
        ends = [self.low * b.low, self.low * b.high, self.high * b.low, self.high * b.high]
        return Interval(single(min(ends)), single(max(ends)))

    def __truediv__(self, b: Interval) -> Interval:
        if b.low <= 0.0 <= b.high:
            if not b.apart:
                raise Unbounded("a divisor may be nothing")
            return about(self.size / b.apart)
        ends = [self.low / b.low, self.low / b.high, self.high / b.low, self.high / b.high]
        return Interval(single(min(ends)), single(max(ends)))

    def joined(self, b: Interval) -> Interval:
        return Interval(min(self.low, b.low), max(self.high, b.high))

    def holds(self, b: Interval) -> bool:
        return self.low <= b.low and b.high <= self.high

    @property
    def size(self) -> float:
        return max(abs(self.low), abs(self.high))


def about(bound: float) -> Interval:
    return Interval(-single(bound), single(bound))


def carried(P: Interval, now: Interval) -> Interval:
    """Return P + (now - P). With plain interval arithmetic this sum would grow without limit.

    The sum is `now`, except for two roundings: (now - P) (1 + e) + P is now + (now - P) e, rounded again, with e <=
    2^-24."""
    off = 2.0**-23 * (now.size + P.size) * (1.0 + 2.0**-20)
    return Interval(single((now.low - off) * (1.0 + math.copysign(2.0**-23, off - now.low))),
                    single((now.high + off) * (1.0 + math.copysign(2.0**-23, now.high + off))))


EITHER = object()  # result of a comparison of floating-point numbers: true or false
RETURNED = "(returned)"  # key for early return values of a function; not a name in C


class _Return(Exception):
    def __init__(self, value: Any) -> None:
        self.value = value


class Program:
    """Preprocessed C. A struct is represented by a dictionary, an array by a list, a pointer by its target."""

    def __init__(self, text: str) -> None:
        tree = c_parser.CParser().parse(text)
        self.functions = {node.decl.name: node for node in tree.ext if isinstance(node, c_ast.FuncDef)}
        self.types = {node.name: node.type for node in tree.ext if isinstance(node, c_ast.Typedef)}
        self.enums: dict[str, int] = {}
        for node in tree.ext:
            self._enumerate(getattr(node, "type", None))
        self.operations = 0
        self.own: dict[str, Callable[..., Any]] = {
            "ft_cos_sin": lambda angle: {"c": about(TRIG), "s": about(TRIG)}, "ft_sin": lambda angle: about(TRIG)}
        self.constants = {node.name: node for node in tree.ext
                          if isinstance(node, c_ast.Decl) and node.init is not None}
        self.globals: dict[str, Any] = {}

    def _enumerate(self, kind: Any) -> None:
        kind = getattr(kind, "type", kind)
        if isinstance(kind, c_ast.Enum) and kind.values:
            at = 0
            for item in kind.values.enumerators:
                at = int(self.value(item.value, {})) if item.value else at
                self.enums[item.name] = at
                at += 1

    # ---- types and initial values -------------------------------------------------------------------------------

    def resolved(self, kind: Any) -> Any:
        """Return a declaration's type without typedefs, "float" or "int" for a number."""
        if isinstance(kind, c_ast.TypeDecl):
            return self.resolved(kind.type)
        if isinstance(kind, c_ast.IdentifierType):
            name = kind.names[-1]
            return self.resolved(self.types[name].type) if name in self.types else (
                "float" if name in ("float", "double") else "int")
        return "int" if isinstance(kind, c_ast.Enum) else kind

    def blank(self, kind: Any) -> Any:
        """Return the value of an unset variable, which may not be read as a number."""
        kind = self.resolved(kind)
        if isinstance(kind, c_ast.ArrayDecl):
            return [self.blank(kind.type) for _ in range(int(self.value(kind.dim, {})))]
        if isinstance(kind, c_ast.Struct):
            return {item.name: self.blank(item.type) for item in kind.decls}
        return None

    def initial(self, kind: Any, init: Any, names: dict[str, Any]) -> Any:
        kind = self.resolved(kind)
        if not isinstance(init, c_ast.InitList):
            return copy.deepcopy(self.value(init, names)) if not isinstance(kind, c_ast.PtrDecl) else self.value(
                init, names)
        if isinstance(kind, c_ast.ArrayDecl):
            return [self.initial(kind.type, item, names) for item in init.exprs]
        whole, members = self.blank(kind), {item.name: item.type for item in kind.decls}
        for name, item in self._members(init, members):
            whole[name] = self.initial(members[name], item, names)
        return whole

    @staticmethod
    def _members(init: Any, members: dict[str, Any]) -> Iterator[tuple[str, Any]]:
        for place, item in zip(members, init.exprs, strict=False):
            if isinstance(item, c_ast.NamedInitializer):
                yield item.name[0].name, item.expr
            else:
                yield place, item

    # ---- expressions ---------------------------------------------------------------------------------------------

    def value(self, node: Any, names: dict[str, Any]) -> Any:
        return getattr(self, f"_{type(node).__name__.lower()}")(node, names)

    def _constant(self, node: Any, names: dict[str, Any]) -> Any:
        if node.type in ("float", "double"):
            x = single(float(node.value.rstrip("fF")))
            return Interval(x, x)
        return int(node.value.rstrip("uUlL"), 0)

    def _id(self, node: Any, names: dict[str, Any]) -> Any:
        if node.name not in names and node.name in self.constants and node.name not in self.globals:
            constant = self.constants[node.name]
            self.globals[node.name] = self.initial(constant.type, constant.init, {})
        for known in (names, self.globals, self.enums):
            if node.name in known:
                if known[node.name] is None:
                    raise Unbounded(f"{node.name} is read before it has a value")
                return known[node.name]
        raise Unbounded(f"{node.name} is not known")

    def _structref(self, node: Any, names: dict[str, Any]) -> Any:
        found = self.value(node.name, names)[node.field.name]
        if found is None:
            raise Unbounded(f"{node.field.name} is read before it has a value")
        return found

    def _arrayref(self, node: Any, names: dict[str, Any]) -> Any:
        found = self.value(node.name, names)[self.value(node.subscript, names)]
        if found is None:
            raise Unbounded("an entry is read before it has a value")
        return found

    def _cast(self, node: Any, names: dict[str, Any]) -> Any:
        value = self.value(node.expr, names)
        kind = self.resolved(node.to_type.type)
        if value is ANY or (isinstance(value, Interval) == (kind == "float")):
            return value
        if kind == "float":
            return Interval(single(float(value)), single(float(value)))
        if kind == "int":
            raise Unbounded("a real is converted to a whole number")
        return value

    def _unaryop(self, node: Any, names: dict[str, Any]) -> Any:
        if node.op in ("p++", "++"):
            before = self.value(node.expr, names)
            self.put(node.expr, before + 1, names)
            return before
        value = self.value(node.expr, names)
        if node.op in ("&", "*") and isinstance(value, (dict, list)):
            return value
        if value is ANY:
            return ANY
        operations: dict[str, Callable[[Any], Any]] = {
            "-": lambda x: -x, "+": lambda x: x, "~": lambda x: ~x & WORD, "!": lambda x: int(not x)}
        if node.op not in operations or (isinstance(value, Interval) and node.op != "-"):
            raise Unbounded(f"{node.op} is not understood")
        return operations[node.op](value)

    def _binaryop(self, node: Any, names: dict[str, Any]) -> Any:
        a, b = self.value(node.left, names), self.value(node.right, names)
        if a is ANY or b is ANY:
            return ANY
        if isinstance(a, Interval) != isinstance(b, Interval):
            raise Unbounded("a real meets a whole number")
        if isinstance(a, Interval):
            self.operations += 1
            real: dict[str, Callable[[Any, Any], Interval]] = {
                "+": Interval.__add__, "-": Interval.__sub__, "*": Interval.__mul__, "/": Interval.__truediv__}
            if node.op in real:
                return real[node.op](a, b)
            if node.op not in ("<", ">"):
                raise Unbounded(f"reals are compared by {node.op}")
            low, high = (a, b) if node.op == "<" else (b, a)
            return 1 if low.high < high.low else 0 if low.low >= high.high else EITHER
        return _whole(node.op, a, b)

    def _ternaryop(self, node: Any, names: dict[str, Any]) -> Any:
        met = self.value(node.cond, names)
        if met is EITHER:
            one, other = (self.value(node.iftrue if met else node.iffalse, self._where(node.cond, met, names))
                          for met in (True, False))
            return one.joined(other)
        return self.value(node.iftrue if self._sure(met) else node.iffalse, names)

    def _funccall(self, node: Any, names: dict[str, Any]) -> Any:
        arguments: Sequence[Any] = node.args.exprs if node.args else ()
        if node.name.name == "ft_carry":
            P, now = arguments[0].expr, self.value(arguments[1], names)
            return self.put(P, carried(self.value(P, names), now), names)
        given = [self.value(item, names) for item in arguments]
        return self.call(node.name.name, *given)

    def _assignment(self, node: Any, names: dict[str, Any]) -> Any:
        self._refuse(node, names)
        value = self.value(node.rvalue, names)
        if node.op != "=":
            value = self.value(c_ast.BinaryOp(node.op[:-1], node.lvalue, node.rvalue), names)
        self.put(node.lvalue, value, names)
        return value

    def _refuse(self, node: Any, names: dict[str, Any]) -> None:
        """Bound |x| from below by `margin[d] = x * x - least`, because a step needs a positive margin."""
        place, kept = node.lvalue, node.rvalue
        if not (isinstance(place, c_ast.ArrayRef) and isinstance(place.name, c_ast.StructRef)
                and place.name.field.name == "margin"):
            return
        square, least = kept.left, self.value(kept.right, names)
        if kept.op != "-" or square.op != "*" or square.left.name != square.right.name:
            raise Unbounded("how far from singular is not understood")
        x = names[square.left.name]
        names[square.left.name] = Interval(x.low, x.high, math.sqrt(least.low) * (1.0 - 1e-6))

    def put(self, place: Any, value: Any, names: dict[str, Any]) -> None:
        value = copy.deepcopy(value) if isinstance(value, dict) else value
        if isinstance(place, c_ast.ID):
            names[place.name] = value
        elif isinstance(place, c_ast.StructRef):
            self.value(place.name, names)[place.field.name] = value
        elif isinstance(place, c_ast.ArrayRef):
            self.value(place.name, names)[self.value(place.subscript, names)] = value
        else:
            raise Unbounded("what is assigned to is not understood")

    def _where(self, cond: Any, met: bool, names: dict[str, Any]) -> dict[str, Any]:
        """Return the names with their bounds after a comparison `name < bound` or `name > bound` that gave `met`."""
        if not isinstance(cond.left, c_ast.ID):
            return dict(names)
        it, bound = names[cond.left.name], self.value(cond.right, names)
        below = (cond.op == "<") is met
        return names | {cond.left.name: Interval(it.low, min(it.high, bound.high)) if below
                        else Interval(max(it.low, bound.low), it.high)}

    def _known(self, node: Any, names: dict[str, Any]) -> bool:
        return self._sure(self.value(node, names))

    def _sure(self, found: Any) -> bool:
        if not isinstance(found, int):
            raise Unbounded("what is done depends on a real or on an angle")
        return bool(found)

    # ---- statements ----------------------------------------------------------------------------------------------

    def call(self, name: str, *given: Any) -> Any:
        if name in self.own:
            return self.own[name](*given)
        function = self.functions[name]
        parameters = function.decl.type.args.params if function.decl.type.args else ()
        names = {parameter.name: value for parameter, value in zip(parameters, given, strict=False)}
        try:
            self.run(function.body, names)
        except _Return as done:
            for other in names.get(RETURNED, ()):
                done.value = done.value.joined(other)
            return done.value
        return None

    def _perhaps(self, node: Any, names: dict[str, Any]) -> None:
        """Record a return that may happen here. The returned value is joined with the value at the end of the function.
        """
        body = node.iftrue.block_items if isinstance(node.iftrue, c_ast.Compound) else [node.iftrue]
        if node.iffalse is not None or len(body) != 1 or not isinstance(body[0], c_ast.Return):
            raise Unbounded("what is done depends on a real")
        names.setdefault(RETURNED, []).append(self.value(body[0].expr, self._where(node.cond, True, names)))
        names.update(self._where(node.cond, False, names))

    def run(self, node: Any, names: dict[str, Any]) -> None:
        if isinstance(node, c_ast.Compound):
            for item in node.block_items or ():
                self.run(item, names)
        elif isinstance(node, c_ast.Decl):
            names[node.name] = (self.blank(node.type) if node.init is None
                                else self.initial(node.type, node.init, names))
        elif isinstance(node, c_ast.DeclList):
            for item in node.decls:
                self.run(item, names)
        elif isinstance(node, c_ast.If):
            met = self.value(node.cond, names)
            if met is EITHER:
                self._perhaps(node, names)
                return
            branch = node.iftrue if self._sure(met) else node.iffalse
            if branch is not None:
                self.run(branch, names)
        elif isinstance(node, c_ast.For):
            self.run(node.init, names)
            while self._known(node.cond, names):
                self.run(node.stmt, names)
                self.run(node.next, names)
        elif isinstance(node, c_ast.Switch):
            self._switch(node, names)
        elif isinstance(node, c_ast.Return):
            raise _Return(self.value(node.expr, names) if node.expr else None)
        elif not isinstance(node, c_ast.EmptyStatement):
            self.value(node, names)

    def _switch(self, node: Any, names: dict[str, Any]) -> None:
        """Run a switch whose cases all return."""
        chosen = self.value(node.cond, names)
        for item in node.stmt.block_items:
            if isinstance(item, c_ast.Default) or self.value(item.expr, names) == chosen:
                for statement in item.stmts:
                    self.run(statement, names)
                raise Unbounded("a case does not return")


def _whole(op: str, a: int, b: int) -> int:
    operations: dict[str, Callable[[int, int], int]] = {
        "+": lambda x, y: x + y, "-": lambda x, y: x - y, "*": lambda x, y: x * y, "&": lambda x, y: x & y,
        "|": lambda x, y: x | y, "^": lambda x, y: x ^ y, "<<": lambda x, y: x << y & WORD, ">>": lambda x, y: x >> y,
        "<": lambda x, y: int(x < y), ">": lambda x, y: int(x > y), "==": lambda x, y: int(x == y),
        "<=": lambda x, y: int(x <= y), ">=": lambda x, y: int(x >= y), "!=": lambda x, y: int(x != y)}
    if op not in operations:
        raise Unbounded(f"{op} is not understood")
    return operations[op](a, b)


# -- states of a step --------------------------------------------------------------------------------------------------


def _both(of: Callable[[Interval, Interval], Any], a: Any, b: Any) -> Any:
    """Join two states, number by number."""
    if isinstance(a, dict):
        return {name: _both(of, a[name], b[name]) for name in a}
    if isinstance(a, list):
        return [_both(of, x, y) for x, y in zip(a, b, strict=True)]
    return of(a, b) if isinstance(a, Interval) else a


def _numbers(state: Any) -> Iterator[Interval]:
    if isinstance(state, Interval):
        yield state
    elif isinstance(state, (dict, list)):
        for item in state.values() if isinstance(state, dict) else state:
            yield from _numbers(item)


def _joined(a: Interval, b: Interval) -> Interval:
    return a.joined(b)


def _within(wide: Any, narrow: Any) -> bool:
    return all(a.holds(b) for a, b in zip(_numbers(wide), _numbers(narrow), strict=True))


def bounds(text: str) -> tuple[list[float], int]:
    """Return the largest torque of each joint, N m or N, and the number of operations, for the step in a harness.

    The harness has the functions begin(state), tick(state, torque) and again(state). The bounds hold for all states
    that these functions can reach. For closed loops they hold in all poses that are not refused. Raise Unbounded if a
    number has no bound."""
    program = Program(text)
    program.own["within"] = lambda bound: about(bound.size)
    program.own["any_angle"] = lambda: ANY
    state = program.blank(program.types["ft_step_state"])
    program.call("begin", state)
    if "loop" in state:
        return _of_loops(program, state), program.operations
    known: dict[int, Any] = {state["exact"]: state}
    for _ in range(ROUNDS):
        program.operations = 0
        found, torque = _followed(program, known)
        if known.keys() == found.keys() and all(_within(known[phase], found[phase]) for phase in found):
            return torque, program.operations
        known = {phase: _both(_joined, known.get(phase, found[phase]), found[phase]) for phase in found}
    raise Unbounded("no bounds hold from tick to tick")


def _rotation(a: Interval, b: Interval) -> dict[str, Interval]:
    if max(a.size, b.size) > ROTATED:
        raise Unbounded("what is rotated may be too large")
    return {"c": about(ROTATION), "s": about(ROTATION)}


def _of_loops(program: Program, state: Any) -> list[float]:
    """Return the torques of closed loops in a tick from any valid pose, with the previous tick's sines and cosines."""
    swing = program.value(c_ast.ID("swing"), {})

    def holds(s: Any) -> int:
        """Bound |velocity + acceleration| by a swing, because a tick with a larger value is refused."""
        loop = s["loop"]
        most = [about((swing.high + velocity.size) * (1.0 + 1e-6)) for velocity in loop["velocity"]]
        loop["acceleration"] = [b if x.holds(b) else x for x, b in zip(loop["acceleration"], most, strict=True)]
        return 1

    program.own |= {"ft_rotation": _rotation, "ft_holds": holds, "ft_moved": lambda *_: ANY}
    for _ in range(ROUNDS):
        program.operations = 0
        after, asked = copy.deepcopy(state), program.blank(program.types["all_torques"])
        program.call("tick", after, asked)
        if _within(state["tree"], after["tree"]):
            return [x.size for x in asked]
        state["tree"] = _both(_joined, state["tree"], after["tree"])
    raise Unbounded("no bounds hold from tick to tick")


def _followed(program: Program, known: dict[int, Any]) -> tuple[dict[int, Any], list[float]]:
    """Return the states after one tick, with and without exact sines and cosines of frames, and the torques."""
    found: dict[int, Any] = {}
    torque: list[float] = []
    for phase in list(known):
        after = copy.deepcopy(known[phase])
        asked = program.blank(program.types["all_torques"])
        program.call("tick", after, asked)
        torque = [max(a, b.size) for a, b in zip(torque or [0.0] * len(asked), asked, strict=True)]
        again = copy.deepcopy(after)
        program.call("again", again)
        for state in (after, again):
            at = state["exact"]
            found[at] = _both(_joined, found[at], state) if at in found else state
    if not all(math.isfinite(x) for x in torque):
        raise Unbounded("a torque has no bound")
    return found, torque
