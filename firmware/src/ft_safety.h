/* What may happen in which state: a table of states and events, the
 * conditions of commands, and the faults, each a table too. */
#ifndef FT_SAFETY_H
#define FT_SAFETY_H

#include "ft_findings.h" /* FT_NO_JOINT, FT_GOOD */
#include "ft_messages.h" /* FT_STATE_, FT_FAULT_, FT_REFUSAL_, FT_COMMAND_ */
#include "ft_model.h"    /* FT_JOINTS */

#include <stdbool.h>
#include <stdint.h>

/* Events: the commands by their numbers, then these. */
enum {
    FT_EVENT_HOME = FT_COMMAND_CLEAR + 1,
    FT_EVENT_PASSED, /* what the state waits for is done */
    FT_EVENT_PAUSED, /* at rest on the path */
    FT_EVENT_ENDED,  /* at rest at the end of the path */
    FT_EVENT_FAULT,
    FT_EVENT_ESTOP,
    FT_EVENTS
};

#define FT_STATES (FT_STATE_ESTOP + 1)

/* A command on its way from the link to the tick. */
typedef struct {
    volatile bool posted;
    uint8_t token, event;
    int32_t position[FT_JOINTS]; /* of HOME */
} ft_request;

typedef struct {
    volatile uint8_t state;
    uint8_t fault, fault_joint; /* the first since CLEAR */
    uint8_t coming;             /* fault to be taken once at rest */
    uint8_t coming_joint;
    uint8_t refusal, refusal_joint, token;
    uint8_t flags;              /* FT_FLAG_ */
    uint8_t reason;             /* the flag a stop under way will set */
    ft_request request;            /* from the link */
    volatile uint32_t silent;      /* ticks since the last good frame */
    volatile uint8_t knot_joint;   /* joint of a bad knot */
    volatile bool knot_bad;
    volatile bool missed;          /* a tick was not done in time */
} ft_safety;

void ft_safety_start(uint32_t chip_errors);
void ft_safety_tick(uint32_t motion_event);
void ft_safety_event(uint32_t event);
bool ft_safety_takes_knots(void);

#endif
