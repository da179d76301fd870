/* The torque that the emitted step asks for, ft_step.c, bounded by interval
 * arithmetic over its operations. */
#include "ft_config.c"
#include "ft_step.c"
#if FT_STEP_CLOSED
#undef FT_KEEP_ORDER
#include "ft_loop.c"
#include "ft_tree.c"
#endif

typedef ft_real all_torques[FT_JOINTS];

/* Known to what runs this: any number of at most this size, and any angle. */
ft_real within(ft_real most);
ft_turn any_angle(void);
#if FT_STEP_CLOSED
static const ft_real swing = SWING; /* what a tick lets through, ft_holds() */
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

/* This holds of closed loops too, in every pose that a tick does not refuse as
 * too near to a singular one, wherever the dependent joints are: all numbers
 * are finite, and torques are bounded by the figures below, which show no more
 * than that.
 * Assumes: angles_sines; rotation_bounds, of the rotations that the pivots come
 * by.
 * Run: intervals mechanisms=five_bar,four_bar,palletizer,nodal:four_bar */
void prove_torques_loops(void)
{
    ft_step_state s;
    ft_real tau[FT_JOINTS];

    begin(&s);
    tick(&s, tau);
}

#else

/* Whatever the positions are, and however velocities change from tick to tick,
 * up to twice the file's limits: every number that the step forms is finite,
 * from the start on, and the torque that it asks for is bounded by the figures
 * below. Intervals forget what numbers have to do with each other, so these lie
 * far above what any motion takes: they show that nothing overflows and nothing
 * becomes no number. Beyond these limits, and for links that bend, what the
 * step asks for may be anything, and law_torque and law_wild bound what comes
 * of it.
 * Assumes: angles_sines, of cosines and sines.
 * Run: intervals mechanisms=three_link,six_axis,damiao_arm,openarm_like,nodal:six_axis */
void prove_torques_finite(void)
{
    ft_step_state s;
    ft_real tau[FT_JOINTS];

    begin(&s);
    tick(&s, tau);
    again(&s);
}

#endif
