/* The lab modes; see ft_lab.h. */
#include "ft_lab.h"

#include "ft_chip.h"     /* ft_chip_index */
#include "ft_config.h"   /* ft_joint, ft_lab_joint */
#include "ft_events.h"   /* FT_EVENT_ */
#include "ft_messages.h" /* FT_LIMIT_ */
#include "ft_number.h"   /* ft_size, ft_clamp */
#include "ft_position.h" /* ft_position_add */

#define DT (FT_C(1.0) / (ft_real)FT_TICK_HZ)
#define VELOCITY_OF_U ((ft_real)(2u * FT_TICK_HZ))
#define BOUNDLESS FT_C(1e30)

/* ---- requests --------------------------------------------------------- */

/* Forget all requests. */
void ft_lab_rest(ft_lab *lab)
{
    lab->wanted = lab->velocity = lab->torque = FT_C(0.0);
    lab->ticks = 0;
    lab->travelled = 0;
    lab->search = FT_SOUGHT;
}

void ft_lab_float(ft_lab *lab, float per_cent)
{
    ft_lab_rest(lab);
    lab->friction = FT_C(0.01) * (ft_real)per_cent;
}

/* Jog a joint. While another joint moves, only stop that joint. */
void ft_lab_jog(ft_lab *lab, uint32_t joint, ft_real velocity)
{
    bool other = lab->joint != joint;

    if (other && ft_size(lab->velocity) > FT_C(0.0)) {
        ft_lab_release(lab);
        return;
    }
    lab->joint = (uint8_t)joint;
    lab->wanted = velocity;
    lab->ticks = FT_HOST_TIMEOUT;
}

void ft_lab_seek(ft_lab *lab, uint32_t joint)
{
    ft_lab_rest(lab);
    lab->joint = (uint8_t)joint;
    lab->wanted = ft_lab_joint[joint].seek_velocity;
    lab->ticks = ft_lab_joint[joint].seek_ticks;
    lab->index = ft_chip_index(joint);
    lab->pressed.ticks = 0;
    lab->search = FT_SEEKING;
}

void ft_lab_probe(ft_lab *lab, uint32_t joint, ft_real torque)
{
    if (lab->joint != joint)
        lab->travelled = 0;
    lab->joint = (uint8_t)joint;
    lab->torque = torque;
    lab->ticks = FT_HOST_TIMEOUT;
}

/* Slow down to rest. */
void ft_lab_release(ft_lab *lab)
{
    lab->wanted = FT_C(0.0);
}

/* ---- a moving target -------------------------------------------------- */

/* Return the distance from a position to the limit ahead of the joint. */
static ft_real room(uint32_t j, int32_t at, ft_real velocity)
{
    const ft_joint_config *c = &ft_joint[j];
    ft_real above = (ft_real)c->upper - (ft_real)at;
    ft_real below = (ft_real)at - (ft_real)c->lower;

    if (c->room == UINT32_MAX) /* round and round */
        return BOUNDLESS;
    return ft_lab_joint[j].coarse_unit * (velocity > FT_C(0.0) ? above : below);
}

/* Return the velocity that the target may have. The velocity is 0 as soon as
 * the joint needs all its remaining distance to stop. */
static ft_real allowed(const ft_lab *lab, ft_real left)
{
    const ft_lab_config *c = &ft_lab_joint[lab->joint];
    ft_real distance = lab->velocity * lab->velocity * c->stop_distance;

    /* plus 0.1 s of motion: the joint may lag behind its target */
    distance += FT_C(0.1) * ft_size(lab->velocity)
                + (ft_real)ft_joint[lab->joint].start
                      * ft_joint[lab->joint].unit;
    return left > distance ? lab->wanted : FT_C(0.0);
}

/* Accelerate the target towards the wanted velocity. */
static void accelerate(ft_lab *lab, ft_real wanted)
{
    ft_real step = ft_lab_joint[lab->joint].velocity_step;

    lab->velocity += ft_clamp(wanted - lab->velocity, step);
}

/* Move one joint's target by a whole number of position steps, so that the
 * target does not drift. The other targets stay. */
static void move(const ft_lab *lab, ft_motion *m)
{
    const ft_joint_config *c = &ft_joint[lab->joint];
    ft_turn n = (ft_turn)(lab->velocity * DT * c->per_unit);
    ft_target *t = m->newest;
    uint32_t j = lab->joint;

    if (n != 0)
        m->rested = 0;
    m->next.u[j] = FT_C(0.5) * (ft_real)n * c->unit;
    m->next.du[j] += FT_C(0.5) * m->next.u[j];
    t->u[j] = m->next.u[j];
    t->q[j] = ft_position_add(m->next.q[j], n / 2);
    m->next.q[j] = ft_position_add(m->next.q[j], n);
}

/* Advance all targets by a tick at rest. */
static void stand(ft_motion *m)
{
    uint32_t j;

    ft_motion_turn(m);
    m->rested += ft_motion_settled(m) ? 0u : 1u;
    for (j = 0; j < FT_JOINTS; j++) {
        m->next.du[j] = FT_C(-0.5) * m->next.u[j];
        m->newest->u[j] = m->next.u[j] = FT_C(0.0);
        m->newest->q[j] = m->next.q[j];
    }
}

/* Set the targets to the joints' positions, with the dynamics at rest. */
static void follow(const ft_lab_input *in)
{
    ft_motion_hold(in->motion, in->seen->q);
    ft_step_start(in->step, in->seen->q);
}

static uint32_t plan_jog(ft_lab *lab, const ft_lab_input *in)
{
    ft_real towards = lab->velocity != FT_C(0.0) ? lab->velocity : lab->wanted;

    if (lab->ticks > 0u)
        lab->ticks--;
    else
        ft_lab_release(lab);
    accelerate(lab, allowed(lab, room(lab->joint, in->seen->coarse[lab->joint],
                                      towards)));
    stand(in->motion);
    move(lab, in->motion);
    return lab->wanted == FT_C(0.0) && lab->velocity == FT_C(0.0)
               ? FT_EVENT_PAUSED : FT_MOTION_NOTHING;
}

/* Add the joint's displacement. Return the size of the sum. The sum wraps,
 * since an encoder may report any counts. */
static uint32_t travel(ft_lab *lab, const ft_lab_input *in)
{
    uint32_t displacement = (uint32_t)lab->travelled
                            + (uint32_t)in->counts[lab->joint];

    lab->travelled = (int32_t)displacement;
    return displacement >> 31 != 0u ? 0u - displacement : displacement;
}

/* ---- seeking ------------------------------------------------------------ */

/* Return whether the index pulse has begun in this tick. */
static bool index_comes(ft_lab *lab)
{
    bool now = ft_chip_index(lab->joint), came = now && !lab->index;

    lab->index = now;
    return came;
}

/* Return whether the joint has been at its stop for long enough. */
static bool stop_reached(ft_lab *lab, const ft_lab_input *in)
{
    uint32_t j = lab->joint;

    if (in->counts[j] != 0
        || ft_size(in->torque[j]) < ft_lab_joint[j].seek_torque) {
        lab->pressed.ticks = 0;
        return false;
    }
    return ft_streak_count(&lab->pressed, in->tick) > FT_PRESS_TICKS;
}

/* Set the joint's position, and move it inside its limits, as ARM needs. */
static void retract(ft_lab *lab, const ft_lab_input *in)
{
    const ft_lab_config *c = &ft_lab_joint[lab->joint];

    ft_observer_place(in->seen, lab->joint, c->home);
    follow(in);
    lab->left = c->retract;
    lab->velocity = FT_C(0.0);
    lab->wanted = -c->seek_velocity;
    lab->search = FT_RETRACTING;
}

/* Search for the zero. */
static uint32_t search(ft_lab *lab, const ft_lab_input *in, ft_findings *found)
{
    const ft_lab_config *c = &ft_lab_joint[lab->joint];
    const uint32_t distance = travel(lab, in);

    if (c->seek == FT_SEEK_INDEX ? index_comes(lab)
                                 : stop_reached(lab, in)) {
        retract(lab, in);
        return FT_EVENT_PASSED;
    }
    if (lab->ticks == 0u || distance > c->seek_counts)
        ft_found(found, &found->lost, lab->joint);
    else
        lab->ticks--;
    return FT_MOTION_NOTHING;
}

/* Move the joint inside the limits, and stop the joint there. */
static uint32_t come_back(ft_lab *lab)
{
    if (lab->left <= FT_C(0.0))
        lab->wanted = FT_C(0.0);
    lab->left -= ft_size(lab->velocity) * DT;
    if (lab->wanted != FT_C(0.0) || lab->velocity != FT_C(0.0))
        return FT_MOTION_NOTHING;
    lab->search = FT_SOUGHT;
    return FT_EVENT_PAUSED;
}

static uint32_t plan_homing(ft_lab *lab, const ft_lab_input *in,
                            ft_findings *found)
{
    uint32_t event = FT_MOTION_NOTHING;

    if (FT_BRAKE && in->opening) {
        stand(in->motion);
        return event;
    }
    if (lab->search == FT_SEEKING)
        event = search(lab, in, found);
    else if (lab->search == FT_RETRACTING)
        event = come_back(lab);
    if (event == FT_EVENT_PASSED)
        return event;
    accelerate(lab, lab->wanted);
    stand(in->motion);
    move(lab, in->motion);
    return event;
}

/* ---- probing ------------------------------------------------------------- */

static uint32_t plan_probe(ft_lab *lab, const ft_lab_input *in)
{
    const uint32_t distance = travel(lab, in);

    follow(in);
    if (distance > ft_lab_joint[lab->joint].probe_counts)
        lab->torque = FT_C(0.0);
    if (lab->ticks == 0u)
        return FT_EVENT_PAUSED;
    lab->ticks--;
    return FT_MOTION_NOTHING;
}

/* Compute this tick's targets. */
uint32_t ft_lab_plan(ft_lab *lab, const ft_lab_input *in, ft_findings *found)
{
    switch (in->state) {
    case FT_STATE_JOG:
        return plan_jog(lab, in);
    case FT_STATE_HOMING:
        return plan_homing(lab, in, found);
    case FT_STATE_PROBE:
        return plan_probe(lab, in);
    default:
        follow(in);
        return FT_MOTION_NOTHING;
    }
}

/* ---- the law ------------------------------------------------------------- */

/* Return the torque of one joint while a person guides the arm by hand. */
static ft_real floating(const ft_lab *lab, uint32_t j, const ft_law_input *in,
                        ft_findings *found)
{
    const ft_joint_config *c = &ft_joint[j];
    const ft_lab_config *b = &ft_lab_joint[j];
    ft_real velocity = VELOCITY_OF_U * in->seen->u[j];
    ft_real fast = ft_size(velocity) - b->float_velocity;
    int32_t at = in->seen->coarse[j];
    bool above = at > c->upper;
    uint32_t beyond = above ? (uint32_t)at - (uint32_t)c->upper
                      : at < c->lower ? (uint32_t)c->lower - (uint32_t)at : 0u;
    ft_real back = (ft_real)beyond * b->coarse_unit * c->per_unit;
    ft_real torque = in->tau[j]
                     + lab->friction
                           * ft_clamp(b->friction_slope * velocity,
                                      c->coulomb);

    if (fast > FT_C(0.0))
        torque -= c->kv * ft_bound(velocity, fast / VELOCITY_OF_U);
    if (beyond > (uint32_t)c->margin)
        ft_found(found, &found->beyond, j);
    return torque - c->ku * (above ? back : -back);
}

/* Return the torque that brings one joint to its target. */
static ft_real led(uint32_t j, const ft_law_input *in)
{
    const ft_joint_config *c = &ft_joint[j];
    ft_turn away = ft_position_difference(in->target->q[j], in->seen->q[j]);

    return in->tau[j] + c->ku * (ft_real)away
           + c->kv * (in->target->u[j] - in->seen->u[j]);
}

/* Return the torque limit of one joint. */
static ft_real most(const ft_lab *lab, uint32_t state, uint32_t j)
{
    bool seeking = state == FT_STATE_HOMING && j == lab->joint
                   && lab->search == FT_SEEKING;

    return seeking ? ft_lab_joint[j].seek_torque : ft_joint[j].effort;
}

/* Return the torque of one joint in this mode. */
static ft_real of_mode(const ft_lab *lab, uint32_t state, uint32_t j,
                       const ft_law_input *in, ft_findings *found)
{
    switch (state) {
    case FT_STATE_PROBE:
        return j == lab->joint ? lab->torque : FT_C(0.0);
    case FT_STATE_HOMING:
        return led(j, in);
    default:
        return floating(lab, j, in, found);
    }
}

/* Return the half increment from which the duty's back-EMF term is computed.
 * The measured half increment is used, so that a joint pressed against its stop
 * gets no extra torque. In PROBE the result is 0, since the encoder's sign may
 * be wrong. */
static ft_real driven(uint32_t state, uint32_t j, const ft_law_input *in)
{
    bool probing = state == FT_STATE_PROBE;

    return probing ? FT_C(0.0) : in->seen->u[j];
}

/* Compute torque and duty of every joint. */
void ft_lab_law(const ft_lab *lab, uint32_t state, ft_law *l,
                const ft_law_input *in, ft_findings *found)
{
    uint32_t j;

    for (j = FT_JOINTS; j-- > 0u;) {
        const ft_joint_config *c = &ft_joint[j];
        ft_real torque = of_mode(lab, state, j, in, found), volts;

        if (!(ft_size(torque) < BOUNDLESS)) {
            ft_found(found, &found->wild, j);
            torque = FT_C(0.0);
        }
        l->torque[j] = ft_clamp(torque, most(lab, state, j));
        volts = c->resistance * l->torque[j]
                + c->back_emf * (FT_C(2.0) * driven(state, j, in));
        l->duty[j] = (float)ft_clamp(volts / in->bus_voltage, FT_C(1.0));
        l->limits |= torque == l->torque[j] ? 0u : FT_LIMIT_TORQUE;
        l->limits |= ft_size(volts) > in->bus_voltage ? FT_LIMIT_VOLTAGE : 0u;
    }
}
