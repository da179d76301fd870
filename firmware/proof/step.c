/* The emitted step, ft_step.c, with what it is made of: ft_flexible.c where links
 * bend, ft_loop.c and ft_tree.c where loops are closed. */
#include "proof.h"

#include "ft_config.c"
#include "ft_step.c"
#if __has_include("ft_flexible.c")
#include "ft_flexible.c"
#endif
#if FT_STEP_CLOSED
#define ft_loop_solve solved
#include "ft_loop.c"
#undef ft_loop_solve
#include "ft_tree.c"
#endif

static ft_step_state step;

#if FT_STEP_CLOSED

ft_loop_solution nondet_solution(void);

/* What solving the loops makes of a pose is here anything. */
void ft_loop_solve(const ft_loop_pose *at, ft_loop_solution *now)
{
    CLAIM(__CPROVER_r_ok(at, sizeof *at));
    *now = nondet_solution();
}

/* A tick of closed loops, and a step of a start towards any place, whatever the
 * motion is and the state holds, numbers or not, is free of run-time errors, but
 * for conversions: that no dependent joint is told to go half a turn in a tick is
 * not shown. A pose that is singular, or whose correction is too large or no
 * number, is a fault of the same tick.
 * Run: unwind=16 slice mechanisms=five_bar */
void prove_step_closed(void)
{
    ft_sample next;
    ft_turn q[FT_JOINTS];
    ft_real tau[FT_JOINTS];

    ANYTHING(step);
    ANYTHING(next);
    ANYTHING(q);
    switch (nondet_u8() % 3u) {
    case 0:
        solved(&step.at, &step.loop);
        break;
    case 1:
        (void)ft_step_reach(&step, q, 1u);
        break;
    default:
        ft_step(&step, &next, tau);
        CLAIM(ft_holds(&step) || step.fault);
    }
    END;
}

#else

/* Return whether the state is as the start and every tick leave it. */
static bool well(void)
{
    return step.exact < 2u * FT_STEP_PAIRS;
}

/* A tick of the step, whatever the motion is and the state holds, numbers or not,
 * is free of run-time errors, gives every joint a torque, and leaves a state from which
 * the next one is, too. The same of making frames exact. What the torques are,
 * and that none is no number, is not part of it: law_wild has what becomes of
 * such.
 * Run: unwind=16 floats slice mechanisms=three_link,six_axis,flexible_arm */
void prove_step_tick(void)
{
    ft_sample next;
    ft_turn q[FT_JOINTS];
    ft_real tau[FT_JOINTS];

    ANYTHING(step);
    ANYTHING(next);
    ANYTHING(q);
    if (nondet_bool()) {
        ft_step_anchor(&step, q);
    } else {
        GIVEN(well());
        ft_step(&step, &next, tau);
    }
    CLAIM(well());
    END;
}

#endif
