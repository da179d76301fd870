/* Drives on a bus: commands, reports, and the frames for both. Each family has
 * a folder with its functions of bytes, which keep nothing:
 *
 *   enable(f, c), disable(f, c, clear), command(f, c, t, carried) form a frame
 *   to the drive of row c of ft_drive; clear: forget errors too; carried: what
 *   rounding left over.
 *   hear(f, c, said) takes in one, if it is this drive's.
 *   ask(f, c, number, size), write(f, c, number, size, value), of a family with
 *   settings: a register of so many bytes.
 *   wake, release, look, where a family's descriptor names them: ft_dialect.h.
 *
 * ft_families.h, which is emitted, calls those of the mechanism's families. */
#ifndef FT_DRIVE_H
#define FT_DRIVE_H

#include "ft_config.h" /* ft_drive_config */
#include "ft_frame.h"  /* ft_frame */

#include <stdbool.h>
#include <stdint.h>

/* What a drive is asked for, in the units of its
 * row: of the joint. */
typedef struct {
    float position, velocity, kp, kd, torque;
    float share; /* of its supply, where it takes no torque */
} ft_drive_target;

/* The kinds of frames that drives send. */
typedef enum {
    FT_HEARD_NOTHING, /* not this drive's, or no reply */
    FT_HEARD_STATE,
    FT_HEARD_SETTING,
    FT_HEARD_ECHO     /* of what was written to it: no word on what it holds */
} ft_drive_heard;

/* What one said: its state, or one of its settings. */
typedef struct {
    uint32_t position; /* number in its field, or signed counts */
    float velocity;    /* rad/s of the joint */
    float torque;      /* N m, at the joint */
    bool enabled;      /* false where it does not tell */
    bool rests;        /* with a setting: that its motor is off */
    uint8_t error;     /* in its own code; 0: none */
    uint8_t warmth;    /* deg C */
    uint8_t volts;     /* 0.1 V, of its supply, where it tells */
    uint32_t setting;  /* its own number for it */
    uint32_t value;    /* bits of a float or a whole number */
} ft_drive_said;

#endif
