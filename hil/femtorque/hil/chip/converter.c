/* Injected sequences of RM0090 section 13 and RM0440 section 21. Software or a
 * timer starts a sequence. The converter samples the channels one after
 * another. Each channel is sampled during a window. */
#include "parts.h"

#include <math.h>

#define COUNTS 4096.0 /* at the reference voltage */
#define REFERENCE_V 3.3

/* Return true if the converter waits for the timer's trigger. */
int converter_armed(const converter *c)
{
    return c->by_trigger &&
           (!c->latched || (c->words[c->control] & c->start) != 0);
}

/* Begin the injected sequence. at: cycle of the first sample. */
void converter_start(parts *l, int32_t number, double at)
{
    converter *c = &l->converters[number];
    int32_t i;
    if (c->end.armed)
        parts_ask(l, CONVERTER_BUSY, number, 0.0);
    else if (!c->known)
        parts_ask(l, CONVERTER_SEQUENCE, number, 0.0);
    if (c->end.armed || !c->known)
        return; /* refused */
    for (i = 0; i < c->count; i++) {
        c->from[i] = at;
        c->to[i] = at + c->sampling[i] * c->cycles;
        at += (c->sampling[i] + c->conversion) * c->cycles;
    }
    parts_plan(l, &c->end, (int64_t)rint(at));
}

/* Begin the injected sequence after a timer's trigger at a cycle. */
void converter_trigger(parts *l, int32_t number, double at)
{
    converter *c = &l->converters[number];
    if (c->dead || !converter_armed(c))
        return;
    if (!c->known)
        parts_ask(l, CONVERTER_SEQUENCE, number, 0.0);
    converter_start(l, number, at + c->latency * c->cycles);
}

/* Assert or clear the interrupt request. */
void converter_ask(const parts *l, const converter *c)
{
    if (c->interrupt >= 0)
        parts_line(l, c->interrupt,
                   c->asks && (c->words[c->status] & c->asking) != 0);
}

/* Return the conversion result of the sequence's i-th channel, counts. */
static uint32_t converted(parts *l, const converter *c, int32_t i)
{
    int32_t number = (int32_t)(c - l->converters);
    double volts, counts;
    if (c->outside)
        volts = l->volts(l->board, number, c->channel[i], c->from[i], c->to[i]);
    else
        volts = parts_ask(l, CONVERTER_VOLTS, number, i);
    counts = rint(volts / REFERENCE_V * COUNTS);
    return (uint32_t)fmin(fmax(counts, 0.0), COUNTS - 1.0);
}

/* Set the results and flags at the end of the sequence. */
void converter_act(parts *l, converter *c)
{
    double now = (double)l->count->now;
    int32_t i;
    c->end.armed = 0;
    if (l->before_read != 0)
        l->before_read(l->board);
    parts_look(l);
    for (i = 0; i < c->count; i++)
        c->words[c->result[i]] = converted(l, c, i);
    if (c->stale >= 0.0 && (c->finished < 0.0 || now - c->finished > c->stale))
        c->words[c->result[0]] = (uint32_t)COUNTS - 1u;
    c->finished = now;
    c->words[c->status] |= c->ended;
    if (c->latched && !converter_armed(c))
        c->words[c->control] &= ~c->start;
    converter_ask(l, c);
}

/* Handle a write to the status register. */
static int write_status(const parts *l, converter *c, uint32_t value)
{
    uint32_t *status = &c->words[c->status];
    if (!c->plain || (value & ~c->writable & ~*status) != 0)
        return 0;
    *status &= c->ones_clear ? ~value : value;
    converter_ask(l, c);
    return 1;
}

/* Handle a write to the control register that only starts a sequence. */
static int write_control(parts *l, converter *c, uint32_t value)
{
    uint32_t *control = &c->words[c->control], others = *control & ~c->start;
    if (!c->plain || ((value & ~c->start) | (others & c->kept)) != others ||
        (value & c->start) == 0 || c->end.armed ||
        (c->latched && (*control & c->start) != 0))
        return 0;
    if (c->latched)
        *control |= c->start;
    if (!c->dead && !(c->latched && converter_armed(c)))
        converter_start(l, (int32_t)(c - l->converters), (double)l->count->now);
    return 1;
}

/* Read a register. Return 0 if Python must handle the read. */
int converter_read(const converter *c, uint32_t word, uint64_t *value)
{
    *value = c->words[word];
    return c->plain || (word != c->status && word != c->control);
}

/* Write a register. Return 0 if Python must handle the write. */
int converter_write(parts *l, converter *c, uint32_t word, uint32_t value)
{
    if (word == c->status)
        return write_status(l, c, value);
    return word == c->control && write_control(l, c, value);
}
