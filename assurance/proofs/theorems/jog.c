/* A jog that is no longer requested, lab/ft_lab.c, with the stubs of lab.c. */
#include "lab.c"

/* In every tick a jog that must stop becomes slower by at least half of its
 * ramp's step, until it has stopped. Then the jog reports PAUSED.
 * Run: unwind=6 floats mechanisms=three_link */
void prove_jog_slows(void)
{
    const ft_lab_input in = { FT_STATE_JOG, nondet_u32(), nondet_bool(), counts,
                              torque, &seen, &step, &motion };
    ft_real before, slower;
    uint32_t event;

    any_state();
    lab.wanted = FT_C(0.0);
    before = ft_size(lab.velocity);
    slower = FT_C(0.5) * ft_lab_joint[lab.joint].velocity_step;
    event = ft_lab_plan(&lab, &in, &found);
    CLAIM(lab.velocity == FT_C(0.0) || ft_size(lab.velocity) <= before - slower);
    CLAIM(lab.wanted == FT_C(0.0));
    CLAIM(lab.velocity != FT_C(0.0) || event == FT_EVENT_PAUSED);
    END;
}
