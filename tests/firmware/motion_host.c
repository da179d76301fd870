/* Runs the motion alone for the tests, one call per tick. */
#include "ft_messages.h"
#include "ft_motion.h"

#include <string.h>

typedef struct {
    int64_t path; /* path units from the first knot to this tick boundary */
    int32_t half, slope, phase, event, underrun, buffered;
    ft_turn q_next[FT_JOINTS], target[FT_JOINTS];
    ft_real u[FT_JOINTS], du[FT_JOINTS], rate[FT_JOINTS];
} motion_record;

void motion_reset(void);
void motion_open(const ft_turn *q, const ft_real *v, const ft_real *a);
int motion_push(const ft_turn *q, const ft_real *v, const ft_real *a, int end);
int motion_start(void);
void motion_brake(void);
void motion_resume(void);
void motion_forget(void);
void motion_tick(motion_record *r);
int motion_half_one(void);
void pace_brake(int32_t *half, int32_t *slope);
void pace_run(int32_t *half, int32_t *slope);
uint32_t pace_stop_length(int32_t half, int32_t slope);

static ft_motion m;

static ft_knot knot(const ft_turn *q, const ft_real *v, const ft_real *a)
{
    ft_knot k;

    memcpy(k.q, q, sizeof k.q);
    memcpy(k.velocity, v, sizeof k.velocity);
    memcpy(k.acceleration, a, sizeof k.acceleration);
    return k;
}

void motion_reset(void) { ft_motion_clear(&m); }

void motion_open(const ft_turn *q, const ft_real *v, const ft_real *a)
{
    ft_knot k = knot(q, v, a);

    ft_queue_open(&m.queue, &k);
    ft_motion_hold(&m, k.q);
}

int motion_push(const ft_turn *q, const ft_real *v, const ft_real *a, int end)
{
    ft_knot k = knot(q, v, a);
    ft_segment *g = ft_queue_slot(&m.queue);

    if (ft_queue_credit(&m.queue) == 0u)
        return 0;
    ft_segment_build(g, &m.queue.last, &k);
    g->flags = (uint8_t)(m.queue.begun | (end ? FT_KNOT_END : 0));
    ft_queue_push(&m.queue, &k);
    return 1;
}

int motion_start(void)
{
    if (!ft_motion_playable(&m))
        return 0;
    ft_motion_start(&m);
    return 1;
}

void motion_brake(void) { ft_motion_brake(&m); }
void motion_resume(void) { ft_motion_resume(&m); }

void motion_forget(void)
{
    ft_motion_forget(&m);
    ft_queue_idle(&m.queue);
}

void motion_tick(motion_record *r)
{
    int64_t length = 2 * (int64_t)FT_HALF_ONE * FT_TICKS_PER_KNOT;
    const ft_target *t;
    uint32_t j;

    r->path = (int64_t)m.played * length + m.at + m.pace.half;
    r->event = (int32_t)ft_motion_tick(&m);
    r->half = m.pace.half;
    r->slope = m.pace.slope;
    r->phase = (int32_t)m.phase;
    r->underrun = m.underrun;
    r->buffered = (int32_t)ft_queue_buffered(&m.queue);
    t = m.newest;
    memcpy(r->u, m.next.u, sizeof r->u);
    memcpy(r->du, m.next.du, sizeof r->du);
    memcpy(r->q_next, m.next.q, sizeof r->q_next);
    memcpy(r->target, t->q, sizeof r->target);
    for (j = 0; j < FT_JOINTS; j++)
        r->rate[j] = t->u[j] * (ft_real)(2u * FT_TICK_HZ);
}

int motion_half_one(void) { return FT_HALF_ONE; }

void pace_brake(int32_t *half, int32_t *slope)
{
    ft_pace p = { *half, *slope };

    p = ft_pace_brake(p);
    *half = p.half;
    *slope = p.slope;
}

void pace_run(int32_t *half, int32_t *slope)
{
    ft_pace p = { *half, *slope };

    p = ft_pace_run(p);
    *half = p.half;
    *slope = p.slope;
}

uint32_t pace_stop_length(int32_t half, int32_t slope)
{
    ft_pace p = { half, slope };

    return ft_pace_stop_length(p);
}
