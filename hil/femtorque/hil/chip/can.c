/* A CAN node that is a peripheral of a chip. */
#include "parts.h"

#include <math.h>

#define WARNING 96 /* RM0090 32.9.2, ESR.EWGF; RM0440 44.4.12, PSR.EW */

/* Return true if the controller's pins are switched to the transceiver. */
int can_connected(const can *c)
{
    return pins_switched(c->parts, c->pin, c->pins);
}

double can_hz(can *c)
{
    if (c->hz < 0.0)
        c->hz = parts_ask(c->parts, CAN_HZ, c->number, 0.0);
    return c->hz;
}

/* Return true if an error counter has reached the warning limit. */
int can_warned(const can *c)
{
    return c->node.transmit >= WARNING || c->node.receive >= WARNING;
}

/* Let a waiting frame go. */
void can_wake(can *c)
{
    can_frame f;
    if (c->wire != 0 && c->wire->idle && c->node.ways->offer(&c->node, &f))
        wire_ask(c->wire, &c->node);
}

/* Come back to the bus. After bus off the error counters restart at 0. */
void can_back(can *c)
{
    if (c->off)
        c->node.transmit = c->node.receive = 0;
    c->off = 0;
}

/* Assert or clear an interrupt request. */
void can_line(can *c, int32_t line, int asserted)
{
    c->asserted = (c->asserted & ~(1u << line)) |
                  (asserted ? 1u << line : 0u);
    if (c->lines[line] >= 0)
        parts_line(c->parts, c->lines[line], asserted);
}

/* Cancel a change of mode. */
void can_forget(can *c)
{
    task_cancel(c->parts, &c->turns);
    if (c->wire != 0)
        wire_forget(c->wire, &c->waits);
}

/* Schedule a task a number of bus clocks of the controller from now. */
void can_after(const can *c, task *t, double clocks)
{
    double cycles = parts_ask(c->parts, CAN_CYCLES, c->number, 0.0);
    task_after_cycles(c->parts, t, (int64_t)rint(clocks * cycles));
}

/* Wait until the controller has received so many recessive sequences. */
void can_wait(can *c, waiter *x, int32_t sequences)
{
    wire_wait(c->wire, x, &c->node, sequences);
}

/* Refuse an action that is not modelled. why: number of the refusal. */
void can_refuse(const can *c, int32_t why)
{
    parts_ask(c->parts, CAN_REFUSES, c->number, why);
}

void can_begin(can *c, struct parts *l, int32_t number, void *of,
               const node_ways *ways)
{
    int32_t i;
    c->parts = l;
    c->number = number;
    c->node.ways = ways;
    c->node.owner = c->turns.of = c->waits.of = of;
    for (i = 0; i < CAN_LINES; i++)
        c->lines[i] = -1;
}
