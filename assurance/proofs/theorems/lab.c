/* The lab modes, lab/ft_lab.c: homing, floating, jogging, probing. */
#include "proof.h"

#include "ft_config.c"
#include "ft_lab.c"

static ft_lab lab;
static ft_law law_;
static ft_observer seen;
static ft_motion motion;
static ft_step_state step;
static ft_findings found;
static int32_t counts[FT_JOINTS];
static ft_real torque[FT_JOINTS], tau[FT_JOINTS];

ft_sample nondet_sample(void);

bool ft_chip_index(uint32_t joint)
{
    CLAIM(joint < FT_JOINTS);
    return nondet_bool();
}

void ft_motion_hold(ft_motion *m, const ft_turn q[FT_JOINTS])
{
    m->rested = FT_MOTION_SLOTS;
    m->next = nondet_sample();
}

void ft_step_start(ft_step_state *s, const ft_turn q[FT_JOINTS]) { }

void ft_observer_place(ft_observer *o, uint32_t joint, int64_t wire)
{
    CLAIM(joint < FT_JOINTS);
}

/* Return the largest velocity that may be requested of a joint's target. */
static ft_real fastest(uint32_t j)
{
    const ft_lab_config *c = &ft_lab_joint[j];

    return ft_size(c->seek_velocity) > c->jog_velocity ? ft_size(c->seek_velocity)
                                               : c->jog_velocity;
}

/* Return whether the lab modes keep the invariant of requests and ticks. */
static bool well(void)
{
    return lab.joint < FT_JOINTS
           && ft_size(lab.velocity) <= fastest(lab.joint)
           && ft_size(lab.wanted) <= fastest(lab.joint);
}

static void any_state(void)
{
    ANYTHING(lab);
    ANYTHING(law_);
    ANYTHING(seen);
    ANYTHING(found);
    ANYTHING(counts);
    ANYTHING(torque);
    ANYTHING(tau);
    ANYTHING(motion);
    motion.now = &motion.due[0];
    motion.before = &motion.due[FT_MOTION_SLOTS - 2u];
    motion.newest = &motion.due[FT_MOTION_SLOTS - 1u];
    GIVEN(well());
}

/* For any encoder counts, in every mode and every state of the search, the
 * target after a tick of the lab modes moves at most at the joint's largest jog
 * or seek velocity. The target can be converted to units of position within
 * their range.
 * Run: unwind=6 floats mechanisms=three_link,braked */
void prove_lab_plan(void)
{
    const ft_lab_input in = { nondet_u8(), nondet_u32(), nondet_bool(), counts,
                              torque, &seen, &step, &motion };
    uint32_t event;

    any_state();
    event = ft_lab_plan(&lab, &in, &found);
    CLAIM(well());
    CLAIM(event == FT_MOTION_NOTHING || event == FT_EVENT_PASSED
          || event == FT_EVENT_PAUSED);
    END;
}

/* Requests keep this invariant if they are within the joint's bounds. The
 * theorem safety_requests proves these bounds, and that a probed joint is at
 * rest.
 * Run: unwind=6 mechanisms=three_link,braked */
void prove_lab_requests(void)
{
    const uint32_t joint = below(FT_JOINTS);
    const ft_real velocity = nondet_float();

    any_state();
    GIVEN(ft_size(velocity) <= ft_lab_joint[joint].jog_velocity);
    switch (nondet_u8() % 4u) {
    case 0:
        ft_lab_jog(&lab, joint, velocity);
        break;
    case 1:
        ft_lab_seek(&lab, joint);
        break;
    case 2: /* the joint is at rest, see safety.c */
        GIVEN(lab.wanted == FT_C(0.0) && lab.velocity == FT_C(0.0));
        ft_lab_probe(&lab, joint, nondet_float());
        CLAIM(lab.joint == joint && lab.ticks == FT_HOST_TIMEOUT);
        break;
    default:
        ft_lab_float(&lab, nondet_float());
        CLAIM(lab.wanted == FT_C(0.0) && lab.velocity == FT_C(0.0));
    }
    CLAIM(well());
    END;
}

/* In every mode and for any torque of the step, NaN included, the torque of a
 * joint is finite and at most the joint's effort. The joint's duty is at most
 * 1.
 * Assumes: a bus voltage above 0 and below 1e30 V, and half-increments below
 * 1e6. Other values raise OVER_VOLTAGE, UNDER_VOLTAGE and OVERSPEED in the same
 * tick, and ft_chip_duties() replaces NaN by 0.
 * Run: unwind=6 floats mechanisms=three_link,five_bar,flexible_arm */
void prove_lab_law(void)
{
    const ft_real bus = nondet_float();
    const ft_law_input in = { motion.due[0].u, motion.due[1].u, tau,
                              motion.due, &seen, counts, nondet_u32(), bus };
    uint32_t j;

    any_state();
    GIVEN(bus > FT_C(0.0) && bus < FT_C(1e30));
    for (j = 0; j < FT_JOINTS; j++)
        GIVEN(ft_size(seen.u[j]) < FT_C(1e6));
    ft_lab_law(&lab, nondet_u8(), &law_, &in, &found);
    for (j = 0; j < FT_JOINTS; j++) {
        CLAIM(ft_size(law_.torque[j]) <= ft_joint[j].effort);
        CLAIM(ft_size((ft_real)law_.duty[j]) <= FT_C(1.0));
    }
    END;
}
