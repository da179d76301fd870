/* What may happen in which state: a table of states and events, the
 * conditions of commands, and the faults, each a table too. */
#ifndef FT_SAFETY_H
#define FT_SAFETY_H

#include "ft_findings.h" /* FT_NO_JOINT, FT_GOOD */
#include "ft_messages.h" /* FT_STATE_, FT_FAULT_, FT_REFUSAL_, FT_COMMAND_ */
#include "ft_model.h"    /* FT_JOINTS */

#include <stdbool.h>
#include <stdint.h>

/* Events: the commands by their numbers, other requests, then the board's. */
enum {
    FT_EVENT_HOME = FT_COMMAND_LOADER + 1,
    FT_EVENT_FLOAT,
    FT_EVENT_JOG,
    FT_EVENT_SEEK,
    FT_EVENT_PROBE,
    FT_EVENT_GAINS,
    FT_EVENT_PASSED, /* what the state waits for is done */
    FT_EVENT_PAUSED, /* at rest on the path */
    FT_EVENT_ENDED,  /* at rest at the end of the path */
    FT_EVENT_SILENT, /* no good frame from the host for too long */
    FT_EVENT_FAULT,
    FT_EVENT_ESTOP,
    FT_EVENTS
};

#define FT_STATES (FT_STATE_LEAVING + 1)

/* What makes the torques of a tick. */
enum {
    FT_DRIVE_OFF,  /* nothing: outputs are off, or the motors brake */
    FT_DRIVE_PATH, /* the law, about the motion */
    FT_DRIVE_JOG,  /* the law, about one joint moved by hand */
    FT_DRIVE_LAB   /* the law of ft_lab.h */
};

/* What the tick is told from outside of it. Each byte has one writer that
 * sets it, and all of them are looked at as one word. */
enum { FT_ALARM_MISSED, FT_ALARM_KNOT, FT_ALARM_BOARD, FT_ALARM_MEMORY };

typedef union {
    volatile uint8_t of[4];
    volatile uint32_t any;
} ft_alarms;

/* A request on its way from the link to the tick. */
typedef struct {
    volatile bool posted;
    uint8_t token, event;
    uint8_t joint;
    uint8_t gains[3];            /* of GAINS: ku, kv, ki */
    float value;                 /* per cent, rate or torque */
    int64_t position[FT_JOINTS]; /* of HOME */
} ft_request;

typedef struct {
    volatile uint8_t state;
    uint8_t drive;              /* FT_DRIVE_ */
    bool homed[FT_JOINTS];
    uint8_t asked;              /* reaction to the fault that is taken */
    uint8_t reaction;           /* that is under way in FAULT */
    uint8_t fault, fault_joint; /* the first since CLEAR */
    uint8_t latched[FT_FAULT_NUMBERS]; /* how often, by fault; at most 255 */
    uint8_t coming;             /* fault to be taken once at rest */
    uint8_t coming_joint;
    bool gentle;                /* the fault that is taken came at rest */
    bool released;              /* the brakes: they open, or are open */
    uint32_t opening, closing;  /* ticks until they are open, closed */
    uint8_t refusal, refusal_joint, token;
    uint8_t flags;              /* FT_FLAG_ */
    uint8_t reason;             /* the flag a stop under way will set */
    ft_request request;            /* from the link */
    volatile uint32_t silent;      /* ticks since the last good frame */
    volatile uint8_t knot_joint;   /* joint of a bad knot */
    volatile uint8_t warm_joint;   /* joint of an overload */
    ft_alarms alarms;
} ft_safety;

void ft_safety_start(uint32_t chip_errors);
void ft_safety_tick(uint32_t motion_event);
void ft_safety_event(uint32_t event);
bool ft_safety_takes_knots(void);
uint32_t ft_safety_unhomed(void);

#endif
