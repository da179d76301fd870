"""Structs that Python and C share mean the same to both, or the library is refused."""

from __future__ import annotations

import pytest

from femtorque.codegen.common.errors import Refused
from femtorque.codegen.toolchain import host_compiler
from femtorque.hil.chip import core_library

CDEF = "typedef struct { int32_t first; double second; uint8_t bytes[4]; } pair; double sum(const pair *p);"
HEADER = """#include <stdint.h>
typedef struct {
    int32_t first;
    double second;
    uint8_t bytes[4];
} pair;
"""
SOURCE = """#include "pair.h"
double sum(const pair *p);
double sum(const pair *p)
{
    return p->first + p->second;
}
"""


def built(header: str):
    return host_compiler.build({"pair.h": header, "sum.c": SOURCE}, CDEF)


def test_a_struct_that_both_declare_alike_is_passed():
    ffi, lib = built(HEADER)
    assert lib.sum(ffi.new("pair *", {"first": 2, "second": 0.5})) == 2.5


@pytest.mark.parametrize("change", [
    ("    int32_t first;\n    double second;\n", "    double second;\n    int32_t first;\n"),
    ("int32_t first", "int64_t first"), ("bytes[4]", "bytes[16]"),
    ("    double second;\n", "    double second, third;\n"),
], ids=["swapped", "wider", "longer", "one more"])
def test_a_struct_that_the_header_lays_out_otherwise_is_refused(change):
    with pytest.raises(Refused, match="layout"):
        built(HEADER.replace(*change))


def test_two_members_swapped_in_a_header_of_the_virtual_chip_are_refused(monkeypatch):
    headers = core_library.headers()
    text = headers["lent.h"]
    first, second = "due update;", "double phase, period, clock;"
    assert first in text and second in text
    changed = text.replace(first, "@").replace(second, first).replace("@", second)
    monkeypatch.setattr(core_library, "headers", lambda: headers | {"lent.h": changed})
    with pytest.raises(Refused, match="layout"):
        core_library.library.__wrapped__()


def test_a_struct_that_no_header_defines_is_refused():
    with pytest.raises(ValueError, match="no header defines pair"):
        host_compiler.build({"sum.c": SOURCE.replace('#include "pair.h"', HEADER)}, CDEF)
