/* The equations of motion at one configuration. */
#ifndef POINT_EQUATIONS_H
#define POINT_EQUATIONS_H

#include "point_solids.h"
#include "point_system.h"

/* The caller owns the memory. known: valid for degrees of freedom z. */
typedef struct {
    int64_t known;
    double *z;
    free_solid *solid;
    double *u, *w, *form; /* factors of the forms, three each, and values of the
                           * forms */
    double *q;            /* values of the coordinates; angles within half a
                           * turn */
    double *gradient;     /* blocks for each row, TOUCHED blocks of 12 */
    double *reduced;      /* N times the gradient: blocks of 6 */
    double *factor;       /* (K + n, K + n), initially zeros, see .c */
    double *push;         /* (K) multipliers due to torques */
} point_equations;

int point_equations_at(const point_system *s, point_equations *e,
                       const double *z);
double point_row_times(const point_system *s, const point_equations *e,
                       int64_t row, const double *v);
void point_change(const point_system *s, const point_equations *e,
                  const double *distances, const double *others, double *change,
                  double *multipliers);
void point_compliance(const point_system *s, const point_equations *e,
                      double by, double *compliance);
void point_answer(const point_system *s, const point_equations *e,
                  const double *torque, double *v);
void point_row_add(const point_system *s, const point_equations *e, int64_t row,
                   double by, double *forces);
double point_turning(const point_system *s, const point_equations *e,
                     const double *v, int64_t coordinate);

#endif
