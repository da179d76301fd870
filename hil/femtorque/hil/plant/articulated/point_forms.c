#include "point_forms.h"

#include <math.h>

#define TURN 6.283185307179586

/* Add a vector's coefficients to the gradient at the points of z. */
static void shares(const point_vector *a, const double *z, double *out)
{
    double first = out[0], second = out[1], third = out[2];
    int64_t i;
    int p;
    for (i = 0; i < a->count; i++) {
        const double *x = z + BLOCK * a->solid[i];
        for (p = 0; p < 4; p++) {
            first += a->share[i][p] * x[3 * p];
            second += a->share[i][p] * x[3 * p + 1];
            third += a->share[i][p] * x[3 * p + 2];
        }
    }
    out[0] = first;
    out[1] = second;
    out[2] = third;
}

/* Compute a vector at degrees of freedom z. */
void point_place(const point_vector *a, const double *z, double *out)
{
    int c;
    for (c = 0; c < 3; c++)
        out[c] = a->fixed[c];
    shares(a, z, out);
}

/* Compute a vector's rate at velocities v. */
void point_move(const point_vector *a, const double *v, double *out)
{
    out[0] = out[1] = out[2] = 0.0;
    shares(a, v, out);
}

double point_dot(const double *a, const double *b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* Compute u . w at degrees of freedom z. */
double point_value(const point_form *f, const double *z)
{
    double u[3], w[3];
    point_place(&f->u, z, u);
    point_place(&f->w, z, w);
    return point_dot(u, w);
}

/* Compute a coordinate from its two bilinear forms. Angles are within half a
 * turn of zero. */
double coordinate_value(int64_t turns, double first, double second)
{
    return turns ? atan2(second, first) : first;
}

/* Compute a coordinate's derivatives with respect to its two forms. */
void coordinate_weights(int64_t turns, double first, double second,
                        double *weights)
{
    double square = first * first + second * second;
    weights[0] = turns ? -second / square : 1.0;
    weights[1] = turns ? first / square : 0.0;
}

/* Shift an angle by whole turns to the branch that is nearest to `near`. */
double coordinate_near(int64_t turns, double value, double near)
{
    if (!turns)
        return value;
    return value + TURN * rint((near - value) / TURN);
}
