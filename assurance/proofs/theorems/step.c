/* The emitted step, ft_step.c, with ft_flexible.c for flexible links, and with
 * ft_loop.c and ft_tree.c for closed loops. */
#include "proof.h"

#include "ft_config.c"

/* Invariants of the emitted C loops. Each iteration of a start begins with any
 * result of the previous iterations. */
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
/* The proof calls the real function by this name, and ft_step.c the stub. */
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

/* Return any solution of the loop equations. */
void ft_loop_solve(const ft_loop_pose *at, ft_loop_solution *now)
{
    CLAIM(__CPROVER_r_ok(at, sizeof *at));
    *now = nondet_solution();
}

/* Return whether a tick may use a solution, as torques_loops requires. */
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

/* Solving the loop equations, a tick, the transfer of frames, and an iteration
 * of a start are free of run-time errors, including conversions of
 * floating-point numbers. The theorem holds for any motion and state, NaN
 * included. Four types of poses raise a fault in the same tick: a singular
 * pose, a pose with too large a correction, a pose whose joints would move too
 * far, and a pose with a NaN. In this tick no torque is updated and no joint is
 * moved.
 * Assumes: step_starts, for the pace of an iteration; ft_holds() has accepted
 * the correction, as in the only call.
 * Run: unwind=16 floats slice mechanisms=five_bar */
void prove_step_closed(void)
{
    const uint32_t i = below(FT_TREE_JOINTS);
    ft_turn at;

    anything();
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
        const uint32_t j = below(FT_JOINTS);
        ft_real before;

        GIVEN(tau[j] == tau[j]);
        before = tau[j];
        ft_step(&step, &next, tau);
        CLAIM(ft_holds(&step)
              || (step.fault && tau[j] == before && step.at.q[i] == at));
        CLAIM(!ft_holds(&step) || lets_through(&step.loop));
    }
    }
    END;
}

/* The motion towards any position in any number of iterations terminates, and
 * so does a start at this position. From any state, NaN included, this motion
 * and the start are free of run-time errors other than of conversions. The
 * theorem step_closed concerns the conversions. No iteration has a larger pace
 * than the first iteration.
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

/* Return whether the state keeps the invariant of the start and every tick. */
static bool well(void)
{
    return step.exact < 2u * FT_STEP_PAIRS;
}

/* A tick of the step is free of run-time errors, for any motion and state, NaN
 * included. From the state after any tick, the next tick is free of run-time
 * errors too. These claims also hold for a start at any position, and for
 * recomputing the sines and cosines of frames exactly, in one call or in two.
 * The theorem does not say that the torques are correct or finite. The theorem
 * law_wild concerns torques that are NaN.
 * Run: unwind=16 floats slice mechanisms=three_link,six_axis,flexible_arm,printed:six_axis */
void prove_step_tick(void)
{
    anything();
    switch (nondet_u8() % 4u) {
    case 0:
        ft_step_anchor(&step, q);
        break;
    case 1:
        ft_step_pairs(q, pairs);
        ft_step_take(&step, pairs);
        break;
    case 2:
        ft_step_start(&step, q);
        break;
    default:
        GIVEN(well());
        ft_step(&step, &next, tau);
    }
    CLAIM(well());
    END;
}

#endif
