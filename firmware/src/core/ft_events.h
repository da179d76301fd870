/* Events, and sources of a tick's torques. */
#ifndef FT_EVENTS_H
#define FT_EVENTS_H

#include "ft_messages.h" /* FT_STATE_, FT_COMMAND_ */

/* Events: the host's commands by number, its requests, the board's events. */
enum {
    FT_EVENT_HOME = FT_COMMAND_LOADER + 1,
    FT_EVENT_FLOAT,
    FT_EVENT_JOG,
    FT_EVENT_SEEK,
    FT_EVENT_PROBE,
    FT_EVENT_GAINS,
    FT_EVENT_FOLLOW,
    FT_EVENT_PASSED, /* the state has finished its work */
    FT_EVENT_PAUSED, /* at rest on the path */
    FT_EVENT_ENDED,  /* at rest at the end of the path */
    FT_EVENT_SILENT, /* no good frame from the host for too long */
    FT_EVENT_LEFT,   /* the host is lost, and the arm is held */
    FT_EVENT_FAULT,
    FT_EVENT_ESTOP,
    FT_EVENT_TOUCH,  /* an external torque acts on the arm */
    FT_EVENT_FREE,   /* no contact is detected any more */
    FT_EVENTS
};

#define FT_STATES (FT_STATE_HELD + 1)

/* Source of a tick's torques. */
enum {
    FT_SOURCE_OFF,    /* no torque: outputs are off, or the motors brake */
    FT_SOURCE_PATH,   /* the control law, with the motion's targets */
    FT_SOURCE_JOG,    /* the control law, with one joint jogged */
    FT_SOURCE_FOLLOW, /* the control law, with live targets */
    FT_SOURCE_LAB     /* the law of ft_lab.h */
};

#endif
