/* Drives on a bus: commands, reports, and the frames for both. Each family has
 * a folder with its functions of bytes, which keep nothing:
 *
 *   enable(f, c), disable(f, c, clear), command(f, c, t, carried) form a frame
 *   to the drive of row c of ft_drive; clear: forget errors too; carried:
 *   torque that rounding left over.
 *   hear(f, c, said) takes in a frame, if it is this drive's.
 *   ask(f, c, number, size), write(f, c, number, size, value), of a family with
 *   settings, ask for or write a register of so many bytes.
 *   poll(f, c), of a family that reports its state only then, asks for it.
 *
 * and, if a family's descriptor names them:
 *
 *   wake(f, c, phase) changes the frame to a silent drive that is off, so that
 *   one that was set to answer late answers in time. phase: ticks since the
 *   last such try.
 *   release(f, c, tick) makes the frame to a drive that is off a command of no
 *   torque now and then: without it the drive may go on with its last voltages,
 *   and then does not even leave its mode.
 *   look(f, tick, enabled) lets a command ask now and then whether the drive is
 *   enabled, if its states do not report that.
 *
 * ft_families.h, which is emitted, calls those of the mechanism's families. */
#ifndef FT_DRIVE_H
#define FT_DRIVE_H

#include "ft_config.h" /* ft_drive_config */
#include "ft_frame.h"  /* ft_frame */

#include <stdbool.h>
#include <stdint.h>

/* A command to a drive, in the units of its row, which are the joint's. */
typedef struct {
    float position, velocity, kp, kd, torque;
    float share; /* of its supply, where it takes no torque */
    float seen;  /* its velocity, as it reported it last */
} ft_drive_target;

/* The kinds of frames that drives send. */
typedef enum {
    FT_HEARD_NOTHING, /* not this drive's, or no reply */
    FT_HEARD_STATE,
    FT_HEARD_SETTING,
    FT_HEARD_ECHO,    /* of a write: it does not show that the drive holds it */
    FT_HEARD_BEAT     /* unasked: whether it is enabled, and its error */
} ft_drive_heard;

/* Contents of an answer: the drive's state, or one of its settings. */
typedef struct {
    uint32_t position; /* number in its field, or signed counts */
    float velocity;    /* rad/s of the joint */
    float torque;      /* N m, at the joint */
    bool enabled;      /* false if it does not report that */
    bool rests;        /* the setting says that its motor is off */
    uint8_t error;     /* in its own code; 0: none */
    uint8_t warmth;    /* deg C */
    uint8_t volts;     /* 0.1 V, of its supply, if it reports that */
    uint32_t setting;  /* the drive's own number for it */
    uint32_t value;    /* bits of a float or a whole number */
} ft_drive_said;

#endif
