/* State that models in Python have lent: timers, converters, ports, a link,
 * SysTick and watchdog, as long as only repeated work is to be done. It is lent
 * and taken back by hil/chip/lending.py; all else goes back to Python. */
#ifndef LENT_H
#define LENT_H

#include "bus.h"
#include "lent_link.h"

#define LENT_TIMERS 16
#define LENT_CONVERTERS 2
#define LENT_PORTS 16
#define COMPARES 4 /* channels of a timer; results of a converter as well */

/* hil/chip/stm32/timer.py. period: cycles from update to update, 0 for a timer
 * that only counts an encoder. laps: of the counter in one period. */
typedef struct {
    due update;
    double phase, period, clock; /* cycles, the last of the counter's clock */
    uint32_t laps, centred, top, full, preloaded, status;
    uint32_t value[COMPARES], shadow[COMPARES];
    int32_t rising;
    int32_t triggers; /* number of a converter, or -1 */
    int32_t joint;    /* with the encoder, or -1 */
    int64_t origin;
    int32_t backwards;
} lent_timer;

/* hil/chip/stm32/injected.py. start: bit of the control register; kept: bits
 * that a zero does not clear; latched: start stays set until the end, and
 * triggers count only while it is set. stale: cycles after which a first result
 * is wrong, or -1. */
typedef struct {
    due end;
    double cycles, conversion, latency;
    int32_t lent, dead, by_trigger, latched, ones_clear, interrupt, asks;
    uint32_t status, writable, ended, asking, control, start, kept;
    int32_t count;
    uint32_t channel[COMPARES], result[COMPARES];
    double sampling[COMPARES], from[COMPARES], to[COMPARES];
    place_of_register *results[COMPARES];
    double stale, finished; /* cycles; -1: never */
} lent_converter;

/* hil/chip/stm32/gpio.py. levels: of the output register; outputs: pins that
 * put them out; steered: pins that only bridges depend on, while the board is
 * lent; asked: pins that are read when needed, without a call at changes;
 * inputs: place of the input register. */
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

/* board: the parts outside of the chip, 0 while they are not lent; its
 * functions bring the plant up to date, return V on a pin, and counts of an
 * encoder. */
typedef struct lent {
    core *core;
    uint64_t *order; /* of the last planned event, here or in Python */
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

/* Kinds of lent registers, in the upper bits of a place's value; the lower bits
 * are the number of the object. */
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
#define LENT_WHAT 8u /* bits below the kind */

void lent_plan(const lent *l, due *d, int64_t at);
double lent_floored(double a, double b);
int64_t lent_next(const lent *l);
int lent_fire(lent *l, int64_t next, uint64_t order);
int lent_read(lent *l, uint32_t what, uint64_t *value);
int lent_write(lent *l, uint32_t what, uint32_t value);
double lent_count(const lent_timer *t, double cycle);

#endif
