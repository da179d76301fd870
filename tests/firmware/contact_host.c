/* Runs contact detection alone on this computer for the tests, one call per
 * tick. */
#include "ft_contact.h"

#include <string.h>

typedef struct {
    ft_turn q[FT_JOINTS];
    ft_real u[FT_JOINTS];
    float duty[FT_JOINTS];
    ft_real torque[FT_JOINTS], volts;
} contact_input;

typedef struct {
    ft_real external[FT_JOINTS], mean[FT_JOINTS], threshold[FT_JOINTS];
    uint32_t touches, joint, touch, touched, touch_tick, wild, blind;
} contact_output;

void contact_start(const ft_turn *q);
void contact_run(long n, const contact_input *in, contact_output *out);
void contact_rest(void);
void contact_state(contact_output *out);

static ft_contact f;
static ft_step_state step;
static ft_motion motion;
static ft_law law;
static ft_observer seen;
static ft_findings found;
static uint32_t tick;

void contact_start(const ft_turn *q)
{
    memset(&f, 0, sizeof f);
    memset(&motion, 0, sizeof motion);
    memset(&seen, 0, sizeof seen);
    motion.newest = &motion.due[0];
    motion.before = &motion.due[1];
    ft_step_start(&step, q);
    tick = 0;
}

/* The target equals the measured motion. */
void contact_run(long n, const contact_input *in, contact_output *out)
{
    static const ft_findings nothing = FT_FOUND_NOTHING;
    long i;

    for (i = 0; i < n; i++) {
        const ft_contact_input all = { &seen, &motion, &law, &step, tick++,
                                    in[i].volts };

        memcpy(motion.before->u, seen.u, sizeof seen.u);
        memcpy(motion.newest->u, in[i].u, sizeof seen.u);
        memcpy(seen.u, in[i].u, sizeof seen.u);
        memcpy(seen.q, in[i].q, sizeof seen.q);
        memcpy(law.duty, in[i].duty, sizeof law.duty);
        memcpy(law.torque, in[i].torque, sizeof law.torque);
        found = nothing;
        ft_contact_tick(&f, &all, &found);
        contact_state(&out[i]);
    }
}

void contact_state(contact_output *out)
{
    uint32_t j;

    for (j = 0; j < FT_JOINTS; j++)
        out->external[j] = ft_contact_external(&f, j);
    memcpy(out->mean, f.mean, sizeof f.mean);
    memcpy(out->threshold, f.threshold, sizeof f.threshold);
    out->touches = f.touches;
    out->joint = f.joint;
    out->touch = f.touch ? 1u : 0u;
    out->touched = f.touched ? 1u : 0u;
    out->touch_tick = f.touch_tick;
    out->wild = found.wild;
#if FT_STEP_CLOSED
    out->blind = f.blind ? 1u : 0u;
#else
    out->blind = 0;
#endif
}

void contact_rest(void) { ft_contact_rest(&f); }
