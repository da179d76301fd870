/* The C of hil/board/buses.py for servos on a wire: each servo sets its motor's
 * voltage for an interval, then the plant moves on with these voltages. In C
 * because that is done ten thousand times a second. */
#include "servo_steps.h"

#include <math.h>

/* Add the parts of both sides of a gear. */
static double both(const double *of_joints, int64_t gear, int64_t output)
{
    return of_joints[gear] + (output != gear ? of_joints[output] : 0.0);
}

/* Return true if a servo's bridge is on. */
int servos_drive(const servo_line *line)
{
    int64_t k;
    for (k = 0; k < line->servos; k++)
        if (line->served[k].drives(line->served[k].servo))
            return 1;
    return 0;
}

/* Set the voltages of all servos' motors. */
static void look(const servo_line *line, double now)
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
}

/* Move on, with voltages at the motors of other joints; return 0 if the plant
 * cannot. */
int servo_steps(const servo_line *line, double since, double until,
                const double *terminals)
{
    plant_steps *p = line->plant;
    double intervals = fmax(rint((until - since) / line->interval), 1.0);
    double h = (until - since) / intervals;
    int64_t steps = (int64_t)ceil(h / p->max_step - 1e-9), i;
    steps = steps > 1 ? steps : 1;
    for (i = 0; i < p->n; i++)
        p->volts[i] = (double)NAN;
    for (i = 0; i < line->joints; i++)
        p->volts[line->motors[i]] = terminals[i];
    for (i = 0; i < (int64_t)intervals; i++) {
        look(line, since + (double)i * h);
        if (p->take(p->arm, h / (double)steps, steps) < steps)
            return 0;
    }
    return 1;
}

/* Copy what is seen of the plant from outside of its gears. */
void servo_look(const servo_line *line, plant_steps *seen)
{
    const plant_steps *p = line->plant;
    int64_t j;
    for (j = 0; j < line->joints; j++) {
        seen->q[j] = both(p->q, line->motors[j], line->outputs[j]);
        seen->v[j] = both(p->v, line->motors[j], line->outputs[j]);
        seen->current[j] = p->current[line->motors[j]];
    }
}
