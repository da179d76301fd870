/* The chip's peripherals and their events. Each peripheral has the time of its
 * next event. A search through all peripherals finds the earliest. */
#include "parts.h"

#include <math.h>

#define NEVER ((int64_t)1 << 62)
#define WORDS ((1u << KIND) - 1u) /* slots of a peripheral type that the chip
                                   * does not have */
#define FED 0xAAAAu /* value for the watchdog's key register */

/* Divide and round down. */
double floored(double a, double b)
{
    double rest = fmod(a, b), quotient = (a - rest) / b, whole;
    if (rest != 0.0 && (rest < 0.0) != (b < 0.0))
        quotient -= 1.0;
    whole = floor(quotient);
    return quotient - whole > 0.5 ? whole + 1.0 : whole;
}

/* Schedule an event at a cycle, or now if the cycle is in the past. */
void parts_plan(parts *l, due *d, int64_t at)
{
    counter *count = l->count;
    d->at = at > count->now ? at : count->now;
    d->order = ++l->order;
    d->armed = 1;
    if (d->at < count->deadline)
        count->deadline = d->at;
}

/* Call Python. Python may schedule events. */
double parts_ask(parts *l, int32_t what, int32_t which, double value)
{
    l->attend = 1;
    return l->ask(what, which, value);
}

/* Set an interrupt request. */
void parts_line(const parts *l, int32_t interrupt, int asserted)
{
    if (l->core == 0)
        return;
    nvic_line(&l->core->nvic, interrupt, asserted);
    if (asserted)
        l->count->deadline = 0;
}

/* Announce to the board that outputs are about to change. */
void parts_announce(parts *l)
{
    if (l->before_change != 0)
        l->before_change(l->board);
}

/* If the description of the board is stale, call Python to renew it. */
void parts_look(parts *l)
{
    if (l->stale && l->describe != 0)
        l->describe(l->board);
}

/* -- what is due --------------------------------------------------------- */

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
static const due *first(const parts *l)
{
    const due *found = earlier(0, &l->systick.expire);
    int32_t i;
    found = earlier(found, &l->watchdog.bite);
    for (i = 0; i < LINKS; i++)
        found = earlier(found, &l->links[i].quiet);
    for (i = 0; i < CONVERTERS; i++)
        found = earlier(found, &l->converters[i].end);
    for (i = 0; i < TIMERS; i++)
        found = earlier(found, &l->timers[i].update);
    return l->tasks == 0 ? found : earlier(found, &l->tasks->due);
}

/* Return the cycle of the earliest event. */
int64_t parts_next(const parts *l)
{
    const due *d = first(l);
    return d == 0 ? NEVER : d->at;
}

/* Let SysTick reach zero. */
static void expire(parts *l)
{
    systick *s = &l->systick;
    s->loaded = s->expire.at;
    s->last = s->reload;
    s->flag = 1;
    if (s->interrupt)
        l->core->nvic.pending[SYSTICK] = 1;
    if (s->heard)
        parts_ask(l, SYSTICK_ZERO, 0, 0.0);
    systick_schedule(l);
}

/* Reset the chip, because the watchdog has expired. */
static void bite(parts *l)
{
    l->watchdog.bite.armed = 0;
    parts_ask(l, WATCHDOG_BITES, 0, 0.0);
}

/* Handle one due event. */
static void act(parts *l, const due *d)
{
    int32_t i;
    if (l->tasks != 0 && d == &l->tasks->due) {
        task_do_first(l);
        return;
    }
    if (d == &l->systick.expire)
        expire(l);
    else if (d == &l->watchdog.bite)
        bite(l);
    for (i = 0; i < LINKS; i++)
        if (d == &l->links[i].quiet)
            link_quiet(l, &l->links[i]);
    for (i = 0; i < CONVERTERS; i++)
        if (d == &l->converters[i].end)
            converter_act(l, &l->converters[i]);
    for (i = 0; i < TIMERS; i++)
        if (d == &l->timers[i].update)
            timer_act(l, &l->timers[i]);
}

/* Handle all due events before Python's next event. Return 1 once Python has
 * been called, because Python may have scheduled a new event. */
int parts_fire(parts *l, int64_t next, uint64_t order)
{
    const due *d;
    l->attend = 0;
    while (!l->attend && (d = first(l)) != 0 && d->at <= l->count->now) {
        if (d->at > next || (d->at == next && d->order > order))
            break;
        act(l, d);
    }
    return l->attend;
}

/* Let time pass without a processor: handle all events up to a cycle and before
 * Python's next event. Return 1 once Python has been called. */
int parts_run(parts *l, int64_t until, int64_t next)
{
    const due *d;
    l->attend = 0;
    while (!l->attend && (d = first(l)) != 0 && d->at <= until && d->at < next) {
        l->count->now = d->at;
        act(l, d);
    }
    return l->attend;
}

/* -- ports --------------------------------------------------------------- */

/* Set the pins of a port's output register. */
void port_set(parts *l, int32_t number, uint32_t levels)
{
    port *p = &l->ports[number];
    uint32_t changed = levels ^ p->words[PORT_LEVELS];
    if ((changed & ~p->asked) != 0)
        parts_announce(l);
    p->words[PORT_LEVELS] = levels;
    if (p->inputs != 0 && p->inputs->kind == HELD)
        p->inputs->value ^= changed & p->outputs;
    if ((changed & ~(p->asked | p->steered)) != 0)
        l->stale = 1;
    if ((changed & p->heard & ~p->asked) != 0)
        parts_ask(l, PORT_OUTPUTS, number, 0.0);
}

/* -- the processor's own parts ------------------------------------------- */

/* Schedule the next zero of SysTick, if SysTick runs. */
void systick_schedule(parts *l)
{
    systick *s = &l->systick;
    s->expire.armed = 0;
    if (s->enabled && s->last != 0 && s->held_at < 0)
        parts_plan(l, &s->expire,
                   s->loaded + ((int64_t)s->last + 1) * s->divider);
}

/* Return the count of SysTick. */
uint32_t systick_count(const parts *l)
{
    const systick *s = &l->systick;
    int64_t gone = (s->held_at < 0 ? l->count->now : s->held_at) - s->loaded;
    if (!s->enabled || s->last == 0 || l->count->now == s->loaded)
        return 0;
    return (uint32_t)(s->last - gone / s->divider % ((int64_t)s->last + 1));
}

/* Restart the watchdog. */
void watchdog_feed(parts *l)
{
    parts_plan(l, &l->watchdog.bite, l->count->now + l->watchdog.timeout);
}

/* -- registers ----------------------------------------------------------- */

static int32_t number_of(uint32_t what)
{
    return (int32_t)(what >> NUMBER & ((1u << (KIND - NUMBER)) - 1u));
}

static uint32_t register_of(uint32_t what)
{
    return what & ((1u << NUMBER) - 1u);
}

/* Read a register. Return 0 if Python must handle the read. */
int parts_read(parts *l, uint32_t what, uint64_t *value)
{
    uint32_t word = register_of(what);
    int32_t i = number_of(what);
    switch (what >> KIND) {
    case A_TIMER:
        return timer_read(l, &l->timers[i], word, value);
    case A_CONVERTER:
        return converter_read(&l->converters[i], word, value);
    case THE_SYSTICK:
        *value = systick_count(l);
        return 1;
    case A_LINK:
        return link_read(l, &l->links[i], word, value);
    case A_STREAM:
        return stream_read(l, &l->streams[i], word, value);
    case A_SPI:
        return spi_read(l, &l->spis[i], word, value);
    case A_BXCAN:
        return bxcan_read(&l->bxcans[i], word, value);
    case AN_FDCAN:
        *value = fdcan_read(&l->fdcans[i], word);
        return 1;
    case MESSAGE_RAM:
        *value = l->message_ram[what & WORDS];
        return 1;
    default:
        return 0;
    }
}

/* Write a register. Return 0 if Python must handle the write. */
int parts_write(parts *l, uint32_t what, uint32_t value)
{
    uint32_t word = register_of(what);
    int32_t i = number_of(what);
    switch (what >> KIND) {
    case A_TIMER:
        return timer_write(l, &l->timers[i], word, value);
    case A_CONVERTER:
        return converter_write(l, &l->converters[i], word, value);
    case A_PORT: /* the write sets and clears pins */
        port_set(l, i, (l->ports[i].words[PORT_LEVELS] & ~(value >> 16)) |
                           (value & 0xFFFFu));
        return 1;
    case THE_WATCHDOG:
        if (value != FED || l->watchdog.timeout == 0)
            return 0;
        watchdog_feed(l);
        return 1;
    case A_LINK:
        return link_write(l, &l->links[i], word, value);
    case A_STREAM:
        return stream_write(l, &l->streams[i], word, value);
    case A_SPI:
        return spi_write(l, &l->spis[i], word, value);
    case A_BXCAN:
        return bxcan_write(&l->bxcans[i], word, value);
    case AN_FDCAN:
        return fdcan_write(&l->fdcans[i], word, value);
    case MESSAGE_RAM:
        l->message_ram[what & WORDS] = value;
        return 1;
    default:
        return 0;
    }
}
