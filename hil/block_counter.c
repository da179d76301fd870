/* What Unicorn calls before every basic block of the emulated processor:
 * counts instructions and cycles, and stops when something is due. In C
 * because a tick has hundreds of blocks; hil/cortex_m4.py explains it. */
#include <stdint.h>

#define SLOTS 65536u /* of the table; a power of two */

typedef struct {
    uint64_t address;
    uint32_t size; /* bytes; 0 is an empty slot */
    uint32_t instructions, cycles;
    uint32_t refill; /* cycles more if the block's branch is taken */
    uint64_t runs;
    uint64_t taken, fell; /* its branch, where nothing came between */
} block;

typedef struct {
    int64_t now, deadline; /* cycles */
    uint64_t instructions;
    uint64_t last_end; /* address behind the last block */
    uint32_t last_refill, last_slot;
    uint32_t stopped;  /* 1 deadline reached, 2 unknown block */
    uint64_t unknown_address;
    uint32_t unknown_size;
    void (*stop)(void *);
    block blocks[SLOTS];
} counter;

uint32_t slot_of(const counter *c, uint64_t address, uint32_t size);
void before_block(void *unicorn, uint64_t address, uint32_t size, void *user);

/* Find a block's slot, or the empty one where it belongs. */
uint32_t slot_of(const counter *c, uint64_t address, uint32_t size)
{
    uint32_t slot = (uint32_t)(address >> 1) * 2654435761u >> 16;
    while (c->blocks[slot].size != 0 && (c->blocks[slot].address != address ||
                                         c->blocks[slot].size != size))
        slot = (slot + 1u) % SLOTS;
    return slot;
}

/* End execution before the block. */
static void leave(counter *c, void *unicorn, uint32_t why)
{
    c->stopped = why;
    c->stop(unicorn);
}

/* Account for the way that the last block's branch has gone. */
static void note_way(counter *c, uint64_t address)
{
    block *last = &c->blocks[c->last_slot];
    if (address == c->last_end) {
        last->fell++;
        return;
    }
    last->taken++;
    c->now += c->last_refill;
}

/* Account for one block that is about to run. */
void before_block(void *unicorn, uint64_t address, uint32_t size, void *user)
{
    counter *c = user;
    block *b;
    uint32_t slot = slot_of(c, address, size);
    if (c->now >= c->deadline) {
        leave(c, unicorn, 1u);
        return;
    }
    b = &c->blocks[slot];
    if (b->size == 0) {
        c->unknown_address = address;
        c->unknown_size = size;
        leave(c, unicorn, 2u);
        return;
    }
    if (c->last_refill != 0)
        note_way(c, address);
    b->runs++;
    c->now += b->cycles;
    c->instructions += b->instructions;
    c->last_end = address + size;
    c->last_refill = b->refill;
    c->last_slot = slot;
}
