/* Drives on a bus: commands, reports, and the frames for both. Each family has
 * a folder with functions of bytes. These functions keep no state:
 *
 *   enable(f, c), disable(f, c, clear), command(f, c, t, carried) form a frame
 *   to the drive of row c of ft_drive. clear: clear errors too. carried: the
 *   rounding error of the torque.
 *   hear(f, c, said) takes in a frame, if this drive has sent it.
 *   ask(f, c, number, size) and write(f, c, number, size, value) ask for or
 *   write a register of this size. Families with settings have these.
 *   poll(f, c) asks for the state. Families that report their state only on
 *   request have this.
 *
 * A family may have three more functions, which its descriptor names:
 *
 *   wake(f, c, phase) changes the frame to a silent drive that is off. A drive
 *   that was set to answer late then answers in time. phase: ticks since the
 *   last try.
 *   release(f, c, tick) sometimes replaces the frame to a drive that is off by
 *   a command of no torque. Otherwise the drive may keep its last voltages and
 *   stay in its mode.
 *   look(f, tick, enabled) sometimes adds to a command the question whether the
 *   drive is enabled, if its states do not report that.
 *
 * The emitted ft_families.h calls the functions of the mechanism's families. */
#ifndef FT_DRIVE_H
#define FT_DRIVE_H

#include "ft_config.h" /* ft_drive_config */
#include "ft_frame.h"  /* ft_frame */

#include <stdbool.h>
#include <stdint.h>

/* A command to a drive, in the joint's units. */
typedef struct {
    float position, velocity, kp, kd, torque;
    float share; /* of its supply, for a drive that takes no torque */
    float seen;  /* the velocity reported last */
} ft_drive_target;

/* The kinds of frames that drives send. */
typedef enum {
    FT_HEARD_NOTHING, /* a frame of another drive, or no reply */
    FT_HEARD_STATE,
    FT_HEARD_SETTING,
    FT_HEARD_ECHO,    /* of a write; the drive may not hold the value */
    FT_HEARD_BEAT     /* a heartbeat: its error, and whether it is enabled */
} ft_drive_heard;

/* Contents of an answer: the drive's state, or one of its settings. */
typedef struct {
    uint32_t position; /* number in its field, or signed counts */
    float velocity;    /* rad/s of the joint */
    float torque;      /* N m at the joint */
    bool enabled;      /* false if the drive does not report this */
    bool rests;        /* the setting shows that the motor is off */
    uint8_t error;     /* the drive's code; 0: no error */
    uint8_t warmth;    /* deg C */
    uint8_t volts;     /* supply, 0.1 V, if the drive reports it */
    uint32_t setting;  /* the drive's number of the setting */
    uint32_t value;    /* bits of a float or a whole number */
} ft_drive_said;

#endif
