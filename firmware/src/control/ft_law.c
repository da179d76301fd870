/* The control law; see ft_law.h. */
#include "ft_law.h"

#include "ft_config.h"   /* ft_joint, FT_FEEDFORWARD, FT_... */
#include "ft_messages.h" /* FT_LIMIT_ */
#include "ft_number.h"   /* ft_size, ft_clamp */
#include "ft_position.h" /* ft_position_difference */

#define BOUNDLESS FT_C(1e30)

#define WHOLE 64u /* 64ths */

/* ---- gains ------------------------------------------------------------- */

#if FT_OVERLAY

/* Return one joint's gains. */
static inline ft_gains gains(const ft_law *l, uint32_t j)
{
    return l->gains[j];
}

/* Put one joint's gains in force. */
static void put_gains(ft_law *l, uint32_t j)
{
    const ft_real part = FT_C(1.0) / (ft_real)WHOLE;

    l->gains[j].ku = ft_joint[j].ku * (part * (ft_real)l->overlay[0][j]);
    l->gains[j].kv = ft_joint[j].kv * (part * (ft_real)l->overlay[1][j]);
    l->gains[j].ki = ft_joint[j].ki * (part * (ft_real)l->overlay[2][j]);
}

#else

static inline ft_gains gains(const ft_law *l, uint32_t j)
{
    const ft_joint_config *c = &ft_joint[j];
    const ft_gains g = { c->ku, c->kv, c->ki };

    (void)l;
    return g;
}

static inline void put_gains(ft_law *l, uint32_t j)
{
    (void)l;
    (void)j;
}

#endif

/* Return the gains that one joint's drive shall use. */
ft_gains ft_law_gains(const ft_law *l, uint32_t joint)
{
    return gains(l, joint);
}

/* Put the file's gains in force. */
void ft_law_boot(ft_law *l)
{
    uint32_t j, i;

    for (j = 0; j < FT_JOINTS; j++) {
        for (i = 0; i < 3u; i++)
            l->overlay[i][j] = (uint8_t)WHOLE;
        put_gains(l, j);
    }
}

/* Change a joint's gains. Return whether any gains differ from the file's. */
bool ft_law_overlay(ft_law *l, uint32_t joint, const uint8_t share[3])
{
    bool differ = false;
    uint32_t j, i;

    for (i = 0; i < 3u; i++)
        l->overlay[i][joint] = share[i];
    put_gains(l, joint);
    for (j = 0; j < FT_JOINTS; j++)
        for (i = 0; i < 3u; i++)
            differ = differ || l->overlay[i][j] != WHOLE;
    return differ;
}

/* Begin with no old errors or counts. */
void ft_law_start(ft_law *l)
{
    uint32_t j;

    FT_UNROLL
    for (j = 0; j < FT_JOINTS; j++) {
        l->integral[j] = l->clipped[j] = FT_C(0.0);
        l->astray[j].ticks = l->stuck[j].ticks = 0;
    }
    l->fresh = true;
}

/* Set torques and duties to zero. */
void ft_law_rest(ft_law *l)
{
    uint32_t j;

    FT_UNROLL
    for (j = 0; j < FT_JOINTS; j++) {
        l->torque[j] = FT_C(0.0);
        l->duty[j] = 0.0f;
    }
}

/* Return and clear the gathered limit bits. A tick that interrupts may lose a
 * bit, and sets it again while the limit acts. */
uint32_t ft_law_take_limits(ft_law *l)
{
    uint32_t taken = l->limits;

    l->limits = 0;
    return taken;
}

/* ---- torque ----------------------------------------------------------- */

/* Return the target's Coulomb friction in units of its slope at rest: |x + w| -
 * |x - w| is 2x within -2w..2w, without a jump. */
static inline ft_real coulomb(const ft_joint_config *c, ft_real both)
{
    return ft_size(both + c->coulomb_width) - ft_size(both - c->coulomb_width);
}

/* Return the fraction of the Stribeck friction at a velocity. The fraction is 1
 * at rest and 1/2 at v_s, by Hess and Soom's curve. */
static inline ft_real share(const ft_stribeck_config *r, ft_real both)
{
    const ft_real fast = r->fast * both;

    return FT_C(1.0) / (FT_C(1.0) + fast * fast);
}

/* Return the dry friction beyond Coulomb's: Stribeck and load-dependent, linear
 * in the velocity near rest. */
static inline ft_real rubs(uint32_t j, ft_real both, ft_real tau)
{
    const ft_stribeck_config *r = &ft_stribeck_joint[j];
    const ft_real size = r->stribeck * share(r, both) + r->load * ft_size(tau);

    return size * (r->slope * ft_clamp(both, ft_joint[j].coulomb_width));
}

/* Return the feed-forward torque (first line of the law): tau_ID, rotor
 * inertia, viscous and dry friction of the target (Eq. 19). The half increments
 * before and after the target give its velocity and acceleration. */
static inline ft_real of_motion(uint32_t j, ft_real before, ft_real after,
                                ft_real tau)
{
    const ft_joint_config *c = &ft_joint[j];
    const ft_real both = before + after;
    ft_real torque = tau;

    if (!FT_FEEDFORWARD)
        return FT_C(0.0);
    torque += c->viscous * both;
    torque += c->rotor * (after - before);
    if (FT_COULOMB)
        torque += c->coulomb_slope * coulomb(c, both);
    if (FT_STRIBECK)
        torque += rubs(j, both, tau);
    return torque;
}

/* Return the torque that a motion needs, from motors or from outside. */
ft_real ft_law_needed(uint32_t j, ft_real before, ft_real after, ft_real tau)
{
    return of_motion(j, before, after, tau);
}

/* Integrate the error, unless that drives the joint into a limit. */
static inline ft_real integrate(ft_law *l, uint32_t j, ft_real away)
{
    const ft_joint_config *c = &ft_joint[j];
    ft_real step = gains(l, j).ki * away;

    if (step * l->clipped[j] > FT_C(0.0))
        l->limits |= FT_LIMIT_INTEGRAL;
    else
        l->integral[j] = ft_clamp(l->integral[j] + step, c->effort);
    return l->integral[j];
}

/* Count the ticks for which one joint has been too far from its target. */
static FT_RARE void stray(ft_law *l, uint32_t j, uint32_t tick,
                          ft_findings *found)
{
    if (ft_streak_count(&l->astray[j], tick) > FT_FOLLOWING_TICKS)
        ft_found(found, &found->astray, j);
}

/* Return whether a joint is farther from its target than it may be. */
static inline bool lost(const ft_joint_config *c, ft_turn away)
{
    return ft_position_size(away) > c->following;
}

/* Errors of one joint: of the position, in steps, and of u, in rad or m. */
typedef struct {
    ft_real place, u;
} errors;

/* Return a joint's errors at the time of the measured position. */
static inline errors behind(uint32_t j, ft_turn away, const ft_law_input *in)
{
    const ft_real u = in->target->u[j];
    errors e = { (ft_real)away, u - in->seen->u[j] };

    if (FT_AGED) {
        e.place -= ft_age_joint[j].steps * u;
        e.u -= ft_age_joint[j].ticks * (in->after[j] - in->before[j]);
    }
    return e;
}

/* Return the feedback torque (second line of the law). */
static inline ft_real of_error(ft_law *l, uint32_t j, const ft_law_input *in,
                               ft_findings *found)
{
    const ft_joint_config *c = &ft_joint[j];
    ft_turn away = ft_position_difference(in->target->q[j], in->seen->q[j]);
    const errors e = behind(j, away, in);
    const ft_gains g = gains(l, j);
    ft_real torque = g.ku * e.place + g.kv * e.u;

    if (FT_RARELY(lost(c, away)))
        stray(l, j, in->tick, found);
    return FT_INTEGRAL ? torque + integrate(l, j, e.place) : torque;
}

/* ---- limits ----------------------------------------------------------- */

/* Return x within the bound; 0 for NaN or beyond BOUNDLESS. A joint at its
 * limit that moves no count is blocked or has a failed encoder. */
static FT_RARE ft_real cut(ft_law *l, uint32_t j, ft_real x, ft_real bound,
                           const int32_t counts[FT_JOINTS], uint32_t tick,
                           ft_findings *found)
{
    if (!(ft_size(x) < BOUNDLESS)) {
        ft_found(found, &found->wild, j);
        return FT_C(0.0);
    }
    if (counts[j] == 0
        && ft_streak_count(&l->stuck[j], tick) > ft_joint[j].patience)
        ft_found(found, &found->stuck, j);
    return ft_bound(x, bound);
}

/* Return whether this torque drives a joint back inside its limits. The law
 * outputs no other torque outside the limits. */
static FT_RARE bool leads_back(uint32_t j, int32_t at, ft_real torque,
                               ft_findings *found)
{
    const ft_joint_config *c = &ft_joint[j];
    bool above = at > c->upper;
    uint32_t far = above ? (uint32_t)at - (uint32_t)c->upper
                         : (uint32_t)c->lower - (uint32_t)at;

    if (far > (uint32_t)c->margin)
        ft_found(found, &found->beyond, j);
    return above ? !(torque > FT_C(0.0)) : !(torque < FT_C(0.0));
}

/* Return whether a joint is outside its limits. */
static inline bool outside(const ft_joint_config *c, int32_t at)
{
    return (uint32_t)at - (uint32_t)c->lower > c->room;
}

/* ---- the law ---------------------------------------------------------- */

/* Return back-EMF and inductive voltage of the motion. */
static inline ft_real induced(const ft_joint_config *c, ft_real both,
                              ft_real rise)
{
    ft_real emf = c->back_emf * both;

    return FT_INDUCTANCE ? emf + c->inductance * rise : emf;
}

/* Return the torque, clamped to the joint's effort. */
static inline ft_real limit(ft_law *l, uint32_t j, ft_real torque,
                            const ft_law_input *in, ft_findings *found)
{
    const ft_joint_config *c = &ft_joint[j];

    if (!FT_RARELY(!(ft_size(torque) <= c->effort)))
        return torque;
    l->limits |= FT_LIMIT_TORQUE;
    return cut(l, j, torque, c->effort, in->counts, in->tick, found);
}

/* Return the voltage, clamped to the bridges' share of the bus voltage. */
static inline ft_real supply(ft_law *l, uint32_t j, ft_real volts,
                             const ft_law_input *in, ft_findings *found)
{
    const ft_real most = FT_DUTY_MAX * in->bus_voltage;

    if (!FT_RARELY(!(ft_size(volts) <= most)))
        return volts;
    l->limits |= FT_LIMIT_VOLTAGE;
    if (FT_INTEGRAL)
        l->clipped[j] = volts * ft_joint[j].resistance;
    return cut(l, j, volts, most, in->counts, in->tick, found);
}

/* Compute torque and duty of one joint. */
static inline void drive(ft_law *l, uint32_t j, const ft_law_input *in,
                         ft_real per_volt, ft_findings *found)
{
    const ft_joint_config *c = &ft_joint[j];
    const ft_real before = in->before[j], after = in->after[j];
    const ft_real motion = of_motion(j, before, after, in->tau[j]);
    const ft_real rise = motion - l->motion[j];
    const ft_real asked = motion + of_error(l, j, in, found);
    ft_real torque = limit(l, j, asked, in, found), volts;

    if (FT_INDUCTANCE)
        l->motion[j] = motion;
    if (FT_RARELY(outside(c, in->seen->coarse[j]))
        && !leads_back(j, in->seen->coarse[j], torque, found)) {
        l->limits |= FT_LIMIT_POSITION;
        torque = volts = FT_C(0.0);
    } else {
        volts = induced(c, before + after, rise) + c->resistance * torque;
    }
    l->torque[j] = torque;
    if (FT_INTEGRAL)
        l->clipped[j] = asked - torque;
    if (FT_MOTORS)
        l->duty[j] = (float)(supply(l, j, volts, in, found) * per_volt);
    else
        (void)volts; /* drives take torques */
}

/* In the first tick, use this tick's feed-forward torque as the last tick's. */
static void prime(ft_law *l, const ft_real tau[FT_JOINTS])
{
    uint32_t j;

    for (j = 0; j < FT_JOINTS; j++)
        l->motion[j] = FT_FEEDFORWARD ? tau[j] : FT_C(0.0);
    l->fresh = false;
}

/* Compute torque and duty of every joint. */
void ft_law_tick(ft_law *l, const ft_law_input *in, ft_findings *found)
{
    const ft_real per_volt = FT_C(1.0) / in->bus_voltage;
    uint32_t j;

    if (FT_RARELY(!(per_volt < BOUNDLESS)))
        ft_found(found, &found->wild, 0);
    if (l->fresh)
        prime(l, in->tau);
    FT_UNROLL
    for (j = FT_JOINTS; j-- > 0u;)
        drive(l, j, in, per_volt, found);
}
