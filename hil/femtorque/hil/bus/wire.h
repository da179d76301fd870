/* A CAN bus ("wire"): nodes, arbitration, durations, errors. */
#ifndef WIRE_H
#define WIRE_H

#include "node.h"
#include "task.h"

/* A request to call `act` after a number of sequences of 11 recessive bits. */
typedef struct waiter {
    task task;
    double sequence, since;
    int32_t left, done;
    void (*act)(void *of);
    void *of;
    struct waiter *next;
} waiter;

/* hil/bus/wire.py describes the bus ("wire"). fast_phase: the last error was in
 * a data phase. nodes: list of nodes, in the order in which they were attached.
 * begins, comes, ends, rests, presses: scheduled events. frame: the present
 * frame, while `busy` is set. error: the error that ends this frame. flag:
 * number of bits in the error flag while the bus is held dominant. slowest: the
 * longest bit of all nodes while the bus is held dominant, s. calm: number of
 * frames since the last call of `noise`. noise: returns the number of bits
 * before noise disturbs a frame, or 0. passed: called with each frame, unless
 * it is 0. */
typedef struct wire {
    struct parts *parts;
    node *nodes;
    waiter *waiters;
    double error_rate, loop_delay, busy_seconds, slowest;
    int32_t terminators, shorted, held, fast_phase, idle, busy, error, flag;
    uint64_t calm;
    task begins, comes, ends, rests, presses;
    can_frame frame;
    int32_t (*noise)(double share, int32_t levels);
    void (*passed)(const can_frame *f, int32_t error);
} wire;

void wire_begin(wire *w, struct parts *parts);
void wire_attach(wire *w, node *n);
void wire_ask(wire *w, node *n);
void wire_wait(wire *w, waiter *x, node *n, int32_t sequences);
void wire_forget(wire *w, waiter *x);
void wire_hold(wire *w);
void wire_release(wire *w);

#endif
