/* Drives on buses: the schedule.
 *
 * Each tick sends one frame to every drive, and every drive answers each frame
 * with its state. The frames that tick k forms leave at the start of tick k +
 * 1, before anything else is done, so that the time between two commands does
 * not depend on how long a tick computes. Answers are taken in at the start of
 * tick k + 2.
 *
 * While the outputs are off each frame disables the drive again, so that no
 * drive stays on because one frame was lost; its answers report where the joint
 * is. In every other tick the frame is a question instead, until the drive has
 * reported all settings that matter. A drive that is set otherwise than the
 * mechanism file says is not armed. While the outputs are on the frame enables
 * the drive until the drive reports that it is enabled; a drive that does not
 * report it is enabled for a few ticks. A drive that forgets settings without
 * power is then asked for one of them again: since it reported them its supply
 * may have dipped for too short a time to be noticed. From then on it is
 * commanded.
 *
 * A drive that reports its position only if it is asked gets a second frame in
 * every tick, a question, behind all commands. Heartbeats, which come unasked,
 * report whether it is enabled, and its errors: without either it is silent. */
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
    FT_BUS_ENABLED, /* it says so, or, if it never does, it was asked to be */
    FT_BUS_FAULTED  /* it reports an error */
} ft_bus_state;

typedef struct {
    uint8_t state;
    uint8_t warmth;        /* deg C, as it says */
    uint8_t ailed;         /* its last error since it was enabled last, its own
                            * code */
    uint8_t volts;         /* 0.1 V, of a servo's supply */
    uint8_t asked;         /* how many settings are known to be right */
    bool answered;         /* since the last tick */
    bool spoke;            /* about a setting, since the last tick */
    bool held;             /* `fed` follows its position */
    uint8_t questions;     /* asked in the last ticks, as bits, latest lowest */
    bool writes;           /* the setting asked for is to be written */
    bool enabled;          /* it has been, and should still be */
#if FT_POLLED
    uint8_t health;        /* ft_bus_state, by its last heartbeat */
    uint32_t beat;         /* ticks since then */
#endif
    bool sure;             /* since it was enabled it has reported a setting
                            * that it would have forgotten without power */
#if FT_WIRES > 0 && FT_CUTOFF
    bool ran;              /* commanded to run, and not reported off since */
#endif
    uint32_t age;          /* ticks since its last state */
    uint32_t answers;      /* states that came, wraps */
    uint32_t lost, late;   /* that were due and did not come; too many; wrap */
    uint32_t waited;       /* ticks without being enabled, though asked to */
    uint32_t position;     /* number in its field, the latest */
    float velocity;        /* rad/s, the latest */
    ft_travel travel;
    int32_t fed;           /* all counts that the observer was given */
    float carried;         /* torque that rounding left over */
    uint32_t differs;      /* number of a setting that is wrong, or 0 */
    uint32_t value;        /* of that setting, in the drive */
} ft_bus_drive;

typedef struct {
    ft_bus_drive drive[FT_BUS_DRIVES];
    ft_frame frame[FT_BUS_DRIVES]; /* to go at the next tick's start */
    uint32_t foreign;          /* frames of no known drive, wraps */
    bool on;                   /* outputs are */
    bool off[FT_BUSES];        /* buses whose controller takes no part */
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
/* Switch the supply of the servos at the end of a tick. fault: the one that is
 * latched. */
void ft_bus_supply(ft_bus *b, uint32_t state, uint32_t fault);
#endif

/* Report how a bus is. */
void ft_bus_tell(const ft_bus *b, uint32_t bus, ft_bus_health *h);

/* Return the first joint whose drive is not heard, reports an error or is not
 * set right, or FT_GOOD. */
uint32_t ft_bus_heard_of(const ft_bus *b);
uint32_t ft_bus_well(const ft_bus *b);
uint32_t ft_bus_set_right(const ft_bus *b);

/* Number in place of a setting's own, for the range of a velocity field that
 * the drive cannot be asked for, but that its motion shows. */
#define FT_BUS_VELOCITY 0xFFFFu

/* Return the number of a drive's setting that is wrong, and its value. If all
 * are right return 0, and the value of the last one. */
uint32_t ft_bus_differs(const ft_bus *b, uint32_t i, uint32_t *value);

#endif
#endif
