/* A free solid. A solid has four points of equal mass, 1 / w each. Six rows D
 * of constraints keep their distances constant. For each solid there are two
 * matrices. W = w (1 - D' (D D')^-1 D): accelerations for unit forces. The
 * points move as a rigid body, so W = w N' N. The rows of N are an orthonormal
 * basis of the six rigid-body motions. Products with N are cheap, and their
 * only error is rounding, for solids of any thickness. D' (D D')^-1: the
 * minimum change of velocities that changes the rates of the distances by given
 * values, from a Cholesky factor. */
#include "point_solids.h"

#include "point_forms.h"

#include <math.h>
#include <string.h>

static const int ENDS[6][2] = {{0, 1}, {0, 2}, {0, 3},
                               {1, 2}, {1, 3}, {2, 3}};

/* Add a x b. */
static void add_cross(double *out, const double *a, const double *b)
{
    out[0] += a[1] * b[2] - a[2] * b[1];
    out[1] += a[2] * b[0] - a[0] * b[2];
    out[2] += a[0] * b[1] - a[1] * b[0];
}

/* Set the positions of the points about their centre. */
static void spread(free_solid *s, const double *x)
{
    int p, c;
    for (c = 0; c < 3; c++) {
        double centre = 0.25 * ((x[c] + x[3 + c]) + (x[6 + c] + x[9 + c]));
        for (p = 0; p < 4; p++)
            s->arm[p][c] = x[3 * p + c] - centre;
    }
}

/* Factorise the inertia of unit masses. Return 0 if it is singular. */
static int factor_spin(free_solid *s)
{
    double j[6] = {0.0}, *l = s->spin;
    int p;
    for (p = 0; p < 4; p++) {
        const double *r = s->arm[p];
        j[0] += r[1] * r[1] + r[2] * r[2];
        j[1] -= r[1] * r[0];
        j[2] += r[2] * r[2] + r[0] * r[0];
        j[3] -= r[2] * r[0];
        j[4] -= r[2] * r[1];
        j[5] += r[0] * r[0] + r[1] * r[1];
    }
    l[0] = sqrt(j[0]);
    l[1] = j[1] / l[0];
    l[2] = sqrt(j[2] - l[1] * l[1]);
    l[3] = j[3] / l[0];
    l[4] = (j[4] - l[3] * l[1]) / l[2];
    l[5] = sqrt(j[5] - l[3] * l[3] - l[4] * l[4]);
    return l[0] > 0.0 && l[2] > 0.0 && l[5] > 0.0;
}

/* Return the number of points that two edges share, counted with signs. */
static double meet(int e, int f)
{
    const int *a = ENDS[e], *b = ENDS[f];
    return (a[0] == b[0]) + (a[1] == b[1]) - (a[0] == b[1]) - (a[1] == b[0]);
}

/* Factor D D'. Return 0 if the solid's rows are dependent. */
static int factor_edges(free_solid *s)
{
    int i, j, k;
    for (i = 0; i < 6; i++)
        for (j = 0; j <= i; j++) {
            double sum = meet(i, j) == 0.0
                             ? 0.0
                             : meet(i, j) * point_dot(s->edge[i], s->edge[j]);
            for (k = 0; k < j; k++)
                sum -= s->keep[i][k] * s->keep[j][k];
            if (i == j && !(sum > 0.0))
                return 0;
            s->keep[i][j] = i == j ? sqrt(sum) : sum / s->keep[j][j];
        }
    return 1;
}

/* Prepare a solid at x (12). Return 0 if its points span no space. */
int free_solid_at(free_solid *s, const double *x, const double *lengths)
{
    int e, c;
    spread(s, x);
    for (e = 0; e < 6; e++)
        for (c = 0; c < 3; c++)
            s->edge[e][c] = (x[3 * ENDS[e][1] + c] - x[3 * ENDS[e][0] + c]) /
                            lengths[e];
    return factor_spin(s) && factor_edges(s);
}

/* Compute N row', 6 numbers, of a row (12). */
void free_solid_reduce(const free_solid *s, const double *row, double *out)
{
    const double *l = s->spin;
    double turn[3] = {0.0};
    int p, c;
    for (c = 0; c < 3; c++)
        out[c] = 0.5 * ((row[c] + row[3 + c]) + (row[6 + c] + row[9 + c]));
    for (p = 0; p < 4; p++)
        add_cross(turn, s->arm[p], row + 3 * p);
    out[3] = turn[0] / l[0];
    out[4] = (turn[1] - l[1] * out[3]) / l[2];
    out[5] = (turn[2] - l[3] * out[3] - l[4] * out[4]) / l[5];
}

/* Add `by` times N' reduced to velocities (12). */
void free_solid_expand(const free_solid *s, double by, const double *reduced,
                       double *out)
{
    const double *l = s->spin;
    double turn[3], shift[3];
    int p, c;
    turn[2] = reduced[5] / l[5];
    turn[1] = (reduced[4] - l[4] * turn[2]) / l[2];
    turn[0] = (reduced[3] - l[1] * turn[1] - l[3] * turn[2]) / l[0];
    for (p = 0; p < 4; p++) {
        memset(shift, 0, sizeof shift);
        add_cross(shift, turn, s->arm[p]);
        for (c = 0; c < 3; c++)
            out[3 * p + c] += by * (0.5 * reduced[c] + shift[c]);
    }
}

/* Compute D v for velocities (12). */
void free_solid_distances(const free_solid *s, const double *v, double *out)
{
    int e, c;
    for (e = 0; e < 6; e++) {
        const double *from = v + 3 * ENDS[e][0], *to = v + 3 * ENDS[e][1];
        double apart[3];
        for (c = 0; c < 3; c++)
            apart[c] = to[c] - from[c];
        out[e] = point_dot(s->edge[e], apart);
    }
}

/* Compute the minimum change (12) of velocities that changes the rates of the
 * distances by given values. */
void free_solid_change(const free_solid *s, const double *distances,
                       double *out)
{
    double y[6];
    int e, k, c;
    for (e = 0; e < 6; e++) {
        y[e] = distances[e];
        for (k = 0; k < e; k++)
            y[e] -= s->keep[e][k] * y[k];
        y[e] /= s->keep[e][e];
    }
    for (e = 5; e >= 0; e--) {
        for (k = e + 1; k < 6; k++)
            y[e] -= s->keep[k][e] * y[k];
        y[e] /= s->keep[e][e];
    }
    memset(out, 0, BLOCK * sizeof *out);
    for (e = 0; e < 6; e++)
        for (c = 0; c < 3; c++) {
            out[3 * ENDS[e][0] + c] -= s->edge[e][c] * y[e];
            out[3 * ENDS[e][1] + c] += s->edge[e][c] * y[e];
        }
}

/* Compute the residual of an edge's length for points at x (12), m. */
double free_solid_residual(const double *x, double length, int64_t edge)
{
    const double *from = x + 3 * ENDS[edge][0], *to = x + 3 * ENDS[edge][1];
    double apart[3];
    int c;
    for (c = 0; c < 3; c++)
        apart[c] = to[c] - from[c];
    return point_dot(apart, apart) * (0.5 / length) - 0.5 * length;
}
