/* The chip's parts in C, with their events: timers, converters, ports, SysTick,
 * watchdog, links, CAN controllers. Python (hil/clock/chip_state.py) describes
 * the parts, and handles rare accesses on the same numbers. C asks Python for
 * things that only Python knows. */
#ifndef PARTS_H
#define PARTS_H

#include "bus.h"
#include "bxcan.h"
#include "converter.h"
#include "fdcan.h"
#include "link.h"
#include "spi.h"
#include "task.h"
#include "timer.h"

#define TIMERS 16
#define CONVERTERS 2
#define PORTS 16
#define SPIS 1
#define PORT_WORDS 11 /* registers */

/* hil/chip/stm32/gpio.py describes a port. outputs: pins that are outputs.
 * asked: pins that are read only when needed, so their changes call nothing.
 * steered: pins that only the board in C reads. heard: pins whose changes
 * Python hears. inputs: place of the input register. */
typedef struct {
    uint32_t words[PORT_WORDS];
    uint32_t outputs, asked, steered, heard;
    place_of_register *inputs;
} port;

enum { PORT_DRAINS = 1, PORT_LEVELS = 5 }; /* numbers of registers */

/* hil/chip/scs.py describes SysTick. last: the value last loaded into the
 * counter. loaded: cycle of that load. held_at: cycle at which SysTick was
 * stopped, or -1. heard: Python hears when the count reaches zero. */
typedef struct {
    due expire;
    int32_t enabled, interrupt, flag, heard;
    int64_t loaded, held_at;
    uint32_t last, reload, divider;
} systick;

/* hil/chip/stm32/watchdog.py describes the watchdog. timeout: cycles; 0 while
 * the watchdog does not run or its registers are unlocked. */
typedef struct {
    due bite;
    int64_t timeout;
} watchdog;

/* order: of the last planned event, in C or in Python. stale: the board must be
 * described again. attend: Python has been asked, or has planned an event.
 * board: the parts outside of the chip. The functions with `board` bring the
 * plant up to date. These functions return the voltage on a pin, the counts of
 * an encoder, and the answer to an SPI frame; -1: Python has the answer. tasks:
 * events of the buses around the chip. */
typedef struct parts {
    counter *count;
    core *core; /* 0: no processor */
    uint64_t order;
    timer timers[TIMERS];
    converter converters[CONVERTERS];
    port ports[PORTS];
    serial links[LINKS];
    stream streams[STREAMS];
    spi spis[SPIS];
    bxcan bxcans[BXCANS];
    fdcan fdcans[FDCANS];
    uint32_t message_ram[FDCAN_RAM_WORDS];
    systick systick;
    watchdog watchdog;
    task *tasks;
    double seconds_before, hz; /* s until the last change of the clock; present
                                * Hz */
    int64_t cycles_then;       /* the cycle of that change */
    int32_t stale, attend;
    void *board;
    void (*describe)(void *board);
    void (*before_change)(void *board);
    void (*before_read)(void *board);
    double (*volts)(void *board, int32_t converter, uint32_t channel,
                    double from, double to);
    int64_t (*counts)(void *board, int32_t joint);
    int32_t (*exchange)(void *board, uint32_t word, uint32_t mode);
    double (*ask)(int32_t what, int32_t which, double value);
} parts;

/* Questions to Python. */
enum {
    TIMER_UPDATES,
    TIMER_TRIGGERS,
    TIMER_REQUEST,
    TIMER_COUNTS,
    CONVERTER_BUSY,
    CONVERTER_SEQUENCE,
    CONVERTER_VOLTS,
    PORT_OUTPUTS,
    SYSTICK_ZERO,
    WATCHDOG_BITES,
    LINK_FULL,
    LINK_ROOM,
    SPI_CLOCK,
    SPI_EXCHANGE,
    STREAM_ASTRAY,
    CAN_HZ,
    CAN_CYCLES,
    CAN_REFUSES
};

/* Kinds of parts, in the upper bits of a place's value. The part's number is
 * below, and the register's number is last. */
enum {
    A_TIMER,
    A_CONVERTER,
    A_PORT,
    A_LINK,
    A_STREAM,
    A_SPI,
    A_BXCAN,
    AN_FDCAN,
    MESSAGE_RAM,
    THE_SYSTICK,
    THE_WATCHDOG
};
#define KIND 16u /* bits below the kind */
#define NUMBER 8u /* bits below the part's number */

double floored(double a, double b);
double parts_seconds(const parts *l);
void parts_plan(parts *l, due *d, int64_t at);
double parts_ask(parts *l, int32_t what, int32_t which, double value);
void parts_line(const parts *l, int32_t interrupt, int asserted);
void parts_announce(parts *l);
void parts_look(parts *l);
int64_t parts_next(const parts *l);
int parts_fire(parts *l, int64_t next, uint64_t order);
int parts_read(parts *l, uint32_t what, uint64_t *value);
int parts_write(parts *l, uint32_t what, uint32_t value);
void port_set(parts *l, int32_t number, uint32_t levels);
void systick_schedule(parts *l);
uint32_t systick_count(const parts *l);
void watchdog_feed(parts *l);

#endif
