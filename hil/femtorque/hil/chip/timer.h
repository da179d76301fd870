/* Timers: time base with repetition, compare values, break, encoder mode. */
#ifndef TIMER_H
#define TIMER_H

#include "due.h"

#define TIMER_WORDS 21 /* registers */
#define COMPARES 4     /* channels */

/* Registers, with their offsets. */
enum {
    TIMER_CONTROL,
    TIMER_CONTROL_2,
    TIMER_SLAVE,
    TIMER_ENABLES,
    TIMER_STATUS,
    TIMER_MODES = 6, /* CCMR of channels 1, 2, and of 3, 4 */
    TIMER_COUNT = 9,
    TIMER_PRESCALER,
    TIMER_TOP,
    TIMER_REPETITION,
    TIMER_COMPARE, /* channel 1, then the other channels */
    TIMER_BREAK = TIMER_COMPARE + COMPARES
};

/* Events that are reported to Python, as bits. */
enum { HEARS_UPDATES = 1, HEARS_TRIGGERS = 2, HEARS_REQUESTS = 4 };

/* hil/chip/stm32/timer.py describes a timer. prescaler, top, compare, repeated:
 * active values. cycles: processor cycles per clock of the timer. full: maximum
 * count. phase: cycle of the last overflow or underflow, or of the start.
 * period: cycles from one update to the next, 0 without updates. frozen_at:
 * cycle at which the debug unit stopped the timer, or -1. triggers: number of
 * the converter that the updates start, or -1. joint: the joint whose encoder
 * the timer counts, or -1 if Python computes the count. origin: the timer's
 * count minus the encoder's count. */
typedef struct {
    due update;
    double cycles, phase, period;
    uint32_t words[TIMER_WORDS];
    uint32_t prescaler, top, compare[COMPARES], repeated, full;
    int32_t advanced, rising, hears, triggers, joint;
    int32_t break_low, system_break;
    int64_t frozen_at, origin;
} timer;

/* A pin that depends on a compare value. Without `follows` it is high for the
 * constant fraction of time `stays`. top: counts in a period. */
typedef struct {
    int32_t timer, channel, follows, inverted;
    double top, stays;
} pin;

struct parts;

double timer_clocks(const timer *t, double cycle);
double timer_count(const timer *t, double gone);
int timer_conducts(const timer *t, int32_t channel, double from, double to);
double pin_share(const timer *timers, const pin *p);
void timer_settle(const struct parts *l, timer *t);
void timer_schedule(struct parts *l, timer *t);
void timer_update(struct parts *l, timer *t, int flags);
void timer_ask(struct parts *l, timer *t);
void timer_act(struct parts *l, timer *t);
void timer_sense_break(struct parts *l, timer *t);
int64_t timer_counts(struct parts *l, const timer *t);
int timer_read(struct parts *l, timer *t, uint32_t word, uint64_t *value);
int timer_write(struct parts *l, timer *t, uint32_t word, uint32_t value);

#endif
