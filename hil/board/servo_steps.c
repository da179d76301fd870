/* What hil/board/buses.py does between two looks at servos on a wire: each
 * gives its motor a voltage for an interval, then the plant goes on under
 * these. In C because that is ten thousand times a second. */
#include "servo_steps.h"

#include <math.h>

/* Add up what both sides of a gear do. */
static double both(const served *s, const double *of_joints)
{
    return of_joints[s->gear] +
           (s->output != s->gear ? of_joints[s->output] : 0.0);
}

/* Let all servos look at their joints. */
static void look(const servo_line *line, double now)
{
    const plant_steps *p = line->plant;
    int64_t k;
    for (k = 0; k < line->servos; k++) {
        const served *s = &line->served[k];
        p->volts[s->gear] = s->sign *
            sts_terminal(s->motor, now, s->turns * both(s, p->q),
                         s->turns * both(s, p->v), p->current[s->gear]);
    }
}

/* Go on from one interval to another; which it has come to: an earlier one
 * where the plant has left steps. */
int64_t servo_steps(servo_line *line, double since, int64_t from, int64_t to)
{
    plant_steps *p = line->plant;
    int64_t count = (int64_t)ceil(line->h / p->max_step - 1e-9), i, done;
    count = count > 1 ? count : 1;
    line->step = line->h / (double)count;
    line->left = 0;
    for (i = from; i < to && line->left == 0; i++) {
        look(line, since + (double)i * line->h);
        done = p->take(p->arm, line->step, count);
        p->time += (double)done * line->step;
        line->left = count - done;
    }
    return i;
}
