/* Moves two driven joints of closed loops along a straight line until a
 * singular pose or a limit. The joints move as fast as their limits allow.
 * After the outputs have been switched off, the joints move back. Built with
 * sanitizers. Prints whether a singular pose caused a fault, and whether the
 * solver closed the loops again. */
#include "ft_step.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define TICKS 2000
#define UNIT (8.0 * atan(1.0) / 4294967296.0) /* rad */
#define SPEED 10.0                            /* rad/s */
#define RISE 0.2                              /* rise per tick, rad/s */

static ft_step_state step;
static ft_turn way[TICKS + 1][FT_JOINTS];

static ft_turn turned(double angle)
{
    return (ft_turn)(ft_angle)(int64_t)llround(angle / UNIT);
}

/* Move the joints until a fault or a limit. Return the ticks. */
static int lead(double direction)
{
    const double along[] = { cos(direction), sin(direction) };
    double q[] = { 2.2, 0.94159265359 }, velocity = 0.0;
    ft_real tau[FT_JOINTS];
    int k, j;

    for (k = 1; k <= TICKS; k++) {
        const double rise = velocity < SPEED ? RISE : 0.0;
        ft_sample next;

        velocity += rise;
        for (j = 0; j < FT_JOINTS; j++) {
            q[j] += 1e-3 * velocity * along[j];
            if (q[j] < -0.6 || q[j] > 3.7)
                return k - 1;
            next.q[j] = way[k][j] = turned(q[j]);
            next.u[j] = (ft_real)(0.5e-3 * velocity * along[j]);
            next.du[j] = (ft_real)(0.25e-3 * rise * along[j]);
        }
        ft_step(&step, &next, tau);
        if (step.fault)
            return k;
    }
    return TICKS;
}

/* Move the joints back by hand, and wait. Return whether the loops close. */
static int back(int k)
{
    int ticks, closed = 0;

    for (; k > 0; k--)
        (void)ft_step_reach(&step, way[k - 1], 1u);
    for (ticks = 0; ticks < 400 && !closed; ticks++)
        closed = ft_step_reach(&step, way[0], 1u);
    return closed;
}

int main(int argc, char **argv)
{
    const double direction = argc > 1 ? atof(argv[1]) : 0.0;
    const ft_turn begin[] = { turned(2.2), turned(0.94159265359) };
    int ticks;

    way[0][0] = begin[0];
    way[0][1] = begin[1];
    ft_step_start(&step, begin);
    if (step.fault)
        return 2;
    ticks = lead(direction);
    printf("%s after %d\n", step.fault ? "fault" : "limit", ticks);
    return back(ticks) ? 0 : 1;
}
