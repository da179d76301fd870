/* The C of hil/board/buses.py for servos on a wire: each servo sets its motor's
 * voltage for an interval, then the plant moves on with these voltages. In C
 * because that is done ten thousand times a second. */
#include "servo_steps.h"

#include <math.h>

/* Add the parts of both sides of a gear. */
static double both(const served *s, const double *of_joints)
{
    return of_joints[s->gear] +
           (s->output != s->gear ? of_joints[s->output] : 0.0);
}

/* Set the voltages of all servos' motors. */
static void look(const servo_line *line, double now)
{
    const plant_steps *p = line->plant;
    int64_t k;
    for (k = 0; k < line->servos; k++) {
        const served *s = &line->served[k];
        p->volts[s->gear] = s->sign *
            s->terminal(s->servo, now, s->turns * both(s, p->q),
                        s->turns * both(s, p->v), p->current[s->gear]);
    }
}

/* Move on by `count` intervals; return 0 if the plant cannot. */
int servo_steps(servo_line *line, double since, int64_t count)
{
    plant_steps *p = line->plant;
    int64_t steps = (int64_t)ceil(line->h / p->max_step - 1e-9), i;
    steps = steps > 1 ? steps : 1;
    for (i = 0; i < count; i++) {
        look(line, since + (double)i * line->h);
        if (p->take(p->arm, line->h / (double)steps, steps) < steps)
            return 0;
    }
    return 1;
}
