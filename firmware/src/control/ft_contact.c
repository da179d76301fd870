/* External torques; see ft_contact.h. */
#include "ft_contact.h"

#include "ft_findings.h" /* ft_found, FT_RARELY, FT_NO_JOINT */
#include "ft_loops.h"    /* ft_loops_lost */
#include "ft_number.h"   /* ft_size */
#include "ft_position.h" /* ft_position_add */
#include "ft_ramp.h"     /* ft_larger */

#include <string.h> /* memcpy, memset */

#define HALF FT_C(0.5)
#define BOUNDLESS FT_C(1e30)

/* ---- measured motion ---------------------------------------------------- */

/* Convert a displacement in half increments to position steps. Return 0 if the
 * displacement is too large. A joint that moves this far in a tick also causes
 * an overspeed fault. */
static ft_turn displacement(ft_real way)
{
    return ft_size(way) < FT_C(1.0) / FT_HALF_RANGE ? (ft_turn)way : 0;
}

/* Compute the sample half a tick after this boundary. */
static void sample(ft_sample *next, const ft_observer *seen)
{
    uint32_t j;

    for (j = 0; j < FT_JOINTS; j++) {
        const ft_real u = seen->u[j];

        next->du[j] = HALF * (u - next->u[j]);
        next->u[j] = u;
        next->q[j] = ft_position_add(seen->q[j],
                                     displacement(u * ft_joint[j].per_unit));
    }
}

/* ---- motor torque ------------------------------------------------------- */

/* Return the torque that the law commands from a joint's motor. For a bridge
 * the torque is computed from the voltage, which the law may have limited. */
static ft_real asked(const ft_contact_input *in, uint32_t j)
{
    const ft_contact_config *c = &ft_contact_joint[j];

    return c->per_volt != FT_C(0.0)
               ? (ft_real)in->law->duty[j] * in->bus_voltage * c->per_volt
               : in->law->torque[j];
}

/* Return the mean torque of one motor in the last interval. Update the torque
 * at the end of the interval. The winding delays this torque, and the back-EMF
 * reduces it. both: sum of u at the start and the end of the interval. */
static ft_real made(ft_contact *f, uint32_t j, ft_real both)
{
    const ft_contact_config *c = &ft_contact_joint[j];
    const uint32_t slot = (f->slot - c->delay) & (FT_CONTACT_SLOTS - 1u);
    const ft_real steady = f->asked[slot][j] - c->damping * both;
    const ft_real lag = f->made[j] - steady;

    f->made[j] = steady + c->kept * lag;
    return steady + c->part * lag;
}

/* ---- contacts ----------------------------------------------------------- */

/* Return the allowed difference of a torque from its mean. The threshold rises
 * with the motion at once, and falls as slowly as the mean. */
static ft_real threshold(ft_contact *f, uint32_t j, const ft_motion *m)
{
    const ft_contact_config *c = &ft_contact_joint[j];
    const ft_real before = m->before->u[j], after = m->newest->u[j];
    const ft_real now = c->torque + c->velocity * ft_size(before + after)
                        + c->acceleration * ft_size(after - before);
    const ft_real last = f->threshold[j];

    f->threshold[j] = ft_larger(now, last + FT_CONTACT_SLOW * (now - last));
    return f->threshold[j];
}

/* Return the value from which a joint's torque r must differ for a contact.
 * This value is the mean of r, or 0 after the arm has given way. */
static ft_real middle(const ft_contact *f, uint32_t j, ft_real r)
{
    if (FT_YIELDS && f->way != 0u)
        return FT_C(0.0);
    return f->mean[j] + FT_CONTACT_SLOW * (r - f->mean[j]);
}

/* Process a joint's torque. Return its difference from the mean over the
 * threshold. NaN is a finding, since it would stop the detection. */
static ft_real take(ft_contact *f, uint32_t j, ft_real torque,
                    const ft_motion *m, ft_findings *found)
{
    const ft_real r = f->external[j]
                      + FT_CONTACT_GAIN * (torque - f->external[j]);
    const ft_real mean = middle(f, j, r);
    const ft_real most = threshold(f, j, m);

    if (FT_RARELY(!(ft_size(r) < BOUNDLESS && most < BOUNDLESS))) {
        if (j < found->wild)
            ft_found(found, &found->wild, j);
        return FT_C(0.0);
    }
    f->external[j] = r;
    f->mean[j] = mean;
    return ft_size(r - mean) / most;
}

/* Note a contact once, until all torques are within half a threshold. */
static void note(ft_contact *f, uint32_t joint, ft_real off, uint32_t tick)
{
    f->touch = false;
    if (f->settles > 0u) {
        f->settles--;
        return;
    }
    if (f->touched) {
        f->touched = off > HALF;
        return;
    }
    if (!(off > FT_C(1.0)))
        return;
    f->touched = f->touch = true;
    f->joint = (uint8_t)joint;
    f->touches++;
    f->touch_tick = tick;
}

/* ---- giving way --------------------------------------------------------- */

/* Give way to a contact until the contact is over. Give way permanently if the
 * arm has tried to return FT_RETURN_TRIES times. */
void ft_contact_give_way(ft_contact *f)
{
    if (f->way == 0u)
        f->tries = 0;
    f->way = f->tries < FT_RETURN_TRIES ? FT_FELT_AWAY : FT_FELT_STAYS;
    f->quiet = 0;
}

/* Count one tick of an arm that has given way. Return whether the arm has been
 * at rest without a contact for long enough. */
bool ft_contact_quiet(ft_contact *f, const ft_observer *seen)
{
    uint32_t j;

    if (f->way != FT_FELT_AWAY)
        return false;
    f->quiet = f->touched ? 0u : f->quiet + 1u;
    for (j = 0; j < FT_JOINTS; j++)
        if (!(ft_size(seen->u[j]) <= ft_joint[j].rest))
            f->quiet = 0;
    return f->quiet >= FT_CONTACT_QUIET;
}

/* ---- the tick ----------------------------------------------------------- */

/* Begin at rest, with a copy of the targets' step. */
static void begin(ft_contact *f, const ft_contact_input *in)
{
    uint32_t j;

    f->step = *in->step;
    memset(f->asked, 0, sizeof f->asked);
    for (j = 0; j < FT_JOINTS; j++) {
        f->seen.u[j] = in->seen->u[j];
        f->made[j] = f->external[j] = f->mean[j] = FT_C(0.0);
        f->threshold[j] = ft_contact_joint[j].torque;
    }
    f->settles = FT_CONTACT_SETTLES;
    f->on = true;
}

/* Report no torque and no contact, since the motors are off. */
void ft_contact_rest(ft_contact *f)
{
    uint32_t j;

    f->blind = false;
    if (!f->on)
        return;
    for (j = 0; j < FT_JOINTS; j++)
        f->external[j] = FT_C(0.0);
    f->on = f->touched = f->touch = false;
}

/* Evaluate the inverse dynamics at the measured motion. Return false if the
 * loops cannot be closed at the measured positions. After a failure to close
 * the loops, no torque is reported until detection has settled again. */
static bool close(ft_contact *f, ft_real tau[FT_JOINTS])
{
    ft_step(&f->step, &f->seen, tau);
    if (FT_RARELY(ft_loops_lost(&f->step))) {
        ft_contact_rest(f);
        f->blind = true;
        return false;
    }
    f->blind = f->blind && f->settles > 0u;
    return true;
}

/* Estimate torques and detect contacts of the last interval, after the law. */
void ft_contact_tick(ft_contact *f, const ft_contact_input *in,
                     ft_findings *found)
{
    ft_real tau[FT_JOINTS], before[FT_JOINTS], worst = FT_C(0.0);
    uint32_t j, joint = FT_NO_JOINT;

    if (!f->on)
        begin(f, in);
    memcpy(before, f->seen.u, sizeof before);
    sample(&f->seen, in->seen);
    if (!close(f, tau))
        return;
    for (j = 0; j < FT_JOINTS; j++) {
        const ft_real after = f->seen.u[j];
        const ft_real needed = ft_law_needed(j, before[j], after, tau[j]);
        ft_real off;

        f->asked[f->slot][j] = asked(in, j);
        off = take(f, j, needed - made(f, j, before[j] + after), in->motion,
                   found);
        joint = off > worst ? j : joint;
        worst = ft_larger(off, worst);
    }
    f->slot = (f->slot + 1u) & (FT_CONTACT_SLOTS - 1u);
    note(f, joint, worst, in->tick);
}
