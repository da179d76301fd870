/* The chip's peripherals in C and their events: timers, converters, ports,
 * SysTick, watchdog, links, CAN controllers. Python (hil/clock/chip_state.py)
 * describes the peripherals, and handles rare accesses on the same variables. C
 * calls Python for information that exists only in Python. */
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
 * asked: output pins that are read only on demand, so that no function is
 * called when they change. steered: pins that only the board in C reads. heard:
 * pins whose changes are reported to Python. inputs: index of the input
 * register. */
typedef struct {
    uint32_t words[PORT_WORDS];
    uint32_t outputs, asked, steered, heard;
    place_of_register *inputs;
} port;

enum { PORT_DRAINS = 1, PORT_LEVELS = 5 }; /* numbers of registers */

/* hil/chip/scs.py describes SysTick. last: the value that was last loaded into
 * the counter. loaded: cycle of this load. held_at: cycle at which SysTick was
 * stopped, or -1. heard: Python is called when the count reaches zero. */
typedef struct {
    due expire;
    int32_t enabled, interrupt, flag, heard;
    int64_t loaded, held_at;
    uint32_t last, reload, divider;
} systick;

/* hil/chip/stm32/watchdog.py describes the watchdog. timeout: cycles; 0 while
 * the watchdog is stopped or its registers are unlocked. */
typedef struct {
    due bite;
    int64_t timeout;
} watchdog;

/* order: number of the last scheduled event, in C or in Python. stale: Python
 * must describe the board again. attend: Python was called or has scheduled an
 * event. board: the models outside of the chip. The functions with a `board`
 * argument simulate the plant up to the present time. These functions return
 * the voltage on a pin, the counts of an encoder, and the answer to an SPI
 * frame. If the value is -1, Python has the answer. tasks: events of the buses
 * around the chip. */
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
    double seconds_before, hz; /* time of the last clock change, s; present
                                * clock, Hz */
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

/* Peripheral types, in the upper bits of a slot's value, above the numbers of
 * the peripheral and of the register. */
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
#define NUMBER 8u /* number of bits below the peripheral's number */

double floored(double a, double b);
double parts_seconds(const parts *l);
void parts_plan(parts *l, due *d, int64_t at);
double parts_ask(parts *l, int32_t what, int32_t which, double value);
void parts_line(const parts *l, int32_t interrupt, int asserted);
void parts_announce(parts *l);
void parts_look(parts *l);
int64_t parts_next(const parts *l);
int parts_fire(parts *l, int64_t next, uint64_t order);
int parts_run(parts *l, int64_t until, int64_t next);
int parts_read(parts *l, uint32_t what, uint64_t *value);
int parts_write(parts *l, uint32_t what, uint32_t value);
void port_set(parts *l, int32_t number, uint32_t levels);
void systick_schedule(parts *l);
uint32_t systick_count(const parts *l);
void watchdog_feed(parts *l);

#endif
