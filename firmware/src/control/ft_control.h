/* The stages of a tick's torques: observer, targets, dynamics, law. */
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
    bool closed;            /* loops are closed, or there are none */
    ft_real tau[FT_JOINTS]; /* tau_ID */
    ft_law law;
    ft_lab lab;
    ft_motion motion;       /* long members come last */
    ft_follow follow;
    FT_IF(FT_CONTACT, ft_contact contact;)
} ft_control;

/* Return the contact detection, for images that have it. */
static inline ft_contact *ft_control_contact(ft_control *c)
{
    (void)c;
    return FT_IF(FT_CONTACT, &c->contact) FT_UNLESS(FT_CONTACT, 0);
}

#endif
