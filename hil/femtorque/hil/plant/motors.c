/* Geared DC motors, integrated exactly with their electrical time constant. */
#include "motors.h"

#include <math.h>

/* Apply voltages to the motors for steps of h seconds. */
void motors_connect(const motors *m, double h, motors_at *at)
{
    int64_t i;
    for (i = 0; i < m->n; i++) {
        int floats = isnan(m->volts[i]);
        double ratio = m->henry[i] > 0.0 ? m->ohm[i] * h / m->henry[i]
                                         : HUGE_VAL;
        at->live[i] = floats ? 0.0 : m->constant[i];
        at->steady[i] = floats ? 0.0 : m->volts[i] / m->ohm[i];
        at->decay[i] = exp(-ratio);
        at->lag[i] = (1.0 - at->decay[i]) / ratio;
        at->damping[i] = at->live[i] * at->live[i] / m->ohm[i] *
                         (1.0 - at->lag[i]);
        if (at->live[i] == 0.0)
            m->current[i] = 0.0;
    }
}

/* Compute steps of h s of an arm with these motors. Return the number of
 * finished steps, below `count` if a step has no solution. */
int64_t motors_steps(const motors *m, double h, int64_t count, void *arm,
                     int (*take)(void *arm, const motors_at *at, double h))
{
    motors_at at;
    int64_t done = 0;
    motors_connect(m, h, &at);
    while (done < count && take(arm, &at, h))
        done++;
    return done;
}

/* Compute the mean torque of the coming step, without the damping. */
double motors_torque(const motors *m, const motors_at *at, int64_t i)
{
    return at->live[i] * (at->lag[i] * m->current[i] +
                          (1.0 - at->lag[i]) * at->steady[i]);
}

/* Finish a step that has this mean velocity. */
void motors_turn(const motors *m, const motors_at *at, int64_t i,
                 double velocity)
{
    double steady = at->steady[i] - at->live[i] * velocity / m->ohm[i];
    if (at->live[i] != 0.0)
        m->current[i] = steady + (m->current[i] - steady) * at->decay[i];
}
