/* The CAN controller functions that the families have in common. */
#ifndef CAN_H
#define CAN_H

#include "pins.h"
#include "wire.h"

#define CAN_PINS 2
#define CAN_LINES 4

/* A controller, as hil/chip/stm32/can.py describes it. number: number among
 * controllers of the same type. wire: the bus at the transceiver, or 0. pins:
 * number of pins that must be switched to the controller. hz: bit clock before
 * the controller's divider; 0 while the clock is off, negative while it is
 * unknown. off: the controller is bus off and has not recovered yet. lines:
 * numbers of its interrupt requests, or -1. asserted: asserted requests, as
 * bits. turns: scheduled change of mode. waits: the wait for recessive bits. */
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
