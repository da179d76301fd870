/* Gaussian elimination with row exchanges, for matrices with few rows. */
#include "linear.h"

#include <math.h>
#include <string.h>

typedef struct {
    int64_t n;
    double a[MOST * MOST]; /* of exchanged rows */
    int64_t row[MOST];     /* row of the matrix at each index */
} factors;

/* Exchange rows so that a column's largest element is the pivot. */
static void lead(factors *f, int64_t column)
{
    int64_t best = column, i, j, kept;
    for (i = column + 1; i < f->n; i++)
        if (fabs(f->a[i * f->n + column]) > fabs(f->a[best * f->n + column]))
            best = i;
    for (j = 0; j < f->n; j++) {
        double moved = f->a[best * f->n + j];
        f->a[best * f->n + j] = f->a[column * f->n + j];
        f->a[column * f->n + j] = moved;
    }
    kept = f->row[best];
    f->row[best] = f->row[column];
    f->row[column] = kept;
}

/* Factor a matrix. Return 0 if the matrix is singular. */
static int factor(factors *f, int64_t n, const double *a)
{
    int64_t i, j, k;
    f->n = n;
    memcpy(f->a, a, (size_t)(n * n) * sizeof *a);
    for (i = 0; i < n; i++)
        f->row[i] = i;
    for (k = 0; k < n; k++) {
        lead(f, k);
        if (f->a[k * n + k] == 0.0)
            return 0;
        for (i = k + 1; i < n; i++) {
            double m = f->a[i * n + k] /= f->a[k * n + k];
            for (j = k + 1; j < n; j++)
                f->a[i * n + j] -= m * f->a[k * n + j];
        }
    }
    return 1;
}

/* Solve for x with a given right-hand side. */
static void substitute(const factors *f, const double *b, double *x)
{
    int64_t n = f->n, i, j;
    for (i = 0; i < n; i++) {
        x[i] = b[f->row[i]];
        for (j = 0; j < i; j++)
            x[i] -= f->a[i * n + j] * x[j];
    }
    for (i = n - 1; i >= 0; i--) {
        for (j = i + 1; j < n; j++)
            x[i] -= f->a[i * n + j] * x[j];
        x[i] /= f->a[i * n + i];
    }
}

/* Form a x. */
void linear_times(int64_t n, const double *a, const double *x, double *out)
{
    int64_t i, j;
    for (i = 0; i < n; i++) {
        double sum = 0.0;
        for (j = 0; j < n; j++)
            sum += a[i * n + j] * x[j];
        out[i] = sum;
    }
}

/* Solve a x = b for rows b. Return 0 if a is singular. */
int linear_solve(int64_t n, const double *a, int64_t count, const double *b,
                 double *x)
{
    factors f;
    int64_t i;
    if (!factor(&f, n, a))
        return 0;
    for (i = 0; i < count; i++)
        substitute(&f, b + i * n, x + i * n);
    return 1;
}

/* Invert a. Return 0 if the matrix is singular. */
int linear_invert(int64_t n, const double *a, double *inverse)
{
    factors f;
    double unit[MOST] = {0.0}, column[MOST];
    int64_t i, j;
    if (!factor(&f, n, a))
        return 0;
    for (j = 0; j < n; j++) {
        unit[j] = 1.0;
        substitute(&f, unit, column);
        unit[j] = 0.0;
        for (i = 0; i < n; i++)
            inverse[i * n + j] = column[i];
    }
    return 1;
}

/* Return 1 if all numbers are finite. */
int linear_finite(int64_t n, const double *a)
{
    int64_t i;
    for (i = 0; i < n; i++)
        if (!isfinite(a[i]))
            return 0;
    return 1;
}
