/* The safety states: a table of states and events, a table of the conditions of
 * commands, and a table of faults. */
#ifndef FT_SAFETY_H
#define FT_SAFETY_H

#include "ft_bus.h"      /* ft_bus */
#include "ft_control.h"  /* ft_control */
#include "ft_events.h"   /* FT_EVENT_, FT_SOURCE_ */
#include "ft_findings.h" /* ft_findings, FT_NO_JOINT, FT_GOOD */
#include "ft_messages.h" /* FT_STATE_, FT_FAULT_, FT_REFUSAL_ */
#include "ft_model.h"    /* FT_JOINTS */

#include <stdbool.h>
#include <stdint.h>

/* Ticks and their cycles. */
typedef struct {
    volatile uint32_t tick; /* since reset */
    uint32_t cycles;        /* of the last tick */
    uint32_t cycles_max;
} ft_time;

/* Measurements of the board, other than the joints' positions. */
typedef struct {
    bool estop;                 /* the break input is active */
    float bus_voltage;          /* V */
    volatile float temperature; /* deg C, from the main loop */
} ft_sensors;

/* Alarms for the tick, each byte with one writer, read as one word. */
enum { FT_ALARM_MISSED, FT_ALARM_KNOT, FT_ALARM_BOARD, FT_ALARM_MEMORY };

typedef struct {
    union {
        volatile uint8_t of[4];
        volatile uint32_t any;
    } set;
    volatile uint8_t knot_joint; /* joint of a bad knot */
    volatile uint8_t warm_joint; /* joint of an overload */
} ft_alarms;

/* A request on its way from the port to the tick. */
typedef struct {
    volatile bool posted;
    uint8_t token, event;
    uint8_t joint;
    uint8_t gains[3];            /* of GAINS: ku, kv, ki */
    float value;                 /* per cent, velocity or torque */
    uint32_t delay, frame;       /* of FOLLOW, us */
    int64_t position[FT_JOINTS]; /* of HOME */
} ft_request;

typedef struct {
    volatile uint8_t state;
    uint8_t source;             /* FT_SOURCE_ */
    bool homed[FT_JOINTS];
    uint8_t asked;              /* reaction that the mechanism file chooses */
    uint8_t reaction;           /* reaction under way in FAULT */
    uint8_t fault, fault_joint; /* the first since CLEAR */
    uint8_t latched[FT_FAULT_NUMBERS]; /* times per fault, up to 255 */
    uint8_t coming;             /* fault that waits until the joints rest */
    uint8_t coming_joint;
    bool gentle;                /* the fault was latched at rest */
    bool released;              /* the brakes are opening or open */
    uint32_t opening, closing;  /* ticks until they are open or closed */
    FT_IF(FT_PARK,
    uint32_t parking;           /* ticks until the outputs are switched off */
    bool hasty;                 /* a fault concerns more than the host */)
    FT_IF(FT_PARK_SUPPLY,
    uint32_t sags;              /* ticks for which the supply has been low */)
    uint8_t refusal, refusal_joint, token;
    uint8_t flags;              /* FT_FLAG_ */
    uint8_t reason;             /* flag that the present stop will set */
    ft_request request;         /* from the port */
    volatile uint32_t silent;   /* ticks since the last good frame */
    ft_alarms alarms;
} ft_safety;

/* Input of a tick, besides the control that the tick may change. */
typedef struct {
    const ft_safety *safety;
    const ft_sensors *sensors;
    const ft_findings *found; /* of this tick */
    const ft_observer *seen;
    const ft_motion *motion;
    const bool *closed;       /* the loops are closed, or there are no loops */
    FT_IF(FT_DRIVES, const ft_bus *bus;)
} ft_safety_input;

void ft_safety_start(ft_safety *s, ft_control *c, uint32_t chip_errors);
void ft_safety_tick(ft_safety *s, ft_control *c, const ft_safety_input *in,
                    uint32_t motion_event);
void ft_safety_event(ft_safety *s, ft_control *c, uint32_t event);
bool ft_safety_takes_knots(const ft_safety *s);
uint32_t ft_safety_unhomed(const ft_safety *s);
void ft_safety_met(ft_safety *s);

/* Return for how many ticks the supply has been low. */
static inline uint32_t ft_safety_sags(const ft_safety *s)
{
    (void)s;
    return FT_IF(FT_PARK_SUPPLY, s->sags) FT_UNLESS(FT_PARK_SUPPLY, 0u);
}

/* Return whether the law makes torques. */
static inline bool ft_safety_armed(const ft_safety *s)
{
    return s->source != FT_SOURCE_OFF;
}

/* Return whether the outputs are on: torques are made, or a fault brakes. */
static inline bool ft_safety_powered(const ft_safety *s)
{
    return (s->flags & FT_FLAG_OUTPUTS) != 0u;
}

#endif
