/* Integration steps of a planar arm with a flexible last link. */
#ifndef FLEXIBLE_STEPS_H
#define FLEXIBLE_STEPS_H

#include "motors.h"

#include <stdint.h>

/* A point mass of a rigid body. place: position in the body's frame. */
typedef struct {
    int64_t body;
    double mass, place[2];
} flexible_rigid;

/* The plane of hil/plant/flexible_arm.py as data: J joints, n elastic
 * coordinates, and points and stations along the flexible link. */
typedef struct {
    int64_t J, n, rigids, points, stations;
    const double *offset; /* (J, 2) position of each joint, in the frame of the
                           * previous joint */
    const double *gravity;
    const flexible_rigid *rigid;
    const double *mass, *along;     /* (points) */
    const double *across, *drawn;   /* (points, n), (points, n, n) */
    const double *stiffness, *loss; /* (n, n) */
    const double *bend, *lean, *EI; /* (stations, n) twice, (stations) */
} flexible_model;

/* x, v, a: joints, then elastic coordinates. wall: writes its forces at x, v to
 * `pushed`; returns 0 on failure. */
typedef struct {
    const flexible_model *model;
    double *x, *v, *a;
    motors motors;
    const double *torque, *rotor, *viscous, *coulomb, *pushed;
    int (*wall)(const double *x, const double *v); /* 0: no wall */
    double time; /* s */
} flexible_arm;

int64_t flexible_steps(void *arm, double h, int64_t count);

#endif
