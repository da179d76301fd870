/* Following targets; see ft_follow.h. */
#include "ft_follow.h"

#include "ft_events.h"   /* FT_EVENT_PAUSED, FT_EVENT_ENDED */
#include "ft_findings.h" /* FT_APART */
#include "ft_number.h"   /* ft_clamp, ft_size */
#include "ft_position.h" /* ft_position_add, ft_position_of_wire */
#include "ft_ramp.h"     /* ft_ramp_brake */

#define DT (FT_C(1.0) / (ft_real)FT_TICK_HZ)
#define TICK_US (FT_C(1e6) / (ft_real)FT_TICK_HZ)
#define FAR_US 20000         /* difference of clocks that are far apart, us */
#define LITTLE FT_C(0.01)    /* largest deviation of the pace for near clocks */
#define MUCH FT_C(0.5)
#define ALONE (FT_TICK_HZ / 8u) /* ticks to wait for a second target */
#define SOON FT_C(1e-6)      /* 1/us: a difference is removed within 1 s */
#define QUICKLY FT_C(10.0)   /* change of pace, clocks far apart, 1/s */

static const ft_moving still = { FT_C(0.0), FT_C(0.0), FT_C(0.0) };

/* ---- clocks ------------------------------------------------------------- */

/* Advance the board's clock by a tick. */
static void count(ft_follow *f)
{
    f->part += 1000000u % FT_TICK_HZ;
    f->now += 1000000u / FT_TICK_HZ + (f->part >= FT_TICK_HZ ? 1u : 0u);
    f->part -= f->part >= FT_TICK_HZ ? FT_TICK_HZ : 0u;
}

/* Advance the played time of the sender by a tick. The played time is never
 * set, since the joints would jump. Only the pace of this time changes, at a
 * bounded rate. */
static void play(ft_follow *f)
{
    const int32_t away = (int32_t)(f->now - f->targets.lag - f->playing);
    const bool far = away > FAR_US || away < -FAR_US;
    const ft_real wanted = far ? ft_bound((ft_real)away, MUCH)
                               : ft_clamp((ft_real)away * SOON, LITTLE);
    const bool quickly = far || ft_size(f->pace) > LITTLE;
    uint32_t whole;

    f->pace += ft_clamp(wanted - f->pace,
                        (quickly ? QUICKLY : LITTLE) * DT);
    f->rest += TICK_US * (FT_C(1.0) + f->pace);
    whole = (uint32_t)f->rest;
    f->rest -= (ft_real)whole;
    f->playing += whole;
}

/* ---- the reference ------------------------------------------------------ */

/* Begin to play. Two targets give the sender's frame time. If no second target
 * arrives, begin after ALONE ticks. */
static bool begun(ft_follow *f)
{
    if (f->running || f->fresh || !f->targets.begun)
        return f->running;
    if (f->targets.known || ++f->waited > ALONE) {
        f->playing = f->targets.direct ? f->now : f->now - f->targets.lag;
        ft_outlook_begin(&f->outlook, &f->reference);
        f->running = true;
    }
    return f->running;
}

/* Sample the reference of each joint. */
static void sample(const ft_follow *f, ft_moving aim[FT_JOINTS])
{
    const ft_reference *r = &f->reference;
    const ft_real t = ft_reference_time(r, f->playing, f->rest);
    const ft_real pace = FT_C(1.0) + f->pace;
    uint32_t j;

    for (j = 0; j < FT_JOINTS; j++)
        aim[j] = ft_reference_sample(r, j, t, f->q[j], pace);
}

/* Steer to the newest target immediately. */
static void turn(ft_follow *f)
{
    const ft_targets *t = &f->targets;
    const uint32_t newest = t->newest, slot = newest & 1u;

    if (newest == f->turned)
        return;
    f->turned = newest;
    ft_reference_turn_to(&f->reference, t->to[slot], t->to_velocity[slot],
                         f->playing);
}

/* Advance along the reference. */
static void go_on(ft_follow *f)
{
    ft_reference *r = &f->reference;

    if (f->targets.direct) {
        f->playing = f->now;
        turn(f);
        ft_reference_run_out(r, f->playing, f->targets.ended);
    } else {
        play(f);
        (void)ft_reference_reach(r, f->playing);
    }
    ft_outlook_tick(&f->outlook, r, f->targets.direct);
}

/* ---- motions without the host ------------------------------------------- */

#if FT_GOES

/* Return a joint's parking position; without limits the nearest one. */
static int64_t place(uint32_t j, int64_t held)
{
    const int64_t lies = FT_PARK ? ft_park_pose[j] : held;
    const uint32_t way = (uint32_t)lies - (uint32_t)held;

    if ((FT_PARK_ENDLESS >> j & 1u) == 0u)
        return lies;
    return (int64_t)((uint64_t)held + (uint64_t)(int64_t)(int32_t)way);
}

/* Begin at rest at the held positions, and move to the parking pose. */
void ft_follow_park(ft_follow *f, const int64_t held[FT_JOINTS])
{
    uint32_t j;

    ft_follow_begin(f, held, 0, 0);
    for (j = 0; j < FT_JOINTS; j++)
        f->place[j] = place(j, held[j]);
    f->parks = true;
}

/* Store a position to which the arm will return, clamped to the limits. */
void ft_follow_keep(ft_follow *f, const int64_t place[FT_JOINTS])
{
    uint32_t j;

    for (j = 0; j < FT_JOINTS; j++) {
        const ft_follow_config *c = &ft_follow_joint[j];

        f->place[j] = place[j] < c->lower   ? c->lower
                      : place[j] > c->upper ? c->upper : place[j];
    }
}

/* Begin at rest at the held positions, and return to the stored position. */
void ft_follow_return(ft_follow *f, const int64_t held[FT_JOINTS])
{
    ft_follow_begin(f, held, 0, 0);
    f->parks = true;
}

#define THERE 8 /* distance at which a joint has arrived, wire steps */

/* Make the stored position every joint's target. */
static void lie(const ft_follow *f, ft_moving aim[FT_JOINTS])
{
    uint32_t j;

    for (j = 0; j < FT_JOINTS; j++) {
        const int64_t at = f->place[j];
        const uint64_t way = (uint64_t)at - (uint64_t)f->q[j];

        aim[j] = still;
        if (way + THERE > 2u * THERE)
            aim[j].p = ft_reference_displacement(f->q[j], at,
                                                 ft_follow_joint[j].unit);
    }
}

/* Return whether the joints move to a stored position and ignore targets. */
static inline bool goes(const ft_follow *f)
{
    return f->parks;
}

/* Let the joints follow targets. */
static inline void go_nowhere(ft_follow *f)
{
    f->parks = false;
}

#else

static inline void lie(const ft_follow *f, ft_moving aim[FT_JOINTS])
{
    (void)f;
    (void)aim;
}

static inline bool goes(const ft_follow *f)
{
    (void)f;
    return false;
}

static inline void go_nowhere(ft_follow *f)
{
    (void)f;
}

#endif

/* Return the limits of all joints. */
static inline const ft_follow_config *limits_of(const ft_follow *f)
{
    return FT_GOES && goes(f) ? ft_park_joint : ft_follow_joint;
}

/* ---- joints ------------------------------------------------------------- */

/* Pass one joint's sample to the motion: half the displacement in the tick, the
 * change of this half, and the position in the middle of the tick. */
static void emit(ft_follow *f, ft_motion *m, uint32_t j, ft_real bent)
{
    const ft_follow_config *c = &ft_follow_joint[j];
    const ft_real way = f->joint[j].p;
    const int32_t steps = (int32_t)(way * c->per_unit);
    const int32_t half = (int32_t)((FT_C(0.5) * way - bent) * c->per_unit);
    ft_target *t = m->newest;
    const ft_real u = FT_C(0.5) * way;

    m->next.du[j] = FT_C(0.5) * (u - m->next.u[j]);
    m->next.u[j] = t->u[j] = u;
    t->q[j] = ft_position_add(m->next.q[j], ft_position_of_wire(half));
    m->next.q[j] =
        ft_position_add(m->next.q[j], ft_position_of_wire(steps));
    f->q[j] = (int64_t)((uint64_t)f->q[j] + (uint64_t)(int64_t)steps);
}

/* Return the distances from a joint to its limits. */
static ft_room room_of(const ft_follow *f, uint32_t j)
{
    const ft_follow_config *c = &ft_follow_joint[j];
    const ft_room room = {
        ft_reference_displacement(f->q[j], c->lower, c->unit),
        ft_reference_displacement(f->q[j], c->upper, c->unit),
    };

    return room;
}

/* Return the outlook of a joint's reference, relative to the joint. */
static ft_way way_of(const ft_follow *f, uint32_t j, const ft_moving *aim)
{
    return f->running ? ft_outlook_way(&f->outlook, j, f->q[j], aim->p)
                      : ft_outlook_anywhere();
}

/* Move one joint by a tick. Return the limits that held the joint back. */
static uint32_t move(ft_follow *f, uint32_t j, const ft_moving *aim)
{
    const ft_follow_config *c = &limits_of(f)[j];

    if (!f->stop && !ft_regular_waits(&f->regular, j)) {
        const ft_way way = way_of(f, j, aim);

        return ft_governor_tick(&f->joint[j], c, room_of(f, j), aim, &way,
                                &f->wary[j]);
    }
    ft_ramp_brake(&f->joint[j], c);
    return f->stop ? 0u : FT_FOLLOW_LIMIT_LOOPS;
}

/* Note how a joint has moved, and give its sample to the motion. Return whether
 * the joint is at rest at its reference. */
static bool give(ft_follow *f, ft_motion *m, uint32_t j, ft_real aim,
                 ft_real before, uint32_t why)
{
    const ft_moving *s = &f->joint[j];

    f->behind[j] = f->stop ? FT_C(0.0) : s->p - aim;
    if (why != 0u)
        f->limits[j] |= (uint8_t)why;
    emit(f, m, j, FT_C(0.0625) * DT * DT * (before + s->a));
    return why == 0u && s->p == FT_C(0.0) && s->v == FT_C(0.0)
           && s->a == FT_C(0.0);
}

/* Hold the joints until a target arrives. */
static void stay(ft_moving aim[FT_JOINTS])
{
    uint32_t j;

    for (j = 0; j < FT_JOINTS; j++)
        aim[j] = still;
}

/* ---- the tick ------------------------------------------------------------ */

/* Compute the joints' references for this tick. */
static inline void aims(ft_follow *f, ft_moving aim[FT_JOINTS])
{
    if (goes(f)) {
        lie(f, aim);
    } else if (begun(f)) {
        go_on(f);
        sample(f, aim);
    } else {
        stay(aim);
    }
}

/* Return whether no more targets are expected. */
static inline bool over(const ft_follow *f)
{
    if (goes(f))
        return true;
    return f->running && f->reference.ended
           && f->reference.same >= FT_SUPPORT;
}

/* Brake all joints if they could no longer come to rest at a regular pose after
 * this tick. Stop permanently if no more targets are expected. from: the
 * samples before the tick. */
static void stay_regular(ft_follow *f, const ft_step_state *s,
                         const ft_moving from[FT_JOINTS],
                         uint32_t why[FT_JOINTS])
{
    uint32_t j;

    if (f->stop
        || ft_regular_tick(&f->regular, s, f->q, from, f->joint, limits_of(f)))
        return;
    f->stop = over(f);
    for (j = 0; j < FT_JOINTS; j++) {
        f->joint[j] = from[j];
        ft_ramp_brake(&f->joint[j], &limits_of(f)[j]);
        why[j] |= FT_FOLLOW_LIMIT_LOOPS;
    }
}

/* Count the ticks without a target. Stop after FT_FOLLOW_TIMEOUT ticks. A slow
 * tick may use a knot in the first tick after its target. */
static void look_for_targets(ft_follow *f)
{
    const ft_reference *r = &f->reference;
    const bool came = f->targets.taken != f->heard;

    f->heard = f->targets.taken;
    f->idle += f->idle <= FT_FOLLOW_TIMEOUT ? 1u : 0u;
    if (!f->running || came || (int32_t)(r->head - r->used) > 0)
        f->idle = 0;
    if (f->idle > FT_FOLLOW_TIMEOUT && !r->ended)
        f->stop = f->starved = true;
}

/* Return the phase of this tick. */
static uint8_t phase(const ft_follow *f, bool on_it)
{
    if (f->stop || f->reference.ended)
        return FT_FOLLOW_PHASE_ENDING;
    if (!f->running)
        return FT_FOLLOW_PHASE_WAITING;
    if (f->reference.same > 0u)
        return FT_FOLLOW_PHASE_STARVED;
    return on_it ? FT_FOLLOW_PHASE_FOLLOWING : FT_FOLLOW_PHASE_CATCHING_UP;
}

/* Begin at rest at the held positions. */
void ft_follow_begin(ft_follow *f, const int64_t held[FT_JOINTS],
                     uint32_t delay, uint32_t frame)
{
    uint32_t j;

    for (j = 0; j < FT_JOINTS; j++) {
        f->q[j] = held[j];
        f->joint[j] = still;
        f->behind[j] = FT_C(0.0);
        f->limits[j] = 0;
        f->wary[j] = false;
    }
    f->pace = f->rest = FT_C(0.0);
    f->turned = f->heard = f->idle = f->waited = 0;
    f->running = f->stop = f->starved = false;
    f->phase = FT_FOLLOW_PHASE_WAITING;
    f->delay = delay;
    f->frame = frame;
    f->reference.ended = false;
    f->fresh = true;
    ft_regular_renew(&f->regular);
    go_nowhere(f);
}

/* Brake, and end at rest. */
void ft_follow_stop(ft_follow *f)
{
    f->stop = true;
}

/* Sample the motion for one tick. */
FT_APART uint32_t ft_follow_tick(ft_follow *f, ft_motion *m,
                                 const ft_step_state *s)
{
    ft_moving aim[FT_JOINTS], from[FT_JOINTS];
    uint32_t why[FT_JOINTS], j;
    bool rests = true, on_it = true;

    ft_motion_turn(m);
    m->left = FT_MOTION_AHEAD;
    count(f);
    aims(f, aim);
    look_for_targets(f);
    for (j = 0; j < FT_JOINTS; j++) {
        from[j] = f->joint[j];
        why[j] = move(f, j, &aim[j]);
    }
    if (FT_REGULAR)
        stay_regular(f, s, from, why);
    for (j = 0; j < FT_JOINTS; j++) {
        rests = give(f, m, j, aim[j].p, from[j].a, why[j]) && rests;
        on_it = on_it && !(ft_size(f->behind[j]) > FT_C(1e-6));
    }
    f->phase = phase(f, on_it);
    m->rested = rests ? m->rested + (ft_motion_settled(m) ? 0u : 1u) : 0u;
    if (f->stop && rests)
        return FT_EVENT_PAUSED;
    return rests && over(f) ? FT_EVENT_ENDED : FT_MOTION_NOTHING;
}

/* ---- functions of the main loop ----------------------------------------- */

/* Process a target. */
void ft_follow_take(ft_follow *f, const ft_msg_target *m)
{
    if (f->fresh) {
        ft_targets_begin(&f->targets, &f->reference, f->delay, f->frame);
        FT_STORED();
        f->fresh = false;
    }
    ft_targets_take(&f->targets, &f->reference, m, f->now,
                    ft_follow_playing(f), f->q);
}

/* Return the time of the sender's clock that is played. Before the first target
 * is played, return the time that would be played. */
uint32_t ft_follow_playing(const ft_follow *f)
{
    return f->running ? f->playing : f->now - f->targets.lag;
}

/* Return the limits that acted on a joint since the last call. */
uint8_t ft_follow_take_limits(ft_follow *f, uint32_t joint)
{
    const uint32_t bit = (uint32_t)1 << joint;
    uint8_t taken = f->limits[joint];

    f->limits[joint] = 0;
    if ((f->targets.clipped & bit) != 0u)
        taken |= FT_FOLLOW_LIMIT_POSITION;
    f->targets.clipped &= ~bit;
    return taken;
}
