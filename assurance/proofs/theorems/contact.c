/* External torque, control/ft_contact.c. The stubs for the step and the control
 * law return any numbers, NaN included. */
#include "proof.h"

#include "ft_config.c"
#include "ft_contact.c"

ft_step_state nondet_step(void);

static ft_contact f;
static ft_observer seen;
static ft_motion motion;
static ft_law law_;
static ft_step_state step;
static ft_findings found;
static ft_real needed[FT_JOINTS]; /* results of the control law in this tick */

void ft_step(ft_step_state *s, const ft_sample *next, ft_real tau[FT_JOINTS])
{
    uint32_t j;

    CLAIM(s == &f.step && next == &f.seen);
    *s = nondet_step();
    for (j = 0; j < FT_JOINTS; j++)
        tau[j] = nondet_float();
}

ft_real ft_law_needed(uint32_t j, ft_real before, ft_real after, ft_real tau)
{
    CLAIM(j < FT_JOINTS);
    needed[j] = nondet_float();
    return needed[j];
}

/* Return whether one joint keeps the invariant of every tick. */
static bool well(uint32_t j)
{
    return ft_size(f.external[j]) < BOUNDLESS && ft_size(f.mean[j]) <= BOUNDLESS
           && !(f.threshold[j] < ft_contact_joint[j].torque);
}

/* Return whether the loops could not be closed in this tick. */
static bool lost(void)
{
#if FT_STEP_CLOSED
    return f.blind && !f.on;
#else
    return false;
#endif
}

/* Set all variables to any values that keep the invariant. */
static void anything(void)
{
    uint32_t j;

    ANYTHING(f);
    ANYTHING(seen);
    ANYTHING(motion);
    ANYTHING(law_);
    ANYTHING(step);
    motion.newest = &motion.due[0];
    motion.before = &motion.due[1];
    GIVEN(f.slot < FT_CONTACT_SLOTS);
    for (j = 0; j < FT_JOINTS; j++)
        GIVEN(!f.on || well(j));
    found.any = false;
    found.wild = FT_GOOD;
}

/* For any measured values, plan, control law and step, NaN included, the
 * estimated external torque of each joint and its mean are finite. If the
 * required torque is NaN, or the present threshold is not finite, the fault is
 * recorded for this joint or for a joint with a smaller number. The recorded
 * fault is NOT_FINITE, in the same tick (safety_faults). A threshold is never
 * below the threshold at rest in the file. If the loops of an arm cannot be
 * closed, the arm reports neither an external torque nor a contact.
 * This module raises no fault in this case.
 * Run: unwind=8 floats mechanisms=feeling,led,returning,looped */
void prove_contact_numbers(void)
{
    const ft_contact_input in = { &seen, &motion, &law_, &step, nondet_u32(),
                               nondet_float() };
    const uint32_t j = below(FT_JOINTS);

    anything();
    ft_contact_tick(&f, &in, &found);
    CLAIM((f.on || lost()) && well(j) && f.slot < FT_CONTACT_SLOTS);
    CLAIM(!lost() || (!f.touched && !f.touch && !found.any
                      && ft_contact_external(&f, j) == FT_C(0.0)));
    CLAIM(!f.touch || f.joint < FT_JOINTS);
    CLAIM(found.any == (found.wild != FT_GOOD));
    CLAIM(lost() || found.wild <= j || (needed[j] == needed[j]
                                        && f.threshold[j] < BOUNDLESS));
    END;
}

/* A contact is detected if the arm's transients have decayed and the external
 * torque of one joint differs from its mean by more than its threshold. No
 * further contact is detected until all joints are below half of their
 * thresholds. A contact is counted, and its tick and joint are recorded.
 * Without power the external torque is zero, and the contact has ended.
 * Run: unwind=8 floats mechanisms=feeling,led */
void prove_contact_touch(void)
{
    const uint32_t joint = nondet_u32(), tick = nondet_u32();
    const ft_real worst = nondet_float();
    ft_contact was;

    anything();
    was = f;
    if (nondet_bool()) {
        const uint32_t j = below(FT_JOINTS);

        ft_contact_rest(&f);
        CLAIM((!f.on && !was.on)
              || (!f.touched && !f.touch && f.external[j] == FT_C(0.0)));
    } else {
        note(&f, joint, worst, tick);
        CLAIM(f.touch == (was.settles == 0u && !was.touched
                          && worst > FT_C(1.0)));
        CLAIM(f.touch ? f.joint == (uint8_t)joint && f.touch_tick == tick
                      : f.joint == was.joint);
        CLAIM(f.touches == (uint16_t)(was.touches + (f.touch ? 1u : 0u)));
        CLAIM(!f.touched == !(f.touch || (was.touched && (was.settles > 0u
                                                          || worst > HALF))));
    }
    END;
}

#if FT_RETURN

/* An arm that yields to a contact may return if it has tried fewer than
 * FT_RETURN_TRIES times. After more tries the arm stays in its pose. The number
 * of tries is 0 when the arm yields for the first time. The arm returns only
 * after FT_CONTACT_QUIET consecutive ticks without a contact and with each
 * joint at rest.
 * Run: unwind=8 floats mechanisms=returning */
void prove_contact_returns(void)
{
    const uint32_t j = below(FT_JOINTS);
    ft_contact was;
    bool back;

    anything();
    was = f;
    if (nondet_bool()) {
        ft_contact_give_way(&f);
        CLAIM(f.quiet == 0u);
        CLAIM(f.way == (f.tries < FT_RETURN_TRIES ? FT_FELT_AWAY
                                                  : FT_FELT_STAYS));
        CLAIM(f.tries == (was.way == 0u ? 0u : was.tries));
    } else {
        GIVEN(was.quiet < FT_CONTACT_QUIET);
        back = ft_contact_quiet(&f, &seen);
        CLAIM(!back || (was.way == FT_FELT_AWAY && !was.touched
                        && ft_size(seen.u[j]) <= ft_joint[j].rest
                        && was.quiet == FT_CONTACT_QUIET - 1u));
        CLAIM(was.way != FT_FELT_AWAY || f.quiet == 0u
              || f.quiet == was.quiet + 1u);
    }
    END;
}

#endif
