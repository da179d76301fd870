/* Counters and clock of hil/chip/block_counter.c. */
#ifndef BLOCK_COUNTER_H
#define BLOCK_COUNTER_H

#include "flash_fetch.h"

#define SLOTS 32768u /* capacity for blocks; slot 0 stays empty */
#define HASHES 65536u /* a power of two above SLOTS */
#define WATCHES 2u
#define FLASH_MOST 0x100000u /* bytes */

/* Why execution stopped. */
enum { GOES_ON, DEADLINE, UNKNOWN };

typedef struct {
    uint64_t address;
    uint32_t size; /* bytes */
    uint32_t instructions, cycles;
    uint32_t refill; /* more cycles if the branch is taken */
    uint64_t runs;
    const instruction *code;
    uint64_t round; /* last round with this block */
    uint32_t here, most; /* executions in that round; maximum of all rounds */
} block;

/* The cycles for which one exception handler, including the handlers that
 * preempt it, waits for flash. A round is one execution of a handler: it begins
 * at the handler's first block and ends when `running` is cleared. */
typedef struct {
    uint64_t handler; /* address */
    uint32_t running;
    flash_fetch *fetch;
} flash_watch;

typedef struct {
    int64_t now, deadline; /* cycles */
    int64_t began;         /* cycle at which the block began */
    uint64_t instructions;
    uint64_t last_end; /* end of the last instruction */
    uint32_t last_refill;
    uint32_t stopped;  /* reason why execution stopped */
    uint64_t unknown_address;
    uint32_t unknown_size;
    void (*stop)(void *);
    int (*read_register)(void *, int, void *);
    int (*write_register)(void *, int, const void *);
    int status_register, program_counter; /* Unicorn's numbers */
    flash_watch watches[WATCHES];
    uint64_t rounds;
    uint64_t flash_start;
    uint8_t readers[FLASH_MOST / 16u]; /* half-words that read flash, as bits */
    uint32_t known;         /* number of blocks */
    uint16_t slots[HASHES]; /* 0: no block */
    block blocks[SLOTS];    /* in the order in which they first ran */
} counter;

uint32_t keep_block(counter *c, uint64_t address, uint32_t size);
void before_block(void *unicorn, uint64_t address, uint32_t size, void *user);
void leave_it_block(const counter *c, void *unicorn);
void before_read(void *unicorn, int type, uint64_t address, int size,
                 int64_t value, void *user);

#endif
