"""The processor in C (core.c and what it is made of), compiled once."""

from __future__ import annotations

import ctypes
from functools import cache
from pathlib import Path
from typing import Any

import cffi
from unicorn import Uc
from unicorn import arm_const as arm
from unicorn.unicorn_py3.unicorn import uclib

from femtorque.codegen.toolchain import host_compiler
from femtorque.hil.chip.timing import FLASH_CDEF, FLASH_SOURCES

EXCEPTIONS = 144
PLACES = 1024  # of registers
_PARTS = ("core", "pages", "exceptions", "nvic", "bus", "lent", "lent_link", "block_counter")
CDEF = FLASH_CDEF + """
typedef struct {
    uint64_t address; uint32_t size, instructions, cycles, refill; uint64_t runs, taken, fell; const instruction *code;
    uint64_t round; uint32_t here, most;
} block;
typedef struct { uint64_t handler; uint32_t running; flash_fetch *fetch; } flash_watch;
typedef struct {
    int64_t now, deadline, began; uint64_t instructions, last_end; uint32_t last_refill, last_slot, stopped;
    uint64_t unknown_address; uint32_t unknown_size; void (*stop)(void *);
    int (*read_register)(void *, int, void *); int (*write_register)(void *, int, const void *);
    int status_register, program_counter; flash_watch watches[2]; uint64_t rounds;
    uint64_t flash_start; uint8_t readers[65536]; uint32_t known; uint16_t slots[65536]; block blocks[32768];
} counter;
uint32_t keep_block(counter *c, uint64_t address, uint32_t size);
uint64_t executed_by(const counter *c, const uint32_t *slots, uint32_t count);
void before_block(void *unicorn, uint64_t address, uint32_t size, void *user);
void before_read(void *unicorn, int type, uint64_t address, int size, int64_t value, void *user);

typedef struct {
    uint8_t pending[144], enabled[144], lines[144], priority[144]; int32_t active[144], depth; uint32_t group_shift;
} nvic;
void nvic_line(nvic *n, int32_t irq, int32_t asserted);
int32_t nvic_group(const nvic *n, int32_t number);
int32_t nvic_candidate(const nvic *n);

typedef struct { uint32_t start, end; uint8_t *bytes; int32_t writable; } memory;
typedef struct { int64_t entries, instructions, cycles; } handled;
typedef struct {
    void *engine; int (*start)(void *, uint64_t, uint64_t, uint64_t, size_t); int (*stop)(void *);
    int (*read)(void *, const int *, void **, int); int (*write)(void *, const int *, void *const *, int);
    int pc, sp, xpsr, control, primask, basepri, faultmask, fpscr, frame[6], floats[8];
} unicorn;
typedef struct {
    unicorn u; counter *count; nvic nvic; memory memories[8]; uint32_t vectors, pc;
    int32_t asleep, locked_up, halted, attend, refused, interrupt, failed, ended; int64_t ended_at;
    struct lent *lent; int32_t entry_cycles, return_cycles, float_cycles; uint8_t heard[144]; handled handlers[144];
    int64_t accounted_instructions, accounted_cycles;
} core;
enum { WAKE, ATTEND, UNKNOWN_BLOCK, REFUSED, FAILED, INTERRUPTED, ENDED };
uint8_t *core_memory(const core *c, uint32_t address, uint32_t size, int writable);
int32_t core_run(core *c, int64_t until, int64_t next, uint64_t order);
void core_interrupted(void *engine, uint32_t number, void *user);
typedef struct { uint64_t address; int rights; } page;
bool pages_told(void *engine, uint64_t address, int access, page *found, void *user);
enum { ASK, HELD, CYCLES, CONTROL, LENT, PINS };
typedef struct { uint32_t address, kind, value; int64_t until; } place_of_register;
typedef struct {
    core *core; uint32_t start; uint64_t (*read)(void *, uint64_t, unsigned, void *);
    void (*write)(void *, uint64_t, unsigned, uint64_t, void *); void (*note)(uint32_t, unsigned, int64_t);
    place_of_register *places; int32_t *listening;
} bus;
place_of_register *bus_place(place_of_register *places, uint32_t address);
uint64_t bus_read(void *engine, uint64_t offset, unsigned size, void *user);
void bus_write(void *engine, uint64_t offset, unsigned size, uint64_t value, void *user);

typedef struct { int64_t at; uint64_t order; int32_t armed; } due;
typedef struct {
    due update; double phase, period, clock; uint32_t laps, centred, top, full, preloaded, status, value[4], shadow[4];
    int32_t rising, triggers, joint; int64_t origin; int32_t backwards;
} lent_timer;
typedef struct {
    due end; double cycles, conversion, latency;
    int32_t lent, dead, by_trigger, latched, ones_clear, interrupt, asks;
    uint32_t status, writable, ended, asking, control, start, kept; int32_t count; uint32_t channel[4], result[4];
    double sampling[4], from[4], to[4]; place_of_register *results[4]; double stale, finished;
} lent_converter;
typedef struct { uint32_t levels, outputs, steered, asked; place_of_register *inputs; } lent_port;
typedef struct {
    uint32_t control, left, peripheral, memory, reload, half, complete;
    uint32_t usual, source, request, flags, half_bits, complete_bits; int32_t circular, stays; uint8_t *bytes;
} lent_stream;
typedef struct {
    due quiet; int32_t lent, interrupt, by_reading, asks; double byte_cycles, until, shifted, arrives[1024];
    uint8_t coming[1024], out[1024]; uint32_t first, last, gone, status, seen, received; int32_t held, shifting;
    lent_stream streams[2];
} lent_link;
enum {
    LINK_STATUS, LINK_DATA, LINK_CLEAR, STREAM_CONTROL, STREAM_LEFT, STREAM_PERIPHERAL, STREAM_MEMORY, STREAM_FLAGS,
    STREAM_REQUEST
};
typedef struct {
    due expire; int32_t lent, interrupt, flag; int64_t loaded; uint32_t from, reload, divider;
} lent_systick;
typedef struct { due bite; int32_t lent; int64_t timeout; } lent_watchdog;
typedef struct lent {
    core *core; uint64_t *order; int32_t timer_count; lent_timer timers[16]; lent_converter converters[2];
    lent_port ports[16]; lent_link link;
    lent_systick systick; lent_watchdog watchdog; void *board; void (*before_change)(void *);
    void (*before_read)(void *); double (*volts)(void *, int32_t, uint32_t, double, double);
    int64_t (*counts)(void *, int32_t);
} lent;
enum {
    TIMER_STATUS = 1, TIMER_COUNT, TIMER_COMPARE, CONVERTER_STATUS = 7, CONVERTER_CONTROL, PORT_LEVELS, SYSTICK_COUNT,
    WATCHDOG_KEY, LINK
};
int lent_fire(lent *l, int64_t next, uint64_t order);
double lent_count(const lent_timer *t, double cycle);
int link_line_in(lent *l, const uint8_t *data, uint32_t count);
int link_line_out(lent *l);

int32_t exceptions_level(core *c);
void exceptions_enter(core *c, int32_t number);
"""


@cache
def library() -> tuple[cffi.FFI, Any]:
    """(ffi, lib)."""
    folder = Path(__file__).parent
    sources = {f"{part}.c": (folder / f"{part}.c").read_text(encoding="utf-8") for part in _PARTS}
    return host_compiler.build(sources | headers() | FLASH_SOURCES, CDEF)


def headers() -> dict[str, str]:
    """The C's headers by name, for what hangs on the chip in C."""
    folder = Path(__file__).parent
    return {path.name: path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.h"))}


def unicorn_calls(uc: Uc) -> dict[str, Any]:
    """`unicorn` of the C, of one instance."""
    ffi, _ = library()
    assert uc._uch is not None
    functions = {
        "start": (uclib.uc_emu_start, "int (*)(void *, uint64_t, uint64_t, uint64_t, size_t)"),
        "stop": (uclib.uc_emu_stop, "int (*)(void *)"),
        "read": (uclib.uc_reg_read_batch, "int (*)(void *, const int *, void **, int)"),
        "write": (uclib.uc_reg_write_batch, "int (*)(void *, const int *, void *const *, int)"),
    }
    calls = {name: ffi.cast(kind, ctypes.cast(function, ctypes.c_void_p).value)
             for name, (function, kind) in functions.items()}
    names = {name: getattr(arm, f"UC_ARM_REG_{name.upper()}")
             for name in ("pc", "sp", "xpsr", "control", "primask", "basepri", "faultmask", "fpscr")}
    frame = [*(arm.UC_ARM_REG_R0 + i for i in range(4)), arm.UC_ARM_REG_R12, arm.UC_ARM_REG_LR]
    return {"engine": ffi.cast("void *", uc._uch.value), **calls, **names, "frame": frame,
            "floats": [arm.UC_ARM_REG_D0 + i for i in range(8)]}
