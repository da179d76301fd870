/* The C implementation of hil/board/coupler.py, between the chip's pins and a
 * plant. The coupler computes the voltages of bridges and sensors and the
 * counts of encoders, and simulates the plant up to the chip's time. The plant
 * is simulated to the present time when outputs change or when the chip samples
 * a sensor. */
#include "coupled.h"

#include <math.h>
#include <string.h>

/* Describe the board again if a quantity other than a duty has changed. */
static void look(const coupled *b)
{
    if (b->chip->stale)
        b->chip->describe(b->chip->board);
}

/* Return the output of a bridge as a fraction of the bus voltage, with the
 * motor's sign. Return NaN if the terminals of the motor float. */
double bridge_share(const parts *chip, const bridge *r)
{
    double share = pin_share(chip->timers, &r->one);
    int high = r->port >= 0 && (chip->ports[r->port].words[PORT_LEVELS] >>
                                    r->pin & 1u) != 0;
    if (r->kind == FLOATS || (r->kind == ANTIPHASE && !high))
        return (double)NAN;
    if (r->kind == SIGNED)
        share = high ? -share : share;
    else if (r->kind == ANTIPHASE)
        share = 2.0 * share - 1.0;
    else
        share -= pin_share(chip->timers, &r->other);
    return r->sign * share;
}

/* Find the voltages on the motors; NaN if the terminals float. */
void coupled_terminals(const coupled *b, double *found)
{
    int32_t j;
    look(b);
    for (j = 0; j < b->joints; j++)
        found[j] = bridge_share(b->chip, &b->bridges[j]) * b->bus * b->wire[j];
}

static int same(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

/* Return true if a support holds the arm and no motor is driven. */
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

/* Simulate the plant with the present voltages. */
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

/* Simulate the plant with the servos and drives that turn its joints. */
static void serve(const coupled *b, double until)
{
    if (!bus_steps(b->line, b->plant_at, until, b->terminals, 0))
        b->stuck();
    if (b->plant != b->line->plant)
        bus_look(b->line, b->plant);
}

/* Simulate the plant up to a time. */
static void drive(coupled *b, double until)
{
    plant_steps *p = b->plant;
    if (!(until - b->plant_at > b->together))
        return;
    look(b);
    if (b->line != 0 && !b->by_hand && !(let_be(b) && !bus_acts(b->line)))
        serve(b, until);
    else if (p->take == 0 || b->by_hand || b->line != 0)
        b->pass(until, let_be(b));
    else if (let_be(b)) /* currents are 0 then */
        memset(p->current, 0, (size_t)p->n * sizeof(double));
    else
        move(b, until - b->plant_at);
    b->plant_at = until;
}

/* Simulate the plant up to now before voltages change with the outputs. */
void coupled_change(void *board)
{
    coupled *b = board;
    double found[MOST];
    int changed = 0;
    int32_t j;
    coupled_terminals(b, found);
    for (j = 0; j < b->joints; j++)
        changed |= !same(found[j], b->terminals[j]);
    if (changed) {
        drive(b, b->changed_at);
        memcpy(b->terminals, found, (size_t)b->joints * sizeof(double));
    }
    b->changed_at = parts_seconds(b->chip);
}

/* Simulate the plant up to the chip's time. */
void coupled_bring_up(void *board)
{
    coupled *b = board;
    double now = parts_seconds(b->chip);
    if (now - b->plant_at > b->together) {
        coupled_change(b);
        drive(b, now);
    }
    if (b->many)
        b->follow();
}

/* Return the voltage of a sensor at a current in A, V. from, to: cycles in
 * which a converter samples the sensor. */
double sense_volts(const parts *chip, const sense *s, double amperes,
                   double from, double to)
{
    const timer *t = &chip->timers[s->below.timer];
    if (s->kind == STEADY ||
        (s->kind == SHUNT && !timer_conducts(t, s->below.channel, from, to)))
        return s->zero;
    return fmin(fmax(s->zero + s->slope * (s->sign * amperes), s->low),
                s->high);
}

/* Return a converter pin's voltage, V. from, to: of the window, cycles. */
double coupled_volts(void *board, int32_t converter, uint32_t channel,
                     double from, double to)
{
    const coupled *b = board;
    const sense *s = &b->senses[converter][channel];
    double amperes = b->plant->current[b->place[s->joint]];
    double volts = sense_volts(b->chip, s, amperes, from, to);
    return s->heard ? b->hear(s->joint, volts) : volts;
}

/* Return true if a pin is an output and low. */
static int selects(const parts *chip, const int32_t *pin)
{
    const port *p = &chip->ports[pin[0]];
    return (p->outputs & ~p->words[PORT_LEVELS]) >> pin[1] & 1u;
}

/* Pass a frame to the selected gate driver, and return the driver's answer. If
 * two drivers are selected at once, their answers collide. */
int32_t coupled_exchange(void *board, uint32_t word, uint32_t mode)
{
    const coupled *b = board;
    drv8301 *selected = 0, before;
    uint32_t answer;
    int32_t i, count = 0;
    for (i = 0; i < DRIVERS && b->drivers[i] != 0; i++)
        if (selects(b->chip, b->select[i])) {
            selected = b->drivers[i];
            count++;
        }
    if (i == 0)
        return -1;
    if (count != 1)
        return 0;
    before = *selected;
    answer = drv8301_exchange(selected, parts_seconds(b->chip), word, mode);
    if (before.shut != selected->shut ||
        memcmp(before.registers, selected->registers, sizeof before.registers))
        b->switched();
    return (int32_t)answer;
}

/* Return the counts of an encoder since power-up. */
int64_t coupled_counts(void *board, int32_t joint)
{
    const coupled *b = board;
    double moved = b->plant->q[b->place[joint]] - b->origin[joint];
    if (b->plant->take == 0)
        return b->counted[joint];
    return (int64_t)floor(moved * b->per_unit[joint] + 0.5);
}
