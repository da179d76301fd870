/* A CAN wire with its nodes: arbitration, duration, reception and errors of
 * frames. */
#ifndef WIRE_H
#define WIRE_H

#include "node.h"
#include "task.h"

/* A wait for a number of sequences of recessive bits, after which `act` is
 * called. */
typedef struct waiter {
    task task;
    double sequence, since;
    int32_t left, done;
    void (*act)(void *of);
    void *of;
    struct waiter *next;
} waiter;

/* hil/bus/wire.py describes a wire. fast_phase: the last error was in a data
 * phase. nodes: list of nodes, in the order in which they were attached.
 * begins, comes, ends, rests, presses: planned events. frame: the frame on the
 * wire while `busy` is set. error: of that frame. flag: bits of the error flag
 * on a held wire. slowest: longest bit of a node on a held wire, s. calm:
 * number of frames since the last call of `noise`. noise: returns the
 * number of bits before it disturbs a frame, or 0. passed: called with each
 * frame, unless it is 0. */
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
