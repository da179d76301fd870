"""The coupler in C (coupled.c), compiled once."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import cffi

from femtorque.codegen.toolchain import host_compiler
from femtorque.hil.chip.core_library import CDEF as CHIP_CDEF
from femtorque.hil.chip.core_library import headers
from femtorque.hil.plant.plant_steps import PLANT_STEPS, PLANT_STEPS_CDEF

CHANNELS = 19
_CDEF = CHIP_CDEF + PLANT_STEPS_CDEF + """
typedef struct { int32_t timer, channel, follows, inverted; double top; } pin;
enum { FLOATS, SIGNED, ANTIPHASE, HALVES };
typedef struct { int32_t kind, port, pin; pin one, other; double sign, wire; } bridge;
enum { STEADY, IN_LINE, SHUNT };
typedef struct { int32_t kind, joint; double zero, sign, slope, low, high; pin below; } sense;
typedef struct {
    lent *chip; double seconds_before, hz; int64_t cycles_then; double together, grip;
    int32_t held, stopped, joints;
    double plant_at, changed_at, bus, terminals[32]; bridge bridges[32]; sense senses[2][19];
    double origin[32], per_unit[32]; int64_t counted[32]; plant_steps *plant; int32_t place[32];
    void (*finish)(double, int64_t); void (*pass)(double, int32_t);
    double (*count)(const lent_timer *, double);
} coupled;
void coupled_change(void *board);
void coupled_bring_up(void *board);
double coupled_volts(void *board, int32_t converter, uint32_t channel, double from, double to);
int64_t coupled_counts(void *board, int32_t joint);
"""


@cache
def library() -> tuple[cffi.FFI, Any]:
    """(ffi, lib)."""
    folder = Path(__file__).parent
    own = {name: (folder / name).read_text(encoding="utf-8") for name in ("coupled.c", "coupled.h")}
    return host_compiler.build(PLANT_STEPS | headers() | own, _CDEF)
