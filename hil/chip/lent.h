/* What models in Python have lent out: timers, converters, ports, a link,
 * SysTick and watchdog as long as nothing happens to them but what the models
 * would do again and again. hil/chip/lending.py says when; what is not here is
 * asked back. */
#ifndef LENT_H
#define LENT_H

#include "bus.h"
#include "lent_link.h"

#define LENT_TIMERS 16
#define LENT_CONVERTERS 2
#define LENT_PORTS 16
#define COMPARES 4 /* channels of a timer; results of a converter as well */

/* hil/chip/stm32/timer.py. period: cycles from update to update, 0 of those
 * that only count an encoder. laps: of the counter in one. */
typedef struct {
    due update;
    double phase, period, clock; /* cycles, the last of the counter's clock */
    uint32_t laps, centred, top, full, preloaded, status;
    uint32_t value[COMPARES], shadow[COMPARES];
    int32_t rising;
    int32_t triggers; /* which converter, or -1 */
    int32_t joint;    /* whose encoder, or -1 */
    int64_t origin;
    int32_t backwards;
} lent_timer;

/* hil/chip/stm32/injected.py. start: bit of the control register, kept: those
 * that no zero clears; latched: start stays set until the end, and a trigger is
 * waited for only while it is. stale: cycles after which a first result is
 * wrong, or -1. */
typedef struct {
    due end;
    double cycles, conversion, latency;
    int32_t lent, dead, by_trigger, latched, ones_clear, interrupt, asks;
    uint32_t status, writable, ended, asking, control, start, kept;
    int32_t count;
    uint32_t channel[COMPARES], result[COMPARES];
    double sampling[COMPARES], from[COMPARES], to[COMPARES];
    place_of_register *results[COMPARES];
    double stale, finished; /* cycles; -1 of one that never has */
} lent_converter;

/* hil/chip/stm32/gpio.py. levels: of the output register; outputs: pins that
 * show theirs; steered: pins that nobody but bridges looks at, while the board
 * is lent; asked: pins whose levels others ask for, and are not told; inputs:
 * place of the input register. */
typedef struct {
    uint32_t levels, outputs, steered, asked;
    place_of_register *inputs;
} lent_port;

typedef struct {
    due expire;
    int32_t lent, interrupt, flag;
    int64_t loaded;
    uint32_t from, reload, divider;
} lent_systick;

typedef struct {
    due bite;
    int32_t lent;
    int64_t timeout; /* cycles */
} lent_watchdog;

/* board: what is outside of the chip, 0 while that is not lent: brings the
 * plant up to date, V on a pin, counts of an encoder. */
typedef struct lent {
    core *core;
    uint64_t *order; /* of the event planned last, here or in Python */
    int32_t timer_count;
    lent_timer timers[LENT_TIMERS];
    lent_converter converters[LENT_CONVERTERS];
    lent_port ports[LENT_PORTS];
    lent_link link;
    lent_systick systick;
    lent_watchdog watchdog;
    void *board;
    void (*before_change)(void *board);
    void (*before_read)(void *board);
    double (*volts)(void *board, int32_t converter, uint32_t channel,
                    double from, double to);
    int64_t (*counts)(void *board, int32_t joint);
} lent;

/* What a lent register is, in the upper bits of its place's value; the lower
 * ones are which of them. */
enum {
    TIMER_STATUS = 1,
    TIMER_COUNT,
    TIMER_COMPARE,
    CONVERTER_STATUS = TIMER_COMPARE + COMPARES,
    CONVERTER_CONTROL,
    PORT_LEVELS,
    SYSTICK_COUNT,
    WATCHDOG_KEY,
    LINK
};
#define LENT_WHAT 8u /* bits below it */

void lent_plan(const lent *l, due *d, int64_t at);
double lent_floored(double a, double b);
int64_t lent_next(const lent *l);
int lent_fire(lent *l, int64_t next, uint64_t order);
int lent_read(lent *l, uint32_t what, uint64_t *value);
int lent_write(lent *l, uint32_t what, uint32_t value);
double lent_count(const lent_timer *t, double cycle);

#endif
