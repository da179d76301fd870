/* The models in Python line by line, in the same order and with the same
 * roundings. */
#include "lent.h"

#include <math.h>

#define NEVER ((int64_t)1 << 62)
#define UPDATED 1u    /* SR.UIF */
#define FED 0xAAAAu   /* value for the watchdog's key register */
#define COUNTS 4096.0 /* of a converter at its reference voltage */
#define REFERENCE_V 3.3

/* Divide like Python's //. */
double lent_floored(double a, double b)
{
    double rest = fmod(a, b), quotient = (a - rest) / b, whole;
    if (rest != 0.0 && (rest < 0.0) != (b < 0.0))
        quotient -= 1.0;
    whole = floor(quotient);
    return quotient - whole > 0.5 ? whole + 1.0 : whole;
}

/* Return the remainder like Python's %. */
static double modulo(double a, double b)
{
    double rest = fmod(a, b);
    return rest != 0.0 && (rest < 0.0) != (b < 0.0) ? rest + b : rest;
}

/* Plan an event, never before now. */
void lent_plan(const lent *l, due *d, int64_t at)
{
    counter *count = l->core->count;
    d->at = at > count->now ? at : count->now;
    d->order = ++*l->order;
    d->armed = 1;
    if (d->at < count->deadline)
        count->deadline = d->at;
}

/* Return the earlier of two events. */
static const due *earlier(const due *a, const due *b)
{
    if (!b->armed)
        return a;
    if (a == 0 || b->at < a->at || (b->at == a->at && b->order < a->order))
        return b;
    return a;
}

/* Find the earliest event, or 0. */
static const due *first(const lent *l)
{
    const due *found = earlier(0, &l->systick.expire);
    int32_t i;
    found = earlier(found, &l->watchdog.bite);
    found = earlier(found, &l->link.quiet);
    for (i = 0; i < LENT_CONVERTERS; i++)
        found = earlier(found, &l->converters[i].end);
    for (i = 0; i < l->timer_count; i++)
        found = earlier(found, &l->timers[i].update);
    return found;
}

/* Return the cycle of the earliest event. */
int64_t lent_next(const lent *l)
{
    const due *d = first(l);
    return d == 0 ? NEVER : d->at;
}

/* -- converters ---------------------------------------------------------- */

static int armed(const lent_converter *c)
{
    return c->by_trigger && (!c->latched || (c->control & c->start) != 0);
}

/* Begin the sequence, the first sample at a cycle. */
static void start(const lent *l, lent_converter *c, double at)
{
    int32_t i;
    for (i = 0; i < c->count; i++) {
        c->from[i] = at;
        c->to[i] = at + c->sampling[i] * c->cycles;
        at += (c->sampling[i] + c->conversion) * c->cycles;
    }
    lent_plan(l, &c->end, (int64_t)rint(at));
}

/* Drive the interrupt request. */
static void ask(const lent *l, const lent_converter *c)
{
    int asserted = c->asks && (c->status & c->asking) != 0;
    if (c->interrupt < 0)
        return;
    nvic_line(&l->core->nvic, c->interrupt, asserted);
    if (asserted)
        l->core->count->deadline = 0;
}

/* Set results and flags at the end of the sequence. */
static void convert(lent *l, int32_t number)
{
    lent_converter *c = &l->converters[number];
    double now = (double)l->core->count->now;
    int32_t i;
    c->end.armed = 0;
    l->before_read(l->board);
    for (i = 0; i < c->count; i++) {
        double volts = l->volts(l->board, number, c->channel[i], c->from[i],
                                c->to[i]);
        double counts = rint(volts / REFERENCE_V * COUNTS);
        c->result[i] = (uint32_t)fmin(fmax(counts, 0.0), COUNTS - 1.0);
    }
    if (c->stale >= 0.0 && (c->finished < 0.0 || now - c->finished > c->stale))
        c->result[0] = (uint32_t)COUNTS - 1u;
    c->finished = now;
    c->status |= c->ended;
    if (c->latched && !armed(c))
        c->control &= ~c->start;
    ask(l, c);
    for (i = 0; i < c->count; i++) {
        c->results[i]->kind = HELD;
        c->results[i]->value = c->result[i];
        c->results[i]->until = NEVER;
    }
}

/* Take a write to the status register. */
static int write_status(const lent *l, lent_converter *c, uint32_t value)
{
    if ((value & ~c->writable & ~c->status) != 0)
        return 0;
    c->status &= c->ones_clear ? ~value : value;
    ask(l, c);
    return 1;
}

/* Take a write to the control register that starts and changes nothing else. */
static int write_control(const lent *l, lent_converter *c, uint32_t value)
{
    uint32_t others = c->control & ~c->start;
    if (((value & ~c->start) | (others & c->kept)) != others ||
        (value & c->start) == 0 ||
        c->end.armed || (c->latched && (c->control & c->start) != 0))
        return 0;
    if (c->latched)
        c->control |= c->start;
    if (!c->dead && !(c->latched && armed(c)))
        start(l, c, (double)l->core->count->now);
    return 1;
}

/* -- timers -------------------------------------------------------------- */

/* Move on by whole periods. */
static void pass(lent_timer *t, double updates)
{
    t->phase += updates * t->period;
    if (t->centred && fmod(updates * t->laps, 2.0) != 0.0)
        t->rising = !t->rising;
}

/* Account for the updates that have passed without an event. */
static void settle(const lent *l, lent_timer *t)
{
    double passed;
    if (t->update.armed || t->period == 0.0)
        return;
    passed = lent_floored((double)l->core->count->began - t->phase, t->period);
    if (passed > 0.0) {
        pass(t, passed);
        t->status |= UPDATED;
    }
}

static int differs(const lent_timer *t)
{
    int32_t i;
    for (i = 0; i < COMPARES; i++)
        if (t->value[i] != t->shadow[i])
            return 1;
    return 0;
}

/* Plan the next update if it has an effect. */
static void schedule(const lent *l, lent_timer *t)
{
    int64_t at = (int64_t)rint(t->phase + t->period);
    if (t->triggers < 0 && !differs(t))
        t->update.armed = 0;
    else if (!t->update.armed || t->update.at != at)
        lent_plan(l, &t->update, at);
}

/* Take a write to a compare register, which is preloaded. */
static int write_compare(const lent *l, lent_timer *t, uint32_t i,
                         uint32_t value)
{
    if ((t->preloaded >> i & 1u) == 0)
        return 0;
    if (!t->update.armed)
        settle(l, t);
    t->value[i] = value & t->full;
    if (!t->update.armed)
        schedule(l, t);
    return 1;
}

/* Return true if C can do a whole update. */
static int can_update(const lent *l, const lent_timer *t)
{
    const lent_converter *c = l->converters + (t->triggers < 0 ? 0
                                                               : t->triggers);
    if (differs(t) && l->board == 0)
        return 0;
    return t->triggers < 0 || (c->lent && (!armed(c) || !c->end.armed));
}

/* Take over preloaded values, and put out the trigger. */
static void update(lent *l, lent_timer *t)
{
    lent_converter *c = l->converters + (t->triggers < 0 ? 0 : t->triggers);
    int32_t i;
    t->update.armed = 0;
    pass(t, 1.0);
    if (differs(t))
        l->before_change(l->board);
    for (i = 0; i < COMPARES; i++)
        t->shadow[i] = t->value[i];
    t->status |= UPDATED;
    if (t->triggers >= 0 && !c->dead && armed(c))
        start(l, c, t->phase + c->latency * c->cycles);
    schedule(l, t);
}

/* Return the count of a running counter at a cycle near its last update. */
double lent_count(const lent_timer *t, double cycle)
{
    double gone = (cycle - t->phase) / t->clock, top = t->top, place;
    if (!t->centred)
        return modulo(gone, top + 1.0);
    place = modulo(gone + (t->rising ? 0.0 : top), 2.0 * top);
    return place <= top ? place : 2.0 * top - place;
}

/* Read the count of an encoder's timer. */
static int read_count(lent *l, const lent_timer *t, uint64_t *value)
{
    int64_t counts;
    if (l->board == 0)
        return 0;
    l->before_read(l->board);
    counts = l->counts(l->board, t->joint);
    *value = (uint64_t)(t->origin + (t->backwards ? -counts : counts)) &
             t->full;
    return 1;
}

/* -- ports --------------------------------------------------------------- */

/* Take a write that sets and clears pins. */
static int write_pins(const lent *l, lent_port *p, uint32_t value)
{
    uint32_t levels = (p->levels & ~(value >> 16)) | (value & 0xFFFFu);
    uint32_t changed = levels ^ p->levels;
    if (changed == 0)
        return 1;
    if ((changed & ~(p->steered | p->asked)) != 0 || l->board == 0)
        return 0;
    if ((changed & p->steered) != 0)
        l->before_change(l->board);
    p->levels = levels;
    if (p->inputs->kind == HELD)
        p->inputs->value ^= changed & p->outputs;
    return 1;
}

/* -- the processor's own parts ------------------------------------------- */

/* Let SysTick reach zero. */
static void expire(lent *l)
{
    lent_systick *s = &l->systick;
    s->expire.armed = 0;
    s->loaded = s->expire.at;
    s->from = s->reload;
    s->flag = 1;
    if (s->interrupt)
        l->core->nvic.pending[SYSTICK] = 1;
    if (s->from != 0)
        lent_plan(l, &s->expire, s->loaded + ((int64_t)s->from + 1) * s->divider);
}

static uint32_t systick_count(const lent *l)
{
    const lent_systick *s = &l->systick;
    int64_t gone = l->core->count->now - s->loaded;
    if (s->from == 0 || gone == 0)
        return 0;
    return (uint32_t)(s->from - gone / s->divider % ((int64_t)s->from + 1));
}

/* Take a write to the watchdog's key register. */
static int feed(lent *l, uint32_t value)
{
    if (value != FED)
        return 0;
    lent_plan(l, &l->watchdog.bite, l->core->count->now + l->watchdog.timeout);
    return 1;
}

/* -- interface to the processor ------------------------------------------ */

/* Do one event that is due; return 0 if Python must. */
static int act(lent *l, const due *d)
{
    int32_t i;
    if (d == &l->systick.expire) {
        expire(l);
        return 1;
    }
    if (d == &l->link.quiet)
        return link_quiet(l);
    for (i = 0; i < LENT_CONVERTERS; i++)
        if (d == &l->converters[i].end) {
            if (l->board == 0)
                return 0;
            convert(l, i);
            return 1;
        }
    for (i = 0; i < l->timer_count; i++)
        if (d == &l->timers[i].update) {
            if (!can_update(l, &l->timers[i]))
                return 0;
            update(l, &l->timers[i]);
            return 1;
        }
    return 0; /* the watchdog resets the chip */
}

/* Do all events that are due before Python's next one; return 0 if Python must
 * do one of them. */
int lent_fire(lent *l, int64_t next, uint64_t order)
{
    const due *d;
    while ((d = first(l)) != 0 && d->at <= l->core->count->now) {
        if (d->at > next || (d->at == next && d->order > order))
            return 1;
        if (!act(l, d))
            return 0;
    }
    return 1;
}

/* Read a lent register; return 0 if Python must. */
int lent_read(lent *l, uint32_t what, uint64_t *value)
{
    uint32_t i = what & ((1u << LENT_WHAT) - 1u);
    if (what >> LENT_WHAT >= LINK)
        return link_read(l, (what >> LENT_WHAT) - LINK, i, value);
    switch (what >> LENT_WHAT) {
    case TIMER_STATUS:
        settle(l, &l->timers[i]);
        *value = l->timers[i].status;
        return 1;
    case TIMER_COUNT:
        return read_count(l, &l->timers[i], value);
    case CONVERTER_STATUS:
        *value = l->converters[i].status;
        return 1;
    case CONVERTER_CONTROL:
        *value = l->converters[i].control;
        return 1;
    case SYSTICK_COUNT:
        *value = systick_count(l);
        return 1;
    default:
        return 0;
    }
}

/* Write a lent register; return 0 if Python must. */
int lent_write(lent *l, uint32_t what, uint32_t value)
{
    uint32_t i = what & ((1u << LENT_WHAT) - 1u);
    what >>= LENT_WHAT;
    if (what >= TIMER_COMPARE && what < TIMER_COMPARE + COMPARES)
        return write_compare(l, &l->timers[i], what - TIMER_COMPARE, value);
    if (what == CONVERTER_STATUS)
        return write_status(l, &l->converters[i], value);
    if (what == CONVERTER_CONTROL)
        return write_control(l, &l->converters[i], value);
    if (what == PORT_LEVELS)
        return write_pins(l, &l->ports[i], value);
    if (what >= LINK)
        return link_write(l, what - LINK, i, value);
    return what == WATCHDOG_KEY && feed(l, value);
}
