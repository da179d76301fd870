/* Timers of RM0090 sections 17 to 19 and RM0440 sections 28 to 30. An update is
 * scheduled as an event only if it has an effect: preloaded values, a trigger,
 * an interrupt, or a listener. The next access to a register counts the updates
 * without an effect. */
#include "parts.h"

#include <math.h>

#define ENABLED 1u        /* CR1.CEN */
#define CENTRED 0x60u     /* CR1.CMS */
#define UPDATES_OUT 0x20u /* CR2.MMS: the trigger output has the updates */
#define TRIGGER 0x70u     /* CR2.MMS */
#define ENCODER 3u        /* SMCR.SMS */
#define UPDATED 1u        /* SR.UIF */
#define BROKEN 0x80u      /* SR.BIF */
#define PRELOADED 8u      /* a bit of a channel's byte in CCMR */
#define BREAKS 0x1000u    /* BDTR: the break input is enabled */
#define HIGH 0x2000u      /* BDTR: it acts while high */
#define RETURNS 0x4000u   /* BDTR: automatic output enable */
#define OUTPUTS 0x8000u   /* BDTR.MOE */

static int encoder(const timer *t)
{
    return t->words[TIMER_SLAVE] == ENCODER;
}

/* Return true if the break input is active. */
static int timer_broken(const timer *t)
{
    uint32_t setting = t->words[TIMER_BREAK];
    int pin = (t->break_low != 0) != ((setting & HIGH) != 0);
    return t->advanced && (setting & BREAKS) != 0 && (pin || t->system_break);
}

/* Return true if the outputs are enabled at the next update. */
static int returns(const timer *t)
{
    return (t->words[TIMER_BREAK] & (RETURNS | OUTPUTS)) == RETURNS &&
           !timer_broken(t);
}

/* Return true if the timer's updates trigger a converter. */
static int timer_triggers(const timer *t)
{
    return (t->triggers >= 0 || (t->hears & HEARS_TRIGGERS) != 0) &&
           (t->words[TIMER_CONTROL_2] & TRIGGER) == UPDATES_OUT;
}

/* -- time base ----------------------------------------------------------- */

/* Move on by whole periods. */
static void pass(timer *t, double updates)
{
    t->phase += updates * t->period;
    if ((t->words[TIMER_CONTROL] & CENTRED) != 0 &&
        fmod(updates * (t->repeated + 1.0), 2.0) != 0.0)
        t->rising = !t->rising;
}

/* Account for the updates that have passed without a scheduled event. */
void timer_settle(const parts *l, timer *t)
{
    double passed;
    if (t->update.armed || t->period == 0.0)
        return;
    passed = floored((double)l->count->began - t->phase, t->period);
    if (passed > 0.0) {
        pass(t, passed);
        t->words[TIMER_STATUS] |= UPDATED;
    }
}

/* Return true if new compare values become active at the next update. */
static int compares_wait(const timer *t)
{
    int32_t i;
    for (i = 0; i < COMPARES; i++)
        if (t->words[TIMER_COMPARE + i] != t->compare[i])
            return 1;
    return 0;
}

/* Return true if a new period becomes active only at the next update. */
static int period_waits(const timer *t)
{
    return t->words[TIMER_PRESCALER] != t->prescaler ||
           t->words[TIMER_TOP] != t->top;
}

/* Return true if the next update has an effect. */
static int brings_something(const timer *t)
{
    return (t->hears & HEARS_UPDATES) != 0 || timer_triggers(t) || returns(t) ||
           t->words[TIMER_ENABLES] != 0 ||
           t->words[TIMER_REPETITION] != t->repeated || period_waits(t) ||
           compares_wait(t);
}

/* Schedule the next update with an effect, if there is one. */
void timer_schedule(parts *l, timer *t)
{
    uint32_t control = t->words[TIMER_CONTROL];
    int centred = (control & CENTRED) != 0;
    double counts = centred ? t->top : t->top + 1.0;
    int64_t at;
    t->period = (t->repeated + 1.0) *
                (counts * (t->prescaler + 1.0) * t->cycles);
    if ((control & ENABLED) == 0 || encoder(t) || t->top == 0 ||
        t->frozen_at >= 0)
        t->period = 0.0;
    at = (int64_t)rint(t->phase + t->period);
    if (t->period == 0.0 || !brings_something(t))
        t->update.armed = 0;
    else if (!t->update.armed || t->update.at != at)
        parts_plan(l, &t->update, at);
}

/* Assert or clear the request of the update interrupt. */
void timer_ask(parts *l, timer *t)
{
    if (t->words[TIMER_ENABLES] != 0 && (t->hears & HEARS_REQUESTS) != 0)
        parts_ask(l, TIMER_REQUEST, (int32_t)(t - l->timers),
                  t->words[TIMER_STATUS] & UPDATED);
}

/* Activate all preloaded values together. */
static void take_over(parts *l, timer *t)
{
    int32_t i;
    if (period_waits(t) || compares_wait(t))
        parts_announce(l);
    l->stale |= period_waits(t);
    t->prescaler = t->words[TIMER_PRESCALER];
    t->top = t->words[TIMER_TOP];
    for (i = 0; i < COMPARES; i++)
        t->compare[i] = t->words[TIMER_COMPARE + i];
    t->repeated = t->words[TIMER_REPETITION];
}

/* Perform a timer's update. flags: the update sets its flag. */
void timer_update(parts *l, timer *t, int flags)
{
    int32_t number = (int32_t)(t - l->timers);
    take_over(l, t);
    if (flags)
        t->words[TIMER_STATUS] |= UPDATED;
    if (returns(t)) {
        parts_announce(l);
        t->words[TIMER_BREAK] |= OUTPUTS;
        l->stale = 1;
    }
    if ((t->hears & HEARS_UPDATES) != 0)
        parts_ask(l, TIMER_UPDATES, number, 0.0);
    if (timer_triggers(t) && t->triggers >= 0)
        converter_trigger(l, t->triggers, t->phase);
    if (timer_triggers(t) && (t->hears & HEARS_TRIGGERS) != 0)
        parts_ask(l, TIMER_TRIGGERS, number, t->phase);
    timer_ask(l, t);
}

/* Handle the due update. */
void timer_act(parts *l, timer *t)
{
    t->update.armed = 0;
    pass(t, 1.0);
    timer_update(l, t, 1);
    timer_schedule(l, t);
}

/* -- break --------------------------------------------------------------- */

/* Make the break input level-sensitive: active, it disables outputs. */
void timer_sense_break(parts *l, timer *t)
{
    if (!timer_broken(t))
        return;
    t->words[TIMER_STATUS] |= BROKEN;
    if ((t->words[TIMER_BREAK] & OUTPUTS) == 0)
        return;
    parts_announce(l);
    t->words[TIMER_BREAK] &= ~OUTPUTS;
    l->stale = 1;
}

/* -- registers ----------------------------------------------------------- */

/* Return the encoder's count, with the sign that the channels' polarities give.
 * If exactly one input is inverted, the direction is reversed. */
int64_t timer_counts(parts *l, const timer *t)
{
    uint32_t outputs = t->words[TIMER_MODES + 2];
    int64_t counts;
    parts_look(l);
    counts = t->joint >= 0 ? l->counts(l->board, t->joint)
                           : (int64_t)parts_ask(l, TIMER_COUNTS,
                                                (int32_t)(t - l->timers), 0.0);
    return ((outputs & 2u) != 0) != ((outputs & 0x20u) != 0) ? -counts : counts;
}

/* Return the count. */
static uint32_t count(parts *l, const timer *t)
{
    int64_t now = t->frozen_at >= 0 ? t->frozen_at : l->count->now;
    if ((t->words[TIMER_CONTROL] & ENABLED) == 0)
        return t->words[TIMER_COUNT];
    if (encoder(t)) {
        if (l->before_read != 0)
            l->before_read(l->board);
        return (uint32_t)(t->origin + timer_counts(l, t)) & t->full;
    }
    return (uint32_t)timer_count(t, trunc(timer_clocks(t, (double)now)));
}

/* Read a register. Return 0 if Python must handle the read. */
int timer_read(parts *l, timer *t, uint32_t word, uint64_t *value)
{
    timer_settle(l, t);
    *value = word == TIMER_COUNT ? count(l, t) : t->words[word];
    return 1;
}

/* Write a compare value, which preload delays to the next update. */
static void write_compare(parts *l, timer *t, uint32_t i, uint32_t value)
{
    uint32_t mode = t->words[TIMER_MODES + i / 2u] >> (i % 2u * 8u);
    int waits = (mode & PRELOADED) != 0;
    if (waits && t->update.armed) {
        t->words[TIMER_COMPARE + i] = value & t->full;
        return;
    }
    timer_settle(l, t);
    t->words[TIMER_COMPARE + i] = value & t->full;
    if (!waits) {
        parts_announce(l);
        t->compare[i] = value & t->full;
    }
    timer_schedule(l, t);
}

/* Write a register. Return 0 if Python must handle the write. */
int timer_write(parts *l, timer *t, uint32_t word, uint32_t value)
{
    if (word >= TIMER_COMPARE && word < TIMER_COMPARE + COMPARES) {
        write_compare(l, t, word - TIMER_COMPARE, value);
        return 1;
    }
    if (word != TIMER_STATUS) /* BDTR is often written without a change */
        return word == TIMER_BREAK && t->advanced &&
               value == t->words[word] && !timer_broken(t);
    timer_settle(l, t);
    t->words[word] &= value; /* rc_w0 */
    timer_ask(l, t);
    timer_sense_break(l, t);
    timer_schedule(l, t);
    return 1;
}
