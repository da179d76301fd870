/* The emitted step, ft_step.c, with what it is made of: ft_flexible.c where
 * links bend, ft_loop.c and ft_tree.c where loops are closed. */
#include "proof.h"

#include "ft_config.c"

/* The rounds of a start: each begins with whatever those before it have left.
 * An invariant has to stand behind the loop's condition, which is emitted. */
#ifdef ROUNDS
#define for(...) for (__VA_ARGS__) __CPROVER_loop_invariant(true)
#define while(...) while (__VA_ARGS__) \
    __CPROVER_loop_invariant(pace > FT_C(0.0) && pace <= PACE) \
    __CPROVER_decreases(steps)
#endif
#include "ft_step.c"
#undef for
#undef while
#if __has_include("ft_flexible.c")
#include "ft_flexible.c"
#endif
#if FT_STEP_CLOSED
/* Under this name its own body is proved about, while ft_step.c calls the one
 * below that solves anything. */
#define ft_loop_solve solved
#include "ft_loop.c"
#undef ft_loop_solve
#include "ft_tree.c"
#endif

static ft_step_state step;
static ft_sample next;
static ft_turn q[FT_JOINTS];
static ft_real tau[FT_JOINTS];
static ft_pair pairs[FT_STEP_PAIRS];

static void anything(void)
{
    ANYTHING(step);
    ANYTHING(next);
    ANYTHING(q);
    ANYTHING(tau);
    ANYTHING(pairs);
}

#if FT_STEP_CLOSED

ft_loop_solution nondet_solution(void);

/* Solving the loops gives anything here. */
void ft_loop_solve(const ft_loop_pose *at, ft_loop_solution *now)
{
    CLAIM(__CPROVER_r_ok(at, sizeof *at));
    *now = nondet_solution();
}

/* Return whether a tick may go on from a solution: what torques_loops rests
 * on. */
static bool lets_through(const ft_loop_solution *now)
{
    uint32_t d;

    for (d = 0; d < FT_LOOP_DEPENDENT; d++)
        if (!(now->margin[d] > FT_C(0.0)) || !(now->x[d] <= FARTHEST)
            || !(now->x[d] >= -FARTHEST)
            || !(now->velocity[d] + now->acceleration[d] <= SWING)
            || !(now->velocity[d] + now->acceleration[d] >= -SWING))
            return false;
    return true;
}

/* Solving the loops, a tick, taking frames, and what a start does in a round,
 * whatever the motion is and the state holds, numbers or not, are free of
 * run-time errors, conversions of reals among them. A pose that is singular,
 * whose correction is too large, whose joints would go on too far, or of which
 * something is no number, is a fault of the same tick, in which nothing is
 * asked for anew and no joint goes on.
 * Assumes: step_starts, of the pace of a round; a correction is one that
 * ft_holds() has let through, as in the only call.
 * Run: unwind=16 floats slice mechanisms=five_bar */
void prove_step_closed(void)
{
    const uint32_t i = nondet_u32();
    ft_turn at;

    anything();
    GIVEN(i < FT_TREE_JOINTS);
    at = step.at.q[i];
    switch (nondet_u8() % 5u) {
    case 0:
        solved(&step.at, &step.loop);
        break;
    case 1:
        ft_step_pairs(q, pairs);
        ft_step_take(&step, pairs);
        break;
    case 2: {
        const ft_real pace = nondet_float();

        GIVEN(pace > FT_C(0.0) && pace <= PACE);
        (void)ft_approach(&step, q, pace);
        break;
    }
    case 3:
        GIVEN(ft_holds(&step));
        (void)ft_settle(&step);
        break;
    default: {
        const uint32_t j = nondet_u32();
        ft_real before;

        GIVEN(j < FT_JOINTS && tau[j] == tau[j]);
        before = tau[j];
        ft_step(&step, &next, tau);
        CLAIM(ft_holds(&step)
              || (step.fault && tau[j] == before && step.at.q[i] == at));
        CLAIM(!ft_holds(&step) || lets_through(&step.loop));
    }
    }
    END;
}

/* Going towards any place in any number of rounds, and a start there, from any
 * state, numbers or not, end and are free of run-time errors, but for
 * conversions: step_closed has these. The pace of a round is never more than
 * that of the first.
 * Run: unwind=16 contracts slice define=ROUNDS mechanisms=five_bar */
void prove_step_starts(void)
{
    anything();
    switch (nondet_u8() % 3u) {
    case 0:
        (void)ft_step_reach(&step, q, nondet_u32());
        break;
    case 1:
        ft_step_start(&step, q);
        break;
    default:
        ft_step_anchor(&step, q);
    }
    END;
}

#else

/* Return whether the state is as the start and every tick leave it. */
static bool well(void)
{
    return step.exact < 2u * FT_STEP_PAIRS;
}

/* A tick of the step, whatever the motion is and the state holds, numbers or
 * not, is free of run-time errors, gives every joint a torque, and leaves a
 * state from which the next one is, too; so is making frames exact, at once or
 * in two steps. That the torques are right, or numbers at all, is not part of
 * it: law_wild shows what is done with those that are no numbers.
 * Run: unwind=16 floats slice mechanisms=three_link,six_axis,flexible_arm,nodal:six_axis */
void prove_step_tick(void)
{
    anything();
    switch (nondet_u8() % 3u) {
    case 0:
        ft_step_anchor(&step, q);
        break;
    case 1:
        ft_step_pairs(q, pairs);
        ft_step_take(&step, pairs);
        break;
    default:
        GIVEN(well());
        ft_step(&step, &next, tau);
    }
    CLAIM(well());
    END;
}

/* A start at any place, whatever the state holds, is free of run-time errors,
 * ends, and leaves such a state.
 * Run: unwind=16 floats slice mechanisms=three_link,six_axis,flexible_arm,nodal:six_axis */
void prove_step_start(void)
{
    anything();
    ft_step_start(&step, q);
    CLAIM(well());
    END;
}

#endif
