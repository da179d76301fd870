/* hil/board/buses.py in C. Each servo sets its motor's voltage for an interval,
 * and each drive its torque. Then the plant moves on. The steps run ten
 * thousand times per second. */
#include "bus_steps.h"

#include <math.h>

#define TOGETHER 1e-9 /* difference of times that count as equal, s */

/* Return the sum of a quantity over both sides of a gear. */
static double both(const double *of_joints, int64_t gear, int64_t output)
{
    return of_joints[gear] + (output != gear ? of_joints[output] : 0.0);
}

/* Return true if the bridge of a servo is on, or a drive is not limp. */
int bus_acts(const bus_line *line)
{
    int64_t k;
    for (k = 0; k < line->drives; k++)
        if (!line->driven[k].limp(line->driven[k].drive))
            return 1;
    for (k = 0; k < line->servos; k++)
        if (line->served[k].drives(line->served[k].servo))
            return 1;
    return 0;
}

/* Set all servos' voltages, and the drives' torques, for these seconds. */
static void look(const bus_line *line, double h, double now)
{
    const plant_steps *p = line->plant;
    int64_t k;
    for (k = 0; k < line->servos; k++) {
        const served *s = &line->served[k];
        p->volts[s->gear] = s->sign *
            s->terminal(s->servo, now,
                        s->turns * both(p->q, s->gear, s->output),
                        s->turns * both(p->v, s->gear, s->output),
                        p->current[s->gear]);
    }
    for (k = 0; k < line->drives; k++) {
        const driven *d = &line->driven[k];
        p->torque[d->gear] = d->turns *
            d->step(d->drive, h, now,
                    d->turns * both(p->q, d->gear, d->output) + d->zero,
                    d->turns * both(p->v, d->gear, d->output));
    }
}

/* Simulate the plant, with voltages at the motors of the other joints. A held
 * plant does not move. Return 0 if the simulation of the plant fails. */
int bus_steps(const bus_line *line, double since, double until,
              const double *terminals, int held)
{
    plant_steps *p = line->plant;
    double intervals = fmax(rint((until - since) / line->interval), 1.0);
    double h = (until - since) / intervals;
    int64_t steps = (int64_t)ceil(h / p->max_step - 1e-9), i, k;
    steps = steps > 1 ? steps : 1;
    for (i = 0; i < p->n; i++)
        p->volts[i] = (double)NAN;
    for (i = 0; i < line->joints; i++)
        p->volts[line->motors[i]] = terminals[i];
    for (i = 0; i < (int64_t)intervals; i++) {
        look(line, h, since + (double)i * h);
        if (!held && p->take(p->arm, h / (double)steps, steps) < steps)
            break;
    }
    for (k = 0; k < line->drives; k++)
        p->torque[line->driven[k].gear] = 0.0;
    return i == (int64_t)intervals;
}

/* Copy positions and velocities at the gear outputs of the plant. */
void bus_look(const bus_line *line, plant_steps *seen)
{
    const plant_steps *p = line->plant;
    int64_t j;
    for (j = 0; j < line->joints; j++) {
        seen->q[j] = both(p->q, line->motors[j], line->outputs[j]);
        seen->v[j] = both(p->v, line->motors[j], line->outputs[j]);
        seen->current[j] = p->current[line->motors[j]];
    }
}

/* Simulate the joints up to the present time. The arm is held until the first
 * servo or drive acts. */
void bench_bring_up(void *of)
{
    bench *b = of;
    double now = parts_seconds(b->clock);
    if (!(now - b->at > TOGETHER))
        return;
    if (b->line == 0 || b->clock->stale) {
        b->pass();
        return;
    }
    b->held = b->held && !bus_acts(b->line);
    if (!bus_steps(b->line, b->at, now, b->still, b->held))
        b->stuck();
    b->at = now;
}
