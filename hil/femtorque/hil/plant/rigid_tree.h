/* Data of hil/plant/rigid_tree.c. */
#ifndef RIGID_TREE_H
#define RIGID_TREE_H

#include <stdint.h>

typedef struct {
    int64_t n;                           /* joints */
    const int64_t *parent;               /* body that carries the joint */
    const double *turns;                 /* 1: turns, 0: slides */
    const double *offset, *slide;        /* in the parent's frame */
    const double *fixed, *cosine, *sine; /* parts of R: F, C, S */
    const double *axis;                  /* in the body's frame: */
    const double *mass, *centre, *inertia;
    const double *gravity;
    /* arrays for the bodies, including the base; the caller owns the memory */
    double *rotation, *origin, *omega;
    /* Jacobians of one body, by the joints that move the body */
    double *jv, *jw, *spun, *nv, *nw, *gyro;
} rigid_tree;

void rigid_tree_at(const rigid_tree *t, const double *q, const double *v,
                   double *found);

#endif
