/* Counts instructions and cycles, and stops when an event is due. Unicorn calls
 * before_block before each basic block of the emulated processor. The counter
 * is in C because a tick has hundreds of blocks. See hil/chip/cpu.py. */
#include "block_counter.h"

#define IT_STATE 0x0600FC00u /* bits of the program status register */

/* Find the index of a block's slot in the hash table. */
static uint32_t place_of(const counter *c, uint64_t address, uint32_t size)
{
    uint32_t i = (uint32_t)(address >> 1) * 2654435761u >> 16;
    while (c->slots[i] != 0 && (c->blocks[c->slots[i]].address != address ||
                                c->blocks[c->slots[i]].size != size))
        i = (i + 1u) % HASHES;
    return i;
}

/* Give a new block a slot. Return 0 if all slots are used. */
uint32_t keep_block(counter *c, uint64_t address, uint32_t size)
{
    uint32_t slot = c->known + 1u;
    if (slot == SLOTS)
        return 0;
    c->known = slot;
    c->slots[place_of(c, address, size)] = (uint16_t)slot;
    c->blocks[slot].address = address;
    c->blocks[slot].size = size;
    return slot;
}

/* Stop execution before the block. why: the reason. */
static void leave(counter *c, void *unicorn, uint32_t why)
{
    c->stopped = why;
    c->stop(unicorn);
}

/* If this is the first block of a watched handler, begin a new round. A handler
 * that preempts a watched handler belongs to the same round. */
static void begin_round(counter *c, const block *b)
{
    flash_watch *w;
    for (w = c->watches; w < c->watches + WATCHES && w->fetch != 0; w++) {
        if (b->address != w->handler)
            continue;
        if (w == c->watches || !c->watches[0].running)
            c->rounds++;
        flash_empty(w->fetch);
        w->running = 1;
    }
}

/* Simulate a block in the flash model of each watched handler that runs. */
static void watch_block(counter *c, block *b)
{
    uint32_t running = 0;
    flash_watch *w;
    begin_round(c, b);
    for (w = c->watches; w < c->watches + WATCHES && w->fetch != 0; w++) {
        if (!w->running)
            continue;
        flash_execute(w->fetch, b->code, b->instructions);
        running = 1;
    }
    if (!running)
        return;
    b->here = b->round == c->rounds ? b->here + 1u : 1u;
    b->round = c->rounds;
    if (b->here > b->most)
        b->most = b->here;
}

/* Count a block before it runs. */
void before_block(void *unicorn, uint64_t address, uint32_t size, void *user)
{
    counter *c = user;
    block *b;
    uint32_t slot;
    if (c->now >= c->deadline) {
        leave(c, unicorn, DEADLINE);
        return;
    }
    slot = c->slots[place_of(c, address, size)];
    b = &c->blocks[slot];
    if (slot == 0) {
        c->unknown_address = address;
        c->unknown_size = size;
        leave(c, unicorn, UNKNOWN);
        return;
    }
    c->began = c->now;
    if (address != c->last_end)
        c->now += c->last_refill;
    b->runs++;
    c->now += b->cycles;
    c->instructions += b->instructions;
    c->last_end = address + size;
    c->last_refill = b->refill;
    if (c->watches[0].fetch != 0)
        watch_block(c, b);
}

/* Mark the instruction as one that loads from flash. */
static void note_reader(counter *c, void *unicorn)
{
    uint32_t at = 0, i;
    c->read_register(unicorn, c->program_counter, &at);
    i = (at - (uint32_t)c->flash_start) / 2u;
    if (i < 8u * sizeof c->readers)
        c->readers[i / 8u] |= (uint8_t)(1u << (i % 8u));
}

/* Clear the IT state in the program status register. Unicorn sets this state
 * before each load or store that has a hook. The translated code of the block
 * neither uses nor clears this state, so the next block would run under the old
 * condition. */
void leave_it_block(const counter *c, void *unicorn)
{
    uint32_t status = 0;
    c->read_register(unicorn, c->status_register, &status);
    if ((status & IT_STATE) == 0)
        return;
    status &= ~IT_STATE;
    c->write_register(unicorn, c->status_register, &status);
}

/* Count a load from flash. */
void before_read(void *unicorn, int type, uint64_t address, int size,
                 int64_t value, void *user)
{
    counter *c = user;
    flash_watch *w;
    (void)type, (void)size, (void)value;
    for (w = c->watches; w < c->watches + WATCHES && w->fetch != 0; w++)
        if (w->running)
            flash_read(w->fetch, (uint32_t)address);
    note_reader(c, unicorn);
    leave_it_block(c, unicorn);
}
