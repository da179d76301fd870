/* Bilinear forms of the points, and the coordinates that are computed from the
 * forms. forms.py and coordinates.py explain the two. */
#ifndef POINT_FORMS_H
#define POINT_FORMS_H

#include "point_system.h"

void point_place(const point_vector *a, const double *z, double *out);
void point_move(const point_vector *a, const double *v, double *out);
double point_value(const point_form *f, const double *z);
double point_dot(const double *a, const double *b);

double coordinate_value(int64_t turns, double first, double second);
void coordinate_weights(int64_t turns, double first, double second,
                        double *weights);
double coordinate_near(int64_t turns, double value, double near);

#endif
