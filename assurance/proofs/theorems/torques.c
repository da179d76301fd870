/* Bounds of the emitted step's torque, ft_step.c, by interval arithmetic. */
#include "ft_config.c"
#include "ft_step.c"
#if FT_STEP_CLOSED
#undef FT_KEEP_ORDER
#include "ft_loop.c"
#include "ft_tree.c"
#endif

typedef ft_real all_torques[FT_JOINTS];

/* Functions that the interval arithmetic evaluates. These functions return any
 * number up to this magnitude, and any angle. */
ft_real within(ft_real most);
ft_turn any_angle(void);
#if FT_STEP_CLOSED
static const ft_real swing = SWING; /* bound that ft_holds() checks */
#endif

#if FT_STEP_CLOSED

static void begin(ft_step_state *s)
{
    uint32_t i;

    for (i = 0; i < FT_TREE_JOINTS; i++)
        s->at.q[i] = any_angle();
    ft_tree_start(&s->tree, s->at.q);
}

#else

static void begin(ft_step_state *s)
{
    ft_turn q[FT_JOINTS];
    uint32_t j;

    for (j = 0; j < FT_JOINTS; j++)
        q[j] = any_angle();
    ft_step_start(s, q);
}

#endif

static void tick(ft_step_state *s, ft_real tau[FT_JOINTS])
{
    ft_sample next;
    uint32_t j;

    for (j = 0; j < FT_JOINTS; j++) {
        next.q[j] = any_angle();
        next.u[j] = within(ft_joint[j].speed / (ft_real)FT_TICK_HZ);
        next.du[j] = within(ft_joint[j].speed / (ft_real)FT_TICK_HZ);
    }
    ft_step(s, &next, tau);
}

#if !FT_STEP_CLOSED
static void again(ft_step_state *s)
{
    ft_turn q[FT_JOINTS];
    uint32_t j;

    for (j = 0; j < FT_JOINTS; j++)
        q[j] = any_angle();
    ft_step_anchor(s, q);
}
#endif

#if FT_STEP_CLOSED

/* In a closed mechanism all numbers of the step are finite, for any positions
 * of the dependent joints, in every pose that a tick does not refuse as too
 * near to a singular pose. The figures below are only bounds of the torques.
 * Assumes: angles_sines; rotation_bounds, for the rotations from which the
 * pivots are computed.
 * Run: intervals mechanisms=five_bar,four_bar,palletizer,printed:four_bar */
void prove_torques_loops(void)
{
    ft_step_state s;
    ft_real tau[FT_JOINTS];

    begin(&s);
    tick(&s, tau);
}

#else

/* For any positions and any change of velocity from tick to tick, up to twice
 * the file's limits, every number of the step is finite, beginning with the
 * start. The figures below are bounds of the demanded torque. Interval
 * arithmetic ignores how numbers depend on each other, so the figures are far
 * above the torques of any motion. The figures show that no number overflows or
 * becomes NaN. Above these limits, and for flexible links, the demanded torque
 * may have any value. The theorems law_torque and law_wild bound the result.
 * Assumes: angles_sines, for cosines and sines.
 * Run: intervals mechanisms=three_link,six_axis,damiao_arm,openarm_like,printed:six_axis */
void prove_torques_finite(void)
{
    ft_step_state s;
    ft_real tau[FT_JOINTS];

    begin(&s);
    tick(&s, tau);
    again(&s);
}

#endif
