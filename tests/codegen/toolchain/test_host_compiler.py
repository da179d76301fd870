"""Test that structs shared by Python and C have the same layout, or the library is refused."""

import pytest

from femtorque.codegen.common import Refused
from femtorque.codegen.toolchain import host_compiler

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


@pytest.mark.parametrize("change", [
    ("    int32_t first;\n    double second;\n", "    double second;\n    int32_t first;\n"),
    ("int32_t first", "int16_t first"), ("bytes[4]", "bytes[MANY]"),
    ("#include <stdint.h>\n", '#include <stdint.h>\n#include "other.h" /* a {comment} */\n')],
    ids=["swapped", "narrower", "longer", "included"])
def test_a_struct_that_is_read_from_its_header_is_what_the_header_lays_out(change):
    header = "#ifndef PAIR_H\n#define PAIR_H\n#define MANY 16u /* more */\n" + HEADER.replace(*change)
    header += "double sum(const pair *p);\n#endif\n"
    other = "#define HALF 0.5\nenum { NONE, SOME };\n"
    source = SOURCE.replace("double sum(const pair *p);\n", "", 1)
    ffi, lib = host_compiler.build_by_headers({"pair.h": header, "sum.c": source, "other.h": other})
    assert lib.sum(ffi.new("pair *", {"first": 2, "second": 0.5})) == 2.5
    assert lib.MANY == 16 and lib.SOME == 1


def test_a_struct_that_no_header_defines_is_refused():
    with pytest.raises(ValueError, match="no header defines pair"):
        host_compiler.build({"sum.c": SOURCE.replace('#include "pair.h"', HEADER)}, CDEF)
