"""Mutants of the application's C by rule. Each mutant removes one element of a check.

All mutants of all files are compiled into one library ("mutant schemata"). `ft_mutant` selects the active mutant; 0
selects no mutant. `ft_mutant_hit` records mutants whose value would have differed. A test in which a mutant's value
never differs cannot kill that mutant.

always, never         a condition, or an operand of && and || in the way that drops it
boundary              < for <=, > for >= and the other way round
one round less        a loop that misses the last joint, row or sample
left out              a statement that calls, assigns or counts; an entry of a table of functions; a case of a switch

Some code is not mutated: declarations, conditions that only contain constants of the build, and FT_STORED() and
FT_ONE_ADDRESS(), which only affect the compiler. Code for the plant at the host (FT_PIL) is not mutated, because only
tests of the virtual board execute it. Code in double precision is not mutated, because no tested application has it.
Code for drives on buses is mutated only in OF_DRIVES."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache

OF_DRIVES = {"ft_bus.c"}
_TOKEN = r"""
    (?P<skip> \s+ | ^\#if\ (?:@)\n(?:^\#if\ .*?^\#endif | (?!^\#if\ ).)*?^\#endif
      | FT_IF\(FT_DRIVES,[^()]*\)
      | ^\#ifdef\ FT_REAL_IS_DOUBLE\n.*?^\#(?:else|endif)
      | /\*.*?\*/ | //[^\n]* | ^[ \t]*\#(?:\\\n|[^\n])* )
  | (?P<name> [A-Za-z_]\w* )
  | (?P<other> "(?:\\.|[^"])*" | '(?:\\.|[^'])*' | [0-9](?:[eEpP][+-]|[\w.])*
      | <<=|>>=|->|\+\+|--|<<|>>|[-+*/%&|^=!<>]=|&&|\|\||.)
"""
TOKEN, TOKEN_OF_DRIVES = (re.compile(_TOKEN.replace("@", left_out), re.VERBOSE | re.DOTALL | re.MULTILINE)
                          for left_out in (r"FT_PIL|FT_DRIVES|FT_BUS_DRIVES\ >\ 0", "FT_PIL"))

ASSIGNMENTS = {"=", "+=", "-=", "*=", "/=", "|=", "&=", "^=", "<<=", ">>=", "%="}
COMPARISONS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
PAIRS = {"(": ")", "[": "]", "{": "}"}
UNCHANGED = {"FT_STORED", "FT_ONE_ADDRESS",
             # functions without an effect in tested applications
             "hear", "find", "tell", "send_drives", "send_drive", "on_sense", "forget_plant"}
WRAPPERS = {"!", "FT_RARELY"}  # macros and operators around a condition

RUNTIME = {
    "ft_mutate.h": """\
#ifndef FT_MUTATE_H
#define FT_MUTATE_H
#include <stdint.h>

extern uint32_t ft_mutant;
extern uint8_t ft_mutant_hit[];

static inline int ft_mutate(uint32_t id, int was, int is)
{
    if (!was != !is)
        ft_mutant_hit[id] = 1;
    return ft_mutant == id ? is : was;
}

static inline int64_t ft_mutate_case(uint32_t id, int64_t label, int64_t value)
{
    return value == label && ft_mutate(id, 1, 0) == 0 ? -1 : value;
}

#define FT_BOUNDARY(id, a, was, is, b) __extension__({ \\
    const __auto_type a_ = (a); const __auto_type b_ = (b); ft_mutate(id, a_ was b_, a_ is b_); })
#define FT_ROUNDS(id, a, was, b) __extension__({ \\
    const __auto_type a_ = (a); const __auto_type b_ = (b); \\
    ft_mutate(id, a_ was b_, a_ was b_ && a_ + 1 != b_ && a_ != b_ + 1); })
#endif
""",
    "ft_mutate.c": """\
#include "ft_mutate.h"
uint32_t ft_mutant;
uint8_t ft_mutant_hit[@];
""",
}
CDEF = "extern uint32_t ft_mutant; extern uint8_t ft_mutant_hit[@];"


@dataclass(frozen=True)
class Mutant:
    """One change of the code."""

    file: str
    function: str
    text: str
    what: str
    nth: int = 1  # number of the occurrence of an equal text in the function

    def __str__(self) -> str:
        again = f" ({self.nth})" if self.nth > 1 else ""
        return f"{self.function}: {self.text}: {self.what}{again}"


@dataclass(frozen=True)
class Function:
    """A function: "void" or "value", its parameters as written, their names, and false for an empty body."""

    returns: str
    parameters: str
    names: list[str]
    acts: bool


@dataclass(frozen=True)
class Token:
    text: str
    start: int
    end: int
    is_name: bool


def tokens(text: str, of_drives: bool = False) -> list[Token]:
    found = (TOKEN_OF_DRIVES if of_drives else TOKEN).finditer(text)
    return [Token(m.group(), m.start(), m.end(), m.lastgroup == "name") for m in found if m.lastgroup != "skip"]


class Mutator:
    """A walk through one file, from outer to inner expressions, that inserts mutants into its text."""

    def __init__(self, file: str, text: str, numbers: dict[Mutant, int] | None = None) -> None:
        self.file, self.text, self.numbers = file, text, numbers
        self.t = tokens(text, file in OF_DRIVES)
        self.match = self._matching()
        self.found: list[Mutant] = []
        self.before: dict[int, list[str]] = {}
        self.after: dict[int, list[str]] = {}
        self.instead: dict[int, tuple[int, str]] = {}
        self.function = ""
        self.functions: dict[str, Function] = {}
        self._file()

    def mutated(self) -> str:
        """Return the text with all mutants."""
        out = ['#include "ft_mutate.h"\n']
        places = sorted({0, len(self.text), *self.before, *self.after, *self.instead})
        for at, upto in zip(places, [*places[1:], len(self.text)], strict=True):
            end, replaced = self.instead.get(at, (at, ""))
            out += [*self.after.get(at, []), *self.before.get(at, []), replaced, self.text[end:upto]]
        return "".join(out)

    # ---- mutants

    def _mutant(self, what: str, lo: int, hi: int) -> int | None:
        """Return the number of a new mutant of tokens lo..hi-1."""
        text = " ".join(self.text[self.t[lo].start:self.t[hi - 1].end].split())
        mutant = Mutant(self.file, self.function, text, what)
        nth = 1 + sum(m.text == text and m.what == what and m.function == self.function for m in self.found)
        mutant = Mutant(self.file, self.function, text, what, nth)
        self.found.append(mutant)
        return self.numbers.get(mutant) if self.numbers is not None else None

    def _wrap(self, lo: int, hi: int, before: str, after: str) -> None:
        self.before.setdefault(self.t[lo].start, []).append(before)
        self.after.setdefault(self.t[hi - 1].end, []).insert(0, after)

    def _force(self, lo: int, hi: int, kinds: Iterable[str]) -> None:
        for what in kinds:
            if number := self._mutant(what, lo, hi):
                self._wrap(lo, hi, f"ft_mutate({number}, !!(", f"), {int(what == 'always')})")

    def _rounds(self, lo: int, hi: int) -> None:
        """Mutate the bound of a loop condition, a < b or a > b."""
        ops = [i for i in self._top(lo, hi) if self.t[i].text in ("<", ">")]
        if ops and (number := self._mutant("one round less", lo, hi)):
            self._wrap(lo, hi, f"FT_ROUNDS({number}, ", ")")
            self.instead[self.t[ops[0]].start] = (self.t[ops[0]].end, f", {self.t[ops[0]].text}, ")

    # ---- tokens

    def _matching(self) -> dict[int, int]:
        match, open_ = {}, []
        for i, token in enumerate(self.t):
            if token.text in PAIRS:
                open_.append(i)
            elif token.text in PAIRS.values():
                match[open_.pop()] = i
        assert not open_
        return match

    def _top(self, lo: int, hi: int) -> Iterator[int]:
        """Return the tokens outside of all brackets."""
        i = lo
        while i < hi:
            yield i
            i = self.match.get(i, i) + 1

    def _split(self, lo: int, hi: int, at: str) -> list[tuple[int, int]]:
        cuts = [i for i in self._top(lo, hi) if self.t[i].text == at]
        return list(zip([lo, *(c + 1 for c in cuts)], [*cuts, hi], strict=True))

    def _first(self, lo: int, hi: int, texts: Iterable[str]) -> int | None:
        return next((i for i in self._top(lo, hi) if self.t[i].text in texts), None)

    def _constant(self, lo: int, hi: int) -> bool:
        names = [token.text for token in self.t[lo:hi] if token.is_name]
        return all(re.fullmatch(r"[A-Z][A-Z0-9_]*|u?int\d+_t", name) for name in names)

    # ---- expressions

    def _condition(self, lo: int, hi: int, kinds: Iterable[str]) -> None:
        """Add mutants of a condition: condition forced to a constant, operands removed, boundary changed."""
        if self._constant(lo, hi):
            return
        for sign in ("||", "&&"):
            first, *others = self._split(lo, hi, sign)
            # without this feature of the image the compiler removes the further operands
            if others and self._constant(*first):
                return self._condition(others[0][0], hi, kinds)
        self._force(lo, hi, kinds)
        for sign, dropped in (("||", "never"), ("&&", "always")):
            parts = self._split(lo, hi, sign)
            if len(parts) > 1:
                for part in parts:
                    self._condition(*part, [dropped])
                return
        op = self._first(lo, hi, {*COMPARISONS, "==", "!="})
        if op is not None:
            sign = self.t[op].text
            if sign in COMPARISONS and (number := self._mutant("boundary", lo, hi)):
                self._wrap(lo, hi, f"FT_BOUNDARY({number}, ", ")")
                self.instead[self.t[op].start] = (self.t[op].end, f", {sign}, {COMPARISONS[sign]}, ")
            self._inside(lo, op)
            self._inside(op + 1, hi)
            return
        first = lo
        while self.t[first].text in WRAPPERS and first + 1 < hi:
            first += 1
        if self.t[first].text == "(" and self.match[first] == hi - 1:
            self._condition(first + 1, hi - 1, [])
        else:
            self._inside(lo, hi)

    def _inside(self, lo: int, hi: int) -> None:
        """Mutate text in brackets."""
        for i in self._top(lo, hi):
            if self.t[i].text in ("(", "[", "{"):
                for part in self._split(i + 1, self.match[i], ","):
                    self._value(*part)

    def _value(self, lo: int, hi: int) -> None:
        if lo == hi:
            return
        assigned = self._first(lo, hi, ASSIGNMENTS)
        if assigned is not None:
            self._inside(lo, assigned)
            return self._value(assigned + 1, hi)
        question = self._first(lo, hi, {"?"})
        if question is not None:
            colon = self._colon(question, hi)
            self._condition(lo, question, ("always", "never"))
            self._value(question + 1, colon)
            return self._value(colon + 1, hi)
        if self._first(lo, hi, {"&&", "||", "==", "!=", *COMPARISONS}) is not None:
            return self._condition(lo, hi, ("always", "never"))
        self._inside(lo, hi)
        return None

    def _colon(self, question: int, hi: int) -> int:
        depth = 0
        for i in self._top(question + 1, hi):
            depth += self.t[i].text == "?"
            if self.t[i].text == ":":
                if depth == 0:
                    return i
                depth -= 1
        raise ValueError(f"{self.file}: ? without :")

    # ---- statements

    def _statement(self, i: int) -> int:
        """Process the statement at token i. Return the index of the token after it."""
        text, after = self.t[i].text, i + 1
        if text == "{":
            while after < self.match[i]:
                after = self._statement(after)
            return after + 1
        if text == ";":
            return after
        if text in ("if", "while"):
            close = self.match[after]
            self._condition(after + 1, close, ("always", "never") if text == "if" else ("never",))
            after = self._statement(close + 1)
            return self._statement(after + 1) if self.t[after].text == "else" else after
        if text == "for":
            close = self.match[after]
            start, bound, step = self._split(after + 1, close, ";")
            first, *others = self._split(*bound, "&&")
            self._value(*start)
            self._rounds(*first)
            for other in others:
                self._condition(*other, ["always"])
            self._value(*step)
            return self._statement(close + 1)
        if text == "switch":
            close = self.match[after]
            self._cases(after + 1, close, self.match[close + 1])
            return self._statement(close + 1)
        if text in ("case", "default"):
            colon = self._first(i, len(self.t), {":"})
            assert colon is not None
            return colon + 1
        if self.t[i].is_name and self.t[after].text == "for":
            return self._statement(after)  # FT_UNROLL
        return self._simple(i)

    def _simple(self, i: int) -> int:
        """Mutate a simple statement: a declaration, return, break or expression."""
        end = self._first(i, len(self.t), {";"})
        assert end is not None
        text, after = self.t[i].text, i + 1
        if text == "return":
            self._value(after, end)
        elif text in ("static", "break", "continue") or text == "(" and self.t[after].text == "void":
            pass
        elif text in ("const", "struct") or self.t[i].is_name and self._declares(i):
            for part in self._split(i, end, ","):
                value = self._first(*part, {"="})
                if value is not None:
                    self._value(value + 1, part[1])
        elif text not in UNCHANGED:
            if number := self._mutant("left out", i, end):
                self._wrap(i, end + 1, f"{{ if (ft_mutate({number}, 1, 0)) ", " }")
            self._value(i, end)
        return end + 1

    def _declares(self, i: int) -> bool:
        """Return whether tokens are a type and a name."""
        j = i + 1
        while self.t[j].text == "*":
            j += 1
        return self.t[j].is_name

    def _cases(self, lo: int, hi: int, end: int) -> None:
        labels = [i for i in range(hi, end) if self.t[i].text == "case"]
        self._inside(lo, hi)
        for i in labels:
            if number := self._mutant("left out", i, i + 2):
                self._wrap(lo, hi, f"ft_mutate_case({number}, {self.t[i + 1].text}, ", ")")

    # ---- the file

    def _file(self) -> None:
        start = i = 0
        while i < len(self.t):
            text = self.t[i].text
            if text == "{" and self.t[i - 1].text == ")":
                parameters = next(p for p, q in self.match.items() if q == i - 1)
                self.function = self.t[parameters - 1].text
                type_ = {token.text for token in self.t[start:parameters - 1]}
                self.functions[self.function] = self._signature("void" if "void" in type_ else "value", parameters, i)
                self._statement(i)
                i = start = self.match[i] + 1
            elif text == "{" and self.t[i - 1].text == "=":
                self._table(start, i)
                i = self.match[i] + 1
            else:
                i = self.match.get(i, i) + 1
                start = i if text == ";" else start

    def _signature(self, returns: str, opening: int, brace: int) -> Function:
        """Return the function whose parameters and body begin at these tokens."""
        close = self.match[opening]
        parts = self._split(opening + 1, close, ",")
        named = [[token.text for token in self.t[lo:hi] if token.is_name][-1] for lo, hi in parts]
        text = self.text[self.t[opening].end:self.t[close].start]
        # a body that only silences warnings has no effect
        acts = re.fullmatch(r"[\s{]*(\(void\)\w+;\s*)*",
                            self.text[self.t[brace].start:self.t[self.match[brace]].start]) is None
        return Function(returns, text, [] if named == ["void"] else named, acts)

    def _table(self, start: int, brace: int) -> None:
        """Mutate a table that contains functions of this file."""
        self.function = [token.text for token in self.t[start:brace] if token.is_name][-1]
        bracket = self._first(start, brace, {"["})
        if bracket is not None:
            self.function = self.t[bracket - 1].text
        row = ""
        for i in range(brace + 1, self.match[brace]):
            token = self.t[i]
            if token.text == "[" and self.t[i + 4].text == "{" and self.t[i + 5].text == "[":
                row = self.t[i + 1].text
            called = self.functions.get(token.text)
            if called is None or not called.acts:
                continue
            lo = max(p for p in self.match if self.t[p].text == "{" and p < i < self.match[p])
            hi = self.match[lo] + 1
            if self.t[i - 1].text == "(":
                lo, hi = i - 2, self.match[i - 1] + 1  # form: MACRO(act, next)
            elif self.t[lo - 1].text == "=":
                lo -= 4  # [EVENT] = {
            table, self.function = self.function, f"{self.function} {row}".strip()
            number = self._mutant("left out", lo, hi)
            self.function = table
            if number:
                kind, body = {"void": ("void", "if (ft_mutate(@, 1, 0)) #;"),
                              "value": ("uint32_t", "uint32_t was = #; "
                                        "return ft_mutate(@, was != FT_GOOD, 0) ? was : FT_GOOD;")}[called.returns]
                body = body.replace("@", str(number)).replace("#", f"{token.text}({', '.join(called.names)})")
                self.before.setdefault(self.t[start].start, []).append(
                    f"static {kind} mutant_{number}({called.parameters}) {{ {body} }}\n")
                self.instead[token.start] = (token.end, f"mutant_{number}")


class Schemata:
    """The mutants of some files, numbered from 1, and the files with all mutants."""

    def __init__(self, files: dict[str, str]) -> None:
        self.files = files
        self.mutants = [m for name, text in files.items() for m in Mutator(name, text).found]
        self.numbers = {m: i for i, m in enumerate(self.mutants, 1)}
        assert len(self.numbers) == len(self.mutants)
        self.one = cache(lambda name, text: Mutator(name, text, self.numbers).mutated())

    def put_into(self, files: dict[str, str]) -> dict[str, str]:
        """Insert the mutants into files, which may have changed. Leave out mutants of code that no longer exists."""
        count = str(len(self.mutants) + 1)
        return (files | {n: self.one(n, text) for n, text in files.items() if n in self.files}
                | {n: text.replace("@", count) for n, text in RUNTIME.items()})

    @property
    def cdef(self) -> str:
        return CDEF.replace("@", str(len(self.mutants) + 1))
