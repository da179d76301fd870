/* Drives on a bus: commands, reports, and the frames for commands and reports.
 *
 * Each family of drives has a folder with functions that pack and parse frames.
 * These functions keep no state: enable(f, c), disable(f, c, clear) and
 * command(f, c, t, carried) form a frame to the drive of row c of ft_drive.
 * clear: also clear errors. carried: the rounding error of the torque. hear(f,
 * c, said) reads a frame, if this drive has sent it.
 *
 * Families with settings have ask(f, c, number, size) and write(f, c, number,
 * size, value). The two functions ask for or write a register of this size.
 * Families that report their state only on request have poll(f, c), which asks
 * for the state.
 *
 * A family may have three more functions, which its descriptor names. wake(f,
 * c, phase) changes the frame to a silent drive that is off. A drive that was
 * set to answer late then answers in time. phase: ticks since the last try.
 * release(f, c, tick) sometimes replaces the frame to a drive that is off by a
 * command of zero torque. Without this command the drive may keep its last
 * voltages and stay in its mode. look(f, tick, enabled) is for drives whose
 * states do not report whether they are enabled. look sometimes adds this
 * question to a command.
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
    float share; /* duty of the supply, for a drive without torque commands */
    float least, most; /* range of a servo's goal, in the joint's units */
    float seen;  /* the last reported velocity */
} ft_drive_target;

/* The kinds of frames that drives send. */
typedef enum {
    FT_HEARD_NOTHING, /* a frame of another drive, or no reply */
    FT_HEARD_STATE,
    FT_HEARD_SETTING,
    FT_HEARD_ECHO,    /* answer to a write; no proof of storing */
    FT_HEARD_BEAT     /* a heartbeat with the drive's error and enable state */
} ft_drive_heard;

/* Contents of an answer: the drive's state, or one of its settings. */
typedef struct {
    uint32_t position; /* number in its field, or signed counts */
    float velocity;    /* velocity of the joint, rad/s */
    float torque;      /* torque at the joint, N m */
    bool enabled;      /* false if the drive does not report it */
    bool rests;        /* the answer shows that the motor is off */
    uint8_t error;     /* the drive's code; 0: no error */
    uint8_t warmth;    /* deg C */
    uint8_t volts;     /* supply, 0.1 V, if the drive reports it */
    uint32_t setting;  /* the drive's number for the setting */
    uint32_t value;    /* bits of a float or an integer */
} ft_drive_said;

#endif
