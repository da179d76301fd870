/* The knot gate; see ft_port.h. A bad knot is a fault that names the joint. The
 * motion plays the earlier knots and stops on its path. */
#include "ft_port.h"

#include "ft_config.h"   /* ft_joint */
#include "ft_findings.h" /* FT_NO_JOINT, FT_GOOD */
#include "ft_position.h" /* ft_position_coarse */

#define T (FT_C(1.0) / (ft_real)FT_KNOT_HZ) /* time between knots, s */

static int32_t place[FT_JOINTS]; /* the last knot, with whole turns */
static uint8_t mode;             /* mode of the motion now or next */

static ft_real size(ft_real x)
{
    return x < FT_C(0.0) ? -x : x;
}

/* Report a bad knot. */
static bool bad(ft_alarms *alarms, uint32_t joint)
{
    alarms->knot_joint = (uint8_t)joint;
    alarms->set.of[FT_ALARM_KNOT] = 1u;
    return false;
}

/* Convert a message to a knot of this build. */
static ft_knot of_message(const ft_msg_knot *m)
{
    ft_knot k;
    uint32_t j;

    for (j = 0; j < FT_JOINTS; j++) {
        k.q[j] = ft_position_of_wire(m->position[j]);
        k.velocity[j] = (ft_real)m->rate[j];
        k.acceleration[j] = (ft_real)m->acceleration[j];
    }
    return k;
}

/* Return whether a knot is within a joint's limits. `slack`: rounding. */
static bool inside(uint32_t j, const ft_knot *k, int32_t at, bool still)
{
    const ft_joint_config *c = &ft_joint[j];
    const ft_real slack = FT_C(1.001), rest = FT_C(0.001);
    ft_real most = c->speed * (still ? rest : slack);

    return at >= c->lower && at <= c->upper && size(k->velocity[j]) <= most
           && size(k->acceleration[j]) < FT_C(1e30);
}

/* Return whether one joint's motion between two knots is smooth and slow
 * enough. The jump is the error of the displacement by the corrected
 * trapezoidal rule, from the knots' velocities and accelerations. The
 * coefficient of the fifth power, times T^5, is six times the jump. The jump
 * raises the peak speed by 5/16 of this coefficient times T^4. */
static bool smooth(const ft_quintic *p, const ft_joint_config *c)
{
    const ft_real T2 = T * T;
    ft_real jump = FT_C(0.3125) * size(p->c[4]) * (T2 * T2);
    uint32_t i;

    for (i = 1; i < 4u; i++)
        if (!(size(ft_segment_velocity(p, FT_C(0.25) * T * (ft_real)i))
              <= FT_C(1.05) * c->speed))
            return false;
    return jump <= FT_C(0.1) * c->speed && ft_segment_span(p) <= c->span;
}

/* Return the mode that begins at a knot. */
static uint8_t mode_of(const ft_msg_knot *m)
{
    return (uint8_t)(m->flags >> FT_KNOT_MODE);
}

/* Return the first joint whose limits exclude this knot, or FT_GOOD. Note the
 * joints' positions. A knot at least half a turn from the last knot is
 * refused. */
static uint32_t check_knot(const ft_msg_knot *m, const ft_knot *k)
{
    bool still = (m->flags & (FT_KNOT_START | FT_KNOT_END)) != 0;
    uint32_t j;

    for (j = 0; j < FT_JOINTS; j++) {
        int32_t before = place[j];

        place[j] = ft_position_coarse(m->position[j]);
        if (!ft_position_near(place[j], before)
            || !inside(j, k, place[j], still))
            return j;
    }
    return FT_GOOD;
}

/* Return the first joint whose motion to this knot is too fast or not smooth,
 * or FT_GOOD. */
static uint32_t check_segment(const ft_segment *g)
{
    uint32_t j;

    for (j = 0; j < FT_JOINTS; j++)
        if (!smooth(&g->joint[j], &ft_joint[j]))
            return j;
    return FT_GOOD;
}

/* Begin a motion at its first knot, within half a turn of the joints. Return
 * the first joint that cannot begin at this knot, or FT_GOOD. */
static uint32_t begin(ft_queue *q, const ft_msg_knot *m, const ft_knot *k,
                      const int32_t coarse[FT_JOINTS])
{
    bool empty = ft_queue_buffered(q) == 0u;
    uint32_t j;

    if (q->open && !empty)
        return FT_NO_JOINT;
    for (j = 0; j < FT_JOINTS && empty; j++)
        place[j] = coarse[j];
    j = check_knot(m, k);
    if (j == FT_GOOD && ((m->flags & FT_KNOT_END) != 0
                         || mode_of(m) >= FT_STEP_MODES))
        j = FT_NO_JOINT;
    if (j != FT_GOOD)
        return j;
    mode = mode_of(m);
    ft_queue_open(q, k);
    return FT_GOOD;
}

/* Go on with the motion. Return the first joint for which the knot is bad, or
 * FT_GOOD. */
static uint32_t extend(ft_queue *q, const ft_msg_knot *m, const ft_knot *k)
{
    ft_segment *g = ft_queue_slot(q);
    uint32_t j;

    ft_segment_build(g, &q->last, k);
    g->flags = (m->flags & (FT_KNOT_START | FT_KNOT_END)) | q->begun;
    g->mode = mode;
    j = check_knot(m, k);
    if (j == FT_GOOD)
        j = check_segment(g);
    if (j == FT_GOOD && mode_of(m) >= FT_STEP_MODES)
        j = FT_NO_JOINT;
    if (j != FT_GOOD)
        return j;
    mode = mode_of(m);
    ft_queue_push(q, k);
    return FT_GOOD;
}

/* Process a knot. coarse: the joints' positions. Return false if the knot is
 * bad, which an alarm reports, or if the host must send the knot again. */
bool ft_knots_take(ft_queue *q, const ft_msg_knot *m,
                   const int32_t coarse[FT_JOINTS], ft_alarms *alarms)
{
    bool starts = (m->flags & FT_KNOT_START) != 0;
    ft_knot k = of_message(m);
    uint32_t j;

    if (q->flush)
        return false;
    if (!starts && (!q->open || ft_queue_credit(q) == 0u))
        return false;
    j = starts ? begin(q, m, &k, coarse) : extend(q, m, &k);
    return j == FT_GOOD || bad(alarms, j);
}
