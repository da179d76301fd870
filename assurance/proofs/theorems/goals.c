/* Goals of servos that close a position loop, ft_goal.c. */
#include "proof.h"

#include <string.h>

#include "ft_config.c"
#include "ft_goal.c"

/* For any target, NaN included, a goal is a count of the servo's turn. If the
 * servo follows a target, the goal is within the range of the command, which
 * only the weight moves beyond the joint's limits.
 * Assumes: a count is 1 rad. The step only converts units.
 * Run: unwind=9 mechanisms=holding */
void prove_goal_inside(void)
{
    static const ft_loop loop = { 885.0f, 0.0f, 1.0f, 0.25f };
    ft_drive_config c = ft_drive[0];
    ft_drive_target t;
    ft_frame f;
    float goal;

    ANYTHING(t);
    ANYTHING(f);
    c.step = 1.0f;
    if (ft_goal_aim(&f, &c, &t, &loop)) {
        goal = (float)two(f.data);
        CLAIM(goal >= 0.0f && goal <= LAST && f.size == 8u);
        CLAIM(!(t.kp > 0.0f && t.least >= 0.0f && t.least <= t.most
                && t.most <= LAST)
              || (goal >= t.least - HALF && goal <= t.most + HALF));
    }
    END;
}
