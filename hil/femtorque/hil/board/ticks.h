/* Records control ticks at their end. */
#ifndef TICKS_H
#define TICKS_H

#include "coupled.h"

#define STEP_PARTS 64    /* functions of ft_step */
#define STEP_BLOCKS 4096 /* basic blocks of these */

/* exception: number of the exception in which ticks run. on_buses: drives move
 * joints, and no encoder is read in a tick. fixed, position, target, number:
 * results that the image stores. An array of results has `bytes` bytes. target:
 * pointer to two arrays. rows: `count` records of row_bytes each; the capacity
 * is `room` records. before: number of records that Python has already taken.
 * resting: states of ft_step after the last `rests` ticks at rest, of
 * step_bytes each; the capacity is `rooms` states. step_bytes: 0 if no states
 * are kept. many: the plant has several modes, and Python records the mode of
 * each tick. watched: Python records more data after each tick. from, to:
 * addresses of ft_step's functions. */
typedef struct {
    coupled *board;
    int32_t exception, recording, on_buses, many, watched;
    uint32_t bytes;
    const uint8_t *fixed[4], *position, *target, *number;
    const uint8_t *step;
    uint8_t *resting;
    int32_t step_bytes, rests, rooms;
    uint8_t *rows;
    int32_t row_bytes, count, room;
    int64_t before;
    int32_t parts;
    uint32_t from[STEP_PARTS], to[STEP_PARTS];
    uint32_t seen, blocks, block[STEP_BLOCKS];
    int64_t instructions, cycles, executed; /* in all ticks */
    int64_t ticks, tick[3], worst_cycles; /* tick: of the last tick */
    void (*look)(void);
    void (*keep)(void);
} ticks;

void ticks_read(const ticks *t, uint8_t *into);
void ticks_end(void *record, int32_t exception);

#endif
