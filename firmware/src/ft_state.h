/* Everything the application knows, in one place; one tick or one link task
 * writes each member, as the owning module says. */
#ifndef FT_STATE_H
#define FT_STATE_H

#include "ft_findings.h" /* ft_findings */
#include "ft_lab.h"      /* ft_lab */
#include "ft_law.h"      /* ft_law */
#include "ft_motion.h"   /* ft_motion */
#include "ft_observer.h" /* ft_observer */
#include "ft_safety.h"   /* ft_safety */
#include "ft_step.h"     /* ft_step_state */

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    volatile uint32_t tick; /* since reset */
    bool estop;             /* the break input is active */
    float bus_voltage;      /* V */
    volatile float temperature; /* deg C, of the main loop */
    ft_findings found;      /* of this tick */
    ft_observer seen;
    ft_step_state step;
    bool closed;            /* loops are, where the joints are; or none are */
    ft_real tau[FT_JOINTS]; /* tau_ID */
    ft_law law;
    ft_lab lab;
    ft_safety safety;
    uint32_t cycles;        /* of the last tick */
    uint32_t cycles_max;
    ft_motion motion;       /* the longest comes last */
} ft_state;

extern ft_state ft;

/* Return whether torques are meant to act. */
static inline bool ft_safety_armed(void)
{
    return ft.safety.drive != FT_DRIVE_OFF;
}

#endif
