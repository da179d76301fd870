/* The making of a tick's torques, stage after stage: where the joints are,
 * where they should be, the torque that the motion needs, the law. */
#ifndef FT_CONTROL_H
#define FT_CONTROL_H

#include "ft_contact.h"  /* ft_contact */
#include "ft_follow.h"   /* ft_follow */
#include "ft_lab.h"      /* ft_lab */
#include "ft_law.h"      /* ft_law */
#include "ft_model.h"    /* FT_JOINTS, ft_real */
#include "ft_motion.h"   /* ft_motion */
#include "ft_observer.h" /* ft_observer */
#include "ft_step.h"     /* ft_step_state */

#include <stdbool.h>

typedef struct {
    ft_observer seen;
    ft_step_state step;
    bool closed;            /* loops are, where the joints are; or none are */
    ft_real tau[FT_JOINTS]; /* tau_ID */
    ft_law law;
    ft_lab lab;
    ft_motion motion;       /* what is long comes last */
    ft_follow follow;
#if FT_CONTACT
    ft_contact contact;
#endif
} ft_control;

#endif
