/* The common part of the families' CAN controllers. */
#ifndef CAN_H
#define CAN_H

#include "pins.h"
#include "wire.h"

#define CAN_PINS 2
#define CAN_LINES 4

/* hil/chip/stm32/can.py. number: among its kind. wire: at its transceiver, or
 * 0. pins: that must be switched to it, so many. hz: of its bits before its own
 * divider, 0 while that clock is dead, less while it is unknown. off: since it
 * was bus off, until it has come back. lines: numbers of its interrupt
 * requests, or -1; asserted: which of them it asserts, as bits. turns: to
 * another mode; waits: for recessive bits. */
typedef struct {
    node node;
    struct parts *parts;
    wire *wire;
    int32_t number, clocked, off, pins, lines[CAN_LINES];
    switched_pin pin[CAN_PINS];
    double hz;
    uint32_t asserted;
    task turns;
    waiter waits;
} can;

void can_begin(can *c, struct parts *l, int32_t number, void *of,
               const node_ways *ways);
int can_connected(const can *c);
double can_hz(can *c);
int can_warned(const can *c);
void can_wake(can *c);
void can_back(can *c);
void can_line(can *c, int32_t line, int asserted);
void can_forget(can *c);
void can_after(const can *c, task *t, double clocks);
void can_wait(can *c, waiter *x, int32_t sequences);
void can_refuse(const can *c, int32_t why);

#endif
