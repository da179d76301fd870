/* A Cortex-M4F around Unicorn: what hil/chip/cpu.py holds of it in C. */
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

/* What a handler, or thread mode as number 0, has executed so far, without
 * what preempted it. */
typedef struct {
    int64_t entries, instructions, cycles;
} handled;

/* Unicorn's functions, and its numbers of registers. */
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

struct lent;

typedef struct {
    unicorn u;
    counter *count; /* of blocks, and the clock */
    nvic nvic;
    memory memories[MEMORIES]; /* up to one without bytes */
    uint32_t vectors;          /* address of the table */
    uint32_t pc;
    int32_t asleep, locked_up, halted;
    int32_t attend;    /* something has changed that Python must look at */
    int32_t refused;   /* a peripheral's model has given up */
    int32_t interrupt; /* that Unicorn's translator has reported, or -1 */
    int32_t failed;    /* Unicorn's error, where it stopped for one */
    int32_t ended;     /* exception whose handler has ended last */
    int64_t ended_at;  /* cycle, before the frame was unstacked */
    struct lent *lent; /* what Python's models have lent out */
    int32_t entry_cycles, return_cycles, float_cycles;
    uint8_t heard[EXCEPTIONS]; /* those whose ends Python is told of */
    handled handlers[EXCEPTIONS];
    int64_t accounted_instructions, accounted_cycles; /* to handlers */
} core;

/* Why core_run returns. */
enum {
    WAKE,          /* it is time for what comes next */
    ATTEND,        /* something has changed */
    UNKNOWN_BLOCK, /* a block is about to run for the first time */
    REFUSED,       /* a peripheral's model has given up */
    FAILED,        /* Unicorn has come upon something it cannot execute */
    INTERRUPTED,   /* so has its translator */
    ENDED          /* the handler of an exception that is heard has ended */
};

uint8_t *core_memory(const core *c, uint32_t address, uint32_t size,
                     int writable);
int32_t core_run(core *c, int64_t until, int64_t next, uint64_t order);
void core_interrupted(void *engine, uint32_t number, void *user);

#endif
