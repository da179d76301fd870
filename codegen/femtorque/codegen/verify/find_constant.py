"""Search for a number in the emitted C: positions of the number, and parameters of the file that form it. There are
four types of numbers. The first type is one parameter of a link, possibly times a simple factor. The second type is a
product or quotient of two parameters, which the report shows as one item. The third type belongs to a template and does
not depend on the mechanism. A number of the fourth type is a sum of several parameters. The position of the number
names the links of these parameters. Literals have 14 digits, so equal numbers are equal literals."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from femtorque.codegen import emit
from femtorque.codegen.common import BadInput
from femtorque.codegen.emit import METHOD, at_an_instant, beside, model_sources, parameters
from femtorque.codegen.mechanism import Link, Mechanism, Payload
from femtorque.codegen.model import Model, has_modes, in_mode
from femtorque.codegen.step import AXES, LITERAL, PAIRS, Parameter

AGREES = 1e-12  # relative rounding error of short literals
FACTORS = (1.0, 2.0, 0.5, 4.0, 0.25)
MOST, PLACES = 4, 6  # maximum number of products and of positions in a report
UNITS = {"mass": " kg", "com": " m", "inertia": " kg m^2", "length": " m", "xyz": " m", "rpy": " rad", "axis": "",
         "a": " m", "b": " m"}
GIVEN = re.compile(r"-?([0-9]+\.?[0-9]*|\.[0-9]+)(?:e([-+]?[0-9]{1,2}))?")
SAYS = re.compile(r"/\* (?!Of )(.*?)(?:\*/|$)")
PARAMETER, COMBINED, SUM = "parameter", "combined", "sum"


@dataclass(frozen=True)
class Place:
    """Place of a number."""

    file: str
    line: int
    code: str
    block: str  # the comment above the number
    link: str | None  # the link that the block computes, if any


@dataclass(frozen=True)
class Made:
    """A way to form a number: factor times parameters[0], times or over parameters[1]."""

    factor: float
    links: tuple[str, ...]  # the parameters' links
    parameters: tuple[Parameter, ...]
    by: bool = False

    def __str__(self) -> str:
        joined = (" / " if self.by else " * ").join(f"{p.name} of {link}" for p, link in
                                                     zip(self.parameters, self.links, strict=True))
        return joined if self.factor == 1.0 else f"{self.factor:g} * {joined}"


@dataclass(frozen=True)
class Found:
    """A literal that was found."""

    literal: str
    kind: str  # parameter, combined, sum or method
    places: tuple[Place, ...]
    made: tuple[Made, ...]  # the parameters that may form the literal, or for a sum the parameters of its block


@dataclass(frozen=True)
class Search:
    """All numbers in a mechanism's C."""

    mechanism: Mechanism
    rows: tuple[tuple[str, Parameter], ...]  # (link, parameter), the step's rows first
    own: int  # the step's row count
    places: dict[str, tuple[Place, ...]]

    @staticmethod
    def of(mechanism: Mechanism) -> Search:
        model = Model.of(mechanism)
        models = ([Model.of(in_mode(mechanism, mode.name)) for mode in mechanism.modes] if has_modes(mechanism)
                  else [model])
        own = _flat(table(one) for one in models for table in (parameters, at_an_instant))
        files = model_sources(model)
        links = {link.name for link in mechanism.links}
        places: dict[str, list[Place]] = {}
        for name, text in sorted(files.items()):
            for literal, place in _places(name, text, links):
                places.setdefault(literal, []).append(place)
        return Search(mechanism, own + _flat(map(beside, models)), len(own),
                      {literal: tuple(found) for literal, found in places.items()})

    def find(self, number: str) -> tuple[Found, ...]:
        """Return all literals that equal a number within its digits. Raise BadInput if no literal equals it."""
        digits = number.removeprefix("-").removeprefix("FT_C(").removesuffix(")").removesuffix("f").lstrip("-")
        if not (given := GIVEN.fullmatch(digits)):
            raise BadInput("command line", "--find", number, "is not a number as it stands in C",
                           "for example 2866.6666666666")
        value, half = float(digits), 0.5 * 10.0 ** (int(given[2] or 0) - len(given[1].partition(".")[2]))
        exact = [literal for literal in self.places if float(literal) == value]
        near = exact or [literal for literal in self.places if abs(float(literal) - value) <= half]
        if not near:
            nearest = min(self.places, key=lambda literal: abs(float(literal) - value), default="none")
            raise BadInput("command line", "--find", number, f"is no number of the C of {self.mechanism.name}",
                           f"the nearest is {nearest}")
        return tuple(self.explain(literal) for literal in sorted(near, key=float))

    def explain(self, literal: str) -> Found:
        """Explain a literal of the emitted C."""
        value, places = float(literal), self.places[literal]
        links = {place.link for place in places}
        here = self._alone(literal)
        if self.of_the_method(literal):
            return Found(literal, METHOD, places, here if here and here[0].links == (METHOD,) else ())
        if here:
            return Found(literal, PARAMETER, places, here)
        if pairs := sorted(_distinct(self._pairs(value)), key=lambda made: (not links & set(made.links), made.factor)):
            return Found(literal, COMBINED, places, tuple(pairs[:MOST]))
        near = {link for link, row in self.rows[:self.own] if links & {link, *row.origin}}
        return Found(literal, SUM, places, _distinct(Made(1.0, (link,), (row,)) for link, row in self.rows[:self.own]
                                                     if link in near))

    def of_the_method(self, literal: str) -> bool:
        """Return True if a literal does not depend on the mechanism."""
        if float(literal) == 0.0 or all(place.code in _templates() for place in self.places[literal]):
            return True
        here = self._alone(literal)
        return bool(here) and here[0].links == (METHOD,)

    def _alone(self, literal: str) -> tuple[Made, ...]:
        """Return the single parameters that equal a literal, up to a simple factor.

        Parameters of the block's links come first."""
        value, links = float(literal), {place.link for place in self.places[literal]}
        alone = _distinct(Made(k, (link,), (row,)) for k in FACTORS for link, row in self.rows
                          if value and _same(k * row.number, value))
        plain = tuple(made for made in alone if made.factor == alone[0].factor)
        return tuple(made for made in plain if made.links[0] in links) or plain

    def _pairs(self, value: float) -> Iterable[Made]:
        for i, (a, x) in enumerate(self.rows):
            for j, (b, y) in enumerate(self.rows):
                for k in FACTORS[:3]:
                    if j >= i and _same(k * x.number * y.number, value):
                        yield Made(k, (a, b), (x, y))
                    if y.number and _same(k * x.number / y.number, value):
                        yield Made(k, (a, b), (x, y), True)

    def origin(self, parameter: Parameter) -> list[dict[str, Any]]:
        """Return the masses, inertias and lengths of the file that a parameter contains."""
        m = self.mechanism
        found: list[dict[str, Any]] = []
        for name in parameter.origin:
            joints = [joint for joint in m.joints if joint.name == name]
            bodies: list[Link | Payload] = [body for body in m.links if body.name == name]
            bodies += [body for body in m.payloads if body.name == name]
            loops = [loop for loop in m.loops if loop.name == name]
            data: dict[str, Any] = {"name": name}
            for body in bodies:
                data |= {"mass": body.mass, "com": body.com, "inertia": body.inertia}
                if beam := getattr(body, "beam", None):
                    data |= {"length": beam.length}
            for joint in joints if not bodies else []:
                data |= {"xyz": joint.xyz, "rpy": joint.rpy, "axis": joint.axis}
            for loop in loops:
                data |= {"a": loop.a.xyz, "b": loop.b.xyz}
            found.append(data)
        return found

    def lines(self, found: Found) -> list[str]:
        """Return lines for a terminal."""
        many = "is one of these, which are the same number" if len(found.made) > 1 else "is"
        head = {
            PARAMETER: f"{found.literal} {many}:",
            COMBINED: f"{found.literal} is no parameter of one link alone: it is a product or quotient of two,",
            SUM: f"{found.literal} is no parameter of one link alone: it is a sum over several, in which may be",
            METHOD: f"{found.literal} is a number of the method, the same for every mechanism",
        }[found.kind]
        said = [head]
        behind: dict[str, dict[str, Any]] = {}
        for made in found.made:
            said.append(f"  {made}")
            for row in made.parameters:
                together = " together" if len(row.origin) > 1 else ""
                times = f", here times {row.number / row.value:.9g}" if row.number != row.value else ""
                said.append(f"    {row.name} = {row.value:.9g}{f' {row.unit}' if row.unit else ''}, of "
                            f"{' and '.join(row.origin)}{together}{times}")
                behind |= {origin["name"]: origin for origin in self.origin(row)}
        said += [f"  {name}: {'; '.join(parts)}" for name, origin in behind.items() if (parts := _file_says(origin))]
        said += [f"  {place.file}:{place.line}  {place.code}" for place in found.places[:PLACES]]
        if len(found.places) > PLACES:
            said.append(f"  and {len(found.places) - PLACES} more places")
        return said

    def data(self, found: Found) -> dict[str, Any]:
        """Return data for JSON."""
        return {
            "number": found.literal, "kind": found.kind, "places": [vars(place) for place in found.places],
            "made_of": [{"factor": made.factor, "divided": made.by, "parameters": [
                {"link": link, "name": row.name, "value": row.value, "unit": row.unit, "in_c": row.number,
                 "origin": self.origin(row)} for link, row in zip(made.links, made.parameters, strict=True)]}
                for made in found.made],
        }


def _file_says(origin: dict[str, Any]) -> list[str]:
    return [f"{key} {_written(value)}{UNITS[key]}" for key, value in origin.items() if key in UNITS]


def _written(value: object) -> str:
    """Return the text of a number, of a vector in brackets, or of an inertia as six named numbers."""
    x = np.asarray(value, dtype=np.float64)
    if x.ndim == 2:
        return " ".join(f"{AXES[r]}{AXES[c]} {x[r, c]:.6g}" for r, c in PAIRS if r == c or x[r, c])
    return f"[{', '.join(f'{one:.6g}' for one in x)}]" if x.ndim else f"{x:.6g}"


def _flat(tables: Iterable[dict[str, tuple[Parameter, ...]]]) -> tuple[tuple[str, Parameter], ...]:
    return tuple(dict.fromkeys((link, row) for table in tables for link, rows in table.items() for row in rows))


def _same(a: float, b: float) -> bool:
    return abs(abs(a) - abs(b)) <= AGREES * abs(b)


def _distinct(found: Iterable[Made]) -> tuple[Made, ...]:
    """Return one row for each text, so that the same parameter in a different function appears only once."""
    return tuple({str(made): made for made in reversed(list(found))}.values())[::-1]


def _places(name: str, text: str, links: set[str]) -> Iterable[tuple[str, Place]]:
    """Return {literal without sign: places} of a file."""
    block, link = "", None
    for number, line in enumerate(text.splitlines(), 1):
        says = SAYS.search(line)
        if says and not line[:says.start()].strip():
            block = says[1].strip()
            named = [quoted for quoted in re.findall(r'"([^"]+)"|^([\w ]+?)(?:,|$)', block) for quoted in quoted
                     if quoted in links]
            link = named[0] if named else None
        for literal in LITERAL.findall(line):
            yield literal.lstrip("-"), Place(name, number, line.strip(), block, link)


@cache
def _templates() -> frozenset[str]:
    """Return the template lines that contain literals. The literals in templates belong to the method."""
    folder = Path(emit.__file__).parent / "templates"
    return frozenset(line.strip() for path in folder.glob("*.j2")
                     for line in path.read_text(encoding="utf-8").splitlines() if LITERAL.search(line))


