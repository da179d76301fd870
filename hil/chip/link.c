/* The link of hil/chip/stm32/serial.py and the families' registers. */
#include "parts.h"

#include <math.h>

#define RECEIVES 0
#define SENDS 1
#define ENABLED 1u  /* in a stream's control word */
#define MOST 0xFFFFu /* bytes of a stream */

/* Flags of the status register. */
#define CLEARED 0x1Fu /* errors and idle, which reading or writing clears */
#define IDLE 0x10u
#define RECEIVED 0x20u
#define COMPLETE 0x40u
#define EMPTY 0x80u

static double now(const parts *l)
{
    return (double)l->count->now;
}

/* Drive the interrupt request. */
static void ask(const parts *l)
{
    const link_part *k = &l->link;
    int asserted = k->asks && (k->status & IDLE) != 0;
    nvic_line(&l->core->nvic, k->interrupt, asserted);
    if (asserted)
        l->count->deadline = 0;
}

/* -- streams ------------------------------------------------------------- */

/* Count a moved byte. */
static void moved(stream *s)
{
    uint32_t half = s->reload / 2u;
    if (s->left - 1u <= half && half < s->left)
        s->half = 1;
    if (--s->left != 0)
        return;
    s->complete = 1;
    if (s->circular)
        s->left = s->reload;
    else if (!s->stays)
        s->control &= ~ENABLED;
}

/* Take the next byte from memory; return -1 without one. */
static int32_t fetched(stream *s)
{
    int32_t byte;
    if ((s->control & ENABLED) == 0 || s->left == 0)
        return -1;
    byte = s->bytes[s->reload - s->left];
    moved(s);
    return byte;
}

/* -- the wire ------------------------------------------------------------ */

/* Note that DMA or the processor has read the data register. */
static void data_read(parts *l)
{
    link_part *k = &l->link;
    if (!k->by_reading)
        return;
    k->status &= ~(k->seen & CLEARED);
    k->seen = 0;
    ask(l);
}

/* Receive the bytes that have come. */
static void receive(parts *l)
{
    link_part *k = &l->link;
    stream *s = &k->streams[RECEIVES];
    uint32_t before = k->first;
    while (k->first != k->last &&
           k->arrives[k->first % LINK_BYTES] <= now(l)) {
        s->bytes[s->reload - s->left] = k->coming[k->first % LINK_BYTES];
        moved(s);
        k->first++;
    }
    if (k->first != before)
        data_read(l);
}

/* Fill the data register when it is empty. */
static void refill(link_part *k)
{
    if (k->held < 0)
        k->held = fetched(&k->streams[SENDS]);
}

/* Send the byte that has been shifted out, and those after it; return 0 if
 * there is no room for them. */
static int transmit(parts *l)
{
    link_part *k = &l->link;
    const stream *s = &k->streams[SENDS];
    double passed, turns;
    refill(k);
    if (k->shifting < 0 && k->held >= 0) {
        k->shifting = k->held;
        k->shifted = now(l) + k->byte_cycles;
        k->held = -1;
        refill(k);
        return 1;
    }
    if (k->shifting < 0 || k->shifted > now(l))
        return 1;
    if (k->gone + 2u + s->left > LINK_BYTES)
        return 0;
    turns = 1.0 + floored(now(l) - k->shifted, k->byte_cycles);
    for (passed = 0.0; passed < turns && k->shifting >= 0; passed += 1.0) {
        k->out[k->gone++] = (uint8_t)k->shifting;
        k->shifting = k->held;
        k->held = fetched(&k->streams[SENDS]);
    }
    k->shifted += turns * k->byte_cycles;
    return 1;
}

static int catch_up(parts *l)
{
    receive(l);
    return transmit(l);
}

/* Put bytes on the wire from the other side from now on; return 0 if there is
 * no room for them. */
int link_line_in(parts *l, const uint8_t *data, uint32_t count)
{
    link_part *k = &l->link;
    double at;
    uint32_t i;
    if (!catch_up(l) || count > LINK_BYTES - (k->last - k->first))
        return 0;
    at = fmax(now(l), k->until);
    for (i = 0; i < count; i++) {
        at += k->byte_cycles;
        k->arrives[k->last % LINK_BYTES] = at;
        k->coming[k->last++ % LINK_BYTES] = data[i];
    }
    k->until = at;
    parts_plan(l, &k->quiet, (int64_t)rint(at + k->byte_cycles));
    return 1;
}

/* Bring the sent bytes up to date; return 0 if there is no room for them. */
int link_line_out(parts *l)
{
    return catch_up(l);
}

/* Set the idle flag after a byte's time without a byte. */
int link_quiet(parts *l)
{
    link_part *k = &l->link;
    if (!catch_up(l))
        return 0;
    k->quiet.armed = 0;
    k->status |= IDLE;
    ask(l);
    return 1;
}

/* -- registers ----------------------------------------------------------- */

/* Return the status register. */
static uint32_t status(const link_part *k)
{
    uint32_t value = k->status & ~(EMPTY | COMPLETE);
    value |= k->held < 0 ? EMPTY : 0u;
    return value | (k->held < 0 && k->shifting < 0 ? COMPLETE : 0u);
}

/* Read a register; return 0 if Python must. */
int link_read(parts *l, uint32_t what, uint32_t side, uint64_t *value)
{
    link_part *k = &l->link;
    if (!catch_up(l))
        return 0;
    switch (what) {
    case LINK_STATUS:
        *value = k->seen = status(k);
        return 1;
    case LINK_DATA:
        k->status &= ~RECEIVED;
        *value = k->received;
        data_read(l);
        return 1;
    case STREAM_CONTROL:
        *value = k->streams[side].control;
        return 1;
    case STREAM_LEFT:
        *value = k->streams[side].left;
        return 1;
    default:
        return 0;
    }
}

/* Take a write to a stream's control word that starts it in the usual way. */
static int write_control(parts *l, stream *s, uint32_t value)
{
    if ((value & ~ENABLED) != s->usual)
        return 0;
    if ((s->control & ENABLED) != 0) {
        if (!s->stays || (value & ENABLED) != 0)
            return 0;
        s->control = value;
        return 1;
    }
    if ((value & ENABLED) != 0) {
        s->bytes = core_memory(l->core, s->memory, s->left, 0);
        if (s->left == 0 || s->bytes == 0 || s->peripheral != s->source ||
            (!s->stays && (s->half || s->complete)))
            return 0;
        s->reload = s->left;
    }
    s->control = value;
    (void)catch_up(l); /* there was room a moment ago */
    return 1;
}

/* Take a write to a register that may not change while the stream runs. */
static int write_still(const stream *s, uint32_t *reg, uint32_t value)
{
    if ((s->control & ENABLED) != 0)
        return 0;
    *reg = value;
    return 1;
}

/* Take a write that clears flags of one stream alone. */
static int write_flags(stream *s, uint32_t value)
{
    if ((value & ~s->flags) != 0)
        return 0;
    if ((value & s->half_bits) != 0)
        s->half = 0;
    if ((value & s->complete_bits) != 0)
        s->complete = 0;
    return 1;
}

/* Take a write to a register of the sending stream. */
static int write_stream(parts *l, uint32_t what, uint32_t value)
{
    stream *s = &l->link.streams[SENDS];
    switch (what) {
    case STREAM_CONTROL:
        return write_control(l, s, value);
    case STREAM_LEFT:
        return value <= MOST && write_still(s, &s->left, value);
    case STREAM_PERIPHERAL:
        return write_still(s, &s->peripheral, value);
    case STREAM_MEMORY:
        return write_still(s, &s->memory, value);
    case STREAM_FLAGS:
        return write_flags(s, value);
    default:
        return what == STREAM_REQUEST && value == s->request;
    }
}

/* Write a register; return 0 if Python must. */
int link_write(parts *l, uint32_t what, uint32_t side, uint32_t value)
{
    link_part *k = &l->link;
    if (!catch_up(l))
        return 0;
    if (what == LINK_CLEAR && (value & ~CLEARED) == 0) {
        k->status &= ~(value & CLEARED);
        ask(l);
        return 1;
    }
    return what >= STREAM_CONTROL && side == SENDS &&
           write_stream(l, what, value);
}
