/* Counts and pins of a timer at a given time, and pins of other peripherals. */
#include "pins.h"

#include "parts.h"

#include <math.h>

#define CENTRED 0x60u /* CR1.CMS */
#define ALTERNATE 2u  /* mode of a port's pin */
#define FUNCTIONS 8   /* register with the alternate functions of pins 0 to 7 */

/* Return the remainder with the sign of b. */
static double modulo(double a, double b)
{
    double rest = fmod(a, b);
    return rest != 0.0 && (rest < 0.0) != (b < 0.0) ? rest + b : rest;
}

/* Return the clocks from the last overflow or underflow to a cycle. */
double timer_clocks(const timer *t, double cycle)
{
    return (cycle - t->phase) / ((t->prescaler + 1.0) * t->cycles);
}

/* Return a running count. gone: clocks since its last wrap. */
double timer_count(const timer *t, double gone)
{
    double top = t->top, place;
    if ((t->words[TIMER_CONTROL] & CENTRED) == 0)
        return modulo(gone, top + 1.0);
    place = modulo(gone + (t->rising ? 0.0 : top), 2.0 * top);
    return place <= top ? place : 2.0 * top - place;
}

/* Return true if the low switch of a half bridge conducts for the whole time
 * between two cycles. The bridge is enabled, and a centred counter reaches its
 * top between these cycles. In PWM mode 1 the low switch conducts while the
 * count is at least the compare value. */
int timer_conducts(const timer *t, int32_t channel, double from, double to)
{
    return fmin(timer_count(t, timer_clocks(t, from)),
                timer_count(t, timer_clocks(t, to))) >= t->compare[channel];
}

/* Return the fraction of time (0 to 1) for which a pin is high. */
double pin_share(const timer *timers, const pin *p)
{
    double share;
    if (!p->follows)
        return p->stays;
    share = p->top > 0.0 ? timers[p->timer].compare[p->channel] / p->top : 0.0;
    share = fmin(share, 1.0);
    return p->inverted ? 1.0 - share : share;
}

/* Return true if pins are switched to their peripheral. */
int pins_switched(const parts *l, const switched_pin *p, int32_t count)
{
    const switched_pin *end = p + count;
    for (; p < end; p++) {
        const uint32_t *words = l->ports[p->port].words;
        if ((words[0] >> 2 * p->pin & 3u) != ALTERNATE ||
            (words[FUNCTIONS + p->pin / 8] >> 4 * (p->pin % 8) & 15u) !=
                p->function)
            return 0;
    }
    return 1;
}
