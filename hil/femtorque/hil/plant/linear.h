/* Small dense systems of linear equations, row by row. */
#ifndef LINEAR_H
#define LINEAR_H

#include <stdint.h>

#define MOST 32 /* rows */

int linear_solve(int64_t n, const double *a, int64_t count, const double *b,
                 double *x);
int linear_invert(int64_t n, const double *a, double *inverse);
int linear_finite(int64_t n, const double *a);
void linear_times(int64_t n, const double *a, const double *x, double *out);

#endif
