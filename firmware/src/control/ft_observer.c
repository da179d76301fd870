/* Position and velocity from encoder counts; see ft_observer.h. */
#include "ft_observer.h"

#include "ft_config.h" /* ft_joint, ft_tracking */
#include "ft_number.h" /* ft_size */
#include "ft_position.h" /* FT_COARSE */

/* Convert a fine position to a position without whole turns. */
static inline ft_turn position(uint64_t fine)
{
#ifdef FT_REAL_IS_DOUBLE
    return (ft_turn)(fine << (FT_FINER - FT_FINE));
#else
    return (ft_turn)(uint32_t)(fine >> FT_FINE);
#endif
}

/* Set one joint's fine position, position and coarse position. */
static inline void place(ft_observer *o, uint32_t j, uint64_t fine)
{
    o->fine[j] = fine;
    o->q[j] = position(fine);
    o->coarse[j] = (int32_t)(uint32_t)(fine >> (FT_FINE + FT_COARSE));
}

/* Add one joint's counts to its position. */
static inline void count(ft_observer *o, uint32_t j, int32_t counts)
{
    int64_t displacement = (int64_t)counts * ft_joint[j].step;

    place(o, j, o->fine[j] + (uint64_t)displacement);
}

/* Update one joint's velocity. */
static inline void track(ft_observer *o, uint32_t j, int32_t counts,
                         ft_real step)
{
    ft_real before = o->u[j], after = before + step;
    ft_real displacement = (ft_real)counts * ft_joint[j].count;
    ft_real e = o->error[j] + displacement - (before + after);

    o->u[j] = after + ft_tracking.gain * e;
    o->error[j] = ft_tracking.kept * e;
}

/* Report counts and velocities that are impossible for one joint. */
static inline void doubt(const ft_observer *o, uint32_t j, int32_t counts,
                         ft_findings *found)
{
    uint32_t most = (uint32_t)ft_joint[j].counts;

    if (FT_RARELY((uint32_t)counts + most > 2u * most))
        ft_found(found, &found->jump, j);
    if (FT_RARELY(!(ft_size(o->u[j]) <= ft_joint[j].overspeed)))
        ft_found(found, &found->fast, j);
}

/* Process a tick's counts. from, to: the target's last half increments. */
void ft_observer_tick(ft_observer *o, const int32_t counts[FT_JOINTS],
                      const ft_real from[FT_JOINTS],
                      const ft_real to[FT_JOINTS], ft_findings *found)
{
    uint32_t j;

    FT_UNROLL
    for (j = FT_JOINTS; j-- > 0u;) {
        int32_t n = counts[j];

        count(o, j, n);
        track(o, j, n, to[j] - from[j]);
        doubt(o, j, n, found);
    }
}

/* Set one joint to a wire position. */
void ft_observer_place(ft_observer *o, uint32_t joint, int64_t wire)
{
    place(o, joint, (uint64_t)wire << FT_FINE);
}

/* Set all joints to wire positions. */
void ft_observer_set(ft_observer *o, const int64_t wire[FT_JOINTS])
{
    uint32_t j;

    for (j = 0; j < FT_JOINTS; j++)
        ft_observer_place(o, j, wire[j]);
}

/* Return one joint's wire position, including whole turns. */
int64_t ft_observer_wire(const ft_observer *o, uint32_t joint)
{
    const uint64_t sign = (uint64_t)1 << (63 - FT_FINE);

    return (int64_t)(((o->fine[joint] >> FT_FINE) ^ sign) - sign);
}

/* Return the wire position of q, up to whole turns, nearest to the joint. */
int64_t ft_observer_turned(const ft_observer *o, uint32_t joint, ft_turn q)
{
    const uint32_t away = (uint32_t)ft_position_to_wire(q)
                          - (uint32_t)ft_position_to_wire(o->q[joint]);

    return ft_observer_wire(o, joint) + (int32_t)away;
}
