/* External torque, control/ft_contact.c. The step and the law return anything
 * here, NaN included. */
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
static ft_real needed[FT_JOINTS]; /* the law's answers in this tick */

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

/* Return whether the loops failed to close in this tick. */
static bool lost(void)
{
#if FT_STEP_CLOSED
    return f.blind && !f.on;
#else
    return false;
#endif
}

/* Let everything be anything that keeps the invariant. */
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

/* For any measured values, plan, law and step, NaN included, the external
 * torque of each joint and its mean are finite. If the needed torque is NaN, or
 * the threshold in force is not finite, this joint or an earlier joint is
 * noted. The noted joint is the fault NOT_FINITE in the same tick
 * (safety_faults). A threshold is never below the file's threshold at rest. If
 * the loops of an arm do not close, the arm reports no external torque and no
 * touch. Open loops are no fault here.
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

/* A touch is noted once the arm has settled, if the joint farthest from its
 * mean is off by more than its threshold. No further touch is noted until all
 * joints are back within half of their thresholds. A touch is counted, with its
 * tick and joint. Without power the external torque is zero, and the touch is
 * over.
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

/* An arm that gives way may go back if it has tried fewer than FT_RETURN_TRIES
 * times. Otherwise it stays. The count of tries is 0 when the arm gives way for
 * the first time. The arm goes back only after FT_CONTACT_QUIET ticks in a row
 * in which no touch lasts and each joint is at rest.
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
