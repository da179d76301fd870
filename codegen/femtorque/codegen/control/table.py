"""Rows of constants. The fields of one dataclass give the C struct, the rows in C, and the bytes in memory for the
check sum."""

import struct
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from femtorque.codegen.common import tidied

FINER = 32  # additional binary digits of a position step in double precision, compared with single precision
COLUMN = 28  # of comments


@dataclass(frozen=True)
class Kind:
    """The type of a field: its C type, C literal, `struct` codes and value in single and in double precision."""

    c: str
    literal: Callable[[Any], str]
    codes: tuple[str, str]
    in_double: Callable[[Any], Any] = lambda value: value


def real(value: float) -> str:
    """Return a real number as C source that is valid in single and in double precision."""
    return f"FT_C({tidied(value)!r})"


REAL = Kind("ft_real", real, ("f", "d"))
PER_STEP = Kind("ft_real", lambda x: f"FT_UNIT({x!r})", ("f", "d"), lambda x: x * 2.0**-FINER)
STEPS_PER = Kind("ft_real", lambda x: f"FT_PER_UNIT({x!r})", ("f", "d"), lambda x: x * 2.0**FINER)
STEPS = Kind("ft_angle", lambda n: f"FT_STEPS({n}u)", ("I", "Q"), lambda n: n << FINER)
FLOAT = Kind("float", lambda x: f"{np.float32(x)!s}f", ("f", "f"))
INT32 = Kind("int32_t", lambda n: str(n) if n > -(2**31) else "(-2147483647 - 1)", ("i", "i"))
UINT32 = Kind("uint32_t", lambda n: f"{n}u", ("I", "I"))
INT64 = Kind("int64_t", lambda n: f"INT64_C({n})", ("q", "q"))


def member(kind: Kind, doc: str) -> Any:
    """Return a field of a row. kind: its type. doc: its comment in C. Fields without this metadata are not in C."""
    return field(metadata={"kind": kind, "doc": doc})


def _members(row: Any) -> list[tuple[str, Kind, str]]:
    return [(f.name, f.metadata["kind"], f.metadata["doc"]) for f in fields(row) if "kind" in f.metadata]


def _value(row: Any, name: str) -> Any:
    """Return the value of a field, without residues of floating-point rounding."""
    value = getattr(row, name)
    return tidied(value) if isinstance(value, float) else value


def c_struct(row: type[Any], name: str) -> str:
    """Return the C struct of a row."""
    lines = [f"    {kind.c} {member};".ljust(COLUMN - 1) + (f" /* {doc} */" if doc else "")
             for member, kind, doc in _members(row)]
    return "\n".join(["typedef struct {", *(line.rstrip() for line in lines), f"}} {name};"])


def c_row(row: Any) -> list[str]:
    """Return the C initialisers of a row's fields, in order."""
    return [f".{name} = {kind.literal(_value(row, name))}" for name, kind, _ in _members(row)]


def packed(rows: Sequence[Any], double: bool) -> bytes:
    """Return the rows as the chip's memory holds them: little endian, each number aligned to its size."""
    out = b""
    for row in rows:
        largest = 1
        for name, kind, _ in _members(row):
            value = _value(row, name)
            number = struct.pack(f"<{kind.codes[double]}", kind.in_double(value) if double else value)
            largest = max(largest, len(number))
            out += bytes(-len(out) % len(number)) + number
        out += bytes(-len(out) % largest)
    return out


def crc(rows: Sequence[Any], double: bool = False) -> str:
    """Return the CRC-32 of the rows, as a C literal."""
    return f"0x{zlib.crc32(packed(rows, double)):08x}u"
