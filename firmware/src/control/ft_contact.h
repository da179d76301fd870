/* Contact detection: the external torque of each joint, and contacts.
 *
 * The function that computes tau_ID for the targets also runs here on the
 * measured motion, with a second state. The second evaluation gives the torque
 * that the measured motion needs. The external torque r is the needed torque
 * minus the motors' torque, filtered once:
 *
 *   r <- r + a (needed - made - r),   a = 1 - exp(-K dt).
 *
 * Summed over ticks, the needed torques are a difference of momenta, so noise
 * of the acceleration does not add up. A contact is detected when r leaves its
 * slow mean by more than the joint's threshold. The threshold rises with
 * velocity and acceleration of the motion, since the model's errors also rise.
 *
 * Closed loops are solved in every tick from the measured driven joints. If the
 * loops cannot be closed, no torque is reported, and detection starts again.
 *
 * An arm that has given way to a contact outputs its model's torque, so r is 0
 * at rest. Until the arm has returned, or parks again, a contact is an r
 * beyond the threshold from 0. A hand that keeps pressing is detected for as
 * long as it presses. */
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

#define FT_CONTACT_SLOTS 4u /* longest delay of a torque, ticks, plus 1 */

typedef struct {
    ft_step_state step;             /* at measured positions */
    ft_sample seen;                 /* the last one */
    ft_real asked[FT_CONTACT_SLOTS][FT_JOINTS]; /* ring of efforts, N m or N */
    ft_real made[FT_JOINTS];        /* torque of the motors at the tick's end */
    ft_real external[FT_JOINTS];    /* r, N m or N */
    ft_real mean[FT_JOINTS];        /* slow mean of r */
    ft_real threshold[FT_JOINTS];   /* in force */
    uint32_t slot;                  /* of this tick */
    uint32_t settles;               /* ticks until contacts count */
    bool on;                        /* there was a tick before */
    bool blind;                     /* the loops did not close */
    bool touched;                   /* a contact lasts */
    bool touch;                     /* the contact began in this tick */
    uint8_t joint;                  /* joint of the last contact */
    uint16_t touches;               /* so far; wraps */
    uint32_t touch_tick;            /* of the last one */
    uint8_t way;                    /* FT_FELT_ bit of the reaction, or 0 */
    uint8_t tries;                  /* attempts to return so far */
    uint32_t quiet;                 /* ticks at rest without a contact */
} ft_contact;

/* Input of one tick. */
typedef struct {
    const ft_observer *seen;
    const ft_motion *motion;
    const ft_law *law;
    const ft_step_state *step; /* the targets' step, copied at the start */
    uint32_t tick;
    ft_real bus_voltage;       /* V */
} ft_contact_input;

void ft_contact_tick(ft_contact *f, const ft_contact_input *in,
                     ft_findings *found);

/* Return a joint's external torque, N m or N; 0 while loops are open. */
static inline ft_real ft_contact_external(const ft_contact *f, uint32_t j)
{
    return FT_STEP_CLOSED && f->blind ? FT_C(0.0) : f->external[j];
}

void ft_contact_rest(ft_contact *f);
void ft_contact_give_way(ft_contact *f);
bool ft_contact_quiet(ft_contact *f, const ft_observer *seen);

#endif
