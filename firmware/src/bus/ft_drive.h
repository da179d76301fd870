/* Drives on a bus: what one is asked for, what it says, and the frames for
 * both. Each family has a file; functions of bytes, nothing kept. */
#ifndef FT_DRIVE_H
#define FT_DRIVE_H

#include "ft_frame.h" /* ft_frame */

#include <stdbool.h>
#include <stdint.h>

/* Ranges of the fields, in the joint's units: position, velocity and torque go
 * from minus to plus these, kp and kd from nothing. */
typedef struct {
    float position; /* rad */
    float velocity; /* rad/s */
    float torque;   /* N m */
    float kp, kd;   /* N m/rad, N m s/rad */
} ft_drive_ranges;

/* How a drive is reached. */
typedef struct {
    uint32_t id;    /* of its commands */
    uint32_t reply; /* of what it sends */
} ft_drive_address;

/* What a drive is asked for, in the same units. */
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
    uint32_t position; /* number in its field of 16 bits */
    float velocity;    /* rad/s of the joint */
    float torque;      /* N m, at the joint */
    bool enabled;      /* false where it does not tell */
    uint8_t error;     /* in its own code; 0: none */
    uint8_t warmth;    /* deg C */
    uint8_t volts;     /* 0.1 V, of its supply, where it tells */
    uint32_t setting;  /* its own number for it */
    uint32_t value;    /* bits of a float or a whole number */
} ft_drive_said;

#endif
