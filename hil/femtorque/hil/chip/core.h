/* The C code of the Cortex-M4F that hil/chip/cpu.py emulates with Unicorn. */
#ifndef CORE_H
#define CORE_H

#include "block_counter.h"
#include "nvic.h"

#include <stddef.h>

#define MEMORIES 8

typedef struct {
    uint32_t start, end; /* addresses */
    uint8_t *bytes;
    int32_t writable;
} memory;

/* A handler's costs without handlers that preempted it. 0: thread mode. */
typedef struct {
    int64_t entries, instructions, cycles;
} handled;

/* Unicorn's functions, and the numbers that Unicorn gives to registers. */
typedef struct {
    void *engine;
    int (*start)(void *, uint64_t, uint64_t, uint64_t, size_t);
    int (*stop)(void *);
    int (*read)(void *, const int *, void **, int);
    int (*write)(void *, const int *, void *const *, int);
    int pc, sp, xpsr, control, primask, basepri, faultmask, fpscr;
    int frame[6];  /* r0 to r3, r12, lr */
    int floats[8]; /* d0 to d7 */
} unicorn;

struct parts;

typedef struct {
    unicorn u;
    counter *count; /* blocks, and the clock */
    nvic nvic;
    memory memories[MEMORIES]; /* an entry with size 0 ends the list */
    uint32_t vectors;          /* address of the vector table */
    uint32_t pc;
    int32_t asleep, locked_up, halted;
    int32_t executes;  /* a block is running */
    int32_t refused;   /* the model of a peripheral has raised an exception */
    int32_t interrupt; /* exception of the translator, or -1 */
    int32_t failed;    /* Unicorn's error code, if stopped */
    int32_t ended;     /* exception whose handler ended last */
    int64_t ended_at;  /* cycle before the exception frame was unstacked */
    void *board;       /* argument of on_end */
    void (*on_end)(void *board, int32_t exception);
    struct parts *parts;
    int32_t entry_cycles, return_cycles, float_cycles;
    uint8_t heard[EXCEPTIONS]; /* exceptions whose end is reported to Python */
    handled handlers[EXCEPTIONS];
    int64_t accounted_instructions, accounted_cycles; /* charged to handlers */
} core;

/* Reasons for which core_run returns. */
enum {
    WAKE,          /* the next event is due */
    ATTEND,        /* a change that Python must handle */
    UNKNOWN_BLOCK, /* a block runs for the first time */
    REFUSED,       /* the model of a peripheral has raised an exception */
    FAILED,        /* the reason: code that Unicorn cannot execute */
    INTERRUPTED,   /* Unicorn's translator has reported an exception */
    ENDED          /* the handler of an exception in `heard` has ended */
};

uint8_t *core_memory(const core *c, uint32_t address, uint32_t size,
                     int writable);
int32_t core_run(core *c, int64_t until, int64_t next, uint64_t order);
void core_interrupted(void *engine, uint32_t number, void *user);

#endif
