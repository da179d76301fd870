/* The recorder of control ticks, for thousands of ticks per second.
 * hil/board/telemetry.py describes a row. */
#include "ticks.h"

#include <string.h>

enum { EXECUTED, TAKEN, OF_STEP }; /* costs of a tick */

static uint32_t word(const uint8_t *at)
{
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

/* Copy bytes, and return the address after the last copied byte. */
static uint8_t *put(uint8_t *into, const void *from, size_t bytes)
{
    memcpy(into, from, bytes);
    return into + bytes;
}

/* Return the image's target positions and velocities, or 0. */
static const uint8_t *targets(const ticks *t)
{
    return core_memory(t->board->chip->core, word(t->target), 2u * t->bytes, 0);
}

/* Copy the results of the finished tick. */
void ticks_read(const ticks *t, uint8_t *into)
{
    const uint8_t *target = targets(t);
    uint32_t number = word(t->number), i;
    number = number > 1u ? number - 1u : 0u;
    for (i = 0; i < 4u; i++)
        into = put(into, t->fixed[i], t->bytes);
    if (target != 0)
        memcpy(into, target + t->bytes, t->bytes);
    into = put(into + t->bytes, t->position, t->bytes);
    if (target != 0)
        memcpy(into, target, t->bytes);
    memcpy(into + t->bytes, &number, sizeof number);
}

/* Record the blocks of ft_step that have run for the first time. */
static void note_blocks(ticks *t, const counter *c)
{
    for (; t->seen < c->known; t->seen++) {
        uint64_t address = c->blocks[t->seen + 1u].address;
        int32_t i;
        for (i = 0; i < t->parts && t->blocks < STEP_BLOCKS; i++)
            if (t->from[i] <= address && address < t->to[i]) {
                t->block[t->blocks++] = t->seen + 1u;
                break;
            }
    }
}

/* Return the instructions of ft_step since the last call. */
static int64_t step_executed(ticks *t)
{
    const counter *c = t->board->chip->count;
    uint64_t sum = 0;
    int64_t before = t->executed;
    uint32_t i;
    note_blocks(t, c);
    for (i = 0; i < t->blocks; i++) {
        const block *b = &c->blocks[t->block[i]];
        sum += b->runs * b->instructions;
    }
    t->executed = (int64_t)sum;
    return t->executed - before;
}

/* Add up the cost of a tick, including the cost of the boundary's handler. */
static void count(ticks *t)
{
    const handled *h = t->board->chip->core->handlers, *own = &h[t->exception];
    int64_t instructions = own->instructions, cycles = own->cycles;
    if (t->exception != SYSTICK) {
        instructions += h[SYSTICK].instructions;
        cycles += h[SYSTICK].cycles;
    }
    t->ticks++;
    t->tick[EXECUTED] = instructions - t->instructions;
    t->tick[TAKEN] = cycles - t->cycles;
    t->tick[OF_STEP] = step_executed(t);
    t->instructions = instructions;
    t->cycles = cycles;
    if (t->tick[TAKEN] > t->worst_cycles)
        t->worst_cycles = t->tick[TAKEN];
}

/* Return true if the target moves. */
static int moves(const ticks *t)
{
    const uint8_t *target = targets(t);
    uint32_t i;
    for (i = 0; target != 0 && i < t->bytes; i++)
        if (target[t->bytes + i] != 0)
            return 1;
    return 0;
}

/* Keep the state of ft_step after a tick at rest. If joints depend on each
 * other, the results of the next ticks depend on this state. Return true if a
 * motion begins, because Python then needs the kept states. */
static int keep_step(ticks *t)
{
    if (t->step_bytes == 0)
        return 0;
    if (moves(t))
        return t->rests > 0;
    memcpy(t->resting + (t->before + t->count) % t->rooms * t->step_bytes,
           t->step, (size_t)t->step_bytes);
    t->rests += t->rests < t->rooms;
    return 0;
}

/* Record the tick and the plant's state. */
static void take(ticks *t)
{
    const coupled *b = t->board;
    uint8_t *row = t->rows + (int64_t)t->count * t->row_bytes;
    double seconds = parts_seconds(b->chip);
    int keeps = keep_step(t);
    int32_t j;
    for (j = 0; j < b->joints; j++)
        row = put(row, &b->plant->q[b->place[j]], sizeof(double));
    for (j = 0; j < b->joints; j++)
        row = put(row, &b->plant->v[b->place[j]], sizeof(double));
    row = put(row, &seconds, sizeof seconds);
    row = put(row, t->tick, sizeof t->tick);
    ticks_read(t, row);
    t->count++;
    if (keeps || t->watched || t->count == t->room)
        t->keep();
}

/* Record the end of a tick. */
void ticks_end(void *record, int32_t exception)
{
    ticks *t = record;
    if (exception != t->exception)
        return;
    count(t);
    if (t->many)
        t->look();
    if (!t->recording)
        return;
    if (t->on_buses)
        coupled_bring_up(t->board);
    take(t);
}
