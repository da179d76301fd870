/* Drives on buses: the schedule.
 *
 * Each tick sends one frame to every drive, and every drive answers each with
 * its state. What tick k computes leaves at the start of tick k + 1, before
 * anything else is done: the time between two commands does not depend on what
 * a tick computes. Answers are taken in at the start of the tick after.
 *
 * With the outputs off the frame is the one that disables a drive, over and
 * over: no drive is on because a single frame was lost, and its answers tell
 * where the joint is. In every other tick it is a question instead until the
 * drive has told all settings that matter; one that is set otherwise than the
 * mechanism file says is not armed. With the outputs on the frame enables the
 * drive until it says that it is, or for a few ticks where it tells nothing.
 * One that forgets settings without power is then asked for one of them again:
 * its supply may have dipped since it told them, for too short a time to be
 * missed. It is commanded from then on. */
#ifndef FT_BUS_H
#define FT_BUS_H

#include "ft_config.h" /* FT_BUS_DRIVES */

#if FT_BUS_DRIVES > 0

#include "ft_chip.h"     /* ft_bus_health */
#include "ft_control.h"  /* ft_control */
#include "ft_cutoff.h"   /* ft_cutoff */
#include "ft_findings.h" /* ft_findings */
#include "ft_frame.h"    /* ft_frame */
#if FT_WIRES > 0
#include "ft_families.h" /* ft_wire */
#endif
#include "ft_travel.h"   /* ft_travel */

#include <stdbool.h>
#include <stdint.h>

/* How a drive is. */
typedef enum {
    FT_BUS_SILENT,  /* it has not answered for FT_SILENT_TICKS */
    FT_BUS_SEEN,    /* it answers, and is not enabled */
    FT_BUS_ENABLED, /* where a drive does not tell: it has been told so */
    FT_BUS_FAULTED  /* it says that something ails it */
} ft_bus_state;

typedef struct {
    uint8_t state;
    uint8_t warmth;        /* deg C, as it says */
    uint8_t ailed;         /* its last error since it was enabled last, its own
                            * code */
    uint8_t volts;         /* 0.1 V, of a servo's supply */
    uint8_t asked;         /* settings that are as they must be */
    bool answered;         /* since the last tick */
    bool spoke;            /* of a setting, since the last tick */
    bool held;             /* fed follows its position */
    uint8_t questions;     /* of the last ticks, as bits, the latest lowest */
    bool writes;           /* the setting asked for is to be written */
    bool enabled;          /* it has been, and should still be */
    bool sure;             /* nothing was forgotten, it has told since then */
#if FT_WIRES > 0 && FT_CUTOFF
    bool ran;              /* it was to run, and has not said since: off */
#endif
    uint32_t age;          /* ticks since its last state */
    uint32_t answers;      /* states that came, wraps */
    uint32_t lost, late;   /* that were due and did not come; too many; wrap */
    uint32_t waited;       /* ticks that it has not been enabled, told to */
    uint32_t position;     /* number in its field, the latest */
    float velocity;        /* rad/s, the latest */
    ft_travel travel;
    int32_t fed;           /* what the observer was given in all */
    float carried;         /* of the torque, by rounding */
    uint32_t differs;      /* its number for a setting that is wrong, or 0 */
    uint32_t value;        /* that the drive has there */
} ft_bus_drive;

typedef struct {
    ft_bus_drive drive[FT_BUS_DRIVES];
    ft_frame frame[FT_BUS_DRIVES]; /* to go at the next tick's start */
    uint32_t foreign;          /* frames of nobody known, wraps */
    bool on;                   /* outputs are */
    bool off[FT_BUSES];        /* of which the controller takes no part */
#if FT_WIRES > 0
    ft_wire wire[FT_WIRES];
    float supply;              /* V, as the board measures it */
#if FT_CUTOFF
    uint32_t since;            /* ticks that the outputs have been off */
    ft_cutoff cutoff;
#endif
#endif
} ft_bus;

void ft_bus_begin(ft_bus *b);
void ft_bus_hear(ft_bus *b, ft_observer *seen, bool homed[FT_JOINTS],
                 int32_t counts[FT_JOINTS]);
void ft_bus_find(const ft_bus *b, ft_findings *found);
void ft_bus_form(ft_bus *b, const ft_control *c, uint32_t source, bool on,
                 uint32_t tick);

#if FT_WIRES > 0 && FT_CUTOFF
/* Switch the supply of the servos, at the end of a tick. fault: the one that
 * the state is about. */
void ft_bus_supply(ft_bus *b, uint32_t state, uint32_t fault);
#endif

/* Say how a bus is. */
void ft_bus_tell(const ft_bus *b, uint32_t bus, ft_bus_health *h);

/* Return the first joint whose drive is not so, or FT_GOOD. */
uint32_t ft_bus_heard_of(const ft_bus *b);
uint32_t ft_bus_well(const ft_bus *b);
uint32_t ft_bus_set_right(const ft_bus *b);

/* Return the number of a drive's setting that is wrong, or 0, and its value;
 * that of the last one where all are right. */
uint32_t ft_bus_differs(const ft_bus *b, uint32_t i, uint32_t *value);

#endif
#endif
