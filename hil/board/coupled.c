/* The C of hil/board/coupler.py, bridges.py, current_sensors.py and
 * encoders.py, between the chip's timers and converters and a plant, while
 * nothing but duties changes. A plant in Python is called to move on. In C
 * because a current loop runs this twenty thousand times a second. */
#include "coupled.h"

#include <math.h>
#include <string.h>

static double seconds(const coupled *b)
{
    int64_t gone = b->chip->core->count->now - b->cycles_then;
    return b->seconds_before + (double)gone / b->hz;
}

/* Share of time for which a pin is high. */
static double duty(const coupled *b, const pin *p)
{
    double share;
    if (!p->follows)
        return 0.0;
    share = p->top > 0.0
                ? b->chip->timers[p->timer].shadow[p->channel] / p->top
                : 0.0;
    share = fmin(share, 1.0);
    return p->inverted ? 1.0 - share : share;
}

/* V on a motor; NaN: its terminals float. */
static double terminal(const coupled *b, const bridge *r)
{
    double share = duty(b, &r->one);
    int high = r->port >= 0 &&
               (b->chip->ports[r->port].levels >> r->pin & 1u) != 0;
    if (r->kind == FLOATS || (r->kind == ANTIPHASE && !high))
        return (double)NAN;
    if (r->kind == SIGNED)
        share = high ? -share : share;
    else if (r->kind == ANTIPHASE)
        share = 2.0 * share - 1.0;
    else
        share -= duty(b, &r->other);
    return r->sign * share * b->bus * r->wire;
}

static int same(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

/* Return true if an arm at rest is held up from outside and nothing drives
 * it. */
static int let_be(const coupled *b)
{
    int32_t j;
    if (b->stopped)
        return 1;
    for (j = 0; j < b->joints; j++)
        if (!isnan(b->terminals[j]) ||
            !(fabs(b->plant->v[b->place[j]]) < b->grip))
            return 0;
    return b->held;
}

/* Move the plant under the present voltages. */
static void move(coupled *b, double time)
{
    plant_steps *p = b->plant;
    int64_t count = (int64_t)ceil(time / p->max_step - 1e-9);
    double h;
    int32_t j;
    count = count > 1 ? count : 1;
    h = time / (double)count;
    for (j = 0; j < b->joints; j++)
        p->volts[b->place[j]] = b->terminals[j];
    if (p->take(p->arm, h, count) < count)
        b->stuck();
}

/* Bring the plant to a time. */
static void drive(coupled *b, double until)
{
    plant_steps *p = b->plant;
    if (!(until - b->plant_at > b->together))
        return;
    if (p->take == 0)
        b->pass(until - b->plant_at, let_be(b));
    else if (let_be(b)) /* currents are 0 then */
        memset(p->current, 0, (size_t)p->n * sizeof(double));
    else
        move(b, until - b->plant_at);
    b->plant_at = until;
}

/* Step the plant before outputs may change. */
void coupled_change(void *board)
{
    coupled *b = board;
    double found[MOST];
    int changed = 0;
    int32_t j;
    for (j = 0; j < b->joints; j++) {
        found[j] = terminal(b, &b->bridges[j]);
        changed |= !same(found[j], b->terminals[j]);
    }
    if (changed) {
        drive(b, b->changed_at);
        memcpy(b->terminals, found, (size_t)b->joints * sizeof(double));
    }
    b->changed_at = seconds(b);
}

/* Bring the plant to the chip's time. */
void coupled_bring_up(void *board)
{
    coupled *b = board;
    double now = seconds(b);
    if (now - b->plant_at > b->together) {
        coupled_change(b);
        drive(b, now);
    }
}

/* Return true if a low switch conducts all the time between two cycles. */
static int conducts(const coupled *b, const pin *p, double from, double to)
{
    const lent_timer *t = &b->chip->timers[p->timer];
    return fmin(b->count(t, from), b->count(t, to)) >= t->shadow[p->channel];
}

/* V on a converter's pin in the window in which it is sampled. */
double coupled_volts(void *board, int32_t converter, uint32_t channel,
                     double from, double to)
{
    const coupled *b = board;
    const sense *s = &b->senses[converter][channel];
    double amperes;
    if (s->kind == STEADY ||
        (s->kind == SHUNT && !conducts(b, &s->below, from, to)))
        return s->zero;
    amperes = s->sign * b->plant->current[b->place[s->joint]];
    return fmin(fmax(s->zero + s->slope * amperes, s->low), s->high);
}

/* Counts of an encoder since power-up. */
int64_t coupled_counts(void *board, int32_t joint)
{
    const coupled *b = board;
    double moved = b->plant->q[b->place[joint]] - b->origin[joint];
    if (b->plant->take == 0)
        return b->counted[joint];
    return (int64_t)floor(moved * b->per_unit[joint] + 0.5);
}
