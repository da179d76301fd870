/* Feeling alone on this computer, one call a tick, for the tests. */
#include "ft_feel.h"

#include <string.h>

typedef struct {
    ft_turn q[FT_JOINTS];
    ft_real u[FT_JOINTS];
    float duty[FT_JOINTS];
    ft_real torque[FT_JOINTS], volts;
} feel_input;

typedef struct {
    ft_real external[FT_JOINTS], mean[FT_JOINTS], threshold[FT_JOINTS];
    uint32_t touches, joint, touch, touched, touch_tick, wild, blind;
} feel_output;

void feel_start(const ft_turn *q);
void feel_run(long n, const feel_input *in, feel_output *out);
void feel_rest(void);
void feel_state(feel_output *out);

static ft_feel f;
static ft_step_state step;
static ft_motion motion;
static ft_law law;
static ft_observer seen;
static ft_findings found;
static uint32_t tick;

void feel_start(const ft_turn *q)
{
    memset(&f, 0, sizeof f);
    memset(&motion, 0, sizeof motion);
    memset(&seen, 0, sizeof seen);
    motion.newest = &motion.due[0];
    motion.before = &motion.due[1];
    ft_step_start(&step, q);
    tick = 0;
}

/* The target moves as what is measured does. */
void feel_run(long n, const feel_input *in, feel_output *out)
{
    static const ft_findings nothing = FT_FOUND_NOTHING;
    long i;

    for (i = 0; i < n; i++) {
        const ft_feel_input all = { &seen, &motion, &law, &step, tick++,
                                    in[i].volts };

        memcpy(motion.before->u, seen.u, sizeof seen.u);
        memcpy(motion.newest->u, in[i].u, sizeof seen.u);
        memcpy(seen.u, in[i].u, sizeof seen.u);
        memcpy(seen.q, in[i].q, sizeof seen.q);
        memcpy(law.duty, in[i].duty, sizeof law.duty);
        memcpy(law.torque, in[i].torque, sizeof law.torque);
        found = nothing;
        ft_feel_tick(&f, &all, &found);
        feel_state(&out[i]);
    }
}

void feel_state(feel_output *out)
{
    uint32_t j;

    for (j = 0; j < FT_JOINTS; j++)
        out->external[j] = ft_feel_external(&f, j);
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

void feel_rest(void) { ft_feel_rest(&f); }
