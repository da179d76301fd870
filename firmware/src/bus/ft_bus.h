/* Drives on buses: the schedule.
 *
 * Each tick sends one frame to every drive, and every drive answers each frame
 * with its state. Tick k forms the frames. Tick k + 1 sends these frames first.
 * The time between two commands therefore does not depend on the duration of a
 * tick. Tick k + 2 processes the answers at its start.
 *
 * While the outputs are off, each frame disables the drive again. A lost frame
 * cannot leave a drive on. The answers report the joint's position. In every
 * other tick the frame is a question instead, until the drive has reported all
 * settings that the mechanism file needs. A drive is not armed if a setting
 * differs from the mechanism file.
 *
 * While the outputs are on, each frame enables the drive until the drive
 * reports that it is enabled. A drive that never reports that it is enabled
 * gets the frame for a few ticks. The board then reads back one setting that
 * the drive loses without power, since a short dip of the supply may have gone
 * unnoticed. From then on the drive is commanded.
 *
 * A drive that reports its position only on request is asked in every tick,
 * after all commands. Heartbeats come unasked. Heartbeats report errors and
 * whether the drive is enabled. A drive without answers or without heartbeats
 * counts as silent. */
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

/* State of a drive. */
typedef enum {
    FT_BUS_SILENT,  /* no answer for FT_SILENT_TICKS */
    FT_BUS_SEEN,    /* the drive answers, but is not enabled */
    FT_BUS_ENABLED, /* enabled: reported, or assumed without reports */
    FT_BUS_FAULTED  /* the drive reports an error */
} ft_bus_state;

typedef struct {
    uint8_t state;
    uint8_t warmth;        /* reported, deg C */
    uint8_t ailed;         /* code of its last error since enabled */
    uint8_t volts;         /* a servo's supply, 0.1 V */
    uint8_t asked;         /* number of settings known to be correct */
    bool answered;         /* since the last tick */
    bool spoke;            /* has answered about a setting since then */
    bool held;             /* `fed` follows the drive's position */
    uint8_t questions;     /* one bit per recent tick, the latest in bit 0 */
    bool writes;           /* the setting must be written */
    bool enabled;          /* the drive was enabled and should still be */
#if FT_POLLED
    uint8_t health;        /* ft_bus_state from the last heartbeat */
    uint32_t beat;         /* ticks since then */
#endif
    bool sure;             /* has confirmed, since enabled, the setting that it
                            * loses without power */
#if FT_WIRES > 0 && FT_CUTOFF
    bool ran;              /* commanded to run, not reported off since */
#endif
    uint32_t age;          /* ticks since its last state */
    uint32_t answers;      /* states that came, wraps */
    uint32_t lost, late;   /* missing and extra states, wrap */
#ifdef FT_DOUBTS
    uint8_t doubt;         /* ticks in which no answer is believed */
#endif
    uint32_t waited;       /* ticks since the first enabling frame */
    uint32_t position;     /* the latest number in its field */
    float velocity;        /* the latest, rad/s */
    ft_travel travel;
    int32_t fed;           /* sum of the counts for the observer */
    float carried;         /* torque's rounding error, to be added next */
    uint32_t differs;      /* number of a setting that differs, or 0 */
    uint32_t value;        /* the drive's value of that setting */
} ft_bus_drive;

typedef struct {
    ft_bus_drive drive[FT_BUS_DRIVES];
    ft_frame frame[FT_BUS_DRIVES]; /* sent at the start of the next tick */
    uint32_t foreign;          /* frames from unknown drives, wraps */
    bool on;                   /* the outputs are on */
    bool off[FT_BUSES];        /* the controller has left this bus */
#if FT_WIRES > 0
    ft_wire wire[FT_WIRES];
    float supply;              /* measured by the board, V */
#if FT_CUTOFF
    uint32_t since;            /* ticks since the outputs went off */
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
/* Switch the servos' supply at a tick's end. fault: the latched fault. */
void ft_bus_supply(ft_bus *b, uint32_t state, uint32_t fault);
#endif

/* Report the health of a bus. */
void ft_bus_tell(const ft_bus *b, uint32_t bus, ft_bus_health *h);

/* Return the first joint whose drive is silent (heard_of), reports an error
 * (well) or has a setting that differs (set_right), or FT_GOOD. */
uint32_t ft_bus_heard_of(const ft_bus *b);
uint32_t ft_bus_well(const ft_bus *b);
uint32_t ft_bus_set_right(const ft_bus *b);

/* Setting number for the range of the velocity field, if the drive cannot
 * report this range. The drive's motion then reveals the range. */
#define FT_BUS_VELOCITY 0xFFFFu

/* Return the number of a setting that differs, with the drive's value. If all
 * are right, return 0 with the last setting's value. */
uint32_t ft_bus_differs(const ft_bus *b, uint32_t i, uint32_t *value);

#endif
#endif
