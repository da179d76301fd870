/* Cycles for which a processor waits for its flash, computed line by line.
 * hil/chip/timing.py describes the model. */
#ifndef FLASH_FETCH_H
#define FLASH_FETCH_H

#include <stdint.h>

enum { CACHE_ROOM = 128 }; /* number of lines in the largest cache */

typedef struct {
    uint32_t address, size, cycles;
} instruction;

/* Lines of a cache, in the order of their last use. */
typedef struct {
    uint32_t room, used;
    uint32_t lines[CACHE_ROOM];
} flash_cache;

typedef struct {
    uint32_t wait_states, line; /* bytes of a line */
    uint64_t stalls;            /* cycles waited so far */
    int64_t at;                 /* line that executes */
    uint32_t spent;             /* cycles executed within it */
    flash_cache code, data;
} flash_fetch;

void flash_empty(flash_fetch *f);
void flash_execute(flash_fetch *f, const instruction *code, uint32_t count);
void flash_read(flash_fetch *f, uint32_t address);

#endif
