/* The rules for exceptions, ARMv7-M B1.5. */
#include "nvic.h"

#include <string.h>

#define AT_ONCE 8 /* divides EXCEPTIONS */

/* Return the priority of an exception, which is fixed or set by software. */
static int32_t priority_of(const nvic *n, int32_t number)
{
    return number <= HARD_FAULT ? number - 4 : n->priority[number];
}

/* Return the preemption part of a priority. */
static int32_t grouped(const nvic *n, int32_t priority)
{
    return priority >> (n->group_shift + 1u) << (n->group_shift + 1u);
}

/* Return true if an exception is active. */
static int is_active(const nvic *n, int32_t number)
{
    int32_t i;
    for (i = 0; i < n->depth; i++)
        if (n->active[i] == number)
            return 1;
    return 0;
}

/* Assert or clear a peripheral's interrupt request. */
void nvic_line(nvic *n, int32_t irq, int32_t asserted)
{
    int32_t number = FIRST_IRQ + irq;
    if (asserted && !n->lines[number] && !is_active(n, number))
        n->pending[number] = 1;
    n->lines[number] = (uint8_t)(asserted != 0);
}

/* Return the preemption part of an exception's priority. */
int32_t nvic_group(const nvic *n, int32_t number)
{
    return number <= HARD_FAULT ? number - 4
                                : grouped(n, n->priority[number]);
}

/* Return the execution priority. Only lower numbers preempt. */
int32_t nvic_running(const nvic *n, uint32_t primask, uint32_t basepri,
                     uint32_t faultmask)
{
    int32_t level = THREAD, i;
    for (i = 0; i < n->depth; i++)
        if (nvic_group(n, n->active[i]) < level)
            level = nvic_group(n, n->active[i]);
    if (basepri != 0 && grouped(n, (int32_t)basepri) < level)
        level = grouped(n, (int32_t)basepri);
    if (primask != 0 && level > 0)
        level = 0;
    return faultmask != 0 && level > -1 ? -1 : level;
}

/* Return true if any of eight exceptions, beginning at a number, is pending. */
static int any_pends(const nvic *n, int32_t from)
{
    uint64_t pending;
    memcpy(&pending, n->pending + from, sizeof pending);
    return pending != 0;
}

/* Find the pending and enabled exception with the highest priority. */
int32_t nvic_candidate(const nvic *n)
{
    int32_t best = NO_EXCEPTION, from, i;
    for (from = 0; from < EXCEPTIONS; from += AT_ONCE)
        for (i = from; any_pends(n, from) && i < from + AT_ONCE; i++)
            if (n->pending[i] && n->enabled[i] &&
                (best == NO_EXCEPTION ||
                 priority_of(n, i) < priority_of(n, best)))
                best = i;
    return best;
}

/* Return true if an interrupt is pending and enabled. */
static int interrupt_waits(const nvic *n)
{
    int32_t i;
    for (i = FIRST_IRQ; i < EXCEPTIONS; i++)
        if (n->pending[i] && n->enabled[i])
            return 1;
    return 0;
}

/* Return the register ICSR (ARMv7-M B3.2.4). */
uint32_t nvic_control(const nvic *n)
{
    int32_t next = nvic_candidate(n);
    uint32_t value = n->depth > 0 ? (uint32_t)n->active[n->depth - 1] : 0u;
    value |= next > 0 ? (uint32_t)next << 12 : 0u;
    value |= (uint32_t)(n->depth <= 1) << 11;
    value |= (uint32_t)interrupt_waits(n) << 22;
    value |= (uint32_t)(n->pending[SYSTICK] != 0) << 26;
    value |= (uint32_t)(n->pending[PENDSV] != 0) << 28;
    return value | (uint32_t)(n->pending[NMI] != 0) << 31;
}

/* Take a write to ICSR. */
void nvic_set(nvic *n, uint32_t value)
{
    if (value >> 26 & 1u)
        n->pending[SYSTICK] = 1;
    if (value >> 28 & 1u)
        n->pending[PENDSV] = 1;
    if (value >> 31 & 1u)
        n->pending[NMI] = 1;
    if (value >> 25 & 1u)
        n->pending[SYSTICK] = 0;
    if (value >> 27 & 1u)
        n->pending[PENDSV] = 0;
}

/* Make an exception active. */
void nvic_enter(nvic *n, int32_t number)
{
    n->pending[number] = 0;
    n->active[n->depth++] = number;
}

/* End the innermost active exception, and return its number. */
int32_t nvic_leave(nvic *n)
{
    int32_t number = n->active[--n->depth];
    if (n->lines[number])
        n->pending[number] = 1;
    return number;
}
