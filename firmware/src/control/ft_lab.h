/* Modes for the lab: guide the arm by hand, jog one joint, seek a zero, probe a
 * motor. Each mode is a state of ft_safety.h.
 *
 * FLOAT outputs the gravity torque at the measured pose and a fraction of the
 * Coulomb friction. Above a joint's float velocity, Kv damps the joint. Beyond
 * a position limit, Ku pushes the joint back.
 *
 * In JOG the law follows a target that moves at the requested velocity.
 *
 * In HOMING the law follows a target that moves towards the index or the stop,
 * with a bounded torque. The law holds the other joints.
 *
 * PROBE applies a constant torque to one joint in open loop.
 *
 * JOG and PROBE end FT_HOST_TIMEOUT ticks after their last request, so the host
 * must repeat the request. */
#ifndef FT_LAB_H
#define FT_LAB_H

#include "ft_findings.h" /* ft_findings, ft_streak */
#include "ft_law.h"      /* ft_law, ft_law_input */
#include "ft_motion.h"   /* ft_motion */
#include "ft_observer.h" /* ft_observer */
#include "ft_step.h"     /* ft_step_state */

#include <stdbool.h>
#include <stdint.h>

/* Progress of the search for a joint's zero. */
typedef enum { FT_SOUGHT, FT_SEEKING, FT_FOUND, FT_RETRACTING } ft_search;

typedef struct {
    uint8_t joint;       /* the joint that is jogged, sought or probed */
    ft_real friction;    /* share of it in FLOAT */
    ft_real torque;      /* of PROBE */
    ft_real wanted;      /* velocity asked for, rad/s or m/s */
    ft_real velocity;        /* of the target now */
    ft_real left;        /* remaining distance while retracting, rad or m */
    uint32_t ticks;      /* until the mode ends */
    int32_t travelled;   /* counts since the search began */
    bool index;          /* the index pulse was active in the last tick */
    ft_streak pressed;   /* against the stop */
    ft_search search;
} ft_lab;

/* Input of the lab modes in a tick, and the parts that they change. */
typedef struct {
    uint32_t state;        /* state of ft_safety.h, which selects the mode */
    uint32_t tick;
    bool opening;          /* brakes move: rest is not a stop yet */
    const int32_t *counts; /* of the encoders, in this tick */
    const ft_real *torque; /* of the last tick */
    ft_observer *seen;
    ft_step_state *step;
    ft_motion *motion;
} ft_lab_input;

/* requests */
void ft_lab_rest(ft_lab *lab);
void ft_lab_float(ft_lab *lab, float per_cent);
void ft_lab_jog(ft_lab *lab, uint32_t joint, ft_real velocity);
void ft_lab_seek(ft_lab *lab, uint32_t joint);
void ft_lab_probe(ft_lab *lab, uint32_t joint, ft_real torque);
void ft_lab_release(ft_lab *lab);

/* the tick's targets, and the law of FLOAT, HOMING and PROBE */
uint32_t ft_lab_plan(ft_lab *lab, const ft_lab_input *in, ft_findings *found);
void ft_lab_law(const ft_lab *lab, uint32_t state, ft_law *l,
                const ft_law_input *in, ft_findings *found);

#endif
