/* The torque that acts on each joint from outside, by the arm's momenta, and
 * touches.
 *
 * The step that makes tau_ID for targets makes it here for what is measured, in
 * a state of its own. The torque that is needed beyond what the motors made in
 * the same interval came from outside, filtered once:
 *   r <- r + a (needed - made - r),   a = 1 - exp(-K dt)
 * Summed up, the needed torques are a difference of momenta: no velocity is
 * differenced twice. A touch is an r that leaves its slow mean by more than the
 * joint's threshold, which rises with what the motion asks for: an error of the
 * model comes and goes with the motion, a touch does not.
 *
 * Closed loops are closed anew in every tick, from what is measured of driven
 * joints. If they do not close, nothing is felt, and it begins anew.
 *
 * An arm that has given way makes the torque that its model asks for, so that
 * at rest r is none: until it is back, or goes on to lie down, a touch is an r
 * that leaves 0. A hand that presses for long is a touch for as long. */
#ifndef FT_CONTACT_H
#define FT_CONTACT_H

#include "ft_config.h"   /* FT_CONTACT */
#include "ft_findings.h" /* ft_findings */
#include "ft_law.h"      /* ft_law */
#include "ft_model.h"    /* FT_JOINTS, ft_real */
#include "ft_motion.h"   /* ft_motion */
#include "ft_observer.h" /* ft_observer */
#include "ft_step.h"     /* ft_step_state, ft_sample */

#include <stdbool.h>
#include <stdint.h>

#define FT_CONTACT_SLOTS 4u /* ticks that a torque may be on its way, and one */

typedef struct {
    ft_step_state step;             /* at measured positions */
    ft_sample seen;                 /* the last one */
    ft_real asked[FT_CONTACT_SLOTS][FT_JOINTS]; /* N m, N: round and round */
    ft_real made[FT_JOINTS];        /* by the motors, at the tick's end */
    ft_real external[FT_JOINTS];    /* r, N m or N */
    ft_real mean[FT_JOINTS];        /* of it, over a while */
    ft_real threshold[FT_JOINTS];   /* in force */
    uint32_t slot;                  /* of this tick */
    uint32_t settles;               /* ticks until a touch counts */
    bool on;                        /* there was a tick before */
    bool blind;                     /* loops did not close a while ago */
    bool touched;                   /* something is felt, */
    bool touch;                     /* since this tick */
    uint8_t joint;                  /* that felt the last touch */
    uint16_t touches;               /* so far; wraps */
    uint32_t touch_tick;            /* of the last one */
    uint8_t way;                    /* FT_FELT_: what comes of a touch, or 0 */
    uint8_t tries;                  /* ways back since the first one */
    uint32_t quiet;                 /* ticks at rest without a touch */
} ft_contact;

/* Input of one tick. */
typedef struct {
    const ft_observer *seen;
    const ft_motion *motion;
    const ft_law *law;
    const ft_step_state *step; /* of the targets: to begin as it does */
    uint32_t tick;
    ft_real bus_voltage;       /* V */
} ft_contact_input;

void ft_contact_tick(ft_contact *f, const ft_contact_input *in,
                     ft_findings *found);

/* Return the torque on one joint from outside, N m or N: none while that is not
 * known. */
static inline ft_real ft_contact_external(const ft_contact *f, uint32_t j)
{
    return FT_STEP_CLOSED && f->blind ? FT_C(0.0) : f->external[j];
}

void ft_contact_rest(ft_contact *f);
void ft_contact_give_way(ft_contact *f);
bool ft_contact_quiet(ft_contact *f, const ft_observer *seen);

#endif
